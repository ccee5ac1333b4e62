/* SPDX-License-Identifier: MIT */
/*
 * requests.c - what the control socket's commands do. Requests come from our own user, but may be
 * malformed all the same.
 */
#include "consumerd/requests.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <urcu.h>
#include <urcu/rculist.h>

#include "consumerd/control.h"
#include "consumerd/discards.h"
#include "consumerd/parts.h"
#include "consumerd/snapshot.h"

#define MAX_TEXTS 64
#define NS_PER_MS 1000000u
/* Of memory, per recording: a third of a second of the most that a program can say. */
#define WRITE_AHEAD (256u << 20)

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
		if (recordings->items[i].number == number)
			return &recordings->items[i];
	return NULL;
}

/*
 * Return: NULL, or why the process may not be traced by us. The descriptor tells that the number
 * still meant the same process when its owner had been read; a set-user-id program of ours is not
 * ours, though we may send it signals. With a bridge, anything may be traced.
 */
static const char *check_pid(pid_t pid, bool has_bridge)
{
	struct pollfd process = {.events = POLLIN};
	uid_t owner = 0;
	bool is_gone;
	int ret;

	if (pid == 0)
		return NULL;
	process.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	ret = process.fd < 0 ? -errno : procfs_owner(pid, &owner);
	is_gone = ret == -ENOENT || ret == -ESRCH || poll(&process, 1, 0) > 0;
	if (process.fd >= 0)
		close(process.fd);
	if (is_gone)
		return "there is no such process";
	if (geteuid() != 0 && !has_bridge && (ret < 0 || owner != geteuid()))
		return "that process belongs to another user; run as root to trace it";
	return NULL;
}

static bool is_scripted(const char *backend)
{
	return !strncmp(backend, "fake", 4) && (backend[4] == ':' || !backend[4]);
}

static bool is_none_or_above(json_int_t value, json_int_t lowest)
{
	return !value || value >= lowest;
}

/* Reads a start request. Return: NULL, or what is wrong with it. */
static const char *read_start(const json_t *request, struct session_config *config, int bridge,
			      const char **extra, const char **markers)
{
	json_int_t pid = json_integer_value(json_object_get(request, "pid"));
	json_int_t ring_size = json_integer_value(json_object_get(request, "ring_size"));
	json_int_t kernel_buffer = json_integer_value(json_object_get(request, "kernel_buffer"));

	json_int_t rotate_bytes = json_integer_value(json_object_get(request, "rotate_bytes"));
	json_int_t rotate_ns = json_integer_value(json_object_get(request, "rotate_ns"));
	json_int_t max_bytes = json_integer_value(json_object_get(request, "max_bytes"));
	json_int_t keep_bytes = json_integer_value(json_object_get(request, "keep_bytes"));
	json_int_t keep_ns = json_integer_value(json_object_get(request, "keep_ns"));
	json_int_t level_limit = json_integer_value(json_object_get(request, "level_limit"));

	*config = (struct session_config){
		.dir = text_of(request, "dir"),
		.kernel = text_of(request, "kernel"),
		.backend = text_of(request, "backend"),
		.command = text_of(request, "argv"),
		.pid = (pid_t)pid,
		.is_fast_clock = !strcmp(text_of(request, "clock"), "fast"),
		.is_own_only = json_is_true(json_object_get(request, "own")),
		.is_blocking = !strcmp(text_of(request, "when_full"), "block"),
		.ring_size = (uint64_t)ring_size,
		.kernel_buffer = (uint64_t)kernel_buffer,
		.rotate_bytes = (uint64_t)rotate_bytes,
		.rotate_ns = (uint64_t)rotate_ns,
		.max_bytes = (uint64_t)max_bytes,
		.keep_bytes = (uint64_t)keep_bytes,
		.keep_ns = (uint64_t)keep_ns,
		.level_limit = (uint32_t)level_limit,
		.extra = extra,
		.markers = markers,
		.bridge = bridge,
		.bridge_why = text_of(request, "no_bridge"),
	};
	if (config->dir[0] != '/')
		return "a session needs the absolute path of its folder as \"dir\"";
	if (pid < 0 || pid > INT32_MAX || ring_size < 0 || ring_size > (1 << 30))
		return "\"pid\" or \"ring_size\" is out of range";
	if (kernel_buffer < 0 || kernel_buffer > CONTROL_MAX_KERNEL_BUFFER)
		return "\"kernel_buffer\" is out of range";
	if (!is_none_or_above(rotate_bytes, CONTROL_MIN_ROTATE) ||
	    !is_none_or_above(rotate_ns, CONTROL_MIN_ROTATE_NS) ||
	    !is_none_or_above(max_bytes, 2 * (rotate_bytes ? rotate_bytes : CONTROL_MIN_ROTATE)))
		return "\"rotate_bytes\", \"rotate_ns\" or \"max_bytes\" is out of range";
	if (!is_none_or_above(keep_bytes, CONTROL_MIN_KEEP) ||
	    !is_none_or_above(keep_ns, CONTROL_MIN_KEEP_NS))
		return "\"keep_bytes\" or \"keep_ns\" is out of range";
	if (level_limit < 0 || level_limit > 8)
		return "\"level_limit\" is out of range";
	if (!texts_of(request, "extra", extra) || !texts_of(request, "markers", markers))
		return "\"extra\" and \"markers\" must be short arrays of strings";
	return check_pid(config->pid, bridge >= 0);
}

