/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"

/*
 * Our caller's other work waits as long, also for a bridge that hangs. Buffers of a large machine
 * take their time.
 */
enum { OPEN_WAIT_MS = 30000, WAIT_MS = 5000 };

/* A child between fork and exec. */
static void become_bridge(const char *path, int socket)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(socket, STDIN_FILENO) < 0)
		_exit(127);
	execl(path, path, (char *)NULL);
	_exit(127);
}

int link_start(const char *path)
{
	int ends[2], error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become_bridge(path, ends[1]);
	error = errno;
	close(ends[1]);
	if (pid > 0)
		return ends[0];
	close(ends[0]);
	return -error;
}

int link_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* One message of that kind. Return: 0, -EPIPE when there is nobody, -EMFILE, -EPROTO, -ETIMEDOUT.
 */
static int receive(int socket, enum bridge_kind kind, void *message, size_t size, int *ret_fds)
{
	bool is_open = kind == BRIDGE_OPEN || kind == BRIDGE_STREAM;
	struct pollfd end = {.fd = socket, .events = POLLIN};
	struct bridge_head *head = message;
	long got;
	int ret;

	do {
		ret = poll(&end, 1, is_open ? OPEN_WAIT_MS : WAIT_MS);
	} while (ret < 0 && errno == EINTR);
	if (ret <= 0)
		return ret < 0 ? -errno : -ETIMEDOUT;
	got = bridge_receive(socket, MSG_DONTWAIT, message, size, ret_fds);
	if (got <= 0)
		return got == -EPROTO || got == -EMFILE ? (int)got : -EPIPE;
	ret = bridge_check_head(message, (size_t)got);
	/* Kind 0: it did not understand us, and says so. */
	if (ret == 0 && ((size_t)got != size || (head->kind != kind && head->kind != 0)))
		ret = -EPROTO;
	return ret;
}

static int receive_answer(int socket, enum bridge_kind kind, struct bridge_answer *answer,
			  int *ret_fds)
{
	int ret = receive(socket, kind, answer, sizeof(*answer), ret_fds);

	answer->text[ret == 0 ? sizeof(answer->text) - 1 : 0] = '\0';
	if (ret < 0)
		return ret;
	return answer->error < 0 && answer->error > -4096 ? answer->error : 0;
}

/* The memfd's bytes: copied, so that nobody changes them while we read. */
static int read_formats(int memfd, struct link_opened *opened)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	struct stat st;

	if (memfd < 0 || (fcntl(memfd, F_GET_SEALS) & seals) != seals || fstat(memfd, &st) < 0 ||
	    (uint64_t)st.st_size != opened->formats_size ||
	    opened->formats_size > BRIDGE_MAX_FORMATS)
		return -EPROTO;
	opened->formats = malloc(opened->formats_size + 1);
	if (!opened->formats)
		return -ENOMEM;
	if (pread(memfd, opened->formats, opened->formats_size, 0) != st.st_size)
		return -EPROTO;
	return 0;
}

/* For reading only, and never to wait for. */
static bool is_readable(int fd)
{
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && flags & O_NONBLOCK;
}

static int receive_stream(int socket, struct link_opened *opened)
{
	struct link_stream *stream = array_push(&opened->streams);
	struct bridge_stream message;
	int fds[BRIDGE_MAX_FDS], ret;

	if (!stream)
		return -ENOMEM;
	stream->raw = stream->stats = -1;
	ret = receive(socket, BRIDGE_STREAM, &message, sizeof(message), fds);
	if (ret < 0)
		return ret;
	stream->raw = fds[0];
	stream->stats = fds[1];
	stream->part = message.part;
	stream->cpu = message.cpu;
	if (!is_readable(fds[0]) || !is_readable(fds[1]) || message.part >= BRIDGE_NR_PARTS ||
	    message.cpu < 0 || message.cpu >= BRIDGE_MAX_CPUS)
		return -EPROTO;
	return 0;
}

