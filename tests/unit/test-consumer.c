/* SPDX-License-Identifier: MIT */
/*
 * test-consumer.c - the collector with real rings: threads that hammer them and stall, sources
 * that come and go, programs that lie.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "consumerd/collect.h"
#include "consumerd/procfs.h"
#include "tests/tap.h"
#include "tests/unit/producer.h"
#include "trace/reader.h"

#define NR_THREADS 4
#define NR_EVENTS 60000u

static char folder[64];
static const char *const no_texts[] = {NULL};

static struct session *open_session(struct collector *collector, const char *name,
				    const char *const *patterns)
{
	struct clock_anchor first;
	const char *why;
	struct session_config config = {
		.bridge = -1,
		.kernel = "none",
		.markers = patterns,
		.clock = clock_detect(&why),
		.map_borrow = collector_map(collector),
		.first = &first,
	};
	struct session *session = NULL;
	char dir[128], error[256];

	snprintf(dir, sizeof(dir), "%s/%s", folder, name);
	config.dir = dir;
	clock_read_anchor(config.clock, &first);
	if (session_create(&config, &session, error, sizeof(error)) < 0 ||
	    collector_adopt(collector, session, &first) < 0) {
		printf("# %s: %s\n", name, error);
		return NULL;
	}
	return session;
}

struct totals {
	uint64_t events, discarded, late;
};

static struct totals close_session(struct collector *collector, struct session *session)
{
	struct totals totals;

	collector_release(collector, session);
	totals.events = atomic_load_explicit(&session->stats.events, memory_order_relaxed);
	totals.discarded = atomic_load_explicit(&session->stats.discarded, memory_order_relaxed);
	totals.late = atomic_load_explicit(&session->stats.late, memory_order_relaxed);
	session_destroy(session);
	return totals;
}

/* What a trace holds of numbered markers. */
struct found {
	uint64_t events, step_backs, disorders, streams;
	uint64_t last[NR_THREADS]; /* number of each thread's last event, plus 1 */
};

/* Values are thread << 32 | number. */
static struct found read_trace(const char *name)
{
	struct trace_error why;
	struct trace_reader *reader;
	struct trace_event event;
	struct found found = {0};
	uint64_t last = 0;
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/%s", folder, name);
	if (trace_reader_open(dir, &reader, &why) < 0) {
		printf("# %s: %s: %s\n", dir, why.file, why.why);
		return found;
	}
	while (trace_reader_next(reader, &event, &why) > 0) {
		uint64_t value = event_u64(&event, 0);
		uint64_t thread = value >> 32, number = value & UINT32_MAX;

		found.events++;
		found.step_backs += event.stamp < last;
		last = event.stamp;
		if (thread >= NR_THREADS)
			continue;
		found.disorders += number + 1 <= found.last[thread];
		found.last[thread] = number + 1;
	}
	found.streams = trace_reader_nr_streams(reader);
	trace_reader_close(reader);
	return found;
}

struct hammer {
	struct producer_ring ring;
	uint64_t number, nr_events;
	unsigned stall_us; /* now and then, inside a marker, after its clock has been read */
};

static void *hammer_main(void *arg)
{
	struct hammer *hammer = arg;
	unsigned seed = (unsigned)hammer->number + 1;

	for (uint64_t i = 0; i < hammer->nr_events; i++) {
		uint64_t value = hammer->number << 32 | i;
		uint64_t ticks = producer_begin(&hammer->ring);

		if (hammer->stall_us && rand_r(&seed) % 4096 == 0)
			usleep(hammer->stall_us);
		producer_commit(&hammer->ring, ticks, 0, &value, sizeof(value));
		/* The last one never rests, and runs out of room. */
		if (i % 64 == 0 && hammer->number != NR_THREADS - 1)
			usleep(rand_r(&seed) % 200);
	}
	return NULL;
}

