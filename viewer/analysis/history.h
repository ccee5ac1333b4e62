/* SPDX-License-Identifier: MIT */
/*
 * history.h - a trace's events as compact arrays, made in one pass: what every thread and CPU was
 * doing when. The facts; causality.h, tiling.h and why.h read them.
 *
 *	history.c        the pass: events and losses in order of time
 *	threads.c        who is who: tids that come back, names, namespaces
 *	thread-state.c   running, runnable, blocked, stopped, unknown; who runs on a CPU; wakings
 *	interrupts.c     hard interrupts, softirqs, timers' functions, as they nest on a CPU
 *	block-io.c       requests to devices, from bio to completion
 *	works.c          work items, from who queued them to who executed them
 *	calls.c          system calls and page faults
 *	signals.c        who stopped whom
 *	markers.c        scopes, instants, results
 *	async-spans.c    spans that begin in one thread and end in another
 *	flows.c          events of one thing, through threads and processes
 *
 * Loss. While events of a CPU are discarded, only a thread seen running on another CPU is known;
 *all others become unknown, and stay so until their next event. That event also tells what the
 *thread was doing since the loss ended: one that is woken was blocked, one that is switched in
 *without a waking was runnable, one that is switched out was running. The start of the trace is the
 *end of a loss.
 *
 * Threads, wakings, requests, work items and spans are numbers (indexes into arrays that grow),
 * HISTORY_NONE where there is none. Times are ns of the trace's clock.
 */
#ifndef VIEWER_ANALYSIS_HISTORY_H
#define VIEWER_ANALYSIS_HISTORY_H

#include "trace/reader.h"
#include "viewer/analysis/event-map.h"
#include "viewer/analysis/u64-map.h"

#define HISTORY_NONE UINT32_MAX
#define HISTORY_IDLE 0u		/* the thread that stands for every CPU's idle task */
#define HISTORY_OPEN UINT64_MAX /* the end of what has not ended */
#define HISTORY_MAX_CPUS 4096

enum thread_state {
	STATE_UNKNOWN,
	STATE_RUNNING,
	STATE_RUNNABLE,
	STATE_BLOCKED,
	STATE_STOPPED,
	STATE_DEAD,
};

/* From ns until the next item's. */
struct state_item {
	uint64_t ns;
	uint32_t waking; /* blocked, stopped: the waking that ended it; NONE: none was seen */
	int16_t cpu;	 /* running: where; runnable: where it is queued; else -1 */
	uint8_t state;	 /* enum thread_state */
	uint8_t is_uninterruptible; /* blocked in state D */
};

struct waking_item {
	uint64_t ns;
	uint32_t waker;	  /* the thread that was current: the cause only when context is 0 */
	uint32_t irq;	  /* in interrupt context: the innermost open one on the CPU, or NONE */
	uint32_t request; /* completed on this CPU in the same context before the waking, or NONE */
	uint32_t work;	  /* the work item the waker was executing, or NONE */
	int16_t cpu;
	uint8_t context; /* CONTEXT_* */
	bool is_timer;	 /* a timer's function was running */
};

struct syscall_item {
	uint64_t begin, end;
	uint64_t arg0;
	uint32_t arg1, arg2;
	int32_t ret;
	uint32_t stem;	      /* its name, see event_map_stem() */
	bool is_entry_unseen; /* the arguments are not known */
};

struct fault_item {
	uint64_t ns, address;
	bool is_kernel; /* the address was touched by the kernel, within a system call */
};

/* Minor faults in a row: their entries are recorded, not their ends. See calls.c. */
struct fault_burst {
	uint64_t begin, end;
	uint32_t count;
};

/* A fault that read a page from a device: from its entry to the end of the request. Or the like
 * within a call that reads: from the request's issue on. */
struct fault_read {
	uint64_t begin, end, address;
	uint32_t request;
	bool is_call;
};

