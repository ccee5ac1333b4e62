/* SPDX-License-Identifier: MIT */
/*
 * record-daemon.c - weft-consumerd as `weft` sees it.
 */
#include "cli/record-daemon.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "consumerd/control.h"
#include "libmarker/rendezvous.h"

/* Another one may be on its way up, or down. */
#define CONNECT_TRIES 100
#define TRIES_PER_START 10
#define TRY_PAUSE_NS 20000000

/* The folder of this program, with a slash at its end. */
static void own_folder(char *ret_folder, size_t size)
{
	ssize_t got = readlink("/proc/self/exe", ret_folder, size - 1);
	char *slash;

	ret_folder[got > 0 ? got : 0] = '\0';
	slash = strrchr(ret_folder, '/');
	if (slash)
		slash[1] = '\0';
}

/* @names: places to try, NULL-terminated; relative ones count from this program's folder. */
static int find_file(const char *variable, const char *const *names, char *ret_path)
{
	char folder[PATH_MAX - 64];
	const char *named = variable ? getenv(variable) : NULL;

	if (named && *named) {
		snprintf(ret_path, PATH_MAX, "%s", named);
		return access(ret_path, R_OK) == 0 ? 0 : -ENOENT;
	}
	own_folder(folder, sizeof(folder));
	for (; *names; names++) {
		snprintf(ret_path, PATH_MAX, "%s%s", **names == '/' ? "" : folder, *names);
		if (access(ret_path, R_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

int daemon_find(char *ret_path)
{
	static const char *const names[] = {"weft-consumerd", "../weft-consumerd",
					    WEFT_LIBEXECDIR "/weft-consumerd", NULL};

	return find_file("WEFT_CONSUMERD", names, ret_path);
}

int daemon_find_bridge(char *ret_path)
{
	static const char *const names[] = {"weft-bridge", "../weft-bridge",
					    WEFT_LIBEXECDIR "/weft-bridge", NULL};

	return find_file(NULL, names, ret_path);
}

int daemon_find_libmarker(char *ret_path)
{
	static const char *const names[] = {".libs/libmarker.so", "libmarker.so",
					    WEFT_LIBDIR "/libmarker.so",
					    WEFT_LIBDIR "/libmarker.so.0", NULL};

	return find_file("WEFT_LIBMARKER", names, ret_path);
}

/* Return: 0 or -errno. */
static int try_connect(struct daemon_link *link, const char *path)
{
	static const struct timeval patience = {.tv_sec = DAEMON_PATIENCE_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int ret = 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	link->used = 0;
	link->is_silent = false;
	link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (link->fd < 0)
		return -errno;
	setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(link->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		ret = -errno;
		daemon_disconnect(link);
	}
	return ret;
}

/* Return: 0 when it says it is ready, or another one runs already; -ECHILD: it has said why not;
 * -errno. */
static int start_daemon(const char *path)
{
	sigset_t none;
	int status;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl(path, path, "--background", "--exit-when-idle", (char *)NULL);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
		return -ENOEXEC;
	return WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CONTROL_RUNS_ALREADY ? 0
										       : -ECHILD;
}

static const char *describe_folder_error(int error)
{
	if (error == -EPERM)
		return "it is no folder of this user's alone";
	return error == -EINVAL ? "it does not begin with a slash" : strerror(-error);
}

/* Where the daemon listens. @reterr: on failure one sentence. Return: 0 or -errno. */
static int find_socket(char *ret_path, char *reterr, size_t reterr_size)
{
	char folder[RENDEZVOUS_MAX_PATH] = "WEFT_RUNDIR";
	int ret = rendezvous_folder(folder);

	if (ret == 0)
		ret = rendezvous_file(folder, CONTROL_SOCKET_NAME, ret_path);
	if (ret < 0)
		snprintf(reterr, reterr_size,
			 "cannot meet weft-consumerd in %s: %s; set WEFT_RUNDIR to a folder of "
			 "yours, mode 0700",
			 folder, describe_folder_error(ret));
	return ret;
}

int daemon_connect(struct daemon_link *link, char *reterr, size_t reterr_size)
{
	char socket_path[RENDEZVOUS_MAX_PATH], path[PATH_MAX];
	struct timespec pause = {.tv_nsec = TRY_PAUSE_NS};
	int ret = find_socket(socket_path, reterr, reterr_size);

	if (ret < 0)
		return ret;
	ret = try_connect(link, socket_path);
	if (ret == 0)
		return 0;
	if (daemon_find(path) < 0) {
		snprintf(reterr, reterr_size,
			 "no weft-consumerd at %s; install it, or set WEFT_CONSUMERD", path);
		return -ENOENT;
	}
	ret = start_daemon(path);
	for (int i = 0; i < CONNECT_TRIES && ret == 0; i++) {
		if (try_connect(link, socket_path) == 0)
			return 0;
		nanosleep(&pause, NULL);
		/* One that ran already may have been on its way out. */
		if (i % TRIES_PER_START == TRIES_PER_START - 1)
			ret = start_daemon(path);
	}
	reterr[0] = '\0';
	if (ret != -ECHILD)
		snprintf(reterr, reterr_size, "cannot start %s: %s", path,
			 ret < 0 ? strerror(-ret) : "it does not answer");
	return ret < 0 ? ret : -ETIMEDOUT;
}

int daemon_connect_running(struct daemon_link *link, char *reterr, size_t reterr_size)
{
	char socket_path[RENDEZVOUS_MAX_PATH];
	int ret = find_socket(socket_path, reterr, reterr_size);

	if (ret < 0)
		return ret;
	ret = try_connect(link, socket_path);
	if (ret < 0)
		snprintf(reterr, reterr_size, "weft-consumerd does not answer: %s", strerror(-ret));
	return ret == -ECONNREFUSED ? -ENOENT : ret;
}

/* @fd goes with the first byte; -1: none. */
static ssize_t send_some(int socket, const char *text, size_t size, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {.iov_base = (char *)text, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		*CMSG_FIRSTHDR(&header) = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(fd)),
		};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), &fd, sizeof(fd));
	}
	return sendmsg(socket, &header, MSG_NOSIGNAL);
}

static int send_all(int socket, const char *text, size_t size, int fd)
{
	while (size > 0) {
		ssize_t sent = send_some(socket, text, size, fd);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -EPIPE;
		fd = -1;
		text += sent;
		size -= (size_t)sent;
	}
	return 0;
}

/* The next line, as JSON; NULL when the daemon is gone. */
static json_t *receive(struct daemon_link *link)
{
	char *end;
	json_t *answer;
	ssize_t got;

	while (!(end = memchr(link->buffer, '\n', link->used))) {
		if (link->used == sizeof(link->buffer))
			return NULL;
		got = recv(link->fd, link->buffer + link->used, sizeof(link->buffer) - link->used,
			   0);
		if (got < 0 && errno == EINTR)
			continue;
		link->is_silent = got < 0 && errno == EAGAIN;
		if (got <= 0)
			return NULL;
		link->used += (size_t)got;
	}
	answer = json_loadb(link->buffer, (size_t)(end - link->buffer), 0, NULL);
	link->used -= (size_t)(end - link->buffer) + 1;
	memmove(link->buffer, end + 1, link->used);
	return answer;
}

int daemon_send(struct daemon_link *link, json_t *request, int fd)
{
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	int ret = -EPIPE;

	json_decref(request);
	if (text && link->fd >= 0)
		ret = send_all(link->fd, text, strlen(text), fd);
	if (ret == 0)
		ret = send_all(link->fd, "\n", 1, -1);
	free(text);
	if (ret < 0)
		daemon_disconnect(link);
	return ret;
}

json_t *daemon_receive(struct daemon_link *link)
{
	json_t *answer = link->fd >= 0 ? receive(link) : NULL;

	if (!answer)
		daemon_disconnect(link);
	return answer;
}

json_t *daemon_ask(struct daemon_link *link, json_t *request)
{
	return daemon_send(link, request, -1) < 0 ? NULL : daemon_receive(link);
}

const char *daemon_fate(const struct daemon_link *link)
{
	return link->is_silent ? "does not answer" : "has ended";
}

void daemon_disconnect(struct daemon_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}