/* Starts threads on rings of their own, waits for them. Sums up what they did. */
static struct totals hammer_all(int socket, unsigned stall_us)
{
	struct hammer hammers[NR_THREADS] = {0};
	pthread_t threads[NR_THREADS];
	struct totals totals = {0};
	const char *why;

	for (uint32_t i = 0; i < NR_THREADS; i++) {
		hammers[i].number = i;
		hammers[i].nr_events = NR_EVENTS;
		hammers[i].stall_us = i % 2 ? stall_us : 0;
		producer_ring_open(&hammers[i].ring, clock_detect(&why), getpid());
		producer_announce(socket, &hammers[i].ring, i);
		pthread_create(&threads[i], NULL, hammer_main, &hammers[i]);
	}
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		atomic_store_explicit(&hammers[i].ring.shared->state, RING_RETIRED,
				      memory_order_release);
		totals.events += hammers[i].ring.written;
		totals.discarded += hammers[i].ring.discarded;
		producer_ring_close(&hammers[i].ring);
	}
	return totals;
}

static int announce_program(const char *class)
{
	int socket = producer_connect(folder);

	if (socket >= 0 && producer_hello(socket) && producer_class(socket, 0, class, "value"))
		return socket;
	return -1;
}

static struct collector *start_collector_with(uint64_t stall_ns, uint64_t queue_bytes)
{
	struct collector_config config = {
		.folder = folder, .stall_ns = stall_ns, .queue_bytes = queue_bytes};
	struct collector *collector = NULL;

	if (collector_create(&config, &collector) < 0 || collector_start(collector) < 0)
		return NULL;
	return collector;
}

static struct collector *start_collector(uint64_t stall_ns)
{
	return start_collector_with(stall_ns, 0);
}

/* Threads that stall for less than the bound: one exact order, nothing late. */
static void test_order(void)
{
	struct collector *collector = start_collector(0);
	struct session *session = open_session(collector, "order", no_texts);
	int socket = announce_program("test:number");
	struct totals made = hammer_all(socket, 20000), got = close_session(collector, session);
	struct found found = read_trace("order");

	close(socket);
	collector_destroy(collector);
	ok(made.events + made.discarded == NR_THREADS * NR_EVENTS,
	   "every marker was written or found no room");
	ok(got.events == made.events, "each one written is in the trace (%llu of %llu)",
	   (unsigned long long)got.events, (unsigned long long)made.events);
	ok(made.discarded > 0, "some found none (%llu)", (unsigned long long)made.discarded);
	ok(got.discarded == made.discarded, "each one without room is counted (%llu of %llu)",
	   (unsigned long long)got.discarded, (unsigned long long)made.discarded);
	ok(got.late == 0, "nothing is late, for no thread stalled past the bound");
	ok(found.events == made.events && found.streams == 1,
	   "the merged markers are one stream, read back in full");
	ok(found.step_backs == 0 && found.disorders == 0,
	   "the stream is in order of time, and each thread in its own order");
}

/* Threads that stall for longer than the bound: what they deliver is late, but all there. */
static void test_late(void)
{
	struct collector *collector = start_collector(5000000);
	struct session *session = open_session(collector, "late", no_texts);
	int socket = announce_program("test:number");
	struct totals made = hammer_all(socket, 60000), got = close_session(collector, session);
	struct found found = read_trace("late");

	close(socket);
	collector_destroy(collector);
	ok(got.late > 0 && got.late < made.events, "stalls past the bound make events late (%llu)",
	   (unsigned long long)got.late);
	ok(got.events == made.events && found.events == made.events,
	   "late events are all in the trace");
	ok(found.streams >= 2, "they have a stream of their own");
	ok(found.step_backs == 0 && found.disorders == 0, "the reader merges them into place");
}