/* Creates the session and has it adopted. Return: NULL, or a sentence why not. */
static const char *start_session(struct recordings *recordings, struct session_config *config,
				 int *passed, struct session **ret_session, char *text, size_t size)
{
	struct collector *collector = recordings->collector;
	pid_t exclude[] = {gettid(), collector_tid(collector), 0};
	struct clock_anchor first;
	int ret;

	config->clock =
		is_scripted(config->backend) ? CLOCK_TICKS_MONO : clock_detect(&config->clock_why);
	config->map_borrow = collector_map(collector);
	config->exclude = exclude;
	config->write_ahead = WRITE_AHEAD;
	if (collector_set_clock(collector, config->clock) < 0)
		return "a recording with another clock is running; stop it first";
	clock_read_anchor(config->clock, &first);
	config->first = &first;
	*passed = -1; /* the session's from here on */
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
		session_remove_trace(config->dir);
		if (ret == -E2BIG)
			return "too many marker patterns";
		if (ret == -ESTALE)
			return "the time stamp counter was set back by a suspend; stop the "
			       "recordings from before it first";
		snprintf(text, size, "cannot start: %s", strerror(-ret));
		return text;
	}
	return NULL;
}

static void add_recording(struct recordings *recordings, struct session *session,
			  const json_t *request, int fd)
{
	bool is_detached = json_is_true(json_object_get(request, "detach"));
	json_int_t duration = json_integer_value(json_object_get(request, "duration_ns"));
	struct recording *recording = &recordings->items[recordings->nr++];

	*recording = (struct recording){
		.session = session,
		.number = session->number,
		.owner_fd = is_detached ? -1 : fd,
		.starter_fd = fd,
		.pid_fd = -1,
	};
	if (is_detached && session->pid > 0)
		recording->pid_fd = (int)syscall(SYS_pidfd_open, session->pid, 0);
	if (is_detached && duration > 0)
		recording->deadline_ns = session->on_ns + (uint64_t)duration;
	if (is_detached && session->pid > 0 && recording->pid_fd < 0)
		recording->deadline_ns = session->on_ns; /* it has ended by now */
}

/* What the recordings want of other users' programs. @but: no longer it; or NULL. */
static void tell_places(struct recordings *recordings, const struct session *but)
{
	struct session *sessions[SESSION_MAX] = {NULL};

	for (uint32_t i = 0; i < recordings->nr; i++)
		if (recordings->items[i].session != but)
			sessions[i] = recordings->items[i].session;
	places_wish(recordings->places, sessions, recordings->clock);
}

static json_t *answer_start(struct recordings *recordings, const json_t *request, int fd,
			    int *passed)
{
	const char *extra[MAX_TEXTS + 1], *markers[MAX_TEXTS + 1], *why;
	struct session_config config;
	struct session *session;
	char text[512] = "";

	if (recordings->nr == SESSION_MAX)
		return failure("as many recordings as possible are running; stop one first");
	why = read_start(request, &config, *passed, extra, markers);
	if (!why && !config.is_own_only) {
		places_take(recordings->places, config.pid);
		config.missing_markers = places_missing(recordings->places);
	}
	if (!why)
		why = start_session(recordings, &config, passed, &session, text, sizeof(text));
	if (why) {
		places_rest(recordings->places);
		return failure(why);
	}
	recordings->clock = config.clock;
	add_recording(recordings, session, request, fd);
	tell_places(recordings, NULL);
	return json_pack("{s:b, s:i, s:s, s:s, s:s, s:s}", "ok", 1, "session", (int)session->number,
			 "backend", session->backend_name, "clock", session->clock_name, "missing",
			 session->missing ? session->missing : "", "others",
			 places_missing(recordings->places));
}

