/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/privileged/listen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel-bridge/privileged/serve.h"

/* Recordings at once; more clients wait to be accepted. */
enum { MAX_CLIENTS = 16, REAP_MS = 200 };

/* Nobody else may put a socket of theirs where clients look for ours. */
static int check_folder(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat st;
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (folder[0] != '/' || slash == folder)
		return -EINVAL;
	*slash = '\0';
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(folder, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

static int bind_for_group(int listener, const struct sockaddr_un *address, gid_t group)
{
	mode_t mask;
	int ret;

	/* One that was there before is dead, or about to be nobody's. */
	(void)unlink(address->sun_path);
	mask = umask(0177);
	ret = bind(listener, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
	umask(mask);
	if (ret == 0 && (chown(address->sun_path, (uid_t)-1, group) < 0 ||
			 chmod(address->sun_path, 0660) < 0 || listen(listener, MAX_CLIENTS) < 0))
		ret = -errno;
	return ret;
}

int listen_open(const char *path, gid_t group)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener, ret;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	ret = check_folder(path);
	if (ret < 0)
		return ret;
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0)
		return -errno;
	ret = bind_for_group(listener, &address, group);
	if (ret < 0) {
		close(listener);
		return ret;
	}
	return listener;
}

static void reap(pid_t *clients)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < MAX_CLIENTS; i++)
			if (clients[i] == pid)
				clients[i] = 0;
}

static pid_t *free_slot(pid_t *clients)
{
	for (int i = 0; i < MAX_CLIENTS; i++)
		if (!clients[i])
			return &clients[i];
	return NULL;
}

static void accept_client(int listener, int signals, pid_t *slot)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid;

	if (client < 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(listener);
		serve_client(client, signals);
		_exit(0);
	}
	close(client);
	if (pid > 0)
		*slot = pid;
}

void listen_serve(int listener, int signals)
{
	pid_t clients[MAX_CLIENTS] = {0}, *slot;
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = signals, .events = POLLIN}};

	do {
		reap(clients);
		slot = free_slot(clients);
		fds[0].fd = slot ? listener : -1;
		if (poll(fds, 2, REAP_MS) > 0 && slot && fds[0].revents)
			accept_client(listener, signals, slot);
	} while (!fds[1].revents);
	for (int i = 0; i < MAX_CLIENTS; i++)
		if (clients[i])
			kill(clients[i], SIGTERM);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}
