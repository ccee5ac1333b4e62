/* SPDX-License-Identifier: MIT */
/*
 * control-socket.c - the control thread: one loop over connections and signals.
 */
#include "consumerd/control-socket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <urcu.h>

#include "consumerd/control.h"
#include "consumerd/requests.h"
#include "libmarker/rendezvous.h"

#define MAX_CLIENTS 32
#define MAX_LINE 65536u
/* Started for a session that never came. */
#define FIRST_IDLE_MS 10000
/* For want of memory: a client's bytes are tried again so often, with such a pause, one after the
 * other. */
#define MAX_RETRIES 100
#define RETRY_US 1000
/* Without a descriptor for it, a connection is taken in so much later. */
#define SHORT_PAUSE_MS 50
/* Signals, the listening socket, other users' places. Then come clients, and the programs that
 * detached recordings end with. */
#define NR_FIXED_FDS 3

struct client {
	int fd;
	size_t used;
	char *line; /* MAX_LINE bytes */
	int passed; /* the descriptor that came with its last bytes; -1 */
	unsigned nr_retries;
};

struct control {
	const char *folder;
	int listen_fd, signal_fd;
	struct client clients[MAX_CLIENTS];
	uint32_t nr_clients;
	struct recordings recordings;
	bool exit_when_idle, had_client;
	bool is_short; /* of what takes a connection in: they wait for a moment */
};

static int open_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Return: 0 or -errno; *ret_fd is the caller's in either case. */
static int open_listener(const char *folder, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int ret = rendezvous_file(folder, CONTROL_SOCKET_NAME, address.sun_path);

	if (ret < 0)
		return ret;
	*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret_fd < 0)
		return -errno;
	/* Whoever held it before is dead: the lock on the folder says so. */
	(void)unlink(address.sun_path);
	if (bind(*ret_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0700) < 0 || listen(*ret_fd, 16) < 0)
		return -errno;
	return 0;
}

int control_open(const char *folder, struct collector *collector, bool exit_when_idle,
		 struct control **ret_control)
{
	struct control *control = calloc(1, sizeof(*control));
	int ret;

	if (!control)
		return -ENOMEM;
	control->folder = folder;
	control->recordings.collector = collector;
	control->exit_when_idle = exit_when_idle;
	control->listen_fd = -1;
	control->signal_fd = open_signals();
	ret = control->signal_fd < 0 ? -errno : open_listener(folder, &control->listen_fd);
	if (ret < 0) {
		control_close(control);
		return ret;
	}
	rcu_register_thread();
	*ret_control = control;
	return 0;
}

int control_serve_others(struct control *control, const char *folder)
{
	control->recordings.places = places_create(control->recordings.collector, folder);
	return control->recordings.places ? 0 : -ENOMEM;
}

static void accept_client(struct control *control)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct client *client;
	char *line;
	int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		control->is_short = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
		return;
	}
	line = malloc(MAX_LINE);
	if (!line || control->nr_clients == MAX_CLIENTS ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    (peer.uid != geteuid() && peer.uid != 0)) {
		free(line);
		close(fd);
		return;
	}
	client = &control->clients[control->nr_clients++];
	*client = (struct client){.fd = fd, .line = line, .passed = -1};
	control->had_client = true;
}

/* Takes over a descriptor that a client passed; the one before it is closed. */
static void keep_passed(struct client *client, int fd)
{
	if (client->passed >= 0)
		close(client->passed);
	client->passed = fd;
}

static void drop_client(struct control *control, uint32_t index)
{
	struct client *client = &control->clients[index];

	requests_disconnect(&control->recordings, client->fd);
	keep_passed(client, -1);
	close(client->fd);
	free(client->line);
	*client = control->clients[--control->nr_clients];
}

/* One line to a client. Return: 0, or -errno: it does not read its answers. */
static int send_answer(const struct client *client, const json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	size_t size = text ? strlen(text) : 0;
	ssize_t sent;

	if (!text)
		return -ENOMEM;
	text[size] = '\n'; /* in place of the NUL */
	sent = send(client->fd, text, size + 1, MSG_NOSIGNAL);
	free(text);
	return sent == (ssize_t)size + 1 ? 0 : -EPIPE;
}

static int answer_line(struct control *control, struct client *client, const char *line,
		       size_t size)
{
	json_t *request = json_loadb(line, size, 0, NULL);
	json_t *answer =
		requests_answer(&control->recordings, request, client->fd, &client->passed);
	int ret = send_answer(client, answer);

	json_decref(request);
	json_decref(answer);
	return ret;
}

/* Answers the whole lines there are. Return: 0, or -errno: to be dropped. */
static int answer_lines(struct control *control, struct client *client)
{
	char *end;
	size_t size;
	int ret = 0;

	while (ret == 0 && (end = memchr(client->line, '\n', client->used))) {
		size = (size_t)(end - client->line);
		ret = answer_line(control, client, client->line, size);
		client->used -= size + 1;
		memmove(client->line, end + 1, client->used);
	}
	return ret == 0 && client->used == MAX_LINE ? -E2BIG : ret;
}

