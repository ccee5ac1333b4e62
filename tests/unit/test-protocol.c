/* SPDX-License-Identifier: MIT */
/*
 * test-protocol.c - neither side of the bridge can do the other harm: a hostile bridge before
 * link_open(), hostile clients before weft-bridge itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel-bridge/link.h"
#include "tests/tap.h"

/* ---- a hostile bridge: what it says lies in the socket before the client asks */

struct script {
	int ends[2];
	char why[128];
};

static void script_begin(struct script *script)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, script->ends) < 0)
		abort();
}

static int script_run(struct script *script)
{
	struct bridge_request request = {.nr_wishes = 0};
	struct link_opened opened;
	int ret = link_open(script->ends[0], &request, "", 0, &opened, script->why,
			    sizeof(script->why));

	if (ret == 0)
		link_opened_fini(&opened);
	close(script->ends[0]);
	if (script->ends[1] >= 0)
		close(script->ends[1]);
	return ret;
}

static struct bridge_answer good_answer(void)
{
	return (struct bridge_answer){
		.head = bridge_head(BRIDGE_OPEN, sizeof(struct bridge_answer))};
}

static int make_memfd(const void *bytes, size_t size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || fcntl(fd, F_ADD_SEALS, seals) < 0)
		abort();
	return fd;
}

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* Return: of link_open(), when it is answered with this and a memfd of @size bytes. */
static int with_answer(const struct bridge_answer *answer, size_t length, size_t size, int seals)
{
	static const char zeroes[64];
	int memfd = make_memfd(zeroes, size, seals);
	struct script script;

	script_begin(&script);
	bridge_send(script.ends[1], answer, length, &memfd, 1);
	close(memfd);
	return script_run(&script);
}

static void test_answers(void)
{
	struct bridge_answer answer = good_answer();
	const size_t size = sizeof(answer);
	struct script script;

	ok(with_answer(&answer, size, 0, SEALS) == 0, "an answer with nothing in it will do");
	ok(with_answer(&answer, size - 1, 0, SEALS) == -EPROTO, "a shorter one will not");
	answer.head.size--;
	ok(with_answer(&answer, size, 0, SEALS) == -EPROTO, "nor one that lies about its size");
	answer = good_answer();
	answer.head.version++;
	ok(with_answer(&answer, size, 0, SEALS) == -EPROTONOSUPPORT, "another version is refused");
	answer = good_answer();
	answer.head.kind = BRIDGE_STOP;
	ok(with_answer(&answer, size, 0, SEALS) == -EPROTO, "so is the answer to another request");
	answer = good_answer();
	answer.nr_streams = UINT32_MAX;
	ok(with_answer(&answer, size, 0, SEALS) == -EPROTO, "so are four billion streams");
	answer = good_answer();
	ok(with_answer(&answer, size, 8, SEALS) == -EPROTO, "formats longer than they say");
	answer.formats_size = 16;
	ok(with_answer(&answer, size, 8, SEALS) == -EPROTO, "formats shorter than they say");
	answer.formats_size = 8;
	ok(with_answer(&answer, size, 8, SEALS & ~F_SEAL_WRITE) == -EPROTO,
	   "and formats that could change while they are read");
	answer = good_answer();
	script_begin(&script);
	bridge_send(script.ends[1], &answer, size, NULL, 0);
	ok(script_run(&script) == -EPROTO, "without formats it is no answer");
	answer.error = -ENOENT;
	memset(answer.text, 'x', sizeof(answer.text));
	script_begin(&script);
	bridge_send(script.ends[1], &answer, size, NULL, 0);
	ok(script_run(&script) == -ENOENT && strlen(script.why) == sizeof(script.why) - 1,
	   "a sentence without end is cut");
	script_begin(&script);
	shutdown(script.ends[1], SHUT_RDWR);
	ok(script_run(&script) < 0, "a bridge that hangs up is gone");
}

/* Return: of link_open(), when one stream follows. */
static int with_stream(uint32_t part, int32_t cpu, int raw_flags, int stats_flags)
{
	struct bridge_stream stream = {
		.head = bridge_head(BRIDGE_STREAM, sizeof(stream)), .part = part, .cpu = cpu};
	int memfd = make_memfd("", 0, SEALS), fds[2];
	struct bridge_answer answer = good_answer();
	struct script script;

	answer.nr_streams = 1;
	fds[0] = open("/dev/null", raw_flags | O_CLOEXEC);
	fds[1] = open("/dev/null", stats_flags | O_CLOEXEC);
	script_begin(&script);
	bridge_send(script.ends[1], &answer, sizeof(answer), &memfd, 1);
	bridge_send(script.ends[1], &stream, sizeof(stream), fds, 2);
	close(memfd);
	close(fds[0]);
	close(fds[1]);
	return script_run(&script);
}

