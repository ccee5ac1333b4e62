/* SPDX-License-Identifier: MIT */
/*
 * requests.c - what the control socket's commands do. Requests come from our own user, but may be
 * malformed all the same.
 */
#include "consumerd/requests.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <urcu.h>
#include <urcu/rculist.h>

#define MAX_TEXTS 64

static json_t *failure(const char *sentence)
{
	return json_pack("{s:b, s:s%}", "ok", 0, "error", sentence, strlen(sentence));
}

static const char *text_of(const json_t *request, const char *key)
{
	const char *text = json_string_value(json_object_get(request, key));

	return text ? text : "";
}

/* The strings of an array, borrowed, NULL-terminated. Return: false when it is no such array. */
static bool texts_of(const json_t *request, const char *key, const char **ret_texts)
{
	const json_t *array = json_object_get(request, key);
	size_t nr = json_array_size(array);

	ret_texts[0] = NULL;
	if (!array || json_is_null(array))
		return true;
	if (!json_is_array(array) || nr >= MAX_TEXTS)
		return false;
	for (size_t i = 0; i < nr; i++) {
		ret_texts[i] = json_string_value(json_array_get(array, i));
		if (!ret_texts[i])
			return false;
	}
	ret_texts[nr] = NULL;
	return true;
}

static struct recording *recording_of(struct recordings *recordings, const json_t *request)
{
	json_int_t number = json_integer_value(json_object_get(request, "session"));

	for (uint32_t i = 0; i < recordings->nr; i++)
		if (recordings->items[i].session->number == number)
			return &recordings->items[i];
	return NULL;
}

/* Return: NULL, or why the process may not be traced by us. */
static const char *check_pid(pid_t pid)
{
	if (pid == 0 || kill(pid, 0) == 0)
		return NULL;
	return errno == EPERM ? "that process belongs to another user; run as root to trace it"
			      : "there is no such process";
}

static bool is_scripted(const char *backend)
{
	return !strncmp(backend, "fake", 4) && (backend[4] == ':' || !backend[4]);
}

/* Reads a start request. Return: NULL, or what is wrong with it. */
static const char *read_start(const json_t *request, struct session_config *config,
			      const char **extra, const char **markers)
{
	json_int_t pid = json_integer_value(json_object_get(request, "pid"));
	json_int_t ring_size = json_integer_value(json_object_get(request, "ring_size"));

	*config = (struct session_config){
		.dir = text_of(request, "dir"),
		.kernel = text_of(request, "kernel"),
		.backend = text_of(request, "backend"),
		.command = text_of(request, "argv"),
		.pid = (pid_t)pid,
		.is_fast_clock = !strcmp(text_of(request, "clock"), "fast"),
		.ring_size = (uint64_t)ring_size,
		.extra = extra,
		.markers = markers,
	};
	if (config->dir[0] != '/')
		return "a session needs the absolute path of its folder as \"dir\"";
	if (pid < 0 || pid > INT32_MAX || ring_size < 0 || ring_size > (1 << 30))
		return "\"pid\" or \"ring_size\" is out of range";
	if (!texts_of(request, "extra", extra) || !texts_of(request, "markers", markers))
		return "\"extra\" and \"markers\" must be short arrays of strings";
	return check_pid(config->pid);
}

/* Creates the session and has it adopted. Return: NULL, or a sentence why not. */
static const char *start_session(struct recordings *recordings, struct session_config *config,
				 struct session **ret_session, char *text, size_t size)
{
	struct collector *collector = recordings->collector;
	pid_t exclude[] = {gettid(), collector_tid(collector), 0};
	struct clock_anchor first;
	int ret;

	config->clock =
		is_scripted(config->backend) ? CLOCK_TICKS_MONO : clock_detect(&config->clock_why);
	config->map_borrow = collector_map(collector);
	config->exclude = exclude;
	if (collector_set_clock(collector, config->clock) < 0)
		return "a recording with another clock is running; stop it first";
	clock_read_anchor(config->clock, &first);
	config->first = &first;
	ret = session_create(config, ret_session, text, size);
	if (ret < 0) {
		if (!text[0])
			snprintf(text, size, "cannot start: %s", strerror(-ret));
		return text;
	}
	(*ret_session)->number = ++recordings->last_number;
	ret = collector_adopt(collector, *ret_session, &first);
	if (ret < 0) {
		session_destroy(*ret_session);
		if (ret == -E2BIG)
			return "too many marker patterns";
		snprintf(text, size, "cannot start: %s", strerror(-ret));
		return text;
	}
	return NULL;
}

