/* SPDX-License-Identifier: MIT */
/*
 * test-session.c - a session's queues and merge, its wishes, and what it does with a scripted
 * backend.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "consumerd/session.h"
#include "consumerd/wish.h"
#include "libmarker/rendezvous.h"
#include "libmarker/ring.h"
#include "tests/tap.h"
#include "trace/reader.h"

#define NR_SOURCES 7
#define NR_ROUNDS 2000

static char folder[64];

struct push {
	uint64_t stamp;
	uint32_t source, number;
};

static int compare(const void *a, const void *b)
{
	const struct push *left = a, *right = b;

	if (left->stamp != right->stamp)
		return left->stamp < right->stamp ? -1 : 1;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return left->number < right->number ? -1 : 1;
}

/* What the merge gave. */
struct given {
	size_t nr, disorders, early;
	uint64_t last;
};

/* Takes all there is, run by run, as a session does. */
static void take_all(struct merge *merge, uint64_t limit, const struct push *pushed,
		     struct given *given)
{
	const struct event_item *item, *end;
	uint64_t bound;
	void *self;

	while (merge_next_run(merge, limit, &self, &bound) > 0) {
		struct source *source = self;

		given->early += bound > limit;
		while (source_run(source, &item, &end) && item->stamp <= bound) {
			uint32_t number;

			memcpy(&number, item + 1, sizeof(number));
			given->disorders += item->stamp < given->last ||
					    pushed[number].stamp != item->stamp ||
					    pushed[number].source != source->number;
			given->last = item->stamp;
			given->nr++;
			source_take(source,
				    (const struct event_item
					     *)(const void *)((const uint8_t *)item +
							      event_item_size(item->payload_size)));
		}
	}
}

/* Rounds of random pushes, each source stalling now and then; the merge must give their sort. */
static void test_merge(void)
{
	static struct push pushed[NR_ROUNDS * NR_SOURCES * 4];
	static uint8_t payload[40000];
	struct source *sources[NR_SOURCES];
	uint64_t limit = 0, floors[NR_SOURCES] = {0}, stamp;
	size_t nr_pushed = 0;
	struct source_pool pool = {0};
	struct merge *merge = merge_create();
	struct trace_event event = {.payload = payload, .cpu = -1};
	struct given given = {0};

	srand(4711);
	for (uint32_t i = 0; i < NR_SOURCES; i++) {
		sources[i] = source_create(i, &pool, &limit);
		merge_add(merge, &source_merge_ops, sources[i], &sources[i]->input);
	}
	for (uint64_t now = 100; now < 100 * NR_ROUNDS; now += 100) {
		uint64_t lowest = now;

		for (uint32_t i = 0; i < NR_SOURCES; i++) {
			if (rand() % 8 == 0 && floors[i]) { /* stalls: delivers nothing, no floor */
				lowest = floors[i] < lowest ? floors[i] : lowest;
				continue;
			}
			stamp = floors[i] > sources[i]->last ? floors[i] : sources[i]->last;
			for (int n = rand() % 4; n > 0 && stamp < now; n--) {
				stamp += (uint64_t)rand() % 40;
				event.stamp = stamp;
				event.payload_size =
					rand() % 50 ? sizeof(uint32_t) : sizeof(payload);
				memcpy(payload, &nr_pushed, sizeof(uint32_t));
				source_push(sources[i], &event);
				pushed[nr_pushed] = (struct push){stamp, i, (uint32_t)nr_pushed};
				nr_pushed++;
			}
			floors[i] = now;
		}
		limit = lowest;
		take_all(merge, limit, pushed, &given);
	}
	ok(given.nr > nr_pushed / 2 && given.nr < nr_pushed, "stalls hold some back (%zu of %zu)",
	   given.nr, nr_pushed);
	limit = UINT64_MAX;
	for (uint32_t i = 0; i < NR_SOURCES; i++)
		sources[i]->is_ended = true;
	take_all(merge, limit, pushed, &given);
	ok(given.nr == nr_pushed, "at the end all have been given");
	ok(given.disorders == 0 && given.early == 0,
	   "in order, unharmed, and none before its time");
	qsort(pushed, nr_pushed, sizeof(pushed[0]), compare);
	ok(given.last == pushed[nr_pushed - 1].stamp, "the last one given is the latest pushed");
	for (uint32_t i = 0; i < NR_SOURCES; i++) {
		ok(source_is_empty(sources[i]), "queue %u is empty again", i);
		source_destroy(sources[i]);
	}
	merge_destroy(merge);
	source_pool_fini(&pool);
}