/* A thread that never comes back from its marker must not hold the others for ever. */
static void test_abandoned(void)
{
	struct collector *collector = start_collector(20000000);
	struct session *session = open_session(collector, "abandoned", no_texts);
	int socket = announce_program("test:number");
	struct producer_ring stuck, good;
	uint64_t value = 1, waited = 0, ticks;
	const char *why;

	producer_ring_open(&stuck, clock_detect(&why), getpid());
	producer_ring_open(&good, clock_detect(&why), getpid());
	producer_announce(socket, &stuck, 0);
	producer_announce(socket, &good, 1);
	producer_begin(&stuck);
	ticks = producer_begin(&good);
	producer_commit(&good, ticks, 0, &value, sizeof(value));
	while (atomic_load_explicit(&session->stats.events, memory_order_relaxed) == 0 &&
	       waited++ < 5000)
		usleep(1000);
	ok(atomic_load_explicit(&session->stats.events, memory_order_relaxed) == 1,
	   "a lane that stays writing is passed over");
	ticks = clock_ticks(stuck.clock);
	producer_commit(&stuck, ticks, 0, &value, sizeof(value));
	ok(close_session(collector, session).events == 2,
	   "its next marker is recorded all the same");
	close(socket);
	collector_destroy(collector);
	producer_ring_close(&stuck);
	producer_ring_close(&good);
}

/* One that holds the others back for as long as it likes: memory bounds it. */
static void test_memory(void)
{
	struct collector *collector = start_collector_with(UINT64_MAX / 16, 1 << 20);
	struct session *session = open_session(collector, "memory", no_texts);
	int socket = announce_program("test:number");
	struct producer_ring stuck;
	struct totals made;
	const char *why;

	producer_ring_open(&stuck, clock_detect(&why), getpid());
	producer_announce(socket, &stuck, 99);
	producer_begin(&stuck);
	made = hammer_all(socket, 0);
	ok(atomic_load_explicit(&session->stats.events, memory_order_relaxed) > 0,
	   "full queues are written although a lane holds them back");
	ok(close_session(collector, session).events == made.events,
	   "and none of them is discarded");
	close(socket);
	collector_destroy(collector);
	producer_ring_close(&stuck);
}

/* A program killed between two markers: what it committed is there. */
static void test_killed(void)
{
	struct collector *collector = start_collector(0);
	struct session *session = open_session(collector, "killed", no_texts);
	struct totals got;
	pid_t child = fork();
	int status;

	if (child == 0) {
		int socket = announce_program("test:number");
		struct producer_ring ring;
		const char *why;

		producer_ring_open(&ring, clock_detect(&why), getpid());
		producer_announce(socket, &ring, 0);
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t ticks = producer_begin(&ring);

			producer_commit(&ring, ticks, 0, &i, sizeof(i));
		}
		producer_begin(&ring);
		raise(SIGKILL);
	}
	waitpid(child, &status, 0);
	got = close_session(collector, session);
	collector_destroy(collector);
	ok(WIFSIGNALED(status), "the program was killed inside a marker");
	ok(got.events == 1000 && got.discarded == 0,
	   "all that it had committed is recorded (%llu), and nothing else",
	   (unsigned long long)got.events);
}

/* Two sessions with wishes of their own, and a third when one has gone. */
static void test_sessions(void)
{
	static const char *const only_a[] = {"a:*", NULL};
	struct collector *collector = start_collector(0);
	struct session *all = open_session(collector, "all", no_texts);
	struct session *some = open_session(collector, "some", only_a);
	struct totals first, second, third;
	int socket = announce_program("a:marker");
	struct producer_ring ring;
	const char *why;
	uint64_t ticks;

	producer_class(socket, 1, "b:marker", "value");
	producer_ring_open(&ring, clock_detect(&why), getpid());
	producer_announce(socket, &ring, 0);
	for (uint64_t i = 0; i < 10; i++) {
		ticks = producer_begin(&ring);
		producer_commit(&ring, ticks, i % 2, &i, sizeof(i));
	}
	first = close_session(collector, all);
	ok(first.events == 10, "a session without patterns records all markers");
	second = close_session(collector, some);
	ok(second.events == 5, "a session with a pattern records those that match");
	all = open_session(collector, "third", no_texts);
	for (uint64_t i = 0; i < 3; i++) {
		ticks = producer_begin(&ring);
		producer_commit(&ring, ticks, 0, &i, sizeof(i));
	}
	third = close_session(collector, all);
	ok(third.events == 3, "a later session holds nothing from before its start");
	close(socket);
	collector_destroy(collector);
	producer_ring_close(&ring);
}

