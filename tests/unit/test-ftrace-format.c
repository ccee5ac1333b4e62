/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "kernel-bridge/backends/ftrace-events.h"
#include "kernel-bridge/backends/ftrace-format.h"
#include "kernel-bridge/backends/ftrace-names.h"
#include "kernel-bridge/backends/ftrace-syscalls.h"
#include "kernel-bridge/backend.h"
#include "tests/tap.h"

#define COMMON                                                                         \
	"format:\n"                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"

static const char usual_switch[] = "name: sched_switch\nID: 372\n" COMMON "\n"
				   "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				   "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				   "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
				   "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
				   "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
				   "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
				   "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
				   "print fmt: \"prev_comm=%s\", REC->prev_comm\n";

/* As a real-time kernel has it: one more common field, and all others moved; here also shuffled. */
static const char lazy_switch[] =
	"name: sched_switch\nID: 99\n" COMMON
	"\tfield:unsigned char common_preempt_lazy_count;\toffset:8;\tsize:1;\tsigned:0;\n\n"
	"\tfield:char next_comm[16];\toffset:12;\tsize:16;\tsigned:0;\n"
	"\tfield:int next_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:pid_t next_pid;\toffset:32;\tsize:4;\tsigned:1;\n"
	"\tfield:char prev_comm[16];\toffset:36;\tsize:16;\tsigned:0;\n"
	"\tfield:long prev_state;\toffset:56;\tsize:8;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:64;\tsize:4;\tsigned:1;\n"
	"\tfield:pid_t prev_pid;\toffset:68;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"%s\", unheard_of(REC->prev_comm)\n";

static const char located[] =
	"name: made_up\nID: 7\n" COMMON "\n"
	"\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u8[] blob;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 numbers[2];\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:void * work;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:bool yes;\toffset:32;\tsize:1;\tsigned:0;\n"
	"\tfield:__rel_loc char[] tail;\toffset:36;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

static const char *switch_fields(void)
{
	return ftrace_event_wish("sched", "sched_switch")->fields;
}

static int read_plan(const char *text, const char *fields, struct format_plan *plan,
		     struct trace_event_class **class)
{
	return format_read(text, strlen(text), "sched_switch", fields, plan, class);
}

static void put(uint8_t *record, size_t offset, const void *bytes, size_t size)
{
	memcpy(record + offset, bytes, size);
}

static void put_s32(uint8_t *record, size_t offset, int32_t value)
{
	put(record, offset, &value, sizeof(value));
}

/* Translates, checks that the payload is whole, and makes an event of it. */
static struct trace_event translated(const struct format_plan *plan,
				     const struct trace_event_class *class, const uint8_t *record,
				     uint32_t size, uint8_t *payload, uint32_t capacity)
{
	int ret = format_translate(plan, record, size, payload, capacity, false);
	struct trace_event event = {.class = class, .payload = payload};

	event.payload_size = ret > 0 ? (uint32_t)ret : 0;
	ok(ret > 0 && event_payload_check(class, payload, event.payload_size) == 0,
	   "its payload is whole");
	return event;
}

static bool is_the_switch(const struct trace_event *event)
{
	const struct trace_event_class *class = event->class;

	return strcmp(event_text(event, event_class_field(class, "prev_comm")),
		      "sixteen-bytes-xy") == 0 &&
	       event_i64(event, event_class_field(class, "prev_tid")) == 812 &&
	       event_i64(event, event_class_field(class, "prev_prio")) == -3 &&
	       event_i64(event, event_class_field(class, "prev_state")) == 0x100 &&
	       strcmp(event_text(event, event_class_field(class, "next_comm")), "sh") == 0 &&
	       event_i64(event, event_class_field(class, "next_tid")) == 9 &&
	       event_i64(event, event_class_field(class, "next_prio")) == 120;
}