static void test_wants(void)
{
	char *none[] = {NULL}, *some[] = {"player:*", "!player:poll", NULL};
	char *but[] = {"!player:poll", NULL};
	struct session session = {.patterns = none};

	ok(session_wants(&session, "any:thing", 6), "without patterns all markers are wanted");
	session.patterns = some;
	ok(session_wants(&session, "player:shown", 6), "a pattern matches");
	ok(session_wants(&session, "player:decode:begin", 6), "whatever kind of marker it is");
	ok(!session_wants(&session, "player:poll:end", 6), "the last one that matches decides");
	ok(!session_wants(&session, "audio:callback", 6), "what none matches is not wanted");
	ok(session_wants(&session, "weft:thread", 6), "names of threads always are");
	session.patterns = but;
	ok(session_wants(&session, "audio:callback", 6) &&
		   !session_wants(&session, "player:poll", 6),
	   "an exception alone leaves all the others");
	session.level_limit = 5; /* warning */
	ok(session_wants(&session, "audio:callback", 4) &&
		   !session_wants(&session, "audio:callback", 5),
	   "a level is wanted with those before it");
	ok(!session_wants(&session, "player:poll", 0) && session_wants(&session, "weft:result", 7),
	   "patterns hold as well, and what belongs to other markers has no level");
}

static void test_wish(void)
{
	char *none[] = {NULL}, *a[] = {"a:*", NULL}, *b[] = {"b:*", "!b:x", NULL};
	struct session first = {.patterns = a, .is_fast_clock = true}, second = {.patterns = b};
	struct session *sessions[SESSION_MAX] = {NULL};
	struct control_page *page;
	uint32_t generation, before;

	if (rendezvous_control_map(folder, true, &page) < 0) {
		ok(0, "a control page can be made");
		return;
	}
	sessions[1] = &first;
	ok(wish_publish(page, sessions, CLOCK_TICKS_TSC) == 0, "one session's wish is published");
	before = atomic_load_explicit(&page->generation, memory_order_acquire);
	ok(before != 0 && page->nr_patterns == 1 && !strcmp(page->patterns, "a:*"),
	   "its patterns stand on the page");
	ok(page->clock == RING_CLOCK_FAST, "and its clock");
	ok(page->when_full == CONTROL_WHEN_FULL_DISCARD, "and that nothing is to wait");
	second.is_blocking = true;
	sessions[0] = &second;
	wish_publish(page, sessions, CLOCK_TICKS_TSC);
	generation = atomic_load_explicit(&page->generation, memory_order_acquire);
	ok(generation != before && page->nr_patterns == 2,
	   "with two, what one of them wants is on, under a new generation");
	ok(page->clock == RING_CLOCK_ORDERED,
	   "and stamps are ordered when one of them asks for it");
	ok(page->when_full == CONTROL_WHEN_FULL_BLOCK,
	   "and full rings wait when one of them asks for it");
	first.level_limit = 5;
	wish_publish(page, sessions, CLOCK_TICKS_TSC);
	ok(page->level_limit == 0, "when one wants all levels, all are on");
	second.level_limit = 3;
	wish_publish(page, sessions, CLOCK_TICKS_TSC);
	ok(page->level_limit == 5, "else those of the one that wants more");
	first.patterns = none;
	wish_publish(page, sessions, CLOCK_TICKS_TSC);
	ok(page->nr_patterns == 0, "when one wants all, all are on");
	sessions[0] = sessions[1] = NULL;
	wish_publish(page, sessions, CLOCK_TICKS_TSC);
	ok(atomic_load_explicit(&page->generation, memory_order_acquire) == 0,
	   "without a session all markers are off");
	munmap(page, CONTROL_PAGE_SIZE);
}

/* A backend whose streams stall, lie and lose, as the script says. */
static const char script[] = "class user:mark user value:u32\n"
			     "class k:event value:u32\n"
			     "1000 cpu0 tid=1 k:event value=1\n"
			     "1500 pid=7 tid=8 user:mark value=2\n"
			     "2000 cpu1 tid=2 k:event value=3\n"
			     "floor cpu0 1200\n"
			     "floor cpu1 2000\n"
			     "drain\n"
			     "1800 cpu0 tid=1 k:event value=4\n"
			     "loss cpu0 count=17 1800 2500\n"
			     "3000 cpu0 tid=1 k:event value=5\n"
			     "4000 cpu1 tid=1 k:event value=6\n";

