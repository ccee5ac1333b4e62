/* SPDX-License-Identifier: MIT */
/*
 * wish.c - what all sessions together want of the programs, onto the control page.
 *
 * Each session filters for itself what the others wanted; the page only keeps programs from
 * recording what nobody wants.
 */
#include "consumerd/wish.h"

#include <errno.h>
#include <string.h>

#include "consumerd/control.h"
#include "libmarker/ring.h"

#define DEFAULT_RING_SIZE (4u << 20)
#define POOL_SIZE 4

static uint32_t ring_size(uint64_t wanted)
{
	uint32_t size = CONTROL_MIN_RING_SIZE;

	if (!wanted)
		return DEFAULT_RING_SIZE;
	while (size < wanted && size < CONTROL_MAX_RING_SIZE)
		size *= 2;
	return size;
}

static uint32_t largest_ring(struct session *const *sessions)
{
	uint32_t largest = 0, size;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		if (!sessions[slot])
			continue;
		size = ring_size(sessions[slot]->ring_size);
		if (size > largest)
			largest = size;
	}
	return largest;
}

/* With one session its patterns stand as they are; with more, one's exception is another's wish. */
static int add_patterns(struct wish *wish, const struct session *session, bool is_alone)
{
	for (char **pattern = session->patterns; *pattern; pattern++) {
		size_t size = strlen(*pattern) + 1;

		if (**pattern == '!' && !is_alone)
			continue;
		if (wish->control.patterns_size + size > sizeof(wish->text))
			return -E2BIG;
		memcpy(wish->text + wish->control.patterns_size, *pattern, size);
		wish->control.patterns_size += size;
		wish->control.nr_patterns++;
	}
	return 0;
}

/* Does it want all there is, but for exceptions? */
static bool wants_all(const struct session *session)
{
	return !session->patterns[0] || session->patterns[0][0] == '!';
}

static int collect_patterns(struct wish *wish, struct session *const *sessions,
			    uint32_t nr_sessions)
{
	int ret = 0;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (sessions[slot] && nr_sessions > 1 && wants_all(sessions[slot]))
			return 0;
	for (uint32_t slot = 0; slot < SESSION_MAX && ret == 0; slot++)
		if (sessions[slot])
			ret = add_patterns(wish, sessions[slot], nr_sessions == 1);
	return ret;
}

/* The highest, for each session filters for itself; 0: one wants all levels. */
static uint32_t level_limit(struct session *const *sessions)
{
	uint32_t limit = 0;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		if (!sessions[slot])
			continue;
		if (!sessions[slot]->level_limit)
			return 0;
		if (sessions[slot]->level_limit > limit)
			limit = sessions[slot]->level_limit;
	}
	return limit;
}

/* Discard, unless somebody asks to wait. */
static uint32_t when_full(struct session *const *sessions)
{
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (sessions[slot] && sessions[slot]->is_blocking)
			return CONTROL_WHEN_FULL_BLOCK;
	return CONTROL_WHEN_FULL_DISCARD;
}

/* Ordered, if anybody asks for it. */
static enum ring_clock marker_clock(struct session *const *sessions, enum clock_kind clock)
{
	if (clock == CLOCK_TICKS_MONO)
		return RING_CLOCK_MONO;
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (sessions[slot] && !sessions[slot]->is_fast_clock)
			return RING_CLOCK_ORDERED;
	return RING_CLOCK_FAST;
}

int wish_unite(struct session *const *sessions, enum clock_kind clock, struct wish *ret_wish)
{
	uint32_t nr = 0;
	int ret;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		nr += sessions[slot] != NULL;
	*ret_wish = (struct wish){0};
	ret = nr ? collect_patterns(ret_wish, sessions, nr) : 0;
	if (ret < 0)
		return ret;
	ret_wish->control.clock = marker_clock(sessions, clock);
	ret_wish->control.lane_data_size = largest_ring(sessions);
	ret_wish->control.pool_size = POOL_SIZE;
	ret_wish->control.level_limit = level_limit(sessions);
	ret_wish->control.when_full = when_full(sessions);
	return (int)nr;
}

int wish_publish(struct control_page *page, struct session *const *sessions, enum clock_kind clock)
{
	struct wish wish;
	int64_t ret = wish_unite(sessions, clock, &wish);

	if (ret < 0)
		return (int)ret;
	wish.control.patterns = wish.text;
	ret = rendezvous_control_publish(page, ret > 0 ? &wish.control : NULL);
	return ret < 0 ? (int)ret : 0;
}
