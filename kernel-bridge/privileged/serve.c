/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/privileged/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "kernel-bridge/privileged/tracing.h"

enum { FIRST_REQUEST_MS = 30000, SEND_WAIT_S = 5 };

struct server {
	int socket;
	bool is_open;
	struct tracing tracing;
};

static int answer(const struct server *server, const struct bridge_answer *what, int memfd)
{
	return bridge_send(server->socket, what, sizeof(*what), &memfd, memfd >= 0);
}

static int send_stream(const struct server *server, enum bridge_part part, int cpu)
{
	struct bridge_stream stream = {
		.head = bridge_head(BRIDGE_STREAM, sizeof(stream)),
		.part = part,
		.cpu = cpu,
	};
	int fds[2];
	int ret = instance_open_cpu(&server->tracing.instances[part], cpu, &fds[0], &fds[1]);

	if (ret < 0)
		return ret;
	ret = bridge_send(server->socket, &stream, sizeof(stream), fds, 2);
	close(fds[0]);
	close(fds[1]);
	return ret;
}

/* The answer to OPEN: how many streams there are, then these. Return: 0, or -errno: hang up. */
static int send_open(struct server *server, struct bridge_answer *what)
{
	int *cpus = calloc(BRIDGE_MAX_CPUS, sizeof(*cpus));
	int nr_cpus = 0, ret = 0, nr_instances = 0;

	for (int part = 0; part < BRIDGE_NR_PARTS; part++) {
		const struct instance *instance = &server->tracing.instances[part];

		if (!cpus || !instance->dir[0])
			continue;
		nr_instances++;
		nr_cpus = instance_cpus(instance, cpus, BRIDGE_MAX_CPUS);
	}
	if (!cpus || nr_cpus < 0) {
		free(cpus);
		return cpus ? nr_cpus : -ENOMEM;
	}
	what->nr_streams = (uint32_t)(nr_instances * nr_cpus);
	what->formats_size = server->tracing.selection.formats_size;
	what->nr_formats = server->tracing.selection.nr_formats;
	what->nr_leftovers = server->tracing.nr_leftovers;
	ret = answer(server, what, server->tracing.selection.formats);
	for (int part = 0; part < BRIDGE_NR_PARTS; part++)
		for (int i = 0; i < nr_cpus && ret == 0; i++)
			if (server->tracing.instances[part].dir[0])
				ret = send_stream(server, part, cpus[i]);
	free(cpus);
	return ret;
}

/* @wishes: what follows the request, @size bytes. */
static int do_open(struct server *server, const struct bridge_request *request, const char *wishes,
		   size_t size, struct bridge_answer *what)
{
	what->error = server->is_open ? -EBUSY
				      : tracing_open(&server->tracing, request, wishes, size,
						     what->text, sizeof(what->text));
	if (what->error < 0)
		return answer(server, what, -1);
	server->is_open = true;
	return send_open(server, what);
}

static int do_with_pid(struct tracing *tracing, enum bridge_kind kind, pid_t pid)
{
	switch (kind) {
	case BRIDGE_ENABLE:
		return tracing_enable(tracing);
	case BRIDGE_ATTACH:
		return tracing_attach(tracing, pid);
	case BRIDGE_EXCLUDE:
		return tracing_exclude(tracing, pid);
	case BRIDGE_STOP:
		return tracing_stop(tracing);
	case BRIDGE_CLOSE:
		tracing_close(tracing);
		return 0;
	default:
		return -EPROTO;
	}
}

static int do_other(struct server *server, const struct bridge_request *request,
		    struct bridge_answer *what)
{
	what->error = -EBADFD;
	if (server->is_open)
		what->error = do_with_pid(&server->tracing, request->head.kind, request->pid);
	if (request->head.kind == BRIDGE_CLOSE)
		server->is_open = false;
	if (what->error < 0)
		snprintf(what->text, sizeof(what->text), "%s", strerror(-what->error));
	return answer(server, what, -1);
}

/* One request. Return: 0, or -errno: hang up. */
static int serve_request(struct server *server)
{
	static union {
		char bytes[BRIDGE_MAX_REQUEST];
		struct bridge_request request;
	} message;
	struct bridge_answer what = {0};
	long size = bridge_receive(server->socket, MSG_DONTWAIT, &message, sizeof(message), NULL);
	size_t behind;
	int ret;

	if (size <= 0)
		return size == -EAGAIN ? 0 : size < 0 ? (int)size : -EPIPE;
	ret = bridge_check_head(&message, (size_t)size);
	what.head = bridge_head(ret == 0 ? message.request.head.kind : 0, sizeof(what));
	if (ret == 0 && (size_t)size < sizeof(message.request))
		ret = -EPROTO;
	if (ret < 0) {
		what.error = ret;
		snprintf(what.text, sizeof(what.text),
			 ret == -EPROTONOSUPPORT ? "weft-bridge is of another version than weft"
						 : "weft-bridge does not understand the request");
		(void)answer(server, &what, -1);
		return ret;
	}
	behind = (size_t)size - sizeof(message.request);
	if (message.request.head.kind == BRIDGE_OPEN)
		return do_open(server, &message.request, message.bytes + sizeof(message.request),
			       behind, &what);
	return do_other(server, &message.request, &what);
}

void serve_client(int socket, int signals)
{
	/* Who does not read its answers must not hold what we have opened for it. */
	const struct timeval patience = {.tv_sec = SEND_WAIT_S};
	struct server server = {.socket = socket};
	struct pollfd fds[2] = {{.fd = socket, .events = POLLIN},
				{.fd = signals, .events = POLLIN}};

	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (;;) {
		int nr = poll(fds, 2, server.is_open ? -1 : FIRST_REQUEST_MS);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0 || fds[1].revents || serve_request(&server) < 0)
			break;
	}
	/* The client lets go of the buffers when it sees this: before, they cannot be removed. */
	(void)shutdown(socket, SHUT_RDWR);
	if (server.is_open)
		tracing_close(&server.tracing);
}