static void test_switch(void)
{
	const int64_t state = 0x100;
	struct format_plan plan, lazy_plan;
	struct trace_event_class *class = NULL, *lazy_class = NULL;
	uint8_t record[72 + FORMAT_SPARE] = {0}, payload[512];
	struct trace_event event;

	ok(read_plan(usual_switch, switch_fields(), &plan, &class) == 0 && plan.id == 372,
	   "the usual format of sched_switch is read");
	put(record, 8, "sixteen-bytes-xy", 16); /* without a NUL */
	put_s32(record, 24, 812);
	put_s32(record, 28, -3);
	put(record, 32, &state, 8);
	put(record, 40, "sh\0garbage", 10);
	put_s32(record, 56, 9);
	put_s32(record, 60, 120);
	event = translated(&plan, class, record, 64, payload, sizeof(payload));
	ok(is_the_switch(&event), "fields come under LTTng's names, with their values");
	ok(event.payload_size == 17 + 3 + 2 + 2 + 3 + 3 + 2, "in 32 bytes");
	ok(format_translate(&plan, record, 63, payload, sizeof(payload), false) == -EBADMSG,
	   "a record that is a byte short is refused");
	ok(format_translate(&plan, record, 64, payload, 20, false) == -EBADMSG,
	   "so is one that does not fit its destination");

	ok(read_plan(lazy_switch, switch_fields(), &lazy_plan, &lazy_class) == 0,
	   "a format with other offsets, another order and a print format nobody knows is read");
	memset(record, 0xee, sizeof(record));
	put(record, 12, "sh\0", 3);
	put_s32(record, 28, 120);
	put_s32(record, 32, 9);
	put(record, 36, "sixteen-bytes-xy", 16);
	put(record, 56, &state, 8);
	put_s32(record, 64, -3);
	put_s32(record, 68, 812);
	event = translated(&lazy_plan, lazy_class, record, 72, payload, sizeof(payload));
	ok(is_the_switch(&event), "and gives the same values");
	ok(event_class_equal(class, lazy_class), "under an equal class");
	event_class_destroy(class);
	event_class_destroy(lazy_class);
}

/* A name that the stream has told is left out, and so is its field. */
static void test_names(void)
{
	static struct ftrace_names names;
	struct format_plan plan;
	struct trace_event_class *class = NULL, *without;
	uint8_t record[64 + FORMAT_SPARE] = {0}, payload[512];
	struct trace_event event = {.payload = payload};

	read_plan(usual_switch, switch_fields(), &plan, &class);
	ok(plan.name.is_there && plan.name.tid_offset == 56 && plan.name.comm_offset == 40,
	   "of a switch it is the next thread's name and priority");
	without = format_class_without_name(&plan, class);
	ok(without && without->nr_fields == 5 && event_class_field(without, "next_comm") < 0 &&
		   event_class_field(without, "next_prio") < 0 &&
		   event_class_field(without, "prev_comm") == 0,
	   "a class without them has the other fields");
	put(record, 8, "sh", 2);
	put(record, 40, "cat", 3);
	put_s32(record, 24, 812);
	put_s32(record, 56, 9);
	put_s32(record, 60, 120);
	event.class = without;
	event.payload_size =
		(uint32_t)format_translate(&plan, record, 64, payload, sizeof(payload), true);
	ok(event.payload_size == 3 + 3 + 2 + 2 + 3 &&
		   event_payload_check(without, payload, event.payload_size) == 0 &&
		   event_i64(&event, event_class_field(without, "next_tid")) == 9,
	   "and a payload of its own");
	ok(!ftrace_names_told(&names, 9, 120, record + 40) &&
		   ftrace_names_told(&names, 9, 120, record + 40),
	   "a name is told once");
	put(record, 40, "dog", 3);
	ok(!ftrace_names_told(&names, 9, 120, record + 40) &&
		   ftrace_names_told(&names, 9, 120, record + 40),
	   "and again when it has changed");
	ok(!ftrace_names_told(&names, 9 + FTRACE_NAMES, 120, record + 40) &&
		   !ftrace_names_told(&names, 9, 120, record + 40),
	   "two threads in one place are told each time");
	ok(!ftrace_names_told(&names, 9, -3, record + 40) &&
		   ftrace_names_told(&names, 9, -3, record + 40),
	   "another priority is told");
	ok(ftrace_names_told(&names, 9, FTRACE_NO_PRIO, record + 40) &&
		   ftrace_names_told(&names, 9, -3, record + 40),
	   "an event that has none says nothing of it");
	event_class_destroy(class);
	event_class_destroy(without);
}

