/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel-bridge/backend.h"
#include "kernel-bridge/fake-script.h"
#include "tests/tap.h"

/* --- the reader of scripts ----------------------------------------------------------------- */

static int read_text(const char *text, struct fake_script *script, char *why, size_t size)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	int ret = fake_script_read(file, "script", script, why, size);

	fclose(file);
	return ret;
}

/* The message of a script that must be refused; "" when it was not. */
static const char *refusal(const char *text)
{
	static char why[256];
	struct fake_script script;

	why[0] = '\0';
	if (read_text(text, &script, why, sizeof(why)) == 0) {
		fake_script_fini(&script);
		return "";
	}
	return why;
}

static struct trace_event event_of(const struct fake_script *script, size_t index)
{
	const struct fake_entry *entry = &script->entries.items[index];

	return (struct trace_event){
		.class = script->classes.items[entry->class],
		.payload = script->bytes + entry->payload,
		.payload_size = entry->payload_size,
	};
}

static void test_events(void)
{
	static const char text[] =
		"# a comment\n"
		"class sched_waking comm:string tid:s32 prio:s32 target_cpu:s32\n"
		"class all a:u8 b:s16 c:x64 d:f64 e:f32 f:bytes g:string\n"
		"class player:decode:begin user begin level=4 packet:u64:flow due:s64:due\n"
		"1000 cpu1 tid=7 ctx=hardirq,softirq sched_waking comm=\"a # \\\"b\\\"\" tid=812 "
		"prio=-5\n"
		"1.5us pid=800 tid=812 player:decode:begin packet=3 # after it\n"
		"+100 cpu1 all a=255 b=-32768 c=0xffffffffffffffff d=1.5 e=-2 f=00ff g=word\n"
		"+1 cpu0 tid=7 syscall_exit_read ret=-4\n";
	struct fake_script script;
	struct trace_event event;
	const struct fake_entry *entry;
	char why[256] = "";

	if (!ok(read_text(text, &script, why, sizeof(why)) == 0, "a script is read: %s", why))
		return;
	ok(script.entries.nr == 4 && script.classes.nr == 4, "every event and class is there");
	entry = &script.entries.items[0];
	ok(entry->stamp == 1000 && entry->cpu == 1 && entry->tid == 7 && entry->pid == -1 &&
		   entry->context == (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ),
	   "what is said of the event stands before its name");
	event = event_of(&script, 0);
	ok(event_i64(&event, 1) == 812, "a field named as a property of events is the field");
	ok(strcmp(event_text(&event, 0), "a # \"b\"") == 0,
	   "quoted text keeps # and escaped quotes");
	ok(event_i64(&event, 3) == 0, "a field that is not given is 0");
	ok(event_payload_check(event.class, event.payload, event.payload_size) == 0,
	   "the payload is whole");
	entry = &script.entries.items[1];
	ok(entry->stamp == 1500 && entry->cpu == -1 && entry->pid == 800,
	   "a time may have a unit, and a marker has no cpu");
	ok(script.classes.items[2]->domain == TRACE_USER &&
		   script.classes.items[2]->kind == EVENT_BEGIN &&
		   script.classes.items[2]->level == 4 &&
		   script.classes.items[2]->fields[0].role == ROLE_FLOW &&
		   script.classes.items[2]->fields[1].role == ROLE_DUE,
	   "a class has its domain, kind, level and roles");
	event = event_of(&script, 2);
	ok(script.entries.items[2].stamp == 1600, "+100 is after the event above");
	ok(event_u64(&event, 0) == 255 && event_i64(&event, 1) == -32768 &&
		   event_u64(&event, 2) == UINT64_MAX && event_value(&event, 3).f == 1.5 &&
		   event_value(&event, 4).f == -2 && event_value(&event, 5).size == 2 &&
		   strcmp(event_text(&event, 6), "word") == 0,
	   "every type of field keeps its extreme values");
	ok(strcmp(event_of(&script, 3).class->name, "syscall_exit_read") == 0,
	   "the exit of a system call needs no declaration");
	ok(script.streams.nr == 3 && strcmp(script.streams.items[0].name, "sched_1") == 0 &&
		   strcmp(script.streams.items[1].name, "markers_fake") == 0,
	   "each cpu has a stream, and the markers have one");
	ok(script.begin_ns == 1000 && script.end_ns == 1601, "begin and end are the events'");
	fake_script_fini(&script);
}