/* Bytes of a client, and the last of the descriptors with them. Return: as recv(). */
static ssize_t receive(struct client *client)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = client->line + client->used,
			     .iov_len = MAX_LINE - client->used};
	struct msghdr header = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	ssize_t got = recvmsg(client->fd, &header, MSG_CMSG_CLOEXEC);
	struct cmsghdr *each = got > 0 ? CMSG_FIRSTHDR(&header) : NULL;
	int fd;

	/* There is room for one and its padding; the kernel closes what does not fit. */
	for (; each; each = CMSG_NXTHDR(&header, each)) {
		if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(fd) <= each->cmsg_len; at += sizeof(fd)) {
			memcpy(&fd, (char *)each + at, sizeof(fd));
			keep_passed(client, fd);
		}
	}
	return got;
}

/* Return: 0: what failed may be tried again; or -errno: to be dropped, lest it wait for ever. */
static int bear_failure(struct client *client, int error)
{
	if (error == EAGAIN || error == EINTR)
		return 0;
	if (error != ENOMEM || client->nr_retries == MAX_RETRIES)
		return -error;
	client->nr_retries++;
	usleep(RETRY_US);
	return 0;
}

/* Return: 0, or -errno: to be dropped. */
static int serve_client(struct control *control, struct client *client)
{
	ssize_t got = receive(client);

	if (got < 0)
		return bear_failure(client, errno);
	if (got == 0)
		return -EPIPE;
	client->nr_retries = 0;
	client->used += (size_t)got;
	return answer_lines(control, client);
}

static bool is_idle(const struct control *control)
{
	return control->exit_when_idle && !control->nr_clients && !control->recordings.nr;
}

/* Waits for whatever there is. Return: as poll(). */
static int wait_for_work(struct control *control, struct pollfd *fds)
{
	int pid_fds[SESSION_MAX], timeout = requests_watch(&control->recordings, pid_fds);
	int places_ms = places_timeout_ms(control->recordings.places), ret;
	nfds_t nr = NR_FIXED_FDS;

	fds[0] = (struct pollfd){.fd = control->signal_fd, .events = POLLIN};
	/* It would be ready at once, over and over. */
	fds[1] = (struct pollfd){.fd = control->is_short ? -1 : control->listen_fd,
				 .events = POLLIN};
	if (control->is_short && (timeout < 0 || timeout > SHORT_PAUSE_MS))
		timeout = SHORT_PAUSE_MS;
	if (places_ms >= 0 && (timeout < 0 || places_ms < timeout))
		timeout = places_ms;
	fds[2] = (struct pollfd){
		.fd = places_fd(control->recordings.places),
		.events = POLLIN,
	};
	for (uint32_t i = 0; i < control->nr_clients; i++)
		fds[nr++] = (struct pollfd){.fd = control->clients[i].fd, .events = POLLIN};
	/* Only to wake; and no more than there are, for poll() takes no more than may be open. */
	for (uint32_t i = 0; i < SESSION_MAX; i++)
		if (pid_fds[i] >= 0)
			fds[nr++] = (struct pollfd){.fd = pid_fds[i], .events = POLLIN};
	ret = poll(fds, nr, is_idle(control) && !control->is_short ? FIRST_IDLE_MS : timeout);
	if (ret < 0 && errno != EINTR)
		usleep(SHORT_PAUSE_MS * 1000);
	return ret;
}

void control_run(struct control *control)
{
	struct pollfd fds[NR_FIXED_FDS + MAX_CLIENTS + SESSION_MAX];
	int ret;

	for (;;) {
		if (is_idle(control) && control->had_client)
			return;
		ret = wait_for_work(control, fds);
		if (fds[0].revents || (ret == 0 && is_idle(control) && !control->is_short))
			return;
		control->is_short = false;
		/* From the last on, for dropping one moves the last into its place. */
		for (uint32_t i = control->nr_clients; i-- > 0;)
			if (fds[NR_FIXED_FDS + i].revents &&
			    serve_client(control, &control->clients[i]) < 0)
				drop_client(control, i);
		requests_expire(&control->recordings);
		requests_step_parts(&control->recordings);
		places_work(control->recordings.places);
		if (fds[1].revents)
			accept_client(control);
	}
}

void control_close(struct control *control)
{
	char path[RENDEZVOUS_MAX_PATH];

	if (!control)
		return;
	/* First of all: nobody connects to one that is about to end. */
	if (control->listen_fd >= 0) {
		if (rendezvous_file(control->folder, CONTROL_SOCKET_NAME, path) == 0)
			(void)unlink(path);
		close(control->listen_fd);
	}
	requests_end(&control->recordings);
	places_destroy(control->recordings.places);
	while (control->nr_clients > 0)
		drop_client(control, 0);
	if (control->signal_fd >= 0)
		close(control->signal_fd);
	free(control);
}