/* Numbers keep their sign when they are cut. */
static void test_narrow(void)
{
	struct format_plan plan;
	struct trace_event_class *class = NULL;
	uint8_t record[64 + FORMAT_SPARE] = {0}, payload[512];
	struct trace_event event;

	ok(read_plan(usual_switch, "prev_prio:1 prev_pid:3x next_prio:8 next_comm@nobody", &plan,
		     &class) == 0 &&
		   class->fields[0].size == 1 && class->fields[1].size == 3 &&
		   class->fields[1].base == 16 && class->fields[2].size == 4 && !plan.name.is_there,
	   "a wish tells size and base; a size above the kernel's is the kernel's");
	put_s32(record, 28, -3);
	put_s32(record, 24, 0x3fffff);
	put_s32(record, 60, -1);
	event = translated(&plan, class, record, 64, payload, sizeof(payload));
	ok(event_i64(&event, 0) == -3 && event_i64(&event, 1) == 0x3fffff &&
		   event_i64(&event, 2) == -1,
	   "and values survive");
	event_class_destroy(class);
}

static void test_located(void)
{
	const uint32_t numbers[2] = {7, 8};
	const uint64_t work = 0xffff888000000010;
	uint8_t record[64 + FORMAT_SPARE] = {0}, payload[512];
	struct trace_event_class *class = NULL;
	struct format_plan plan;
	struct trace_event event;

	ok(read_plan(located, NULL, &plan, &class) == 0 && class->nr_fields == 6,
	   "without a list all fields are taken");
	put_s32(record, 8, 40 | 6 << 16);
	put_s32(record, 12, 46 | 3 << 16);
	put(record, 16, numbers, 8);
	put(record, 24, &work, 8);
	record[32] = 1;
	put_s32(record, 36, (49 - 40) | 4 << 16); /* from behind the field */
	put(record, 40, "virtio", 6);		  /* no NUL */
	put(record, 46, "\1\0\2", 3);
	put(record, 49, "end", 4);
	event = translated(&plan, class, record, 53, payload, sizeof(payload));
	ok(strcmp(event_text(&event, 0), "virtio") == 0, "__data_loc text is found and ended");
	ok(event_value(&event, 1).size == 3 &&
		   memcmp(event_value(&event, 1).text, "\1\0\2", 3) == 0,
	   "__data_loc bytes keep their NULs");
	ok(event_value(&event, 2).size == 8, "an array of numbers comes as bytes");
	ok(event_u64(&event, 3) == work && class->fields[3].base == 16,
	   "a pointer is a number in hexadecimal");
	ok(event_u64(&event, 4) == 1, "a bool is a number");
	ok(strcmp(event_text(&event, 5), "end") == 0,
	   "__rel_loc counts from behind its field");
	ok(format_translate(&plan, record, 52, payload, sizeof(payload), false) == -EBADMSG,
	   "text beyond the record is refused");
	put_s32(record, 8, 0xffff | 1 << 16);
	ok(format_translate(&plan, record, 53, payload, sizeof(payload), false) == -EBADMSG,
	   "an offset beyond the record is refused");
	event_class_destroy(class);
}

static void test_missing(void)
{
	struct trace_event_class *class = NULL;
	struct format_plan plan;

	ok(read_plan(usual_switch, "prev_pid=prev_tid gone next_pid=next_tid:x", &plan, &class) ==
			   0 &&
		   class->nr_fields == 2,
	   "a field the kernel does not have is left out");
	ok(class->fields[1].base == 16, ":x asks for hexadecimal");
	event_class_destroy(class);
	ok(read_plan("nothing of the kind", NULL, &plan, &class) == -EINVAL, "text is no format");
	ok(read_plan("", NULL, &plan, &class) == -EINVAL, "nor is nothing");
}

static void test_common(void)
{
	struct format_common common = {0};

	ok(format_read_common(lazy_switch, strlen(lazy_switch), &common) == 0 &&
		   common.flags_offset == 2 && common.pid_offset == 4,
	   "flags and pid are found among the common fields");
	ok(format_read_common("name: x\nID: 1\nformat:\n\nprint fmt: \"\"\n", 40, &common) < 0,
	   "a format without them is refused");
}