static int receive_opened(int socket, struct link_opened *opened, char *reterr, size_t reterr_size)
{
	struct bridge_answer answer;
	int fds[BRIDGE_MAX_FDS] = {-1, -1};
	int ret = receive_answer(socket, BRIDGE_OPEN, &answer, fds);

	if (ret < 0 && answer.text[0])
		snprintf(reterr, reterr_size, "%s", answer.text);
	if (ret == 0 && answer.nr_streams > BRIDGE_NR_PARTS * BRIDGE_MAX_CPUS)
		ret = -EPROTO;
	if (ret == 0) {
		opened->formats_size = answer.formats_size;
		opened->nr_formats = answer.nr_formats;
		opened->nr_leftovers = answer.nr_leftovers;
		ret = read_formats(fds[0], opened);
	}
	for (int i = 0; i < BRIDGE_MAX_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	for (uint32_t i = 0; ret == 0 && i < answer.nr_streams; i++)
		ret = receive_stream(socket, opened);
	return ret;
}

int link_open(int socket, struct bridge_request *request, const char *wishes, size_t wishes_size,
	      struct link_opened *ret_opened, char *reterr, size_t reterr_size)
{
	size_t size = sizeof(*request) + wishes_size;
	struct link_opened opened = {0};
	char *message = size <= BRIDGE_MAX_REQUEST ? malloc(size) : NULL;
	int ret = message ? 0 : -E2BIG;

	reterr[0] = '\0';
	request->head = bridge_head(BRIDGE_OPEN, size);
	if (message) {
		memcpy(message, request, sizeof(*request));
		memcpy(message + sizeof(*request), wishes, wishes_size);
		ret = bridge_send(socket, message, size, NULL, 0);
		free(message);
	}
	/* One that took no request may have said why. */
	if (ret == 0 || ret == -EPIPE)
		ret = receive_opened(socket, &opened, reterr, reterr_size);
	if (ret < 0) {
		link_opened_fini(&opened);
		if (!reterr[0])
			snprintf(reterr, reterr_size, "weft-bridge: %s",
				 ret == -EPIPE ? "has ended" : strerror(-ret));
		return ret;
	}
	*ret_opened = opened;
	return 0;
}

void link_opened_fini(struct link_opened *opened)
{
	for (size_t i = 0; i < opened->streams.nr; i++) {
		const struct link_stream *stream = &opened->streams.items[i];

		if (stream->raw >= 0)
			close(stream->raw);
		if (stream->stats >= 0)
			close(stream->stats);
	}
	array_fini(&opened->streams);
	free(opened->formats);
	memset(opened, 0, sizeof(*opened));
}

/* A text of @size bytes with its NUL, none before it. Return: it, or NULL. */
static const char *take_text(const struct link_opened *opened, size_t *at, uint32_t size)
{
	const char *text = opened->formats + *at;

	if (size == 0 || size > opened->formats_size - *at || strnlen(text, size) != size - 1)
		return NULL;
	*at += size;
	return text;
}

int link_next_format(const struct link_opened *opened, size_t *at, struct link_format *ret_format)
{
	struct link_format found;
	struct bridge_format head;

	if (*at == opened->formats_size)
		return 0;
	if (sizeof(head) > opened->formats_size - *at)
		return -EPROTO;
	memcpy(&head, opened->formats + *at, sizeof(head));
	*at += sizeof(head);
	found.part = head.part;
	found.system = take_text(opened, at, head.system_size);
	found.event = found.system ? take_text(opened, at, head.event_size) : NULL;
	found.text = found.event ? take_text(opened, at, head.text_size) : NULL;
	if (!found.text || head.part > BRIDGE_PART_NONE)
		return -EPROTO;
	found.text_size = head.text_size - 1;
	*ret_format = found;
	return 1;
}

int link_find_format(const struct link_opened *opened, const char *system, const char *event,
		     struct link_format *ret_format)
{
	struct link_format format;
	size_t at = 0;

	while (link_next_format(opened, &at, &format) > 0) {
		if (strcmp(format.event, event) == 0 && strcmp(format.system, system) == 0) {
			*ret_format = format;
			return 0;
		}
	}
	return -ENOENT;
}

/* One that hangs is as good as gone; should it go on, it sees that we are, and cleans up. */
static int give_up_when_late(int socket, int ret)
{
	if (ret == -ETIMEDOUT)
		(void)shutdown(socket, SHUT_RDWR);
	return ret;
}

int link_tell(int socket, enum bridge_kind kind, pid_t pid)
{
	struct bridge_request request = {
		.head = bridge_head(kind, sizeof(request)),
		.pid = pid,
	};
	struct pollfd end = {.fd = socket, .events = POLLOUT};
	int ret;

	do {
		ret = poll(&end, 1, WAIT_MS);
	} while (ret < 0 && errno == EINTR);
	if (ret == 0)
		return give_up_when_late(socket, -ETIMEDOUT);
	return ret < 0 ? -errno : bridge_send(socket, &request, sizeof(request), NULL, 0);
}

int link_ask(int socket, enum bridge_kind kind, pid_t pid, uint32_t nr_before)
{
	struct bridge_answer answer;
	int ret = 0;

	while (nr_before-- > 0 && ret == 0)
		ret = receive(socket, BRIDGE_ATTACH, &answer, sizeof(answer), NULL);
	if (ret == 0)
		ret = link_tell(socket, kind, pid);
	if (ret == 0)
		ret = receive_answer(socket, kind, &answer, NULL);
	return give_up_when_late(socket, ret);
}

int link_take_answers(int socket)
{
	struct bridge_answer answer;
	int nr = 0;

	for (;;) {
		long got = bridge_receive(socket, MSG_DONTWAIT, &answer, sizeof(answer), NULL);

		if (got == -EAGAIN)
			return nr;
		if (got <= 0)
			return -EPIPE;
		nr++;
	}
}
