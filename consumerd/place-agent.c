/* SPDX-License-Identifier: MIT */
/*
 * place-agent.c - see place-agent.h. It says nothing to anybody but by its socket.
 */
#include "consumerd/place-agent.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consumerd/folder-lock.h"
#include "consumerd/programs.h"
#include "libmarker/rendezvous.h"

#define ORDERS 0 /* descriptor */

struct agent {
	const char *folder;
	struct control_page *page;
	int listen_fd;
};

/* For good. Return: 0 or -errno. */
static int become(uid_t uid, gid_t gid)
{
	uid_t ruid, euid, suid;

	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0 || getresuid(&ruid, &euid, &suid) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (ruid != uid || euid != uid || suid != uid || uid == 0 || setuid(0) == 0)
		return -EPERM;
	return 0;
}

/* Return: 0 or -errno. */
static int take_folder(struct agent *agent, const struct folder_holder *master)
{
	int ret = rendezvous_folder_check(agent->folder);

	if (ret == 0)
		ret = folder_lock(agent->folder, master);
	if (ret >= 0) /* kept until the end */
		ret = rendezvous_control_map(agent->folder, true, &agent->page);
	if (ret < 0)
		return ret;
	/* One that died may have left its wish on the page. */
	(void)rendezvous_control_publish(agent->page, NULL);
	rendezvous_control_new_instance(agent->page);
	agent->listen_fd = programs_listen(agent->folder);
	return agent->listen_fd < 0 ? agent->listen_fd : 0;
}

/* @fd: to be passed along, or -1. Return: 0, or -errno: nobody is there any more. */
static int answer(int error, pid_t holder, int fd)
{
	struct place_answer message = {.error = error, .holder = holder};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *header = (struct cmsghdr *)control;

		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	return sendmsg(ORDERS, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int follow(const struct agent *agent, const struct place_order *order)
{
	struct control_wish wish = {
		.clock = order->clock,
		.lane_data_size = order->lane_data_size,
		.pool_size = order->pool_size,
		.nr_patterns = order->nr_patterns,
		.level_limit = order->level_limit,
		.when_full = order->when_full,
		.patterns = order->patterns,
		.patterns_size = order->patterns_size,
	};
	int64_t ret = rendezvous_control_publish(agent->page, order->is_on ? &wish : NULL);

	return ret < 0 ? (int)ret : 0;
}

static void follow_orders(const struct agent *agent)
{
	static struct place_order order;
	ssize_t got;

	for (;;) {
		got = recv(ORDERS, &order, sizeof(order), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(order))
			return;
		if (answer(follow(agent, &order), 0, -1) < 0)
			return;
	}
}

static void leave_folder(struct agent *agent)
{
	char path[RENDEZVOUS_MAX_PATH];

	if (agent->page)
		(void)rendezvous_control_publish(agent->page, NULL);
	if (agent->listen_fd >= 0 &&
	    rendezvous_file(agent->folder, RENDEZVOUS_MARKERS_SOCKET, path) == 0)
		(void)unlink(path);
}

static pid_t holder_of(const char *folder)
{
	struct folder_holder holder;

	return folder_lock_holder(folder, &holder) < 0 ? 0 : holder.pid;
}

int place_agent_main(int argc, char **argv)
{
	struct agent agent = {.listen_fd = -1};
	struct folder_holder master = {.pid = getppid(), .uid = getuid()};
	int ret;

	if (argc != 4)
		return 2;
	agent.folder = argv[1];
	(void)umask(077);
	ret = chdir("/") < 0 ? -errno : become((uid_t)atol(argv[2]), (gid_t)atol(argv[3]));
	if (ret == 0)
		ret = take_folder(&agent, &master);
	if (ret < 0) {
		(void)answer(ret, ret == -EWOULDBLOCK ? holder_of(agent.folder) : 0, -1);
	} else if (answer(0, 0, agent.listen_fd) == 0) {
		follow_orders(&agent);
	}
	leave_folder(&agent);
	return ret < 0;
}