/* Does consumerd close the connection? */
static bool is_thrown_out(int socket)
{
	char byte;

	/* Blocks until it does; nothing is ever sent to a program. */
	return recv(socket, &byte, 1, 0) <= 0;
}

static bool refuses_message(const void *bytes, size_t size, bool with_hello)
{
	int socket = producer_connect(folder);
	bool is_refused;

	if (with_hello)
		producer_hello(socket);
	is_refused =
		send(socket, bytes, size, MSG_NOSIGNAL) == (ssize_t)size && is_thrown_out(socket);
	close(socket);
	return is_refused;
}

static bool refuses_ring(int fd)
{
	struct wire_ring wire = {.ring = 0};
	int socket = producer_connect(folder);
	bool is_refused = producer_hello(socket) &&
			  producer_send(socket, &wire, sizeof(wire), WIRE_RING, fd) &&
			  is_thrown_out(socket);

	close(socket);
	return is_refused;
}

static void test_bad_messages(void)
{
	struct wire_hello hello = {
		.header = {CONTROL_MAGIC, CONTROL_VERSION, WIRE_HELLO, sizeof(hello)}, .vpid = 1};
	struct wire_hello wrong = hello;
	struct {
		struct wire_class class;
		char text[32];
	} class = {.class = {.header = {CONTROL_MAGIC, CONTROL_VERSION, WIRE_CLASS, sizeof(class)},
			     .kind = EVENT_INSTANT,
			     .nr_fields = 255}};
	static char large[2 * WIRE_MAX_MESSAGE];
	int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ok(refuses_message("x", 1, false), "a message shorter than its header is refused");
	wrong.header.magic = 1;
	ok(refuses_message(&wrong, sizeof(wrong), false), "a foreign magic is refused");
	wrong = hello;
	wrong.header.size = 4096;
	ok(refuses_message(&wrong, sizeof(wrong), false), "a size that lies is refused");
	ok(refuses_message(large, sizeof(large), false), "a message too long is refused");
	ok(refuses_message(&class, sizeof(class), false), "nothing may come before hello");
	ok(refuses_message(&class, sizeof(class), true), "more fields than bytes are refused");
	class.class.nr_fields = 0;
	memset(class.text, 'a', sizeof(class.text));
	ok(refuses_message(&class, sizeof(class), true), "a name without an end is refused");
	snprintf(class.text, sizeof(class.text), "a:\"; env");
	ok(refuses_message(&class, sizeof(class), true), "a name with a quote is refused");
	ok(refuses_ring(-1), "a ring without its memory is refused");
	ok(refuses_ring(null), "a ring that is no memfd is refused");
	if (ftruncate(unsealed, 1 << 20) == 0)
		ok(refuses_ring(unsealed), "a memfd that may shrink is refused");
	close(unsealed);
	close(null);
}