static void test_streams(void)
{
	const int good = O_RDONLY | O_NONBLOCK;
	int before = dup(0), after;

	ok(with_stream(BRIDGE_PART_TASK, 3, good, good) == 0, "a stream is taken");
	ok(with_stream(BRIDGE_NR_PARTS, 0, good, good) == -EPROTO, "not of a third instance");
	ok(with_stream(0, -1, good, good) == -EPROTO &&
		   with_stream(0, BRIDGE_MAX_CPUS, good, good) == -EPROTO,
	   "nor of a CPU that cannot be");
	ok(with_stream(0, 0, O_RDONLY, good) == -EPROTO,
	   "nor with a descriptor that could be waited for");
	ok(with_stream(0, 0, good, O_RDWR | O_NONBLOCK) == -EPROTO,
	   "nor with one that can be written to");
	after = dup(0);
	ok(before + 1 == after, "whatever came, every descriptor is closed again");
	close(before);
	close(after);
}

static void test_formats(void)
{
	const struct bridge_format head = {
		.part = 1, .system_size = 2, .event_size = 2, .text_size = 3};
	char bytes[sizeof(head) + 7];
	struct link_opened opened = {.formats = bytes, .formats_size = sizeof(bytes)};
	struct link_format format;
	unsigned nr_bad = 0;
	size_t at = 0;

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), "a\0b\0cd", 7);
	ok(link_next_format(&opened, &at, &format) == 1 && !strcmp(format.system, "a") &&
		   !strcmp(format.event, "b") && !strcmp(format.text, "cd") &&
		   link_next_format(&opened, &at, &format) == 0,
	   "a format is taken apart");
	/* Whatever a byte is, what is read lies inside. */
	for (size_t i = 0; i < sizeof(bytes); i++)
		for (int value = 0; value < 256; value++) {
			char kept = bytes[i];

			bytes[i] = (char)value;
			at = 0;
			while (link_next_format(&opened, &at, &format) > 0)
				nr_bad += format.text + format.text_size >= bytes + sizeof(bytes);
			bytes[i] = kept;
		}
	ok(nr_bad == 0, "of damaged ones nothing is read outside");
}

/* ---- hostile clients */

/* Return: the error it answers with; 1: it hangs up without a word. */
static int bridge_says(int bridge, const void *message, size_t size)
{
	struct bridge_answer answer;
	long got;

	if (send(bridge, message, size, MSG_NOSIGNAL) < 0)
		return 1;
	got = bridge_receive(bridge, 0, &answer, sizeof(answer), NULL);
	return got == sizeof(answer) ? answer.error : 1;
}

static bool has_hung_up(int bridge)
{
	char byte;

	return recv(bridge, &byte, 1, 0) <= 0;
}

static int request_says(int bridge, enum bridge_kind kind, pid_t pid)
{
	struct bridge_request request = {.head = bridge_head(kind, sizeof(request)), .pid = pid};

	return bridge_says(bridge, &request, sizeof(request));
}

static void test_bad_requests(void)
{
	struct bridge_request request = {.head = bridge_head(BRIDGE_STOP, sizeof(request))};
	static char large[BRIDGE_MAX_REQUEST + 1];
	int bridge = link_start("./weft-bridge"), ret;

	ok(request_says(bridge, BRIDGE_ENABLE, 0) == -EBADFD &&
		   request_says(bridge, BRIDGE_ATTACH, 1) == -EBADFD &&
		   request_says(bridge, BRIDGE_CLOSE, 0) == -EBADFD,
	   "before OPEN nothing can be done");
	ok(request_says(bridge, 99, 0) == -EBADFD, "nor what there is not");
	request.head.magic++;
	ret = bridge_says(bridge, &request, sizeof(request));
	ok(ret == -EPROTO && has_hung_up(bridge), "who does not speak the protocol is left");
	close(bridge);
	bridge = link_start("./weft-bridge");
	request.head = bridge_head(BRIDGE_STOP, sizeof(request));
	request.head.version++;
	ret = bridge_says(bridge, &request, sizeof(request));
	ok(ret == -EPROTONOSUPPORT && has_hung_up(bridge), "who speaks another version is told");
	close(bridge);
	bridge = link_start("./weft-bridge");
	request.head = bridge_head(BRIDGE_OPEN, sizeof(request.head));
	ret = bridge_says(bridge, &request, sizeof(request.head));
	ok(ret == -EPROTO && has_hung_up(bridge), "half a request is none");
	close(bridge);
	bridge = link_start("./weft-bridge");
	*(struct bridge_head *)large = bridge_head(BRIDGE_OPEN, sizeof(large));
	ok(bridge_says(bridge, large, sizeof(large)) != 0 && has_hung_up(bridge),
	   "nor is one that is too long");
	close(bridge);
}

/* Return: the answer's error to OPEN with these wishes, @size bytes. */
static int open_says(uint32_t nr_wishes, const char *wishes, size_t size,
		     const struct bridge_request *others)
{
	char message[sizeof(struct bridge_request) + 512];
	struct bridge_request request = *others;
	int bridge = link_start("./weft-bridge"), ret;

	request.head = bridge_head(BRIDGE_OPEN, sizeof(request) + size);
	request.nr_wishes = nr_wishes;
	memcpy(message, &request, sizeof(request));
	memcpy(message + sizeof(request), wishes, size);
	ret = bridge_says(bridge, message, sizeof(request) + size);
	close(bridge);
	return ret;
}