static uint64_t figure(const _Atomic uint64_t *value)
{
	/* Relaxed: a figure for people. */
	return atomic_load_explicit(value, memory_order_relaxed);
}

/* What is wrong with a recording, or "". */
static void describe_problem(const struct session *session, char *ret_text, size_t size)
{
	int error = atomic_load_explicit(&session->stats.error, memory_order_relaxed);

	ret_text[0] = '\0';
	if (session->is_dir_lost)
		snprintf(ret_text, size, "its folder was removed or replaced while it was written");
	else if (error == -ESTALE)
		snprintf(ret_text, size,
			 "the time stamp counter was set back by a suspend; start anew");
	else if (error)
		snprintf(ret_text, size, "%s", programs_describe(error));
	else if (session->part_error)
		snprintf(ret_text, size, "cannot begin the next part: %s",
			 strerror(-session->part_error));
}

/* A time as people count it, from when everything was on, in seconds. */
static double seconds_into(const struct session *session, uint64_t ns)
{
	return ns > session->on_ns ? (double)(ns - session->on_ns) / 1e9 : 0;
}

/* What is left of a recording whose oldest parts were deleted; 0: all of it. */
static double kept_seconds(const struct session *session, uint64_t end_ns)
{
	const struct session_parts *parts = &session->parts;
	uint64_t begin_ns = parts->there.items[0].begin_ns;

	return parts->oldest > 1 && end_ns > begin_ns ? (double)(end_ns - begin_ns) / 1e9 : 0;
}

/* The figures that status and stop share. */
static json_t *figures(const struct session *session, uint64_t end_ns)
{
	const struct session_stats *stats = &session->stats;
	char problem[128];
	double seconds = end_ns > session->on_ns ? (double)(end_ns - session->on_ns) / 1e9 : 0;

	describe_problem(session, problem, sizeof(problem));
	return json_pack(
		"{s:b, s:i, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:s, s:b, s:I, s:f, s:f, s:f}",
		"ok", 1, "session", (int)session->number, "dir", session->dir, "pid",
		(int)session->pid, "queued", (json_int_t)figure(&stats->queued), "events",
		(json_int_t)figure(&stats->events), "discarded",
		(json_int_t)figure(&stats->discarded), "bytes", (json_int_t)figure(&stats->bytes),
		"late", (json_int_t)figure(&stats->late), "seconds", seconds, "problem", problem,
		"kernel_ended",
		(int)atomic_load_explicit(&stats->has_kernel_ended, memory_order_relaxed), "lost",
		(json_int_t)figure(&stats->lost), "lost_begin",
		seconds_into(session, figure(&stats->lost_begin_ns)), "lost_end",
		seconds_into(session, figure(&stats->lost_end_ns)), "kept",
		kept_seconds(session, end_ns));
}

static json_t *answer_status(struct recordings *recordings, const json_t *request)
{
	struct recording *recording = recording_of(recordings, request);
	json_t *answer;

	if (!recording)
		return failure("there is no such session");
	if (recording->ended)
		return json_copy(recording->ended);
	answer = figures(recording->session, procfs_now_ns());
	json_object_set_new(answer, "state", json_string("recording"));
	if (!recording->session->is_own_only)
		json_object_set_new(answer, "others",
				    json_string(places_missing(recordings->places)));
	json_object_set_new(
		answer, "programs",
		json_integer(atomic_load_explicit(&collector_programs(recordings->collector)->nr,
						  memory_order_relaxed)));
	return answer;
}

static void forget(struct recordings *recordings, struct recording *recording)
{
	json_decref(recording->ended);
	if (recording->pid_fd >= 0)
		close(recording->pid_fd);
	*recording = recordings->items[--recordings->nr];
}

/* Writes a session's trace to its end. Return: its last figures, the caller's, or NULL. */
static json_t *end_session(struct recordings *recordings, struct recording *recording)
{
	uint64_t end_ns = procfs_now_ns();
	json_t *answer;

	tell_places(recordings, recording->session);
	collector_release(recordings->collector, recording->session);
	places_rest(recordings->places);
	(void)session_has_folder(recording->session);
	answer = figures(recording->session, end_ns);
	json_object_set_new(answer, "state", json_string("ended"));
	json_object_set_new(answer, "clock_error_ns",
			    json_integer(recording->session->clock_error_ns));
	json_object_set_new(answer, "discarded_markers", discards_totals(recording->session));
	session_destroy(recording->session);
	recording->session = NULL;
	return answer;
}

