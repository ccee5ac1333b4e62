/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "trace/merge.h"

#define MAX_INPUTS 40
#define MAX_EVENTS 4000

/* An input that delivers its events bit by bit, as its floor rises. */
struct source {
	uint64_t stamps[MAX_EVENTS];
	unsigned nr, next, delivered; /* events up to delivered are at hand */
	uint64_t floor;
	int error;
	uint32_t input;
};

static int source_next(void *self, struct trace_event *ret_event)
{
	struct source *source = self;

	if (source->error)
		return source->error;
	if (source->next >= source->delivered)
		return 0;
	*ret_event = (struct trace_event){.stamp = source->stamps[source->next++],
					  .stream = source->input};
	return 1;
}

static uint64_t source_floor(void *self)
{
	struct source *source = self;

	return source->floor;
}

static const struct merge_input_ops live_ops = {.next = source_next, .floor = source_floor};
static const struct merge_input_ops file_ops = {.next = source_next};

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct source sources[MAX_INPUTS];
static uint64_t wanted[MAX_INPUTS * MAX_EVENTS], got[MAX_INPUTS * MAX_EVENTS];

/* Random stamps, some equal, some bursts; returns how many in all. */
static unsigned fill(unsigned nr_inputs, unsigned *seed)
{
	unsigned total = 0;

	for (unsigned i = 0; i < nr_inputs; i++) {
		struct source *source = &sources[i];
		uint64_t stamp = (uint64_t)rand_r(seed) % 100;

		memset(source, 0, sizeof(*source));
		source->nr = (unsigned)rand_r(seed) % MAX_EVENTS;
		for (unsigned j = 0; j < source->nr; j++) {
			stamp += (uint64_t)rand_r(seed) % (rand_r(seed) % 50 ? 3 : 5000);
			source->stamps[j] = stamp;
			wanted[total++] = stamp;
		}
	}
	qsort(wanted, total, sizeof(wanted[0]), compare_u64);
	return total;
}

static void test_files(void)
{
	unsigned seed = 1, wrong = 0, ties = 0, nr_events = 0;

	for (int round = 0; round < 20; round++) {
		unsigned nr_inputs = 1 + (unsigned)rand_r(&seed) % MAX_INPUTS;
		unsigned total = fill(nr_inputs, &seed), nr = 0;
		struct merge *merge = merge_create();
		struct trace_event event, last = {0};

		for (unsigned i = 0; i < nr_inputs; i++) {
			sources[i].delivered = sources[i].nr;
			merge_add(merge, &file_ops, &sources[i], &sources[i].input);
		}
		while (merge_next(merge, UINT64_MAX, &event) > 0 && nr < total) {
			wrong += event.stamp != wanted[nr++];
			ties += nr > 1 && event.stamp == last.stamp && event.stream < last.stream;
			last = event;
		}
		wrong += nr != total;
		nr_events += nr;
		merge_destroy(merge);
	}
	ok(wrong == 0, "random files merge as a sort would have it (%u events)", nr_events);
	ok(ties == 0, "of equal stamps the input that was added first comes first");
}

/* What a consumer does: delivers some, raises floors, takes what is safe; inputs stall and return.
 */
static unsigned run_live(unsigned nr_inputs, unsigned total, unsigned *seed, unsigned *early)
{
	struct merge *merge = merge_create();
	unsigned nr = 0, pending = nr_inputs;
	uint64_t now = 0;

	for (unsigned i = 0; i < nr_inputs; i++)
		merge_add(merge, &live_ops, &sources[i], &sources[i].input);
	while (pending) {
		struct trace_event event;
		uint64_t lowest = UINT64_MAX;

		now += (uint64_t)rand_r(seed) % 2000;
		pending = 0;
		for (unsigned i = 0; i < nr_inputs; i++) {
			struct source *source = &sources[i];

			if (rand_r(seed) % 4 == 0 && source->delivered < source->nr) {
				pending++; /* stalls: keeps its floor */
			} else {
				while (source->delivered < source->nr &&
				       source->stamps[source->delivered] < now)
					source->delivered++;
				source->floor = source->delivered < source->nr ? now : UINT64_MAX;
				pending += source->delivered < source->nr;
			}
			if (source->floor < lowest)
				lowest = source->floor;
		}
		while (nr < total && merge_next(merge, UINT64_MAX, &event) > 0) {
			*early += event.stamp > lowest;
			got[nr++] = event.stamp;
		}
	}
	merge_destroy(merge);
	return nr;
}