static void test_wishes(void)
{
	static const char *const bad[] = {
		"s!../../../etc:passwd",
		"s!sched/../..:x",
		"s!sched:sched_switch/format",
		"s!sched:..",
		"s!.:*",
		"x!sched:*",
		"s.sched:*",
		"s!",
		"s",
		"",
		"s!:x",
		"s!a:b:c",
		"s!sched:sched_switch\n",
		"s!\xff:*",
	};
	const struct bridge_request none = {0};
	struct bridge_request other = {.clock = 7};
	char large[200] = "s!";
	size_t nr_refused = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		nr_refused += open_says(1, bad[i], strlen(bad[i]) + 1, &none) == -EINVAL;
	ok(nr_refused == sizeof(bad) / sizeof(bad[0]),
	   "a pattern that is a path, or none at all, is refused: %zu of %zu", nr_refused,
	   sizeof(bad) / sizeof(bad[0]));
	memset(large + 2, 'a', sizeof(large) - 3);
	ok(open_says(1, large, sizeof(large), &none) == -EINVAL, "so is one that is too long");
	ok(open_says(1, "s!sched:*", strlen("s!sched:*"), &none) == -EINVAL, "one without an end");
	ok(open_says(2, "s?sched:sched_switch", sizeof("s?sched:sched_switch"), &none) == -EINVAL,
	   "more than there are");
	ok(open_says(UINT32_MAX, "", 0, &none) == -EINVAL, "and more than there may be");
	ok(open_says(0, "", 0, &other) == -EINVAL, "a clock that there is not");
	other = (struct bridge_request){.flags = ~0u};
	ok(open_says(0, "", 0, &other) == -EINVAL, "flags that there are not");
	other = (struct bridge_request){.buffer_kb = UINT32_MAX};
	ok(open_says(0, "", 0, &other) == -E2BIG, "buffers larger than the memory");
	ok(open_says(1, "s!nonesuch:*", sizeof("s!nonesuch:*"), &none) == -ENOENT,
	   "what must match something and does not is told");
}

enum { NR_AGAIN = 20 };

static void test_order(void)
{
	const char wish[] = "t?sched:sched_switch";
	struct bridge_request request = {.nr_wishes = 1, .buffer_kb = 64};
	struct link_opened opened;
	int bridge = link_start("./weft-bridge"), nr_again = 0;
	char why[256];

	ok(link_open(bridge, &request, wish, sizeof(wish), &opened, why, sizeof(why)) == 0,
	   "a good request is granted");
	ok(opened.nr_formats == 1 && opened.streams.nr > 0,
	   "one event, and the CPUs of one instance");
	link_opened_fini(&opened);
	ok(link_open(bridge, &request, wish, sizeof(wish), &opened, why, sizeof(why)) == -EBUSY,
	   "a second time only after CLOSE");
	ok(link_ask(bridge, BRIDGE_ATTACH, 0, 0) == -EINVAL &&
		   link_ask(bridge, BRIDGE_ATTACH, -1, 0) == -EINVAL &&
		   link_ask(bridge, BRIDGE_ATTACH, 0x7ffffff0, 0) == -ESRCH,
	   "only processes that there are can be attached");
	ok(link_ask(bridge, BRIDGE_EXCLUDE, -5, 0) == -EINVAL, "nor is nobody excluded");
	ok(link_ask(bridge, BRIDGE_ENABLE, 0, 0) == 0 &&
		   link_ask(bridge, BRIDGE_ENABLE, 0, 0) == -EALREADY,
	   "recording begins once");
	ok(link_tell(bridge, BRIDGE_ATTACH, getpid()) == 0 &&
		   link_ask(bridge, BRIDGE_STOP, 0, 1) == 0,
	   "answers that nobody waited for are passed over");
	ok(link_ask(bridge, BRIDGE_CLOSE, 0, 0) == 0 &&
		   link_ask(bridge, BRIDGE_STOP, 0, 0) == -EBADFD,
	   "after CLOSE there is nothing left to stop");
	/* The watcher of the one before may still be about to remove what that one had. */
	for (int i = 0; i < NR_AGAIN; i++) {
		if (link_open(bridge, &request, wish, sizeof(wish), &opened, why, sizeof(why)) < 0)
			break;
		link_opened_fini(&opened);
		nr_again += link_ask(bridge, BRIDGE_CLOSE, 0, 0) == 0;
	}
	ok(nr_again == NR_AGAIN, "one bridge opens as often as it is asked to: %d of %d", nr_again,
	   NR_AGAIN);
	close(bridge);
}

int main(void)
{
	test_answers();
	test_streams();
	test_formats();
	test_bad_requests();
	if (geteuid() == 0 && access("/sys/kernel/tracing/instances", W_OK) == 0) {
		test_wishes();
		test_order();
	} else {
		skip("needs root and tracefs", "wishes are checked, and the order of requests");
	}
	return done_testing();
}