static void end_recording(struct recordings *recordings, struct recording *recording)
{
	if (recording->session)
		json_decref(end_session(recordings, recording));
	forget(recordings, recording);
}

static json_t *answer_stop(struct recordings *recordings, const json_t *request, int fd)
{
	struct recording *recording = recording_of(recordings, request);
	json_t *answer;

	if (!recording)
		return failure("there is no such session");
	answer = recording->session ? end_session(recordings, recording)
				    : json_incref(recording->ended);
	/* Its owner, in another terminal, learns it from its next question. */
	if (recording->owner_fd >= 0 && recording->owner_fd != fd) {
		json_decref(recording->ended);
		recording->ended = json_copy(answer);
	} else {
		forget(recordings, recording);
	}
	return answer;
}

static bool is_cut(const struct recording *recording)
{
	return recording->session && recording->session->parts.number;
}

/* Bytes, events and time of a trace that is ready. */
static json_t *snapshot_figures(const struct session *session)
{
	const struct snapshot *snapshot = &session->parts.snapshot;
	double seconds = (double)(snapshot->end_ns - snapshot->begin_ns) / 1e9;

	return json_pack("{s:b, s:s, s:s+, s:s, s:I, s:I, s:I, s:f, s:I, s:I}", "ok", 1, "state",
			 "ready", "dir", session->dir, "/" SNAPSHOT_FOLDER, "recording",
			 session->dir, "events", (json_int_t)snapshot->events, "discarded",
			 (json_int_t)snapshot->discarded, "bytes", (json_int_t)snapshot->bytes,
			 "seconds", seconds, "begin_ns", (json_int_t)snapshot->begin_ns, "end_ns",
			 (json_int_t)snapshot->end_ns);
}

/* A client asks again until it is ready. */
static json_t *answer_snapshot(struct recordings *recordings, const json_t *request, int fd)
{
	struct recording *recording = recording_of(recordings, request);
	json_int_t last_ns = json_integer_value(json_object_get(request, "last_ns"));
	const struct snapshot *snapshot;
	char text[160];

	if (!recording || !recording->session)
		return failure("there is no such session");
	if (!is_cut(recording))
		return failure("it is not cut into parts, of which a snapshot is made; record "
			       "with --snapshot or --rotate");
	if (!snapshot_ask(recording->session, fd, last_ns > 0 ? (uint64_t)last_ns : 0))
		return json_pack("{s:b, s:s}", "ok", 1, "state", "waiting");
	snapshot = &recording->session->parts.snapshot;
	if (snapshot->state == SNAPSHOT_READY)
		return snapshot_figures(recording->session);
	if (snapshot->state != SNAPSHOT_FAILED)
		return json_pack("{s:b, s:s}", "ok", 1, "state", "writing");
	if (recording->session->is_dir_lost)
		snprintf(text, sizeof(text), "the recording's folder was removed or replaced");
	else
		snprintf(text, sizeof(text), "cannot write it into the recording's folder: %s",
			 strerror(-snapshot->error));
	return failure(text);
}

int requests_watch(const struct recordings *recordings, int *ret_fds)
{
	uint64_t now = procfs_now_ns(), wait_ms = INT32_MAX;
	bool has_deadline = false;

	for (uint32_t i = 0; i < SESSION_MAX; i++) {
		const struct recording *recording = &recordings->items[i];

		ret_fds[i] = i < recordings->nr ? recording->pid_fd : -1;
		if (i < recordings->nr && is_cut(recording)) {
			has_deadline = true;
			wait_ms = wait_ms < PARTS_STEP_MS ? wait_ms : PARTS_STEP_MS;
		}
		if (i >= recordings->nr || !recording->deadline_ns)
			continue;
		has_deadline = true;
		if (recording->deadline_ns <= now)
			wait_ms = 0;
		else if ((recording->deadline_ns - now) / NS_PER_MS + 1 < wait_ms)
			wait_ms = (recording->deadline_ns - now) / NS_PER_MS + 1;
	}
	return has_deadline ? (int)wait_ms : -1;
}