/* A scope of a marker. */
struct span_item {
	uint64_t begin, end; /* end: HISTORY_OPEN when it was never seen */
	uint64_t payload;    /* offset into history.payloads of the begin's fields */
	uint32_t class;	     /* id of the begin's class in the user domain */
	uint32_t parent;     /* span of the same thread it lies in, or NONE */
	uint32_t result;     /* index into history.results, or NONE */
	bool is_abandoned;   /* its end was discarded, or its thread ended first */
};

/* An event of a flow; those of one key are a chain. The array is in order of time. */
#define FLOW_OF_ALL -1 /* the process of a flow that joins processes */
struct flow_item {
	uint64_t ns, base, key;
	uint32_t name; /* see event_map_stem() */
	uint32_t class, thread;
	uint32_t source; /* the span of the thread, or the history's instant or async; or NONE */
	int32_t pid;	 /* as it calls itself; FLOW_OF_ALL */
	uint32_t older, newer; /* of the same flow and key, or NONE */
	uint32_t same_hash;    /* the one before with the same hash, or NONE */
};

/* An asynchronous span. */
struct async_item {
	uint64_t begin, end;	       /* end: HISTORY_OPEN when it was never seen */
	uint64_t payload, end_payload; /* of the begin's fields, and of the end's */
	uint64_t base, id;	       /* base: of one that joins processes, else 0 */
	uint32_t class, end_class;
	uint32_t thread, end_thread; /* that began and ended it */
	int32_t pid;		     /* FLOW_OF_ALL: it may end in another process */
	uint32_t older; /* the one before whose id has the same hash, or NONE */
};

/* Any other marker: an instant, a counter, a frame, a message. */
struct instant_item {
	uint64_t ns, payload;
	uint32_t class, thread;
};

/* Fields that MARKER_RESULT added to a scope. */
struct result_item {
	uint64_t payload;
	uint32_t class;
	uint32_t next; /* result of the same scope, or NONE */
};

/* An array as base/array.h wants it. */
#define HISTORY_ARRAY(type)          \
	struct {                     \
		type *items;         \
		size_t nr, capacity; \
	}

struct history_thread {
	int32_t tid, pid; /* pid -1: not known */
	char comm[16];
	char name[64];	      /* from MARKER_THREAD, or "" */
	uint32_t older;	      /* the thread that had this tid before, or NONE */
	int policy, priority; /* as sched_getscheduler; -1: not known */
	char start_state;     /* as the sidecar told, or 0 */
	bool is_dead;
	bool is_told_early; /* by a line on its markers, whose time may be before its fork */
	HISTORY_ARRAY(struct state_item) states; /* the first at ns 0 */
	HISTORY_ARRAY(struct syscall_item) syscalls;
	HISTORY_ARRAY(struct fault_item) faults;
	HISTORY_ARRAY(struct fault_burst) bursts;
	HISTORY_ARRAY(struct fault_read) reads;
	HISTORY_ARRAY(struct span_item) spans;
	uint32_t open_span; /* the innermost, or NONE */
	uint32_t work;	    /* being executed, or NONE */
	uint32_t waking;    /* the last one since it was switched in, or NONE */
	bool is_in_syscall;
	uint64_t hidden_until;	 /* what it did before is not shown by what it does after */
	uint64_t marker_loss_ns; /* up to when markers of it alone are missing; 0: none */
	uint64_t nr_switches, nr_wakings, nr_migrations;
};

/* Who runs on a CPU, from ns until the next item's. */
struct slice_item {
	uint64_t ns;
	uint32_t thread; /* HISTORY_NONE: unknown */
};

enum irq_kind {
	IRQ_HARD,
	IRQ_SOFT,
};

struct irq_item {
	uint64_t begin, end;
	uint32_t number;  /* irq, or softirq vector */
	uint32_t parent;  /* the one it interrupted on this CPU, or NONE */
	uint32_t request; /* the last completed inside, or NONE */
	uint32_t stem;	  /* name of the irq, see event_map_stem(); NONE for softirqs */
	uint8_t kind;	  /* enum irq_kind */
};

