/* SPDX-License-Identifier: MIT */
/*
 * plant.c - disturbances from within the player, each told as it happens (truth.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/player/player.h"
#include "marker/marker.h"

/* How long the lock is held, and how much before the frame is due. */
#define LOCK_NS (40 * NS_PER_MS)
#define LOCK_EARLY_NS (10 * NS_PER_MS)

/* The reader goes on once a frame is overdue by this much; and in any case after the longest. */
#define STARVE_NS (60 * NS_PER_MS)
#define STARVE_LONGEST_NS (3 * NS_PER_S)

int plant_parse(struct player *player, const char *text)
{
	const char *at = strchr(text, '@');
	struct plant *plant = &player->plants[player->nr_plants];
	char *end;

	if (!at || player->nr_plants == MAX_PLANTS)
		return -EINVAL;
	if (at - text == 4 && !strncmp(text, "lock", 4))
		plant->kind = PLANT_LOCK;
	else if (at - text == 6 && !strncmp(text, "starve", 6))
		plant->kind = PLANT_STARVE;
	else
		return -EINVAL;
	plant->frame = strtoull(at + 1, &end, 10);
	if (end == at + 1 || *end)
		return -EINVAL;
	player->nr_plants++;
	return 0;
}

bool plant_is_starving(const struct player *player, uint64_t packet)
{
	for (int i = 0; i < player->nr_plants; i++)
		if (player->plants[i].kind == PLANT_STARVE && player->plants[i].frame == packet)
			return true;
	return false;
}

void plant_starve(struct player *player, uint64_t packet)
{
	uint64_t fetched = cold_file_fetched(), queued_ns = truth_queued_ns(), nr_reads = 0;
	uint64_t begin_ns = truth_now_ns(), now_ns = begin_ns, due_ns;
	int ret = 0;

	MARKER_SCOPE(player, cold_read);
	do {
		ret = cold_file_read(&player->cold);
		nr_reads++;
		now_ns = truth_now_ns();
		due_ns = atomic_load_explicit(&player->next_due_ns, memory_order_relaxed);
	} while (!ret && now_ns < begin_ns + STARVE_LONGEST_NS && now_ns < due_ns + STARVE_NS);
	if (ret < 0)
		fprintf(stderr, "player: cannot read the cold file: %s\n", strerror(-ret));
	/* The frames that were still in the queues came in time: from "due_ns" on none was there.
	 */
	queued_ns = truth_queued_ns() - queued_ns;
	truth_write(player->truth,
		    "{\"kind\":\"starve\",\"begin_ns\":%llu,\"end_ns\":%llu,\"due_ns\":%llu,"
		    "\"tid\":%d,\"frame\":%llu,\"class\":\"block-io\",\"reads\":%llu,"
		    "\"fetched\":%llu,\"queued_ns\":%llu}",
		    (unsigned long long)begin_ns, (unsigned long long)now_ns,
		    (unsigned long long)due_ns, (int)gettid(), (unsigned long long)packet,
		    (unsigned long long)nr_reads,
		    (unsigned long long)(cold_file_fetched() - fetched),
		    (unsigned long long)queued_ns);
}

/* Holds the frames' queue, working: as code does that computes under a lock. */
static void hold_lock(struct player *player, uint64_t frame)
{
	uint64_t begin_ns, end_ns;

	MARKER_SCOPE(player, hold, frame);
	pthread_mutex_lock(&player->frames.lock);
	begin_ns = truth_now_ns();
	truth_spin_until(begin_ns + LOCK_NS);
	end_ns = truth_now_ns();
	pthread_mutex_unlock(&player->frames.lock);
	truth_write(player->truth,
		    "{\"kind\":\"lock\",\"begin_ns\":%llu,\"end_ns\":%llu,\"tid\":%d,"
		    "\"frame\":%llu,\"class\":\"lock\"}",
		    (unsigned long long)begin_ns, (unsigned long long)end_ns, (int)gettid(),
		    (unsigned long long)frame);
}

/* The clip starts when its first frames are ready; a clip without any ends instead. */
static uint64_t wait_for_start(struct player *player)
{
	uint64_t start_ns;

	while (!(start_ns = atomic_load_explicit(&player->start_ns, memory_order_relaxed)) &&
	       !atomic_load_explicit(&player->is_over, memory_order_relaxed))
		truth_sleep_until(truth_now_ns() + NS_PER_MS);
	return start_ns;
}

void *plant_lock_run(void *arg)
{
	struct player *player = arg;
	uint64_t start_ns;

	MARKER_THREAD("locker");
	start_ns = wait_for_start(player);
	for (int i = 0; i < player->nr_plants; i++) {
		const struct plant *plant = &player->plants[i];

		if (plant->kind != PLANT_LOCK)
			continue;
		truth_sleep_until(start_ns + plant->frame * player->frame_ns - LOCK_EARLY_NS);
		if (atomic_load_explicit(&player->is_over, memory_order_relaxed))
			break;
		hold_lock(player, plant->frame);
	}
	return NULL;
}
