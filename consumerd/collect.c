/* SPDX-License-Identifier: MIT */
/*
 * collect.c - the collector's thread: rounds of draining, floors, emission, sleep.
 *
 * A round, and why its order matters (doc/ARCHITECTURE.md, "The life of a marker", 5):
 *
 *	1  T0 = the clock now
 *	2  membarrier: a `writing` not seen from here on is stored after T0's reading, so the
 *	   clock that its writer reads next is not before T0
 *	3  announcements until none is left: a ring not known by now has no stamp before T0
 *	4  each lane: `writing` first, the position second, then the records up to there
 *	5  each kernel backend, which tells its streams' floors
 *	6  each session emits up to the lowest floor
 */
#include "consumerd/collect.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <urcu/wfcqueue.h>

#include "base/log.h"
#include "consumerd/discards.h"
#include "consumerd/statedump.h"
#include "consumerd/wish.h"
#include "libmarker/rendezvous.h"

#define NS_PER_S 1000000000u
#define NS_PER_MS 1000000u
#define MIN_SLEEP_MS 2
#define MAX_SLEEP_MS 10			 /* a ring of 4 MiB takes 13 ms of markers without pause */
#define MAX_KERNEL_SLEEP_MS 100		 /* a buffer takes 140 ms of a CPU that does nothing else */
#define KERNEL_ROOMY_BYTES (8u << 20)	 /* of that size */
#define FIRST_ANCHOR_NS (20 * NS_PER_MS) /* two anchors closer than that give no slope */
#define FLUSH_NS (NS_PER_S / 2) /* with the round's sleep, what is older than 1 s is written */
/* Bytes of kernel events in a round that call for shorter sleeps, per CPU. */
#define KERNEL_FULL_BYTES (4u << 20)
/* At a session's end, how long a thread inside a marker is waited for. */
#define LAST_ROUNDS 50
/* Of the collector's thread: see raise_priority(). */
#define NICE (-5)
#define SLICE_NS 500000

struct command {
	struct cds_wfcq_node node;
	int (*run)(struct collector *collector, void *arg);
	void *arg;
	int ret;
	/* The queue orders what the control thread wrote before; this tells ThreadSanitizer, which
	 * does not see into liburcu. */
	_Atomic bool is_sent;
	sem_t done;
};

struct adoption {
	struct session *session;
	const struct clock_anchor *first;
};

struct collector {
	struct collector_config config;
	struct control_page *page;
	struct programs programs;
	struct programs_observer observer;
	struct session *sessions[SESSION_MAX];
	struct drain drain;
	enum clock_kind clock;
	struct clock_map map;
	uint64_t last_round; /* its T0 */
	bool is_clock_lost;  /* the counter was set back: until these sessions have ended */
	uint64_t next_anchor_ns, anchor_interval_ns, next_flush_ns, next_watch_ns;
	int nr_cpus, sleep_ms;
	bool is_pressed; /* a session's queues are full: no patience */

	pthread_t thread;
	bool has_thread;
	_Atomic pid_t tid;
	/* Commands: the control thread puts in, the collector takes out. */
	struct cds_wfcq_head queue_head;
	struct cds_wfcq_tail queue_tail;
	int wake_fd;
	bool is_ending;
};

static bool has_sessions(const struct collector *collector)
{
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (collector->sessions[slot])
			return true;
	return false;
}

/* How long a floor may stay, in ticks. */
static uint64_t patience(const struct collector *collector)
{
	double ns_per_tick = collector->map.nr ? collector->map.items[0].ns_per_tick : 1.0;

	if (collector->is_pressed)
		return 0;
	return (uint64_t)((double)collector->config.stall_ns / ns_per_tick);
}

static void tell_program(void *arg, struct program *program)
{
	struct collector *collector = arg;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (program_is_for(program, collector->sessions[slot]))
			drain_introduce(program, collector->sessions[slot]);
}

static void tell_map(void *arg, struct program *program, const struct sidecar_map *map)
{
	struct collector *collector = arg;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (program_is_for(program, collector->sessions[slot]))
			output_sidecar(&collector->sessions[slot]->output, sidecar_format_map(map));
}

/* Tells the sessions what happened to the clocks since the last anchor. */
static void tell_breaks(struct collector *collector, const struct clock_break *breaks, size_t nr)
{
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		for (size_t i = 0; collector->sessions[slot] && i < nr; i++)
			session_break(collector->sessions[slot], &breaks[i]);
}

