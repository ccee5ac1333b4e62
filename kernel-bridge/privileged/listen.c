/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/privileged/listen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel-bridge/privileged/serve.h"
#include "kernel-bridge/protocol.h"

/* Recordings at once; more clients wait to be accepted. */
enum { MAX_CLIENTS = 16, REAP_MS = 200 };
/* Of them, so that no user keeps all others out. */
enum { MAX_OF_USER = 8 };

struct client {
	pid_t pid; /* 0: a free slot */
	uid_t uid;
};

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

static void reap(struct client *clients)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < MAX_CLIENTS; i++)
			if (clients[i].pid == pid)
				clients[i].pid = 0;
}

static struct client *free_slot(struct client *clients)
{
	for (int i = 0; i < MAX_CLIENTS; i++)
		if (!clients[i].pid)
			return &clients[i];
	return NULL;
}

/* Whose the connection is. Return: false when that cannot be told, or that user has enough. */
static bool may_come(const struct client *clients, int socket, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int nr = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	for (int i = 0; i < MAX_CLIENTS; i++)
		nr += clients[i].pid && clients[i].uid == peer.uid;
	*ret_uid = peer.uid;
	return nr < MAX_OF_USER;
}

/* Says why. What the client has sent is thrown away first: closed with it, ours would be lost. */
static void refuse(int client)
{
	struct bridge_answer why = {.head = bridge_head(0, sizeof(why)), .error = -EUSERS};
	char byte;

	snprintf(why.text, sizeof(why.text),
		 "%d recordings of yours have kernel events already: end one of them ('weft stop')",
		 MAX_OF_USER);
	(void)bridge_send(client, &why, sizeof(why), NULL, 0);
	(void)shutdown(client, SHUT_RD);
	while (recv(client, &byte, 1, MSG_DONTWAIT) > 0)
		;
	close(client);
}

static void accept_client(int listener, int signals, const struct client *clients,
			  struct client *slot)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid;

	if (client < 0)
		return;
	if (!may_come(clients, client, &slot->uid)) {
		refuse(client);
		return;
	}
	pid = fork();
	if (pid == 0) {
		close(listener);
		serve_client(client, signals);
		_exit(0);
	}
	close(client);
	if (pid > 0)
		slot->pid = pid;
}

void listen_serve(int listener, int signals)
{
	struct client clients[MAX_CLIENTS] = {0}, *slot;
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = signals, .events = POLLIN}};

	do {
		reap(clients);
		slot = free_slot(clients);
		fds[0].fd = slot ? listener : -1;
		if (poll(fds, 2, REAP_MS) > 0 && slot && fds[0].revents)
			accept_client(listener, signals, clients, slot);
	} while (!fds[1].revents);
	for (int i = 0; i < MAX_CLIENTS; i++)
		if (clients[i].pid)
			kill(clients[i].pid, SIGTERM);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}