static void test_facts(void)
{
	static const char text[] =
		"begin 5\nend 90\n"
		"thread tid=812 pid=800 comm=\"audio rt\" state=S policy=1 priority=80 markers=1\n"
		"process pid=800 ppid=1 exe=/bin/player command=\"player clip\"\n"
		"map pid=800 begin=0x1000 end=0x3000 path=\"/bin/player\" time=7\n"
		"irq 36 \"virtio1-req.0\" pci=\"0000:00:02.0\"\n"
		"device 254:16 vdb\n"
		"header command_pid=800 missing=\"all\" nr_cpus=2\n";
	struct fake_script script;
	char why[256] = "";

	if (!ok(read_text(text, &script, why, sizeof(why)) == 0, "facts are read: %s", why))
		return;
	ok(script.facts.threads.nr == 1 && script.facts.threads.items[0].tid == 812 &&
		   script.facts.threads.items[0].vtid == 812 &&
		   script.facts.threads.items[0].state == 'S' &&
		   script.facts.threads.items[0].priority == 80 &&
		   strcmp(script.facts.threads.items[0].comm, "audio rt") == 0,
	   "a thread keeps its name, state and priority");
	ok(script.facts.maps.nr == 1 && script.facts.maps.items[0].begin == 0x1000 &&
		   script.facts.maps.items[0].end == 0x3000 && script.facts.maps.items[0].ns == 7 &&
		   strcmp(script.facts.maps.items[0].path, "/bin/player") == 0,
	   "a map keeps its file and addresses");
	ok(script.facts.irqs.nr == 1 && script.facts.irqs.items[0].irq == 36 &&
		   strcmp(script.facts.irqs.items[0].pci, "0000:00:02.0") == 0,
	   "an irq keeps its name and address");
	ok(script.facts.devices.nr == 1 && script.facts.devices.items[0].minor == 16,
	   "a device keeps its numbers");
	ok(script.facts.processes.nr == 1 && script.facts.processes.items[0].ppid == 1,
	   "a process keeps its parent");
	ok(script.begin_ns == 5 && script.end_ns == 90 && script.facts.header.command_pid == 800 &&
		   script.facts.header.nr_cpus == 2,
	   "the header keeps what is said");
	fake_script_fini(&script);
}

static void test_standard(void)
{
	struct fake_script script;
	char why[256] = "";

	ok(read_text("standard\n1 cpu0 sched_switch prev_tid=0 next_comm=a next_tid=9\n", &script,
		     why, sizeof(why)) == 0,
	   "'standard' declares the usual classes: %s", why);
	ok(script.classes.nr > 40, "there are more than 40 of them");
	fake_script_fini(&script);
}