struct history_cpu {
	HISTORY_ARRAY(struct slice_item) slices; /* the first at ns 0 */
	HISTORY_ARRAY(struct irq_item) irqs;	 /* by begin */
	uint32_t current;			 /* thread, HISTORY_NONE: unknown */
	uint32_t open_irq;			 /* the innermost, or NONE */
	uint32_t timers;			 /* timers' functions open */
	uint32_t loose_request; /* completed since the last switch, in no interrupt told, or NONE */
	uint8_t loose_context;	/* of that completion */
	uint64_t loss_end_ns;	/* end of its latest loss */
	uint64_t forgotten_at;	/* events before that loss, plus 1; 0: no loss yet */
	uint64_t last_ns;	/* of its latest event */
	uint64_t nr_switches;
};

struct request_item {
	uint64_t sector, queue_ns, insert_ns, issue_ns, complete_ns; /* 0: not seen */
	uint32_t dev, nr_sector;
	uint32_t owner;	  /* the thread that asked for it, or NONE */
	uint32_t issuer;  /* the thread that was current when it was issued, or NONE */
	uint32_t ahead;	  /* requests of others in flight at the device when it was issued */
	uint32_t nr_bios; /* that were seen to lie in it: more than one, merged */
	char rwbs[10];
	bool is_flush, is_done;
};

struct work_item {
	uint64_t work, function, queue_ns, start_ns, end_ns;
	uint32_t queuer;  /* thread that was current when it was queued */
	uint32_t request; /* completed just before in the same interrupt context, or NONE */
	uint32_t worker;  /* NONE: never started */
	uint8_t context;  /* CONTEXT_* of the queueing */
	bool is_timer;
};

/* A FUTEX_WAKE that woke somebody: a lock changed hands. */
struct handover_item {
	uint64_t ns, uaddr;
	uint32_t thread;
};

/* A signal that stops a process. */
struct stop_item {
	uint64_t ns;
	int32_t target; /* the process, or one of its threads */
	uint32_t sender;
};

struct history_loss {
	char source[32];
	uint64_t begin_ns, end_ns, discarded;
	int32_t cpu; /* -1: markers of tid, or of all threads when that is -1 as well */
	int32_t tid;
	size_t number; /* in the order in which they were told */
};

struct history {
	struct event_map map;
	const struct sidecar *sidecar; /* borrowed; NULL in some tests */
	HISTORY_ARRAY(struct history_thread) threads;
	struct u64_map tids;	  /* tid -> the thread that has it now */
	struct u64_map vtids;	  /* vpid << 32 | vtid -> host tid */
	struct u64_map irq_names; /* irq -> stem */
	HISTORY_ARRAY(struct history_cpu) cpus;
	HISTORY_ARRAY(struct waking_item) wakings;
	HISTORY_ARRAY(struct request_item) requests;
	HISTORY_ARRAY(uint32_t) in_flight;	 /* requests seen and not yet completed */
	HISTORY_ARRAY(struct request_item) bios; /* queued, and not yet part of a request */
	HISTORY_ARRAY(struct work_item) works;
	struct u64_map queued; /* work pointer -> index of its latest item */
	HISTORY_ARRAY(struct handover_item) handovers;
	HISTORY_ARRAY(struct stop_item) stops;
	HISTORY_ARRAY(struct instant_item) instants;
	HISTORY_ARRAY(struct async_item) asyncs;
	struct u64_map async_ids; /* hash of pid, name and id -> the latest span */
	HISTORY_ARRAY(struct flow_item) flows;
	struct u64_map flow_keys; /* hash of process, name and key -> the latest */
	HISTORY_ARRAY(struct result_item) results;
	HISTORY_ARRAY(struct history_loss) losses; /* from the first event on by begin */
	struct {
		uint8_t *items;
		size_t nr, capacity;
	} payloads;
	size_t next_loss,
		next_thread_fact; /* the pass: what of losses and sidecar is still to come */
	uint64_t begin_ns,
		end_ns; /* of the kernel's events; begin: HISTORY_OPEN before the first */
	uint64_t first_ns, last_ns; /* of all events */
	uint64_t loss_end_ns;	    /* the latest end of the CPUs' losses that have begun */
	uint64_t marker_loss_ns;    /* the latest end of those of all threads' markers */
	uint64_t nr_events, nr_kernel_events;
	uint64_t fault_cost_ns; /* see calls.c */
	bool wants_markers;	/* scopes and instants are kept */
	bool is_losses_unsorted;
	bool has_no_memory; /* an array could not grow: the pass must fail */
};