static void test_live(void)
{
	unsigned seed = 2, wrong = 0, early = 0, nr_events = 0;

	for (int round = 0; round < 20; round++) {
		unsigned nr_inputs = 1 + (unsigned)rand_r(&seed) % MAX_INPUTS;
		unsigned total = fill(nr_inputs, &seed);
		unsigned nr = run_live(nr_inputs, total, &seed, &early);

		wrong += nr != total || memcmp(got, wanted, total * sizeof(got[0]));
		nr_events += nr;
	}
	ok(wrong == 0, "random live streams with stalls merge as a sort would have it (%u events)",
	   nr_events);
	ok(early == 0, "nothing is given beyond the lowest floor");
}

static void test_limit_and_floor(void)
{
	struct merge *merge = merge_create();
	struct trace_event event = {0};

	memset(sources, 0, 2 * sizeof(sources[0]));
	sources[0] = (struct source){.stamps = {10, 20, 30}, .nr = 3, .delivered = 3};
	sources[1] = (struct source){.floor = 15};
	merge_add(merge, &file_ops, &sources[0], &sources[0].input);
	merge_add(merge, &live_ops, &sources[1], &sources[1].input);
	ok(merge_next(merge, 9, &event) == 0, "nothing later than the limit is given");
	ok(merge_next(merge, UINT64_MAX, &event) == 1 && event.stamp == 10,
	   "what is below every floor is given");
	ok(merge_next(merge, UINT64_MAX, &event) == 0, "a floor holds back what is later");
	sources[1].floor = 20;
	ok(merge_next(merge, UINT64_MAX, &event) == 1 && event.stamp == 20,
	   "at the floor itself, an input added earlier comes first");
	sources[1].floor = UINT64_MAX;
	ok(merge_next(merge, 29, &event) == 0 && merge_next(merge, 30, &event) == 1 &&
		   event.stamp == 30,
	   "an event at the limit is given");
	ok(merge_next(merge, UINT64_MAX, &event) == 0, "at the end there is none");
	merge_destroy(merge);
	merge_destroy(NULL);
}

static void test_come_and_go(void)
{
	struct merge *merge = merge_create();
	struct trace_event event = {0};
	uint32_t third;

	memset(sources, 0, 3 * sizeof(sources[0]));
	sources[0] = (struct source){.stamps = {10, 40}, .nr = 2, .delivered = 2};
	sources[1] = (struct source){.stamps = {20, 50}, .nr = 2, .delivered = 2, .floor = 0};
	sources[2] = (struct source){.stamps = {30}, .nr = 1, .delivered = 1};
	merge_add(merge, &file_ops, &sources[0], &sources[0].input);
	merge_add(merge, &live_ops, &sources[1], &sources[1].input);
	merge_next(merge, UINT64_MAX, &event);
	merge_next(merge, UINT64_MAX, &event);
	ok(event.stamp == 20, "two inputs alternate");
	merge_add(merge, &file_ops, &sources[2], &third);
	ok(merge_next(merge, UINT64_MAX, &event) == 1 && event.stamp == 30,
	   "an input added meanwhile takes part");
	merge_remove(merge, sources[1].input);
	memset(&sources[1], 0xff, sizeof(sources[1])); /* freed, as far as the merge knows */
	ok(merge_next(merge, UINT64_MAX, &event) == 1 && event.stamp == 40,
	   "an input removed gives nothing more, holds nothing back, and is not touched");
	ok(merge_next(merge, UINT64_MAX, &event) == 0, "and then all is given");
	merge_remove(merge, third);
	sources[2] = (struct source){.stamps = {60}, .nr = 1, .delivered = 1};
	ok(merge_add(merge, &file_ops, &sources[2], &third) == 0 &&
		   merge_next(merge, UINT64_MAX, &event) == 1 && event.stamp == 60,
	   "a merge that ran empty takes new inputs");
	sources[2].error = -EIO;
	ok(merge_next(merge, UINT64_MAX, &event) == -EIO, "an input's error is the merge's");
	merge_destroy(merge);
}

/* A clock that runs by itself must not keep merge_next() going. */
static uint64_t running_floor(void *self)
{
	struct source *source = self;

	return ++source->floor;
}

static void test_running_floor(void)
{
	static const struct merge_input_ops ops = {.next = source_next, .floor = running_floor};
	struct merge *merge = merge_create();
	struct trace_event event;

	memset(sources, 0, 2 * sizeof(sources[0]));
	merge_add(merge, &ops, &sources[0], &sources[0].input);
	merge_add(merge, &ops, &sources[1], &sources[1].input);
	ok(merge_next(merge, UINT64_MAX, &event) == 0,
	   "inputs without events whose floors rise by themselves give none, and control back");
	merge_destroy(merge);
}

int main(void)
{
	test_limit_and_floor();
	test_come_and_go();
	test_running_floor();
	test_files();
	test_live();
	return done_testing();
}