static void test_refusals(void)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"nonsense\n", "script:1: 'nonsense' is neither a time nor a statement"},
		{"\n1 cpu0 x\n", "script:2: no class 'x'"},
		{"class x a:u9\n", "no type 'u9'"},
		{"class x a:u8:chief\n", "no role 'chief'"},
		{"class x a\n", "neither a kind nor a field"},
		{"class x a:u8\nclass x\n", "script:2: class 'x' is there already"},
		{"class x a:u8\n1 cpu0 x a=256\n", "a=256 does not fit into 8 bits"},
		{"class x a:s8\n1 cpu0 x a=-129\n", "a=-129 does not fit into 8 bits"},
		{"class x a:u8\n1 cpu0 x a=-1\n", "does not fit"},
		{"class x a:u8\n1 cpu0 x a=12z\n", "'12z' is no whole number"},
		{"class x a:u8\n1 cpu0 x b=1\n", "'b=1' means nothing here"},
		{"class x\n1 x\n", "needs its cpu"},
		{"class x user\n1 cpu0 x\n", "a marker has no cpu"},
		{"class x\n2 cpu0 x\n1 cpu0 x\n", "script:3: 1 steps back"},
		{"class x a:string\n1 cpu0 x a=\"b\n", "text without an end"},
		{"class x a:string\n1 cpu0 x a=\"\\q\"\n", "unknown escape"},
		{"class x a:bytes\n1 cpu0 x a=0g\n", "no hex digits"},
		{"class x\n1h2 cpu0 x\n", "is no time"},
		{"loss cpu0 count=1 1 2\n", "no event above is in a stream 'sched_0'"},
		{"class x\n1 cpu0 x\nloss cpu0 count=1 2 1\n", "FROM not after TO"},
		{"class x\n1 cpu0 x\nloss cpu0 1 2\n", "FROM not after TO"},
		{"class x\n1 cpu99999 x\n", "more than 4096"},
		{"thread pid=1\n", "needs tid="},
		{"device 254 vda\n", "device MAJOR:MINOR NAME"},
		{"origin end\n", "'origin start' only"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = refusal(bad[i].text);

		if (!ok(strstr(why, bad[i].why) != NULL, "refused, and said why: %s", bad[i].why))
			printf("# got: %s\n", why);
	}
}

/* --- the backend --------------------------------------------------------------------------- */

struct seen {
	struct {
		struct trace_event_class **items;
		size_t nr, capacity;
	} classes;
	char log[2048]; /* what was delivered, as text */
	size_t length;
	uint32_t nr_streams;
};

__attribute__((format(printf, 2, 3))) static void note(struct seen *seen, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	seen->length += (size_t)vsnprintf(seen->log + seen->length,
					  sizeof(seen->log) - seen->length, format, args);
	va_end(args);
}

static int on_stream(void *arg, const char *name, int cpu, uint32_t *ret_stream)
{
	struct seen *seen = arg;

	*ret_stream = 10 + seen->nr_streams++;
	note(seen, "stream %s %d=%u;", name, cpu, *ret_stream);
	return 0;
}

static int on_class(void *arg, struct trace_event_class *class,
		    const struct trace_event_class **ret_class)
{
	struct seen *seen = arg;

	*array_push(&seen->classes) = class;
	*ret_class = class;
	return 0;
}

static int on_event(void *arg, uint32_t stream, const struct trace_event *event)
{
	note(arg, "%s %u@%llu;", event->class->name, stream, (unsigned long long)event->stamp);
	return 0;
}

static int on_discarded(void *arg, uint32_t stream, uint64_t count, uint64_t begin, uint64_t end)
{
	note(arg, "discarded %llu %u@%llu-%llu;", (unsigned long long)count, stream,
	     (unsigned long long)begin, (unsigned long long)end);
	return 0;
}

static void on_floor(void *arg, uint32_t stream, uint64_t floor)
{
	note(arg, "floor %u@%llu;", stream, (unsigned long long)floor);
}

static bool saw(struct seen *seen, const char *want)
{
	bool is_equal = strcmp(seen->log, want) == 0;

	if (!is_equal)
		printf("# got:  %s\n# want: %s\n", seen->log, want);
	seen->length = 0;
	seen->log[0] = '\0';
	return is_equal;
}