static bool has_break(const struct clock_break *breaks, size_t nr, enum clock_break_kind kind)
{
	for (size_t i = 0; i < nr; i++)
		if (breaks[i].kind == kind)
			return true;
	return false;
}

/* Steers the clock function; nothing later than the round before has been converted yet. */
static void take_anchor(struct collector *collector)
{
	struct clock_break breaks[CLOCK_MAX_BREAKS];
	struct clock_anchor anchor;
	size_t nr_breaks, nr_segments = collector->map.nr;
	int ret;

	clock_read_anchor(collector->clock, &anchor);
	nr_breaks = clock_find_breaks(&collector->map.last, &anchor, collector->map.slope, breaks);
	tell_breaks(collector, breaks, nr_breaks);
	collector->is_clock_lost = has_break(breaks, nr_breaks, CLOCK_BREAK_RESET);
	if (collector->is_clock_lost)
		return;
	if (has_break(breaks, nr_breaks, CLOCK_BREAK_SUSPEND))
		ret = clock_map_suspend(&collector->map, collector->last_round, &anchor);
	else
		ret = clock_map_steer(&collector->map, &anchor);
	if (ret < 0)
		return;
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (collector->sessions[slot])
			session_anchor(collector->sessions[slot], &anchor, nr_segments);
	/* The first ones come more often: a slope over 20 ms is a rough one. */
	collector->anchor_interval_ns *= 2;
	if (collector->anchor_interval_ns > NS_PER_S)
		collector->anchor_interval_ns = NS_PER_S;
	collector->next_anchor_ns = anchor.monotonic_ns + collector->anchor_interval_ns;
}

static void drain_programs(struct collector *collector, uint64_t now)
{
	struct program *program;

	programs_read(&collector->programs, now, &collector->observer);
	drain_begin(&collector->drain, collector->clock, now, patience(collector));
	cds_list_for_each_entry(program, &collector->programs.list, node)
		drain_program(&collector->drain, program);
}

/* A program that could not be taken on is missing in every recording. */
static void tell_want(struct collector *collector)
{
	for (uint32_t slot = 0; collector->programs.want && slot < SESSION_MAX; slot++)
		if (collector->sessions[slot] && !collector->sessions[slot]->drain_error)
			collector->sessions[slot]->drain_error = collector->programs.want;
	collector->programs.want = 0;
}

/* What may be emitted as far as the programs go. */
static uint64_t markers_floor(const struct collector *collector, uint64_t now)
{
	uint64_t lowest = programs_floor(&collector->programs, now, patience(collector));

	if (collector->drain.lowest < lowest)
		lowest = collector->drain.lowest;
	return lowest < now ? lowest : now;
}

static void run_session(struct collector *collector, struct session *session, uint64_t now,
			uint64_t lowest)
{
	uint64_t kernel;

	session_drain(session, now);
	kernel = session_kernel_floor(session, now, patience(collector));
	session_emit(session, kernel < lowest ? kernel : lowest);
}

/* The fullest buffer of this round, in percent. */
static unsigned fill_of(const struct collector *collector)
{
	uint64_t full = (uint64_t)collector->nr_cpus * KERNEL_FULL_BYTES;
	unsigned fill = collector->drain.fill, kernel;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		if (!collector->sessions[slot])
			continue;
		kernel = (unsigned)(collector->sessions[slot]->kernel_bytes * 100 / full);
		if (kernel > fill)
			fill = kernel;
	}
	return fill;
}

static bool has_rings(const struct collector *collector)
{
	const struct program *program;

	cds_list_for_each_entry(program, &collector->programs.list, node)
	{
		if (program->rings.nr > 0)
			return true;
	}
	return false;
}

/*
 * Each wake-up takes a CPU from what is recorded and reads pages that are hardly begun: while there
 * are only the kernel's events, as few as its buffers allow.
 */
static int longest_sleep_ms(const struct collector *collector)
{
	if (has_rings(collector))
		return MAX_SLEEP_MS;
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		const struct session *session = collector->sessions[slot];

		if (session && session->kernel_buffer > 0 &&
		    session->kernel_buffer < KERNEL_ROOMY_BYTES)
			return MAX_SLEEP_MS;
	}
	return MAX_KERNEL_SLEEP_MS;
}

