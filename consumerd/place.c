/* SPDX-License-Identifier: MIT */
/* place.c - see place.h. What an agent says is checked: it has the user's rights, not ours. */
#include "consumerd/place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "consumerd/procfs.h"
#include "consumerd/user-names.h"

#define RETRY_NS 1000000000u
#define MAX_RETRY_SHIFT 6
#define END_WAIT_MS 500

struct place *place_create(const char *folder, uid_t uid)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	snprintf(place->folder, sizeof(place->folder), "%s", folder);
	place->uid = uid;
	place->fd = -1;
	return place;
}

/* Return: 0 or -errno. */
static int spawn_agent(const struct place *place, int socket, pid_t *ret_pid)
{
	char uid[16], gid[16], *environment[] = {NULL};
	char *argv[] = {
		"weft-consumerd", PLACE_AGENT_OPTION, (char *)place->folder, uid, gid, NULL};
	posix_spawn_file_actions_t files;
	int ret;

	snprintf(uid, sizeof(uid), "%u", (unsigned)place->uid);
	snprintf(gid, sizeof(gid), "%u", (unsigned)user_group(place->uid));
	ret = posix_spawn_file_actions_init(&files);
	if (ret)
		return -ret;
	ret = posix_spawn_file_actions_adddup2(&files, socket, 0);
	for (int fd = 1; !ret && fd < 3; fd++)
		ret = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	if (!ret)
		ret = posix_spawn_file_actions_addclosefrom_np(&files, 3);
	if (!ret)
		ret = posix_spawn(ret_pid, "/proc/self/exe", &files, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&files);
	return -ret;
}

/* Its process has ended, or will at once. Return: has it been reaped? */
static bool reap(pid_t *pid)
{
	if (*pid && waitpid(*pid, NULL, WNOHANG) == 0)
		return false;
	*pid = 0;
	return true;
}

void place_end(struct place *place, struct collector *collector)
{
	if (place->entrance)
		collector_close_entrance(collector, place->entrance);
	place->entrance = NULL;
	if (place->fd >= 0)
		close(place->fd);
	place->fd = -1;
	place->state = PLACE_IDLE;
}

/* The agent is gone, or good for nothing. */
static void fail(struct place *place, struct collector *collector, int error)
{
	uint32_t shift =
		place->nr_failures < MAX_RETRY_SHIFT ? place->nr_failures : MAX_RETRY_SHIFT;

	place_end(place, collector);
	if (place->agent && error != -EWOULDBLOCK)
		(void)kill(place->agent, SIGKILL);
	place->dying = place->agent;
	place->agent = 0;
	place->error = error;
	place->nr_unanswered = 0;
	/* A holder may end at any time, which does not make the folder a bad one. */
	place->retry_ns = procfs_now_ns();
	if (error != -EWOULDBLOCK) {
		place->retry_ns += (uint64_t)RETRY_NS << shift;
		place->nr_failures++;
	}
}

void place_start(struct place *place, int epoll_fd, uint64_t now_ns, uint64_t patience_ns)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = place};
	int ends[2], ret;

	if (place->state != PLACE_IDLE || now_ns < place->retry_ns || !reap(&place->dying))
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		fail(place, NULL, -errno);
		return;
	}
	place->fd = ends[0];
	ret = epoll_ctl(epoll_fd, EPOLL_CTL_ADD, place->fd, &event) < 0
		      ? -errno
		      : spawn_agent(place, ends[1], &place->agent);
	close(ends[1]);
	if (ret < 0) {
		place->agent = 0;
		fail(place, NULL, ret);
		return;
	}
	place->state = PLACE_STARTING;
	place->deadline_ns = now_ns + patience_ns;
}

/* The descriptor of a message, or -1. */
static int take_fd(struct msghdr *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	int fd;

	if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
	    part->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(part), sizeof(fd));
	return fd;
}