/* Where events come from is the caller's: a reader, or a test by hand. */
struct history *history_create(const struct sidecar *sidecar);
void history_destroy(struct history *history); /* accepts NULL */

/* A loss; all must be known before the first event. Those of the sidecar are. Return: 0, -ENOMEM.
 */
int history_add_loss(struct history *history, const struct sidecar_loss *loss);

/* The next event, in order of time. Return: 0, -ENOMEM, -EINVAL when it steps back. */
int history_event(struct history *history, const struct trace_event *event);

/* After the last event: closes what is open. Return: 0 or -ENOMEM. */
int history_finish(struct history *history);

/**
 * history_load() - all of a trace: create, every event, finish.
 * @progress: NULL, or called now and then with the time reached
 * Return: 0, -ENOMEM, or what the reader says, with its @reterr.
 */
int history_load(struct trace_reader *reader, void (*progress)(uint64_t ns),
		 struct history **ret_history, struct trace_error *reterr);

/* --- threads.c --- */

static inline struct history_thread *history_thread(const struct history *history, uint32_t thread)
{
	return &history->threads.items[thread];
}

/* The thread that has @tid now; made when new. 0 is the idle task. HISTORY_NONE without memory. */
uint32_t history_tid(struct history *history, int32_t tid);
/* The thread that had @tid at a time, or HISTORY_NONE. After the pass. */
uint32_t history_tid_at(const struct history *history, int32_t tid, uint64_t ns);
/* The thread of a marker, by what its process calls itself. */
uint32_t history_marker_thread(struct history *history, int32_t vpid, int32_t vtid);
void threads_rename(struct history_thread *thread, const char *comm);
/* Does it belong to the kernel? By its name, for no event tells. */
bool thread_is_kernel(const struct history_thread *thread);
void threads_on_fork(struct history *history, const struct event_info *info,
		     const struct trace_event *event);
void threads_on_exec(struct history *history, const struct event_info *info,
		     const struct trace_event *event);
void threads_on_exit(struct history *history, const struct event_info *info,
		     const struct trace_event *event);
void threads_on_statedump(struct history *history, const struct event_info *info,
			  const struct trace_event *event);
/* Takes in what the sidecar tells of threads up to a time. */
void threads_facts_until(struct history *history, uint64_t ns);

/* --- thread-state.c --- */

void state_on_switch(struct history *history, const struct event_info *info,
		     const struct trace_event *event);
/* Before any event of the kernel: the thread it happened in runs, though nothing may have told. */
void state_on_current(struct history *history, const struct event_info *info,
		      const struct trace_event *event);
void state_on_waking(struct history *history, const struct event_info *info,
		     const struct trace_event *event);
void state_on_migrate(struct history *history, const struct event_info *info,
		      const struct trace_event *event);
/* A new thread is runnable from its fork on, woken by its parent. */
void state_on_fork(struct history *history, const struct trace_event *event, uint32_t child);
void state_on_loss(struct history *history, const struct history_loss *loss);
void state_finish(struct history *history);
struct history_cpu *history_cpu(struct history *history, int cpu);
void state_push(struct history *history, uint32_t thread, uint64_t ns, enum thread_state state,
		int cpu);
