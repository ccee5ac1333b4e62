/* SPDX-License-Identifier: MIT */
/*
 * ftrace-events.c - names are those of LTTng 2.13's kernel tracer wherever it has the event, so
 * that other viewers know them; so are field names. What nobody asks for (a request's cmd, a
 * timer's bucket) is not copied.
 */
#include "kernel-bridge/backends/ftrace-events.h"

#include <stddef.h>
#include <string.h>

#include "kernel-bridge/backend.h"

/*
 * Numbers are as narrow as what they count: a tid is below 2^22, a priority from -1 to 139, a CPU's
 * below 8192, a state one of 9 bits (TASK_REPORT_MAX), a softirq one of 10.
 */
#define WAKE_FIELDS "comm@pid pid=tid:3 prio:2@pid target_cpu:2"
#define REQUEST_FIELDS "dev sector nr_sector bytes ioprio rwbs comm@common_pid"
#define BIO_FIELDS "dev sector nr_sector rwbs comm@common_pid"

/* clang-format off: a table */
const struct ftrace_event_wish ftrace_event_wishes[] = {
	{BRIDGE_SCHED, "sched", "sched_switch", "sched_switch",
	 "prev_comm prev_pid=prev_tid:3 prev_prio:2 prev_state:2 next_comm@next_pid "
	 "next_pid=next_tid:3 next_prio:2@next_pid"},
	/* The edge of causality; sched_wakeup may come from another CPU, later. */
	{BRIDGE_SCHED, "sched", "sched_waking", "sched_waking", WAKE_FIELDS},
	{BRIDGE_SCHED, "sched", "sched_wakeup_new", "sched_wakeup_new", WAKE_FIELDS},
	{BRIDGE_SCHED, "sched", "sched_migrate_task", "sched_migrate_task",
	 "comm@pid pid=tid:3 prio:2@pid orig_cpu:2 dest_cpu:2"},
	{BRIDGE_SCHED, "sched", "sched_process_fork", "sched_process_fork",
	 "parent_comm parent_pid=parent_tid child_comm child_pid=child_tid"},
	{BRIDGE_SCHED, "sched", "sched_process_exec", "sched_process_exec",
	 "filename pid=tid old_pid=old_tid"},
	{BRIDGE_SCHED, "sched", "sched_process_exit", "sched_process_exit",
	 "comm pid=tid prio group_dead"},
	{BRIDGE_SCHED, "sched", "sched_pi_setprio", "sched_pi_setprio",
	 "comm pid=tid oldprio newprio"},

	{BRIDGE_IRQ, "irq", "irq_handler_entry", "irq_handler_entry", "irq name"},
	{BRIDGE_IRQ, "irq", "irq_handler_exit", "irq_handler_exit", "irq ret"},

	{BRIDGE_SOFTIRQ, "irq", "softirq_raise", "irq_softirq_raise", "vec:1"},
	{BRIDGE_SOFTIRQ, "irq", "softirq_entry", "irq_softirq_entry", "vec:1"},
	{BRIDGE_SOFTIRQ, "irq", "softirq_exit", "irq_softirq_exit", "vec:1"},

	{BRIDGE_BLOCK, "block", "block_bio_queue", "block_bio_queue", BIO_FIELDS},
	{BRIDGE_BLOCK, "block", "block_bio_complete", "block_bio_complete",
	 "dev sector nr_sector error rwbs"},
	{BRIDGE_BLOCK, "block", "block_bio_backmerge", "block_bio_backmerge", BIO_FIELDS},
	{BRIDGE_BLOCK, "block", "block_bio_frontmerge", "block_bio_frontmerge", BIO_FIELDS},
	{BRIDGE_BLOCK, "block", "block_bio_remap", "block_bio_remap",
	 "dev sector nr_sector old_dev old_sector rwbs"},
	{BRIDGE_BLOCK, "block", "block_split", "block_split",
	 "dev sector new_sector rwbs comm@common_pid"},
	{BRIDGE_BLOCK, "block", "block_getrq", "block_getrq", BIO_FIELDS},
	{BRIDGE_BLOCK, "block", "block_rq_insert", "block_rq_insert", REQUEST_FIELDS},
	{BRIDGE_BLOCK, "block", "block_rq_issue", "block_rq_issue", REQUEST_FIELDS},
	{BRIDGE_BLOCK, "block", "block_rq_merge", "block_rq_merge", REQUEST_FIELDS},
	{BRIDGE_BLOCK, "block", "block_rq_remap", "block_rq_remap",
	 "dev sector nr_sector old_dev old_sector nr_bios rwbs"},
	{BRIDGE_BLOCK, "block", "block_rq_requeue", "block_rq_requeue",
	 "dev sector nr_sector ioprio rwbs"},
	{BRIDGE_BLOCK, "block", "block_rq_complete", "block_rq_complete",
	 "dev sector nr_sector error ioprio rwbs"},

	{BRIDGE_TIMER, "timer", "hrtimer_start", "timer_hrtimer_start",
	 "hrtimer function:x expires softexpires mode"},
	{BRIDGE_TIMER, "timer", "hrtimer_cancel", "timer_hrtimer_cancel", "hrtimer"},
	{BRIDGE_TIMER, "timer", "hrtimer_expire_entry", "timer_hrtimer_expire_entry",
	 "hrtimer now function:x"},
	{BRIDGE_TIMER, "timer", "hrtimer_expire_exit", "timer_hrtimer_expire_exit", "hrtimer"},
	{BRIDGE_TIMER, "timer", "timer_start", "timer_start", "timer function:x expires now flags"},
	{BRIDGE_TIMER, "timer", "timer_cancel", "timer_cancel", "timer"},
	{BRIDGE_TIMER, "timer", "timer_expire_entry", "timer_expire_entry",
	 "timer now function:x baseclk"},
	{BRIDGE_TIMER, "timer", "timer_expire_exit", "timer_expire_exit", "timer"},

	{BRIDGE_WORKQUEUE, "workqueue", "workqueue_queue_work", "workqueue_queue_work",
	 "work function:x workqueue req_cpu cpu"},
	{BRIDGE_WORKQUEUE, "workqueue", "workqueue_execute_start", "workqueue_execute_start",
	 "work function:x"},
	{BRIDGE_WORKQUEUE, "workqueue", "workqueue_execute_end", "workqueue_execute_end",
	 "work function:x"},

	{BRIDGE_SIGNAL, "signal", "signal_generate", "signal_generate",
	 "sig errno code comm pid group result"},
	{BRIDGE_SIGNAL, "signal", "signal_deliver", "signal_deliver",
	 "sig errno code sa_handler:x sa_flags:x"},

	{BRIDGE_FAULT, "exceptions", "page_fault_user", "x86_exceptions_page_fault_user",
	 "address:x ip:x error_code:4x"},
	{BRIDGE_FAULT, "exceptions", "page_fault_kernel", "x86_exceptions_page_fault_kernel",
	 "address:x ip:x error_code:4x"},
	{0, NULL, NULL, NULL, NULL},
};
/* clang-format on */

const struct ftrace_event_wish *ftrace_event_wish(const char *system, const char *event)
{
	for (const struct ftrace_event_wish *wish = ftrace_event_wishes; wish->system; wish++)
		if (strcmp(wish->system, system) == 0 && strcmp(wish->event, event) == 0)
			return wish;
	return NULL;
}