/* A file of that text; the path is good until the next call. */
static const char *script_file(const char *text)
{
	static char path[64];
	int fd;

	strcpy(path, "/tmp/weft-fake.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return NULL;
	close(fd);
	return path;
}

static int open_script(const char *text, struct seen *seen, void **ret_self)
{
	const struct bridge_sink sink = {seen,	   on_stream,	 on_class,
					 on_event, on_discarded, on_floor, NULL};
	const char *path = script_file(text);
	const struct bridge_config config = {.clock = CLOCK_TICKS_MONO, .argument = path};
	char why[256];
	int ret = backend_fake.open(&config, &sink, ret_self, why, sizeof(why));

	unlink(path);
	return ret;
}

static void seen_fini(struct seen *seen)
{
	for (size_t i = 0; i < seen->classes.nr; i++)
		event_class_destroy(seen->classes.items[i]);
	array_fini(&seen->classes);
}

static void test_backend(void)
{
	struct seen seen = {0};
	void *self = NULL;

	ok(open_script("class x\nclass m user\n"
		       "100 cpu0 x\n110 cpu1 x\nloss cpu0 count=3 100 200\n"
		       "floor cpu1 150\ndrain\n"
		       "200 cpu0 x\n140 cpu1 x\n210 tid=1 pid=1 m\ndrain\n220 cpu0 x\n",
		       &seen, &self) == 0,
	   "a script opens");
	ok(saw(&seen, "stream sched_0 0=10;stream sched_1 1=11;stream markers_fake -1=12;"),
	   "its streams are told");
	ok(backend_fake.drain(self, 50) == 0 && saw(&seen, "floor 10@50;floor 11@50;floor 12@50;"),
	   "nothing is delivered before enable()");
	backend_fake.enable(self);
	ok(backend_fake.drain(self, 1000) == 2, "a drain delivers as far as the script says");
	ok(saw(&seen,
	       "x 10@100;x 11@110;discarded 3 10@100-200;floor 10@200;floor 11@150;floor 12@210;"),
	   "events, loss and floors come as written; a floor is the next event's time by default");
	ok(backend_fake.drain(self, 1001) == 3 &&
		   saw(&seen, "x 10@200;x 11@140;m 12@210;floor 10@220;floor 11@1001;floor "
			      "12@1001;"),
	   "an event below its stream's floor comes late, as written");
	backend_fake.stop(self);
	ok(backend_fake.drain(self, 1002) == 1 &&
		   saw(&seen, "x 10@220;floor 10@1002;floor 11@1002;floor 12@1002;"),
	   "after stop() the rest comes, and floors are now");
	backend_fake.close(self);
	seen_fini(&seen);
}

static void test_relative(void)
{
	struct seen seen = {0};
	void *self = NULL;
	uint64_t now;

	ok(open_script("origin start\nclass x\n0 cpu0 x\n1h cpu0 x\n", &seen, &self) == 0,
	   "a script with times since the start opens");
	backend_fake.enable(self);
	now = clock_ticks(CLOCK_TICKS_MONO);
	ok(backend_fake.drain(self, now) == 1, "what is due comes");
	ok(backend_fake.drain(self, now + 3600000000000) == 1, "the rest comes when it is due");
	backend_fake.close(self);
	seen_fini(&seen);
}

static void test_open_refusals(void)
{
	const struct bridge_sink sink = {NULL,	   on_stream,	 on_class,
					 on_event, on_discarded, on_floor, NULL};
	struct bridge_config config = {.clock = CLOCK_TICKS_MONO};
	struct backend_report report;
	void *self = NULL;
	char why[256] = "";

	ok(backend_fake.open(&config, &sink, &self, why, sizeof(why)) == -EINVAL && !self && why[0],
	   "without a script it does not open, and says so");
	config.argument = "/nonexistent/script";
	ok(backend_fake.open(&config, &sink, &self, why, sizeof(why)) == -ENOENT &&
		   strstr(why, "/nonexistent/script"),
	   "a missing script is named");
	config.clock = CLOCK_TICKS_TSC;
	ok(backend_fake.open(&config, &sink, &self, why, sizeof(why)) == -EINVAL,
	   "another clock than CLOCK_MONOTONIC is refused");
	backend_fake.probe(&config, &report);
	ok(!report.works && report.reason[0], "it is never chosen by itself");
	backend_fake.close(NULL);
}

int main(void)
{
	test_events();
	test_facts();
	test_standard();
	test_refusals();
	test_backend();
	test_relative();
	test_open_refusals();
	return done_testing();
}