/* Return: 1, 0 when there is none, -errno. *ret_fd is the caller's, or -1. */
static int receive(const struct place *place, struct place_answer *ret_answer, int *ret_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {.iov_base = ret_answer, .iov_len = sizeof(*ret_answer)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(place->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*ret_fd = -1;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	*ret_fd = take_fd(&message);
	if (got == 0)
		return -EPIPE;
	return got == sizeof(*ret_answer) ? 1 : -EPROTO;
}

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

/* Nothing else can be accepted from, nor be waited on by mistake. */
static bool is_markers_socket(int fd)
{
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK && socket_option(fd, SO_DOMAIN) == AF_UNIX &&
	       socket_option(fd, SO_TYPE) == SOCK_SEQPACKET &&
	       socket_option(fd, SO_ACCEPTCONN) == 1;
}

/* The first answer. @fd: taken over. Return: 0 or -errno. */
static int begin_to_serve(struct place *place, struct collector *collector,
			  const struct place_answer *answer, int fd)
{
	int ret = answer->error;

	if (ret == 0 && !is_markers_socket(fd))
		ret = -EPROTO;
	if (ret == 0)
		ret = collector_open_entrance(collector, fd, place->uid, &place->entrance);
	if (ret != 0) {
		if (fd >= 0)
			close(fd);
		place->holder = answer->holder;
		return ret < 0 ? ret : -EPROTO;
	}
	place->state = PLACE_SERVED;
	place->error = 0;
	place->is_told = false;
	return 0;
}

void place_answer(struct place *place, struct collector *collector, const struct place_order *order)
{
	struct place_answer answer;
	int fd, ret;

	if (place->fd < 0)
		return;
	ret = receive(place, &answer, &fd);
	if (ret > 0 && place->state == PLACE_STARTING) {
		ret = begin_to_serve(place, collector, &answer, fd);
		if (ret == 0 && order->is_on)
			place_order(place, order, place->deadline_ns);
	} else if (ret != 0) {
		if (fd >= 0)
			close(fd);
		if (ret > 0)
			ret = place->nr_unanswered > 0 && answer.error <= 0 ? answer.error
									    : -EPROTO;
		if (ret == 0 && --place->nr_unanswered == 0)
			place->nr_failures = 0;
	}
	if (ret < 0)
		fail(place, collector, ret);
}

void place_order(struct place *place, const struct place_order *order, uint64_t deadline_ns)
{
	if (place->state != PLACE_SERVED)
		return;
	/* A full socket shows as an answer that does not come. */
	(void)!send(place->fd, order, sizeof(*order), MSG_DONTWAIT | MSG_NOSIGNAL);
	place->nr_unanswered++;
	place->deadline_ns = deadline_ns;
}

bool place_is_awaited(const struct place *place)
{
	return place->state == PLACE_STARTING ||
	       (place->state == PLACE_SERVED && place->nr_unanswered > 0);
}

void place_expire(struct place *place, struct collector *collector, uint64_t now_ns)
{
	(void)reap(&place->dying);
	if (place_is_awaited(place) && now_ns >= place->deadline_ns)
		fail(place, collector, -ETIMEDOUT);
}

bool place_says(const struct place *place, char *ret_text, size_t size)
{
	char name[64];

	if (place->state == PLACE_SERVED || !place->error)
		return false;
	user_name(place->uid, name, sizeof(name));
	if (place->error != -EWOULDBLOCK)
		snprintf(ret_text, size, "no markers of %s: cannot use %s: %s", name, place->folder,
			 strerror(-place->error));
	else if (place->holder > 0)
		snprintf(ret_text, size,
			 "no markers of %s: that user's own weft-consumerd, process %d, has them",
			 name, (int)place->holder);
	else
		snprintf(ret_text, size,
			 "no markers of %s: that user's own weft-consumerd has them", name);
	return true;
}

/* Return: has it ended within the time? */
static bool wait_for(pid_t pid, int wait_ms)
{
	struct pollfd end = {.events = POLLIN};
	int ret;

	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (end.fd < 0)
		return true;
	do {
		ret = poll(&end, 1, wait_ms);
	} while (ret < 0 && errno == EINTR);
	close(end.fd);
	return ret > 0;
}

void place_destroy(struct place *place)
{
	if (place->agent && !wait_for(place->agent, END_WAIT_MS)) {
		(void)kill(place->agent, SIGKILL);
		(void)wait_for(place->agent, END_WAIT_MS);
	}
	(void)reap(&place->agent);
	(void)reap(&place->dying);
	free(place);
}