void requests_step_parts(struct recordings *recordings)
{
	for (uint32_t i = 0; i < recordings->nr; i++)
		if (is_cut(&recordings->items[i]))
			parts_step(recordings->items[i].session, recordings->collector);
}

static bool is_due(const struct recording *recording, uint64_t now)
{
	struct pollfd end = {.fd = recording->pid_fd, .events = POLLIN};

	if (recording->deadline_ns && now >= recording->deadline_ns)
		return true;
	return recording->pid_fd >= 0 && poll(&end, 1, 0) > 0;
}

void requests_expire(struct recordings *recordings)
{
	/* From the last on, for ending one moves the last into its place. */
	for (uint32_t i = recordings->nr; i-- > 0;)
		if (is_due(&recordings->items[i], procfs_now_ns()))
			end_recording(recordings, &recordings->items[i]);
}

/* The programs, while the collector goes on adding and removing them. */
static json_t *list_programs(const struct recordings *recordings)
{
	const struct programs *programs = collector_programs(recordings->collector);
	json_t *list = json_array();
	struct program *program;

	rcu_read_lock();
	/* Relaxed: figures for people. */
	cds_list_for_each_entry_rcu(program, &programs->list, node)
	{
		if (atomic_load_explicit(&program->is_exited, memory_order_relaxed))
			continue;
		json_array_append_new(
			list, json_pack("{s:i, s:i, s:s%, s:I, s:I, s:i}", "pid", (int)program->pid,
					"uid", (int)program->uid, "comm", program->comm,
					strnlen(program->comm, sizeof(program->comm)), "events",
					(json_int_t)figure(&program->nr_events), "refused",
					(json_int_t)figure(&program->nr_bad), "rings",
					(int)atomic_load_explicit(&program->nr_rings,
								  memory_order_relaxed)));
	}
	rcu_read_unlock();
	return list;
}

static json_t *list_sessions(const struct recordings *recordings)
{
	json_t *sessions = json_array(), *one;

	for (uint32_t i = 0; i < recordings->nr; i++) {
		const struct recording *recording = &recordings->items[i];

		if (!recording->session)
			continue;
		one = figures(recording->session, procfs_now_ns());
		json_object_set_new(one, "detached", json_boolean(recording->owner_fd < 0));
		json_array_append_new(sessions, one);
	}
	return sessions;
}

static json_t *answer_list(const struct recordings *recordings)
{
	return json_pack("{s:b, s:i, s:I, s:o, s:o, s:o}", "ok", 1, "pid", (int)getpid(), "memory",
			 (json_int_t)procfs_own_memory(), "sessions", list_sessions(recordings),
			 "programs", list_programs(recordings), "places",
			 places_list(recordings->places));
}

/* Who asks about its recording has heard of it. */
static void note_known(struct recordings *recordings, const json_t *request, int fd)
{
	struct recording *recording = recording_of(recordings, request);

	if (recording && recording->starter_fd == fd)
		recording->starter_fd = -1;
}

json_t *requests_answer(struct recordings *recordings, const json_t *request, int fd, int *passed)
{
	const char *command = text_of(request, "command");

	note_known(recordings, request, fd);
	if (!strcmp(command, "start"))
		return answer_start(recordings, request, fd, passed);
	if (!strcmp(command, "status"))
		return answer_status(recordings, request);
	if (!strcmp(command, "stop"))
		return answer_stop(recordings, request, fd);
	if (!strcmp(command, "snapshot"))
		return answer_snapshot(recordings, request, fd);
	if (!strcmp(command, "list"))
		return answer_list(recordings);
	return failure("no such command");
}

/* The answer to its start did not arrive: nobody knows of it. */
static void take_back(struct recordings *recordings, struct recording *recording)
{
	char *dir = recording->session->dir; /* stolen: this may be for want of memory */

	recording->session->dir = NULL;
	end_recording(recordings, recording);
	session_remove_trace(dir);
	free(dir);
}

void requests_disconnect(struct recordings *recordings, int fd)
{
	for (uint32_t i = recordings->nr; i-- > 0;) {
		struct recording *recording = &recordings->items[i];

		if (recording->session)
			snapshot_disconnect(recording->session, fd);
		if (recording->starter_fd == fd && recording->session)
			take_back(recordings, recording);
		else if (recording->owner_fd == fd)
			end_recording(recordings, recording);
	}
}

void requests_end(struct recordings *recordings)
{
	while (recordings->nr > 0)
		end_recording(recordings, &recordings->items[recordings->nr - 1]);
}