/* Full buffers shorten the sleep at once, empty ones lengthen it: slowly where a ring may fill
 * within it. */
static void choose_sleep(struct collector *collector)
{
	unsigned fill = fill_of(collector);
	int longest_ms = longest_sleep_ms(collector);

	/* Half full after a sleep: there is work for the whole time. */
	if (fill > 50) {
		collector->sleep_ms = 0;
		return;
	}
	if (fill > 35)
		collector->sleep_ms = MIN_SLEEP_MS;
	else if (fill > 15)
		collector->sleep_ms -= collector->sleep_ms / 2;
	else if (fill < 8)
		collector->sleep_ms +=
			1 + collector->sleep_ms / (longest_ms > MAX_SLEEP_MS ? 1 : 8);
	if (collector->sleep_ms < MIN_SLEEP_MS)
		collector->sleep_ms = MIN_SLEEP_MS;
	if (collector->sleep_ms > longest_ms)
		collector->sleep_ms = longest_ms;
}

static void watch_threads(struct collector *collector)
{
	struct program *program;

	cds_list_for_each_entry(program, &collector->programs.list, node)
		drain_watch_threads(&collector->drain, program);
}

/* What is due by the clock rather than by the round. */
static void do_timed_work(struct collector *collector, uint64_t now_ns)
{
	bool is_flush = now_ns >= collector->next_flush_ns;

	collector->is_pressed = false;
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		struct session *session = collector->sessions[slot];

		if (!session)
			continue;
		if (is_flush) {
			discards_tell(session);
			output_flush(&session->output);
		}
		session_publish_stats(session);
		if (session->queued > collector->config.queue_bytes)
			collector->is_pressed = true;
	}
	if (is_flush)
		collector->next_flush_ns = now_ns + FLUSH_NS;
	if (now_ns >= collector->next_watch_ns) {
		watch_threads(collector);
		collector->next_watch_ns = now_ns + NS_PER_S;
	}
}

/* One round, as the head of this file says. Return: T0. */
static uint64_t run_round(struct collector *collector)
{
	uint64_t now, lowest, now_ns = procfs_now_ns();

	now = clock_ticks(collector->clock);
	/* After T0: a sleep that this does not see lies behind all that this round emits. */
	if (has_sessions(collector) && !collector->is_clock_lost &&
	    (now_ns >= collector->next_anchor_ns || clock_has_broken(&collector->map.last)))
		take_anchor(collector);
	collector->last_round = now;
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
	drain_programs(collector, now);
	tell_want(collector);
	lowest = markers_floor(collector, now);
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (collector->sessions[slot])
			run_session(collector, collector->sessions[slot], now, lowest);
	programs_sweep(&collector->programs);
	choose_sleep(collector);
	do_timed_work(collector, now_ns);
	return now;
}

/* Begins the clock function anew: no session uses the old one. Return: 0 or -errno. */
static int start_clock(struct collector *collector, const struct clock_anchor *first)
{
	struct clock_anchor second;
	int ret;

	clock_read_anchor(collector->clock, &second);
	while (second.monotonic_ns < first->monotonic_ns + FIRST_ANCHOR_NS) {
		usleep((useconds_t)((first->monotonic_ns + FIRST_ANCHOR_NS - second.monotonic_ns) /
					    1000 +
				    1));
		clock_read_anchor(collector->clock, &second);
	}
	clock_map_fini(&collector->map);
	collector->is_clock_lost = false;
	ret = clock_map_start(&collector->map, collector->clock, first, &second);
	collector->anchor_interval_ns = FIRST_ANCHOR_NS;
	collector->next_anchor_ns = second.monotonic_ns + FIRST_ANCHOR_NS;
	return ret;
}

/* A session that joins knows nothing yet of the programs that are there. */
static void introduce_all(struct collector *collector, uint32_t slot)
{
	uint64_t now = clock_ticks(collector->clock);
	struct program *program;

	cds_list_for_each_entry(program, &collector->programs.list, node)
	{
		if (!program_is_for(program, collector->sessions[slot]))
			continue;
		drain_introduce(program, collector->sessions[slot]);
		drain_untold(&collector->drain, program, slot, now, false);
	}
}

