/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for more than are taken, so that a surplus is seen, and closed. */
enum { CONTROL_FDS = 2 * BRIDGE_MAX_FDS };

struct bridge_head bridge_head(enum bridge_kind kind, size_t size)
{
	return (struct bridge_head){
		.magic = BRIDGE_MAGIC,
		.version = BRIDGE_VERSION,
		.kind = (uint16_t)kind,
		.size = (uint32_t)size,
	};
}

int bridge_check_head(const void *message, size_t size)
{
	struct bridge_head head;

	if (size < sizeof(head))
		return -EPROTO;
	memcpy(&head, message, sizeof(head));
	if (head.magic != BRIDGE_MAGIC)
		return -EPROTO;
	if (head.version != BRIDGE_VERSION)
		return -EPROTONOSUPPORT;
	return head.size == size ? 0 : -EPROTO;
}

int bridge_send(int socket, const void *message, size_t size, const int *fds, int nr_fds)
{
	union {
		char bytes[CMSG_SPACE(BRIDGE_MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {.iov_base = (void *)message, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (nr_fds > BRIDGE_MAX_FDS)
		return -EINVAL;
	if (nr_fds > 0) {
		size_t bytes = (size_t)nr_fds * sizeof(int);

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(bytes);
		*CMSG_FIRSTHDR(&header) = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(bytes),
		};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), fds, bytes);
	}
	do {
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == size ? 0 : -EPROTO;
}

/* Keeps the first descriptors, closes the others. Return: 0, or -EPROTO: there were others. */
static int take_fds(struct msghdr *header, int *ret_fds)
{
	int nr = 0, fd, ret = 0;

	for (struct cmsghdr *each = CMSG_FIRSTHDR(header); each; each = CMSG_NXTHDR(header, each)) {
		if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(fd) <= each->cmsg_len; at += sizeof(fd)) {
			memcpy(&fd, (char *)each + at, sizeof(fd));
			if (nr < BRIDGE_MAX_FDS) {
				ret_fds[nr++] = fd;
				continue;
			}
			close(fd);
			ret = -EPROTO;
		}
	}
	return ret;
}

static void drop_fds(int *fds)
{
	for (int i = 0; i < BRIDGE_MAX_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

long bridge_receive(int socket, int flags, void *buffer, size_t capacity, int *ret_fds)
{
	union {
		char bytes[CMSG_SPACE(CONTROL_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = buffer, .iov_len = capacity};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got;
	int ret = 0;

	if (ret_fds) {
		for (int i = 0; i < BRIDGE_MAX_FDS; i++)
			ret_fds[i] = -1;
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
	}
	do {
		got = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (ret_fds)
		ret = take_fds(&header, ret_fds);
	/* The kernel drops descriptors by itself: there were more than anybody asked for, or no
	 * more may be open here. */
	if (ret_fds && header.msg_flags & MSG_CTRUNC)
		ret = ret_fds[BRIDGE_MAX_FDS - 1] < 0 ? -EMFILE : -EPROTO;
	if (header.msg_flags & MSG_TRUNC)
		ret = -EPROTO;
	if (ret < 0) {
		drop_fds(ret_fds ? ret_fds : (int[BRIDGE_MAX_FDS]){-1, -1});
		return ret;
	}
	return got;
}