/* Records that no honest program writes. */
static void test_bad_records(void)
{
	struct collector *collector = start_collector(0);
	struct session *session = open_session(collector, "bad", no_texts);
	int liar = announce_program("liar:marker"), good = announce_program("good:marker");
	struct producer_ring bad_ring, good_ring;
	struct totals got;
	const char *why;
	uint64_t value = 7, now;

	test_bad_messages();
	producer_ring_open(&bad_ring, clock_detect(&why), getpid());
	producer_ring_open(&good_ring, clock_detect(&why), getpid());
	producer_announce(liar, &bad_ring, 0);
	producer_announce(good, &good_ring, 0);
	now = clock_ticks(bad_ring.clock);
	producer_put(&bad_ring, now, 0, &value, sizeof(value));
	producer_put(&bad_ring, now, 99, &value, sizeof(value));       /* no such class */
	producer_put(&bad_ring, now, 0, &value, 4);		       /* a payload cut short */
	producer_put(&bad_ring, now - 1000, 0, &value, sizeof(value)); /* back in time */
	producer_put(&bad_ring, now + (1ull << 60), 0, &value, sizeof(value)); /* far ahead */
	now = producer_begin(&good_ring);
	producer_commit(&good_ring, now, 0, &value, sizeof(value));
	got = close_session(collector, session);
	ok(got.events == 2, "what is good in a bad ring is recorded, and so are other programs");
	ok(got.discarded == 4, "each bad record is counted as discarded (%llu)",
	   (unsigned long long)got.discarded);

	session = open_session(collector, "broken", no_texts);
	atomic_store_explicit(&bad_ring.lanes[0].write_pos, 1ull << 50, memory_order_release);
	now = producer_begin(&good_ring);
	producer_commit(&good_ring, now, 0, &value, sizeof(value));
	got = close_session(collector, session);
	ok(got.events == 1, "an impossible position breaks its own ring only");
	close(liar);
	close(good);
	collector_destroy(collector);
	producer_ring_close(&bad_ring);
	producer_ring_close(&good_ring);
}

/* One event of a class; waits for room. */
static void put_one(struct producer_ring *ring, uint32_t class)
{
	uint64_t value = 7, ticks;

	do
		ticks = producer_begin(ring);
	while (!producer_put(ring, ticks, class, &value, sizeof(value)) && usleep(1000) == 0);
	atomic_store_explicit(&ring->lanes[0].writing, 0, memory_order_release);
}

/* Classes of new names, each with an event. */
static void flood_classes(int socket, struct producer_ring *ring, uint32_t nr)
{
	char name[32];

	for (uint32_t i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "flood:m%u", i);
		producer_class(socket, i, name, "value");
		put_one(ring, i);
	}
}

/* A program may bring so many classes into a session, and leaves room for others. */
static void test_many_classes(void)
{
	struct collector *collector = start_collector(0);
	struct session *session = open_session(collector, "classes", no_texts);
	int flood = announce_program("flood:m0"), good = announce_program("good:marker");
	struct producer_ring flood_ring, good_ring;
	struct totals got;
	const char *why;

	producer_ring_open(&flood_ring, clock_detect(&why), getpid());
	producer_ring_open(&good_ring, clock_detect(&why), getpid());
	producer_announce(flood, &flood_ring, 0);
	flood_classes(flood, &flood_ring, 4196);
	producer_announce(good, &good_ring, 0);
	producer_class(good, 1, "flood:m1", "value");
	put_one(&good_ring, 0);
	put_one(&good_ring, 1);
	got = close_session(collector, session);
	ok(got.events == 4096 + 2,
	   "a program's first 4096 classes are recorded, others' too (%llu)",
	   (unsigned long long)got.events);
	ok(got.discarded == 100, "events of more are counted as discarded (%llu)",
	   (unsigned long long)got.discarded);
	session = open_session(collector, "again", no_texts);
	put_one(&flood_ring, 4195);
	got = close_session(collector, session);
	ok(got.events == 1 && got.discarded == 0, "each session has room of its own");
	close(flood);
	close(good);
	collector_destroy(collector);
	producer_ring_close(&flood_ring);
	producer_ring_close(&good_ring);
}