/* The item that holds at a time: the last with ns at or before it. */
size_t state_index(const struct history_thread *thread, uint64_t ns);
size_t slice_index(const struct history_cpu *cpu, uint64_t ns);
/* The CPU the thread ran on at a time, or where it last ran before; -1 unknown. */
int thread_cpu_at(const struct history_thread *thread, uint64_t ns);

/* --- interrupts.c --- */

void irqs_on_event(struct history *history, const struct event_info *info,
		   const struct trace_event *event);
void irqs_on_switch(struct history_cpu *cpu, uint64_t ns);
void irqs_on_loss(struct history_cpu *cpu, uint64_t ns);
/* The innermost open one of that context, or NONE. */
uint32_t irqs_open(const struct history_cpu *cpu, uint8_t context);
/**
 * irqs_at() - which interrupt or softirq took the CPU at a time.
 * @ret_until: until when this answer holds
 * Return: its index, the innermost, or HISTORY_NONE.
 */
uint32_t irqs_at(const struct history_cpu *cpu, uint64_t ns, uint64_t *ret_until);

/* --- block-io.c --- */

void requests_on_event(struct history *history, const struct event_info *info,
		       const struct trace_event *event);
/* What was completed last in the context of an event at @ns on that CPU, or NONE. */
uint32_t requests_completed(const struct history *history, const struct history_cpu *cpu,
			    uint8_t context, uint64_t ns);

/* --- works.c --- */

void works_on_event(struct history *history, const struct event_info *info,
		    const struct trace_event *event);

/* --- calls.c --- */

void calls_on_event(struct history *history, const struct event_info *info,
		    const struct trace_event *event);
void calls_on_loss(struct history_thread *thread, uint64_t ns);
void calls_finish(struct history *history);
/* The system call in progress at a time, or NULL. */
const struct syscall_item *syscall_at(const struct history_thread *thread, uint64_t ns);
/* The user-mode fault in progress at a time outside of system calls, or NULL: the last one, when
 * no system call came after it. */
const struct fault_item *fault_at(const struct history_thread *thread, uint64_t ns);
/* Did a fault of user mode wait, or read from a device? */
bool fault_is_major(const struct history_thread *thread, const struct fault_item *fault);
/* The burst of minor faults that holds a time, or else the next one; NULL when there is none. */
const struct fault_burst *burst_from(const struct history_thread *thread, uint64_t ns);

/* The same of faults that read from a device. */
const struct fault_read *read_from(const struct history_thread *thread, uint64_t ns);

/* --- signals.c --- */

void signals_on_event(struct history *history, const struct event_info *info,
		      const struct trace_event *event);
/* Who sent the last signal that stopped the thread's process before a time, or NONE. */
uint32_t signals_stopper(const struct history *history, const struct history_thread *thread,
			 uint64_t ns);

/* --- markers.c --- */

void markers_on_event(struct history *history, const struct event_info *info,
		      const struct trace_event *event);
void markers_on_loss(struct history *history, const struct history_loss *loss);
void markers_finish(struct history *history);
/* Keeps a payload. Return: its offset; UINT64_MAX when there is none, or no memory. */
uint64_t history_keep_payload(struct history *history, const struct trace_event *event);
/* The innermost scope open at a time, or NONE. */
uint32_t span_at(const struct history_thread *thread, uint64_t ns);
/* An event made again of a class and a kept payload, to read its fields. */
struct trace_event markers_event(const struct history *history, uint32_t class, uint64_t payload);

/* --- async-spans.c --- */

void asyncs_on_event(struct history *history, uint32_t thread, const struct event_info *info,
		     const struct trace_event *event);

/* --- flows.c --- */

/* After what the event is itself. */
void flows_on_event(struct history *history, uint32_t thread, const struct event_info *info,
		    const struct trace_event *event);
/* The index of the first one at or after a time. */
size_t flows_from(const struct history *history, uint64_t ns);
/* Its time, or where it is a scope or a span that ended, that end. */
uint64_t flow_end(const struct history *history, const struct flow_item *item);

#endif
