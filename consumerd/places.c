/* SPDX-License-Identifier: MIT */
/* places.c - see places.h. */
#include "consumerd/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "consumerd/place.h"
#include "consumerd/place-find.h"
#include "consumerd/procfs.h"
#include "consumerd/user-names.h"
#include "consumerd/wish.h"

#define MAX_PLACES 256
#define LOOK_NS 1000000000u
#define NS_PER_MS 1000000u
/* An agent that has not answered by then is given up. */
#define TAKE_WAIT_NS 2000000000u
#define ORDER_WAIT_NS 1000000000u

struct places {
	struct collector *collector;
	const char *folder;
	int epoll_fd;
	struct place *items[MAX_PLACES];
	uint32_t nr;
	struct place_order order; /* the last one: what a place taken now is to do */
	uint64_t next_look_ns;
	char missing[512];
};

struct places *places_create(struct collector *collector, const char *folder)
{
	struct places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->collector = collector;
	places->folder = folder;
	places->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (places->epoll_fd < 0) {
		free(places);
		return NULL;
	}
	return places;
}

static void give_back(struct places *places)
{
	for (uint32_t i = 0; i < places->nr; i++)
		place_end(places->items[i], places->collector);
	/* Their last deeds: programs must find no socket of ours, nor markers that are on. */
	for (uint32_t i = 0; i < places->nr; i++)
		place_destroy(places->items[i]);
	places->nr = 0;
}

void places_destroy(struct places *places)
{
	if (!places)
		return;
	give_back(places);
	close(places->epoll_fd);
	free(places);
}

/* One that has been found: ours from now on. */
static void add_place(void *arg, const char *folder, uid_t uid)
{
	struct places *places = arg;
	struct place *place;

	if (!strcmp(folder, places->folder) || places->nr == MAX_PLACES)
		return;
	for (uint32_t i = 0; i < places->nr; i++)
		if (!strcmp(places->items[i]->folder, folder))
			return;
	place = place_create(folder, uid);
	if (place)
		places->items[places->nr++] = place;
}

/* Looks for new ones, and gets those going that are due. */
static void look(struct places *places)
{
	uint64_t now_ns = procfs_now_ns();

	place_find(add_place, places);
	for (uint32_t i = 0; i < places->nr; i++)
		place_start(places->items[i], places->epoll_fd, now_ns, TAKE_WAIT_NS);
	places->next_look_ns = now_ns + LOOK_NS;
}

/* The trace and whoever looks at a running recording hear of it; at its start places_missing()
 * tells. */
static void tell_if_new(struct places *places, struct place *place)
{
	char text[256];

	if (!place_says(place, text, sizeof(text)) || place->is_told)
		return;
	place->is_told = true;
	collector_tell_missing(places->collector, text);
}

/* Takes the answers that are there, within @wait_ms. */
static void take_answers(struct places *places, int wait_ms)
{
	struct epoll_event events[16];
	int nr = epoll_wait(places->epoll_fd, events, 16, wait_ms);

	for (int i = 0; i < nr; i++)
		place_answer(events[i].data.ptr, places->collector, &places->order);
	for (uint32_t i = 0; i < places->nr; i++)
		place_expire(places->items[i], places->collector, procfs_now_ns());
}

/* Until each has answered, or is given up. */
static void wait_for_answers(struct places *places)
{
	for (uint32_t i = 0; i < places->nr; i++)
		while (place_is_awaited(places->items[i]))
			take_answers(places, 10);
}

void places_take(struct places *places, pid_t pid)
{
	char folder[RENDEZVOUS_MAX_PATH];
	uid_t uid;

	if (!places)
		return;
	if (pid && place_of_process(pid, folder, &uid) == 0)
		add_place(places, folder, uid);
	look(places);
	wait_for_answers(places);
	for (uint32_t i = 0; i < places->nr; i++)
		places->items[i]->is_told = true;
}

static void make_order(struct places *places, struct session *const *sessions,
		       enum clock_kind clock)
{
	struct session *wanting[SESSION_MAX];
	struct wish wish;
	int ret;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		wanting[slot] =
			sessions[slot] && !sessions[slot]->is_own_only ? sessions[slot] : NULL;
	ret = wish_unite(wanting, clock, &wish);
	places->order = (struct place_order){.is_on = ret > 0};
	if (ret <= 0)
		return;
	places->order.clock = wish.control.clock;
	places->order.lane_data_size = wish.control.lane_data_size;
	places->order.pool_size = wish.control.pool_size;
	places->order.nr_patterns = wish.control.nr_patterns;
	places->order.level_limit = wish.control.level_limit;
	places->order.when_full = wish.control.when_full;
	places->order.patterns_size = (uint32_t)wish.control.patterns_size;
	memcpy(places->order.patterns, wish.text, sizeof(wish.text));
}

void places_wish(struct places *places, struct session *const *sessions, enum clock_kind clock)
{
	uint64_t deadline_ns;

	if (!places)
		return;
	make_order(places, sessions, clock);
	deadline_ns = procfs_now_ns() + ORDER_WAIT_NS;
	for (uint32_t i = 0; i < places->nr; i++)
		place_order(places->items[i], &places->order, deadline_ns);
	wait_for_answers(places);
}

void places_rest(struct places *places)
{
	if (places && !places->order.is_on)
		give_back(places);
}

int places_fd(const struct places *places)
{
	return places ? places->epoll_fd : -1;
}

int places_timeout_ms(const struct places *places)
{
	uint64_t now_ns = procfs_now_ns();

	if (!places || !places->order.is_on)
		return -1;
	if (places->next_look_ns <= now_ns)
		return 0;
	return (int)((places->next_look_ns - now_ns) / NS_PER_MS) + 1;
}

void places_work(struct places *places)
{
	if (!places || !places->order.is_on)
		return;
	take_answers(places, 0);
	if (procfs_now_ns() >= places->next_look_ns)
		look(places);
	for (uint32_t i = 0; i < places->nr; i++)
		tell_if_new(places, places->items[i]);
}

const char *places_missing(struct places *places)
{
	char text[256];
	size_t used = 0;

	if (!places)
		return "";
	places->missing[0] = '\0';
	for (uint32_t i = 0; i < places->nr && used < sizeof(places->missing); i++)
		if (place_says(places->items[i], text, sizeof(text)))
			used += (size_t)snprintf(places->missing + used,
						 sizeof(places->missing) - used, "%s%s",
						 used ? "; " : "", text);
	return places->missing;
}

json_t *places_list(const struct places *places)
{
	json_t *list = json_array();
	char name[64], text[256];

	for (uint32_t i = 0; places && i < places->nr; i++) {
		struct place *place = places->items[i];

		user_name(place->uid, name, sizeof(name));
		if (!place_says(place, text, sizeof(text)))
			text[0] = '\0';
		json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:s}", "uid",
						      (int)place->uid, "user", name, "folder",
						      place->folder, "problem", text));
	}
	return list;
}