static int run_adopt(struct collector *collector, void *arg)
{
	struct adoption *adoption = arg;
	bool is_first = !has_sessions(collector);
	struct program *program;
	uint32_t slot = 0;
	int ret = 0;

	while (slot < SESSION_MAX && collector->sessions[slot])
		slot++;
	if (slot == SESSION_MAX)
		return -ENOSPC;
	if (collector->is_clock_lost && !is_first)
		return -ESTALE;
	if (is_first)
		ret = start_clock(collector, adoption->first);
	if (ret < 0)
		return ret;
	cds_list_for_each_entry(program, &collector->programs.list, node)
		drain_discards(&collector->drain, program);
	collector->sessions[slot] = adoption->session;
	ret = wish_publish(collector->page, collector->sessions, collector->clock);
	if (ret < 0) {
		collector->sessions[slot] = NULL;
		return ret;
	}
	session_anchor(adoption->session, &collector->map.last, collector->map.nr - 1);
	introduce_all(collector, slot);
	collector->sleep_ms = MIN_SLEEP_MS;
	adoption->session->on_ns = procfs_now_ns();
	return 0;
}

static uint32_t slot_of(const struct collector *collector, const struct session *session)
{
	uint32_t slot = 0;

	while (slot < SESSION_MAX && collector->sessions[slot] != session)
		slot++;
	return slot;
}

/* Rounds until every marker begun before is complete, or its thread takes too long. */
static uint64_t last_rounds(struct collector *collector)
{
	uint64_t now = run_round(collector);

	for (int i = 0; i < LAST_ROUNDS && collector->drain.is_writing; i++) {
		usleep(1000);
		now = run_round(collector);
	}
	return now;
}

static int run_release(struct collector *collector, void *arg)
{
	struct session *session = arg;
	uint32_t slot = slot_of(collector, session);
	struct program *program;
	uint64_t now;

	if (slot == SESSION_MAX)
		return -ENOENT;
	/* The markers first; others may still want some. */
	collector->sessions[slot] = NULL;
	(void)wish_publish(collector->page, collector->sessions, collector->clock);
	collector->sessions[slot] = session;
	session_stop_backend(session);
	/* A last anchor near the end, but none so close to the one before that it says nothing. */
	collector->next_anchor_ns = collector->map.last.monotonic_ns + FIRST_ANCHOR_NS;
	now = last_rounds(collector);
	session_drain_rest(session, now);
	cds_list_for_each_entry(program, &collector->programs.list, node)
	{
		drain_discards(&collector->drain, program);
		if (program_is_for(program, session))
			drain_untold(&collector->drain, program, slot, now, true);
	}
	collector->sessions[slot] = NULL;
	programs_forget_slot(&collector->programs, slot);
	discards_tell(session);
	session_finish(session, now);
	return 0;
}