static struct session *open_scripted(struct clock_map *map, struct clock_anchor *first)
{
	static const char *const all[] = {NULL};
	char dir[128], backend[160], path[128], error[256];
	struct session *session = NULL;
	struct session_config config = {
		.bridge = -1,
		.kernel = "default",
		.markers = all,
		.clock = CLOCK_TICKS_MONO,
		.map_borrow = map,
		.first = first,
	};
	FILE *file;

	snprintf(path, sizeof(path), "%s/script", folder);
	file = fopen(path, "w");
	fputs(script, file);
	fclose(file);
	snprintf(backend, sizeof(backend), "fake:%s", path);
	snprintf(dir, sizeof(dir), "%s/scripted", folder);
	config.backend = backend;
	config.dir = dir;
	if (session_create(&config, &session, error, sizeof(error)) < 0)
		printf("# %s\n", error);
	return session;
}

static void check_scripted(void)
{
	struct trace_reader *reader;
	struct trace_error why;
	struct trace_event event;
	uint64_t values = 0, discarded = 0, last = 0, step_backs = 0;
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/scripted", folder);
	if (trace_reader_open(dir, &reader, &why) < 0) {
		ok(0, "the scripted trace opens: %s %s", why.file, why.why);
		return;
	}
	while (trace_reader_next(reader, &event, &why) > 0) {
		values = values * 10 + event_u64(&event, 0);
		step_backs += event.stamp < last;
		last = event.stamp;
	}
	for (uint32_t i = 0; i < trace_reader_nr_streams(reader); i++)
		discarded += trace_reader_stream(reader, i).discarded;
	ok(values == 124356, "all events are in their places (%llu)", (unsigned long long)values);
	ok(step_backs == 0, "in order of time");
	ok(discarded == 17, "the loss is counted (%llu)", (unsigned long long)discarded);
	ok(trace_reader_sidecar(reader)->losses.nr == 1 &&
		   !strcmp(trace_reader_sidecar(reader)->losses.items[0].source, "cpu0"),
	   "and told with its CPU and times");
	trace_reader_close(reader);
}

static void test_scripted(void)
{
	struct clock_anchor first = {.ticks = 1, .monotonic_ns = 1};
	struct clock_anchor second = {.ticks = 100000000, .monotonic_ns = 100000000};
	struct clock_map map = {0};
	struct session *session;

	clock_map_start(&map, CLOCK_TICKS_MONO, &first, &second);
	session = open_scripted(&map, &first);
	if (!ok(session, "a session opens with a scripted backend"))
		return;
	session_drain(session, 5000);
	ok(session_kernel_floor(session, 5000, 1000000) == 1200,
	   "the lowest floor of its streams counts");
	session_emit(session, 1200);
	ok(session->output.last_ns == 1000, "nothing later than that is written");
	ok(session_kernel_floor(session, 5000000, 1000000) == UINT64_MAX,
	   "a stream that stalls for longer than the bound is passed over");
	session_emit(session, 2000);
	session_stop_backend(session);
	session_drain_rest(session, 6000);
	session_finish(session, 6000);
	ok(session->output.nr_late == 1, "what it delivers then is late");
	session_destroy(session);
	clock_map_fini(&map);
	check_scripted();
}

static void test_mistakes(void)
{
	struct clock_anchor first = {.ticks = 1, .monotonic_ns = 1};
	struct clock_map map = {0};
	struct session *session = NULL;
	struct session_config config = {
		.bridge = -1, .dir = folder, .kernel = "none", .map_borrow = &map, .first = &first};
	char error[256];

	ok(session_create(&config, &session, error, sizeof(error)) < 0 && !session &&
		   strstr(error, "not empty"),
	   "a folder that is not empty is refused: %s", error);
	config.kernel = "sched,nonsense";
	ok(session_create(&config, &session, error, sizeof(error)) == -EINVAL &&
		   strstr(error, "nonsense"),
	   "so is a kind of events that does not exist");
	config.kernel = "sched";
	config.backend = "nonsense";
	ok(session_create(&config, &session, error, sizeof(error)) == -EINVAL &&
		   strstr(error, "nonsense"),
	   "and a backend that does not exist");
}

int main(void)
{
	char command[128];

	snprintf(folder, sizeof(folder), "/tmp/weft-test-XXXXXX");
	if (!mkdtemp(folder))
		return skip_all("no folder under /tmp");
	test_merge();
	test_wants();
	test_wish();
	test_scripted();
	test_mistakes();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ok(system(command) == 0, "everything is cleaned away");
	return done_testing();
}