/* One more ring than a program may have: it is thrown out, and its user is told why. */
static void test_many_rings(void)
{
	struct collector *collector = start_collector(0);
	struct session *session = open_session(collector, "rings", no_texts);
	int socket = announce_program("many:rings"), error = 0;
	struct producer_ring ring;
	const char *why;

	producer_ring_open(&ring, clock_detect(&why), getpid());
	for (uint32_t i = 0; i <= 4096; i++)
		producer_announce(socket, &ring, i);
	ok(is_thrown_out(socket), "a program with more rings than its share is thrown out");
	for (int i = 0; i < 1000 && !error; i++) {
		usleep(10000);
		error = atomic_load_explicit(&session->stats.error, memory_order_relaxed);
	}
	ok(error == PROGRAMS_TOO_MANY_RINGS && strstr(programs_describe(error), "threads"),
	   "its user is told of too many threads (%s)", programs_describe(error));
	close_session(collector, session);
	close(socket);
	collector_destroy(collector);
	producer_ring_close(&ring);
}

static bool brings(int socket, int fd)
{
	struct wire_header header;

	return producer_send(socket, &header, sizeof(header), WIRE_CHILD, fd);
}

/* Of one that hands over @fd: is it shut, and the one who did it still heard? */
static bool is_shut(int socket, int fds[2])
{
	bool is_shut;

	if (!brings(socket, fds[1]))
		return false;
	close(fds[1]);
	is_shut = is_thrown_out(fds[0]);
	close(fds[0]);
	return is_shut && producer_class(socket, 1, "parent:other", "value");
}

/* A connection that comes by another one, as of a child in another root. */
static void test_children(void)
{
	struct collector *collector = start_collector(0);
	struct session *session = open_session(collector, "children", no_texts);
	int socket = announce_program("parent:marker"), fds[2];
	struct producer_ring ring;
	const char *why;

	ok(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0 && brings(socket, fds[1]),
	   "a program hands over a connection");
	close(fds[1]);
	producer_hello(fds[0]);
	producer_class(fds[0], 0, "child:marker", "value");
	producer_ring_open(&ring, clock_detect(&why), getpid());
	producer_announce(fds[0], &ring, 0);
	put_one(&ring, 0);
	ok(close_session(collector, session).events == 1, "what is announced by it is recorded");
	close(fds[0]);
	ok(refuses_message(&(struct wire_header){CONTROL_MAGIC, CONTROL_VERSION, WIRE_CHILD,
						 sizeof(struct wire_header)},
			   sizeof(struct wire_header), true),
	   "a child without a connection is refused");
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && is_shut(socket, fds),
	   "a socket of another kind is shut, and the program is heard on");
	ok(pipe(fds) == 0 && is_shut(socket, fds), "so is what is no socket");
	for (int i = 0; i < 100; i++)
		brings(socket, STDIN_FILENO);
	ok(producer_class(socket, 2, "parent:more", "value"), "a hundred more do no harm");
	close(socket);
	collector_destroy(collector);
	producer_ring_close(&ring);
}

static void test_claimed_threads(void)
{
	int32_t own = getpid(), most = (1 << 22) - 1;

	ok(procfs_host_tid(own, own, own) == own, "a program's thread is who it says");
	ok(procfs_host_tid(own, own, getppid()) == own && procfs_host_tid(own, own, 1) == own,
	   "none is a thread of another program");
	ok(procfs_host_tid(own, own, -1) == own && procfs_host_tid(own, own, 0) == own &&
		   procfs_host_tid(own, own, most + 1) == own,
	   "nor one that cannot be");
	ok(procfs_host_tid(own, own, most) == most, "one that is no more is believed");
}

int main(void)
{
	char command[128];

	snprintf(folder, sizeof(folder), "/tmp/weft-test-XXXXXX");
	if (!mkdtemp(folder))
		return skip_all("no folder under /tmp");
	test_order();
	test_late();
	test_abandoned();
	test_memory();
	test_killed();
	test_sessions();
	test_bad_records();
	test_many_classes();
	test_many_rings();
	test_children();
	test_claimed_threads();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ok(system(command) == 0, "everything is cleaned away");
	return done_testing();
}
