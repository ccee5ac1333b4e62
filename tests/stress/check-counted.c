/* SPDX-License-Identifier: MIT */
/*
 * check-counted.c - is what counted.c says it did in the trace?
 *
 *	weft dump --name counted:step TRACE | check-counted [-a | -u NS | -j | -l SIDECAR] FILE
 *
 *	-a            everything that was committed, from number 0 on
 *	-u NS         everything that was committed before that CLOCK_MONOTONIC, from number 0 on
 *	-j            the recording came later: of each thread some, without a gap
 *	-l SIDECAR    everything, or its loss is told: as many, and each missing one's time within
 *
 * In every case none is there twice, none that was never attempted, and each thread's are in
 * order. Prints one line; exits 1 when something is wrong.
 */
#include "tests/stress/counted.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A marker's stamp is taken after the time that its thread published: the next attempt's at most.
 */
#define MAX_LOSSES 100000

struct loss {
	int32_t tid;
	uint64_t begin, end, count;
};

static struct {
	const struct counted *counted;
	const struct counted_snapshot *snapshots;
	const uint64_t *times;
	bool is_all, is_joined;
	uint64_t until_ns;
	uint64_t next[COUNTED_MAX_THREADS], recorded[COUNTED_MAX_THREADS];
	uint64_t missing[COUNTED_MAX_THREADS], told[COUNTED_MAX_THREADS];
	uint64_t unplaced;
	struct loss *losses;
	size_t nr_losses;
	bool is_bad;
} check;

static void fail(const char *what, uint64_t thread, uint64_t number, uint64_t other)
{
	if (!check.is_bad)
		printf("%s: thread %" PRIu64 ": %" PRIu64 ", %" PRIu64 "; ", what, thread, number,
		       other);
	check.is_bad = true;
}

static int map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *memory;

	if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size < COUNTED_PAGE)
		return -1;
	memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return -1;
	check.counted = (void *)memory;
	check.snapshots = (void *)(memory + COUNTED_PAGE);
	if (check.counted->nr_times)
		check.times = (void *)(memory + COUNTED_PAGE +
				       COUNTED_NR_SNAPSHOTS * sizeof(*check.snapshots));
	return 0;
}

static void read_losses(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	check.losses = calloc(MAX_LOSSES, sizeof(*check.losses));
	while (file && check.losses && fgets(line, sizeof(line), file)) {
		struct loss loss = {0};
		const char *at = strstr(line, "\"source\":\"thread ");

		if (!strstr(line, "\"type\":\"loss\"") || !at)
			continue;
		if (sscanf(at,
			   "\"source\":\"thread %d\",\"begin_ns\":%" SCNu64 ",\"end_ns\":%" SCNu64
			   ",\"discarded\":%" SCNu64,
			   &loss.tid, &loss.begin, &loss.end, &loss.count) == 4 &&
		    check.nr_losses < MAX_LOSSES)
			check.losses[check.nr_losses++] = loss;
	}
	if (file)
		fclose(file);
}

/* Is a loss of that thread told that may be of this attempt? */
static bool is_placed(uint64_t thread, uint64_t number)
{
	const uint64_t *times = check.times + thread * check.counted->nr_times;
	uint64_t after = number + 1 < check.counted->nr_times ? times[number + 1] : UINT64_MAX;

	for (size_t i = 0; i < check.nr_losses; i++)
		if (check.losses[i].tid == check.counted->tids[thread] &&
		    check.losses[i].begin <= after && check.losses[i].end >= times[number])
			return true;
	return false;
}

static void skip_to(uint64_t thread, uint64_t number)
{
	if (!check.losses) {
		if (!check.is_joined || check.recorded[thread])
			fail("gap", thread, check.next[thread], number);
		return;
	}
	for (uint64_t i = check.next[thread]; i < number; i++) {
		check.missing[thread]++;
		if (check.times && !is_placed(thread, i))
			check.unplaced++;
	}
}

static void take(uint64_t thread, uint64_t number)
{
	if (thread >= check.counted->nr_threads) {
		fail("no such thread", thread, number, 0);
		return;
	}
	if (number < check.next[thread] ||
	    number >= atomic_load_explicit(&check.counted->attempted[thread], memory_order_relaxed))
		fail("twice, or never attempted", thread, number, check.next[thread]);
	else if (number > check.next[thread])
		skip_to(thread, number);
	check.next[thread] = number + 1;
	check.recorded[thread]++;
}

static void read_dump(void)
{
	char line[1024];

	while (fgets(line, sizeof(line), stdin)) {
		const char *at = strstr(line, " counted:step ");
		uint64_t thread, number;

		if (at && sscanf(at, " counted:step thread=%" SCNu64 " number=%" SCNu64, &thread,
				 &number) == 2)
			take(thread, number);
	}
}

/* How many of that thread's must be there. */
static uint64_t required(uint32_t thread)
{
	uint64_t nr = atomic_load_explicit(&check.counted->nr_snapshots, memory_order_relaxed);
	uint64_t first = nr > COUNTED_NR_SNAPSHOTS ? nr - COUNTED_NR_SNAPSHOTS : 0, most = 0;

	if (check.is_joined)
		return 0;
	if (check.is_all)
		return atomic_load_explicit(&check.counted->committed[thread],
					    memory_order_relaxed);
	for (uint64_t i = first; i < nr; i++) {
		const struct counted_snapshot *snapshot =
			&check.snapshots[i % COUNTED_NR_SNAPSHOTS];

		if (snapshot->ns <= check.until_ns && snapshot->committed[thread] > most)
			most = snapshot->committed[thread];
	}
	return most;
}

static void judge_losses(uint32_t thread)
{
	for (size_t i = 0; i < check.nr_losses; i++)
		if (check.losses[i].tid == check.counted->tids[thread])
			check.told[thread] += check.losses[i].count;
	if (check.told[thread] != check.missing[thread])
		fail("told is not missing", thread, check.told[thread], check.missing[thread]);
	if (check.unplaced)
		fail("missing outside what is told", thread, check.unplaced, check.missing[thread]);
}

static void judge(void)
{
	uint64_t wanted = 0, got = 0, missing = 0;

	for (uint32_t i = 0; i < check.counted->nr_threads; i++) {
		uint64_t needed = required(i);

		if (check.losses) {
			skip_to(i, needed);
			judge_losses(i);
		} else if (check.next[i] < needed) {
			fail("missing at the end", i, check.next[i], needed);
		}
		if (check.is_joined && !check.recorded[i])
			fail("none", i, 0, 0);
		wanted += needed;
		got += check.recorded[i];
		missing += check.missing[i];
	}
	printf("required %" PRIu64 " recorded %" PRIu64 " missing %" PRIu64 " losses %zu\n", wanted,
	       got, missing, check.nr_losses);
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "au:jl:")) >= 0) {
		if (option == 'a' || option == 'l')
			check.is_all = true;
		if (option == 'j')
			check.is_joined = true;
		if (option == 'u')
			check.until_ns = strtoull(optarg, NULL, 10);
		if (option == 'l')
			read_losses(optarg);
	}
	if (optind + 1 != argc || map_file(argv[optind]) < 0) {
		fprintf(stderr, "check-counted: no such file\n");
		return 2;
	}
	read_dump();
	judge();
	free(check.losses);
	return check.is_bad;
}