static void test_syscalls(void)
{
	static const char enter[] =
		"name: sys_enter\nID: 443\n" COMMON "\n"
		"\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
		"print fmt: \"\"\n";
	static const char futex[] =
		"name: sys_enter_futex\nID: 500\n" COMMON "\n"
		"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:u32 * uaddr;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:int op;\toffset:24;\tsize:8;\tsigned:0;\n"
		"\tfield:const clockid_t clock;\toffset:32;\tsize:8;\tsigned:0;\n"
		"\tfield:size_t size;\toffset:40;\tsize:8;\tsigned:0;\n"
		"\tfield:umode_t mode;\toffset:48;\tsize:8;\tsigned:0;\n\n"
		"print fmt: \"\"\n";
	struct format_argument arguments[6];
	struct format_syscall syscall;
	uint32_t id = 0;

	ok(format_read_syscall(enter, strlen(enter), &syscall, &id) == 0 && id == 443 &&
		   syscall.id_offset == 8 && syscall.args_offset == 16 && syscall.nr_args == 6,
	   "the number and the arguments of a system call are found");
	ok(format_read_arguments(futex, strlen(futex), arguments) == 5,
	   "the number is no argument");
	ok(strcmp(arguments[0].name, "uaddr") == 0 && arguments[0].size == 8 &&
		   arguments[0].base == 16,
	   "a pointer has eight bytes, in hexadecimal");
	ok(arguments[1].type == FIELD_INT && arguments[1].size == 4 &&
		   arguments[2].type == FIELD_INT && arguments[2].size == 4 &&
		   arguments[3].type == FIELD_UINT && arguments[3].size == 8 &&
		   arguments[4].size == 2,
	   "numbers have the size and sign of their C types");
#ifdef __x86_64__
	ok(strcmp(ftrace_syscall_name(17), "pread64") == 0 &&
		   strcmp(ftrace_syscall_name(202), "futex") == 0,
	   "numbers have the names of this machine's table");
#else
	skip("numbers differ by machine", "numbers have the names of this machine's table");
#endif
	ok(!ftrace_syscall_name(ftrace_nr_syscalls()) && !ftrace_syscall_name(UINT32_MAX),
	   "a number beyond the table has no name");
}

static int nr_looks;

static int look(int32_t tid)
{
	nr_looks++;
	return tid == 9 ? -1 : tid == 7;
}

/* By x86-64's numbers: 59 execve, 11 munmap, 57 fork; by i386's: 11 execve, 2 fork. */
static void test_compat(void)
{
	struct ftrace_compat compat = {.look = look};
	int nr_wrong = 0;

	ok(ftrace_compat_call(&compat, 7, true, 0) && !ftrace_compat_call(&compat, 8, true, 0),
	   "a thread's program is looked at when the thread is new");
	ok(!ftrace_compat_call(&compat, 8, false, 11) && nr_looks == 2, "and once");
	ok(!ftrace_compat_call(&compat, 8, true, 59) && ftrace_compat_call(&compat, 8, false, 11) &&
		   ftrace_compat_call(&compat, 8, true, 4),
	   "an exec into a 32-bit program is known by the number it returns with");
	ok(ftrace_compat_call(&compat, 7, true, 11) && !ftrace_compat_call(&compat, 7, false, 59) &&
		   !ftrace_compat_call(&compat, 7, true, 11),
	   "so is one out of it");
	ok(ftrace_compat_call(&compat, 8, true, 11) && ftrace_compat_call(&compat, 8, false, 11),
	   "one that fails changes nothing");
	ok(ftrace_compat_call(&compat, 9, false, 2), "of a thread that is gone its fork tells");
	nr_looks = 0;
	for (int32_t tid = 100; tid < 10100; tid++)
		nr_wrong += ftrace_compat_call(&compat, tid, true, 0);
	for (int32_t tid = 100; tid < 10100; tid++)
		nr_wrong += ftrace_compat_call(&compat, tid, false, 0);
	ok(nr_wrong == 0 && nr_looks == 10000 && ftrace_compat_call(&compat, 8, true, 0),
	   "ten thousand threads are kept apart");
	ok(!ftrace_compat_call(&compat, 0, true, 0) && nr_looks == 10000, "the idle one has none");
	ftrace_compat_fini(&compat);
}

static void test_table(void)
{
	uint32_t seen = 0;
	int nr_twice = 0;

	for (const struct ftrace_event_wish *wish = ftrace_event_wishes; wish->system; wish++) {
		seen |= wish->set;
		nr_twice += ftrace_event_wish(wish->system, wish->event) != wish;
	}
	ok((seen | BRIDGE_SYSCALL) == BRIDGE_ALL, "every set has its tracepoints");
	ok(nr_twice == 0, "no tracepoint is listed twice");
}

int main(void)
{
	test_switch();
	test_names();
	test_narrow();
	test_located();
	test_missing();
	test_common();
	test_syscalls();
#ifdef __x86_64__
	test_compat();
#endif
	test_table();
	return done_testing();
}