static json_t *answer_start(struct recordings *recordings, const json_t *request, int fd)
{
	const char *extra[MAX_TEXTS + 1], *markers[MAX_TEXTS + 1], *why;
	struct session_config config;
	struct session *session;
	char text[512] = "";

	if (recordings->nr == SESSION_MAX)
		return failure("as many recordings as possible are running; stop one first");
	why = read_start(request, &config, extra, markers);
	if (!why)
		why = start_session(recordings, &config, &session, text, sizeof(text));
	if (why)
		return failure(why);
	recordings->items[recordings->nr++] = (struct recording){
		.session = session,
		.owner_fd = json_is_true(json_object_get(request, "detach")) ? -1 : fd,
	};
	return json_pack("{s:b, s:i, s:s, s:s, s:s}", "ok", 1, "session", (int)session->number,
			 "backend", session->backend_name, "clock", session->clock_name, "missing",
			 session->missing ? session->missing : "");
}

static uint64_t figure(const _Atomic uint64_t *value)
{
	/* Relaxed: a figure for people. */
	return atomic_load_explicit(value, memory_order_relaxed);
}

/* The figures that status and stop share. */
static json_t *figures(const struct session *session, uint64_t end_ns)
{
	const struct session_stats *stats = &session->stats;
	int error = atomic_load_explicit(&stats->error, memory_order_relaxed);
	double seconds = end_ns > session->on_ns ? (double)(end_ns - session->on_ns) / 1e9 : 0;

	return json_pack("{s:b, s:i, s:s, s:I, s:I, s:I, s:I, s:f, s:s}", "ok", 1, "session",
			 (int)session->number, "dir", session->dir, "events",
			 (json_int_t)figure(&stats->events), "discarded",
			 (json_int_t)figure(&stats->discarded), "bytes",
			 (json_int_t)figure(&stats->bytes), "late",
			 (json_int_t)figure(&stats->late), "seconds", seconds, "problem",
			 error ? strerror(-error) : "");
}

static json_t *answer_status(struct recordings *recordings, const json_t *request)
{
	struct recording *recording = recording_of(recordings, request);
	json_t *answer;

	if (!recording)
		return failure("there is no such session");
	answer = figures(recording->session, procfs_now_ns());
	json_object_set_new(answer, "state", json_string("recording"));
	json_object_set_new(
		answer, "programs",
		json_integer(atomic_load_explicit(&collector_programs(recordings->collector)->nr,
						  memory_order_relaxed)));
	return answer;
}

static void end_recording(struct recordings *recordings, struct recording *recording)
{
	session_destroy(recording->session);
	*recording = recordings->items[--recordings->nr];
}

static json_t *answer_stop(struct recordings *recordings, const json_t *request)
{
	struct recording *recording = recording_of(recordings, request);
	uint64_t end_ns = procfs_now_ns();
	json_t *answer;

	if (!recording)
		return failure("there is no such session");
	collector_release(recordings->collector, recording->session);
	answer = figures(recording->session, end_ns);
	json_object_set_new(answer, "clock_error_ns",
			    json_integer(recording->session->clock_error_ns));
	end_recording(recordings, recording);
	return answer;
}

/* The programs, while the collector goes on adding and removing them. */
static json_t *list_programs(const struct recordings *recordings)
{
	const struct programs *programs = collector_programs(recordings->collector);
	json_t *list = json_array();
	struct program *program;

	rcu_read_lock();
	cds_list_for_each_entry_rcu(program, &programs->list, node)
	{
		json_array_append_new(
			list,
			json_pack("{s:i, s:s%, s:I, s:I, s:i}", "pid", (int)program->pid, "comm",
				  program->comm, strnlen(program->comm, sizeof(program->comm)),
				  "events", (json_int_t)figure(&program->nr_events), "refused",
				  (json_int_t)figure(&program->nr_bad), "rings",
				  (int)atomic_load_explicit(&program->nr_rings,
							    memory_order_relaxed)));
	}
	rcu_read_unlock();
	return list;
}

static json_t *answer_list(struct recordings *recordings)
{
	json_t *sessions = json_array();

	for (uint32_t i = 0; i < recordings->nr; i++)
		json_array_append_new(sessions,
				      figures(recordings->items[i].session, procfs_now_ns()));
	return json_pack("{s:b, s:i, s:o, s:o}", "ok", 1, "pid", (int)getpid(), "sessions",
			 sessions, "programs", list_programs(recordings));
}

json_t *requests_answer(struct recordings *recordings, const json_t *request, int fd)
{
	const char *command = text_of(request, "command");

	if (!strcmp(command, "start"))
		return answer_start(recordings, request, fd);
	if (!strcmp(command, "status"))
		return answer_status(recordings, request);
	if (!strcmp(command, "stop"))
		return answer_stop(recordings, request);
	if (!strcmp(command, "list"))
		return answer_list(recordings);
	return failure("no such command");
}

void requests_disconnect(struct recordings *recordings, int fd)
{
	for (uint32_t i = recordings->nr; i-- > 0;) {
		if (recordings->items[i].owner_fd != fd)
			continue;
		collector_release(recordings->collector, recordings->items[i].session);
		end_recording(recordings, &recordings->items[i]);
	}
}

void requests_end(struct recordings *recordings)
{
	while (recordings->nr > 0) {
		struct recording *last = &recordings->items[recordings->nr - 1];

		collector_release(recordings->collector, last->session);
		end_recording(recordings, last);
	}
}
