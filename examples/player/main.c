/* SPDX-License-Identifier: MIT */
/*
 * main.c - a small video player, with markers: options, threads, the summary.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/player/player.h"

/* Small, as on a board with little memory: a stall of the reader is soon seen. */
#define NR_PACKETS 4
#define NR_FRAMES 3

#define COLD_SIZE (64u << 20)
#define COLD_STEP (256u << 10)

static int usage(FILE *file)
{
	fputs("Usage: player [OPTIONS] CLIP\n"
	      "Plays the video of CLIP at its rate onto a surface in memory.\n\n"
	      "  --cpu N           the presenting thread runs on CPU N (default: the last)\n"
	      "  --realtime        before other programs, where that is allowed\n"
	      "  --stats           one line for each frame\n"
	      "  --plant lock@N    a fourth thread holds the queue for 40 ms when frame N is due\n"
	      "  --plant starve@N  before packet N the reader reads something cold, until frames\n"
	      "                    run out\n"
	      "  --scratch DIR     where the cold file is made (default: .): on a disk\n"
	      "  --truth FILE      what was planted, a line of JSON each (default: stdout)\n",
	      file);
	return file == stdout ? 0 : 2;
}

/* Return: 0, 1 when help was asked for, or -EINVAL. */
static int parse_options(int argc, char **argv, struct player *player, const char **ret_truth)
{
	static const struct option known[] = {
		{"cpu", required_argument, NULL, 'c'},	 {"help", no_argument, NULL, 'h'},
		{"plant", required_argument, NULL, 'p'}, {"scratch", required_argument, NULL, 'd'},
		{"realtime", no_argument, NULL, 'r'},	 {"stats", no_argument, NULL, 's'},
		{"truth", required_argument, NULL, 't'}, {0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		if (option == 'c')
			player->cpu = atoi(optarg);
		else if (option == 'h')
			return 1;
		else if (option == 'p' && plant_parse(player, optarg) < 0) {
			fprintf(stderr, "player: --plant %s: use lock@N or starve@N\n", optarg);
			return -EINVAL;
		} else if (option == 'd')
			player->scratch = optarg;
		else if (option == 'r')
			player->is_realtime = true;
		else if (option == 's')
			player->wants_stats = true;
		else if (option == 't')
			*ret_truth = optarg;
		else if (option == '?')
			return -EINVAL;
	}
	if (optind + 1 != argc)
		return -EINVAL;
	player->clip = argv[optind];
	return 0;
}

/* Without a device to read from no frame can be starved by one: said, and left out. */
static void prepare_cold_file(struct player *player)
{
	int ret = 0, nr_kept = 0;

	for (int i = 0; i < player->nr_plants; i++)
		if (player->plants[i].kind == PLANT_STARVE && !player->cold.buffer && !ret)
			ret = cold_file_open(&player->cold, player->scratch, COLD_SIZE, COLD_STEP);
	if (!ret)
		return;
	fprintf(stderr, "player: starve is not planted: %s: %s; try --scratch DIR\n",
		player->scratch, ret == -ENOTBLK ? "its reads reach no disk" : strerror(-ret));
	for (int i = 0; i < player->nr_plants; i++)
		if (player->plants[i].kind != PLANT_STARVE)
			player->plants[nr_kept++] = player->plants[i];
	player->nr_plants = nr_kept;
}

static int open_clip(struct player *player)
{
	AVRational rate;
	int ret = reader_open(player);

	if (ret >= 0)
		ret = decoder_open(player);
	if (ret < 0) {
		fprintf(stderr, "player: %s: %s\n", player->clip, av_err2str(ret));
		return ret;
	}
	rate = av_guess_frame_rate(player->format, player->format->streams[player->stream], NULL);
	if (rate.num <= 0 || rate.den <= 0)
		rate = (AVRational){25, 1};
	player->frame_ns = (uint64_t)av_rescale(NS_PER_S, rate.den, rate.num);
	return 0;
}

/* With a priority: at SCHED_RR, or as any other where that is not allowed. */
static int start_thread(pthread_t *thread, void *(*run)(void *), struct player *player,
			int priority)
{
	struct sched_param param = {.sched_priority = priority};
	pthread_attr_t attributes;
	int ret = EPERM;

	if (priority && pthread_attr_init(&attributes) == 0) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, SCHED_RR);
		pthread_attr_setschedparam(&attributes, &param);
		ret = pthread_create(thread, &attributes, run, player);
		pthread_attr_destroy(&attributes);
	}
	if (ret == EPERM)
		ret = pthread_create(thread, NULL, run, player);
	if (ret)
		fprintf(stderr, "player: cannot start a thread: %s\n", strerror(ret));
	return -ret;
}

/* Plays it all: each thread ends when the queue before it is closed and empty. */
static int play(struct player *player)
{
	void *(*const runs[])(void *) = {reader_run, decoder_run, presenter_run, plant_lock_run};
	/* The presenter before all others. */
	static const int priorities[] = {1, 1, 2, 1};
	pthread_t threads[4];
	int ret = 0;

	queue_init(&player->packets, "packets", NR_PACKETS);
	queue_init(&player->frames, "frames", NR_FRAMES);
	/* With a part of them nothing plays, and nothing ends: then the process does. */
	for (int i = 0; i < 4 && !ret; i++)
		ret = start_thread(&threads[i], runs[i], player,
				   player->is_realtime ? priorities[i] : 0);
	if (ret < 0)
		exit(1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	atomic_store_explicit(&player->is_over, true, memory_order_relaxed);
	pthread_join(threads[3], NULL);
	queue_fini(&player->packets);
	queue_fini(&player->frames);
	return player->nr_frames ? 0 : -ENODATA;
}

int main(int argc, char **argv)
{
	struct player player = {.cpu = -1, .scratch = ".", .cold = {.fd = -1}};
	const char *truth = NULL;
	int ret = parse_options(argc, argv, &player, &truth);

	if (ret)
		return usage(ret > 0 ? stdout : stderr);
	av_log_set_level(AV_LOG_ERROR);
	player.truth = truth_open(truth);
	if (player.truth < 0) {
		fprintf(stderr, "player: %s: %s\n", truth, strerror(-player.truth));
		return 1;
	}
	prepare_cold_file(&player);
	ret = open_clip(&player);
	if (ret >= 0)
		ret = play(&player);
	if (ret == -ENODATA)
		fprintf(stderr, "player: %s: no frame could be decoded\n", player.clip);
	else if (ret >= 0)
		printf("%llu frames, %llu late (by more than 4 ms), worst %.1f ms\n",
		       (unsigned long long)player.nr_frames, (unsigned long long)player.nr_late,
		       (double)player.worst_late_ns / 1e6);
	avcodec_free_context(&player.codec);
	reader_close(&player);
	cold_file_close(&player.cold);
	return ret < 0;
}