static void run_commands(struct collector *collector)
{
	struct cds_wfcq_node *node;
	uint64_t count;

	/* Only its reset matters. One that stays set ends each sleep at once: sleep here. */
	if (read(collector->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		usleep(MIN_SLEEP_MS * 1000);
	while ((node = __cds_wfcq_dequeue_blocking(&collector->queue_head,
						   &collector->queue_tail))) {
		struct command *command = caa_container_of(node, struct command, node);

		/* Acquire pairs with the release in call(). */
		(void)atomic_load_explicit(&command->is_sent, memory_order_acquire);
		command->ret = command->run(collector, command->arg);
		sem_post(&command->done);
	}
}

/* Sleeps until the next round is due, or there is a command; where rounds are rare or there are
 * none, until a program does something. */
static void wait_for_work(struct collector *collector)
{
	struct pollfd fds[] = {
		{.fd = collector->wake_fd, .events = POLLIN},
		{.fd = collector->programs.epoll_fd, .events = POLLIN},
	};
	int sleep_ms = has_sessions(collector) ? collector->sleep_ms : -1;
	bool is_short = sleep_ms >= 0 && sleep_ms <= MAX_SLEEP_MS;

	/* A short while programs can wait: they must not set the pace. */
	(void)poll(fds, is_short ? 1 : 2, sleep_ms);
	/* And one that talks without end gets a round per tick of ours, not of its own. */
	if (fds[1].revents) {
		usleep(1000);
		collector->sleep_ms = MIN_SLEEP_MS;
	}
}

/* sched_setattr(2)'s argument, which Debian 12's libc does not declare. */
struct slice_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/*
 * To be in time on a busy machine without disturbing the traced threads: somewhat nicer to
 * ourselves, and short slices, which since Linux 6.12 mean an earlier turn rather than a longer
 * one. Both are refused to ordinary users or older kernels, which is no harm.
 */
static void raise_priority(void)
{
	struct slice_attr attr = {
		.size = sizeof(attr),
		.nice = NICE,
		.runtime = SLICE_NS,
	};

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	attr.nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *collector_main(void *arg)
{
	struct collector *collector = arg;

	/* Release pairs with the acquire in collector_start(); only the number matters. */
	atomic_store_explicit(&collector->tid, gettid(), memory_order_release);
	raise_priority();
	while (!collector->is_ending) {
		wait_for_work(collector);
		run_commands(collector);
		if (!collector->is_ending)
			run_round(collector);
	}
	return NULL;
}

/* Runs a command on the collector's thread, or here while there is none. Return: what it returns.
 */
static int call(struct collector *collector, int (*run)(struct collector *, void *), void *arg)
{
	struct command command = {.run = run, .arg = arg};
	uint64_t one = 1;

	if (!collector->has_thread)
		return run(collector, arg);
	cds_wfcq_node_init(&command.node);
	sem_init(&command.done, 0, 0);
	/* Release pairs with the acquire in run_commands(). */
	atomic_store_explicit(&command.is_sent, true, memory_order_release);
	cds_wfcq_enqueue(&collector->queue_head, &collector->queue_tail, &command.node);
	if (write(collector->wake_fd, &one, sizeof(one)) < 0)
		log_error("Cannot wake the collector: error=\"%s\"", strerror(errno));
	while (sem_wait(&command.done) < 0 && errno == EINTR)
		;
	sem_destroy(&command.done);
	return command.ret;
}

static int run_end(struct collector *collector, void *arg)
{
	collector->is_ending = true;
	return 0;
}

int collector_create(const struct collector_config *config, struct collector **ret_collector)
{
	struct collector *collector = calloc(1, sizeof(*collector));
	const char *why; /* told with each session */
	int ret;

	if (!collector)
		return -ENOMEM;
	collector->config = *config;
	if (!collector->config.stall_ns)
		collector->config.stall_ns = NS_PER_S;
	if (!collector->config.queue_bytes)
		collector->config.queue_bytes = 256u << 20;
	collector->clock = clock_detect(&why);
	collector->nr_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	collector->sleep_ms = MIN_SLEEP_MS;
	collector->programs.epoll_fd = -1;
	cds_wfcq_init(&collector->queue_head, &collector->queue_tail);
	collector->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	collector->observer = (struct programs_observer){
		.arg = collector,
		.program = tell_program,
		.map = tell_map,
	};
	ret = collector->wake_fd < 0
		      ? -errno
		      : drain_init(&collector->drain, collector->sessions, &collector->observer);
	if (ret == 0)
		ret = rendezvous_control_map(config->folder, true, &collector->page);
	if (ret == 0)
		ret = programs_open(&collector->programs, config->folder);
	if (ret < 0) {
		collector_destroy(collector);
		return ret;
	}
	/* One that died may have left its wish on the page. */
	(void)rendezvous_control_publish(collector->page, NULL);
	rendezvous_control_new_instance(collector->page);
	*ret_collector = collector;
	return 0;
}

int collector_start(struct collector *collector)
{
	int ret = pthread_create(&collector->thread, NULL, collector_main, collector);

	collector->has_thread = ret == 0;
	/* Acquire pairs with the release in collector_main(); only the number itself matters. */
	while (ret == 0 && !atomic_load_explicit(&collector->tid, memory_order_acquire))
		usleep(100);
	return -ret;
}

void collector_destroy(struct collector *collector)
{
	if (!collector)
		return;
	if (collector->has_thread) {
		call(collector, run_end, NULL);
		pthread_join(collector->thread, NULL);
	}
	if (collector->page) {
		(void)rendezvous_control_publish(collector->page, NULL);
		munmap(collector->page, CONTROL_PAGE_SIZE);
	}
	programs_close(&collector->programs, collector->config.folder);
	drain_fini(&collector->drain);
	clock_map_fini(&collector->map);
	if (collector->wake_fd >= 0)
		close(collector->wake_fd);
	free(collector);
}

pid_t collector_tid(const struct collector *collector)
{
	/* Relaxed: it does not change once collector_start() has returned. */
	return atomic_load_explicit(&collector->tid, memory_order_relaxed);
}

const struct clock_map *collector_map(const struct collector *collector)
{
	return &collector->map;
}

static int run_set_clock(struct collector *collector, void *arg)
{
	const enum clock_kind *kind = arg;

	if (*kind != collector->clock && has_sessions(collector))
		return -EBUSY;
	if (*kind != collector->clock)
		programs_forget_floors(&collector->programs);
	collector->clock = *kind;
	return 0;
}

int collector_set_clock(struct collector *collector, enum clock_kind kind)
{
	return call(collector, run_set_clock, &kind);
}

int collector_adopt(struct collector *collector, struct session *session,
		    const struct clock_anchor *first)
{
	struct adoption adoption = {.session = session, .first = first};

	return call(collector, run_adopt, &adoption);
}

void collector_release(struct collector *collector, struct session *session)
{
	(void)call(collector, run_release, session);
	session_wait(session);
}

struct opening {
	struct entrance *entrance;
	int listen_fd;
	uid_t uid;
};

static int run_open_entrance(struct collector *collector, void *arg)
{
	struct opening *opening = arg;

	return programs_add_entrance(&collector->programs, opening->entrance, opening->listen_fd,
				     opening->uid);
}

int collector_open_entrance(struct collector *collector, int listen_fd, uid_t uid,
			    struct entrance **ret_entrance)
{
	struct opening opening = {
		.entrance = malloc(sizeof(struct entrance)),
		.listen_fd = listen_fd,
		.uid = uid,
	};
	int ret = opening.entrance ? call(collector, run_open_entrance, &opening) : -ENOMEM;

	if (ret < 0)
		free(opening.entrance);
	else
		*ret_entrance = opening.entrance;
	return ret;
}

static int run_close_entrance(struct collector *collector, void *arg)
{
	programs_close_entrance(&collector->programs, arg);
	run_round(collector);
	return 0;
}

void collector_close_entrance(struct collector *collector, struct entrance *entrance)
{
	(void)call(collector, run_close_entrance, entrance);
	free(entrance);
}

static int run_tell_missing(struct collector *collector, void *arg)
{
	uint64_t now_ns = procfs_now_ns();

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (collector->sessions[slot] && !collector->sessions[slot]->is_own_only)
			output_sidecar(&collector->sessions[slot]->output,
				       sidecar_format_missing(now_ns, arg));
	return 0;
}

void collector_tell_missing(struct collector *collector, const char *sentence)
{
	(void)call(collector, run_tell_missing, (void *)sentence);
}

struct part_begin {
	struct session *session;
	struct trace_writer *next;
	uint32_t number;
	uint64_t from_ns;
};

static int run_next_part(struct collector *collector, void *arg)
{
	struct part_begin *begin = arg;
	struct program *program;
	int ret;

	discards_tell(begin->session);
	ret = session_next_part(begin->session, begin->next, begin->number, begin->from_ns);

	if (ret < 0)
		return ret;
	cds_list_for_each_entry(program, &collector->programs.list, node)
	{
		if (program_is_for(program, begin->session))
			drain_describe(program, begin->session);
	}
	return 0;
}

int collector_next_part(struct collector *collector, struct session *session,
			struct trace_writer *next, uint32_t number, uint64_t from_ns)
{
	struct part_begin begin = {
		.session = session,
		.next = next,
		.number = number,
		.from_ns = from_ns,
	};

	return call(collector, run_next_part, &begin);
}

struct telling {
	struct session *session;
	struct statedump *dump; /* or: */
	char *line;
};

static int run_tell(struct collector *collector, void *arg)
{
	struct telling *telling = arg;
	struct session *session = telling->session;

	if (telling->dump)
		session->dump_ns =
			statedump_write(telling->dump, &session->output, session->has_state_events);
	else
		output_sidecar(&session->output, telling->line);
	return 0;
}

void collector_dump(struct collector *collector, struct session *session, struct statedump *dump)
{
	struct telling telling = {.session = session, .dump = dump};

	(void)call(collector, run_tell, &telling);
}

void collector_tell(struct collector *collector, struct session *session, char *line)
{
	struct telling telling = {.session = session, .line = line};

	(void)call(collector, run_tell, &telling);
}

const struct programs *collector_programs(const struct collector *collector)
{
	return &collector->programs;
}
