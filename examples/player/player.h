/* SPDX-License-Identifier: MIT */
/*
 * player.h - what the three threads of the player share.
 *
 *	reader --packets--> decoder --frames--> presenter
 *
 * A packet's number (its place in the file) rides in its pts, and comes out in the pts of the frame
 * it was decoded to: markers of all three threads carry it, as the key of the flow "packet".
 */
#ifndef EXAMPLES_PLAYER_PLAYER_H
#define EXAMPLES_PLAYER_PLAYER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "examples/disturb/cold-file.h"
#include "examples/disturb/truth.h"
#include "examples/player/queue.h"

#define MAX_PLANTS 32

/* A later frame was seen by whoever watches. */
#define LATE_NS (4 * NS_PER_MS)

enum plant_kind {
	PLANT_LOCK,   /* a fourth thread holds the frames' queue when the frame is due */
	PLANT_STARVE, /* the reader reads something cold before this packet */
};

struct plant {
	enum plant_kind kind;
	uint64_t frame;
};

struct player {
	/* Written by main() before the threads start. */
	const char *clip;
	const char *scratch; /* folder of the cold file */
	int cpu;	     /* of the presenter */
	int truth;	     /* descriptor for the lines of truth.h */
	bool wants_stats, is_realtime;
	struct plant plants[MAX_PLANTS];
	int nr_plants;
	struct cold_file cold;
	AVFormatContext *format;
	AVCodecContext *codec;
	int stream; /* of the video, in format */
	uint64_t frame_ns;

	struct queue packets, frames;

	/* The first frame's due time, 0 before it is known: set by the presenter. Relaxed: the
	 * number is all that is told by it. */
	_Atomic uint64_t start_ns;
	/* Due time of the frame the presenter is about to show. Relaxed, as above. */
	_Atomic uint64_t next_due_ns;
	/* Set by main() when the presenter has ended. Relaxed: nothing follows from it but an end.
	 */
	atomic_bool is_over;

	/* The presenter's counts, read by main() after it was joined. */
	uint64_t nr_frames, nr_late, worst_late_ns;
};

/* Opens the clip with reads of its own, so that they happen in the thread that asks for packets.
 * Return: 0 or an AVERROR. */
int reader_open(struct player *player);
void reader_close(struct player *player);
void *reader_run(void *player);

int decoder_open(struct player *player);
void *decoder_run(void *player);

void *presenter_run(void *player);

/* Adds "lock@150" or "starve@200". Return: 0 or -EINVAL. */
int plant_parse(struct player *player, const char *text);
/* Is something cold to be read before this packet? */
bool plant_is_starving(const struct player *player, uint64_t packet);
/* Reads it, in the calling thread, until the presenter has nothing left to show. */
void plant_starve(struct player *player, uint64_t packet);
/* The thread that takes the lock. */
void *plant_lock_run(void *player);

#endif
