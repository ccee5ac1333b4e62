/* SPDX-License-Identifier: MIT */
/*
 * cmd-record.c - `weft record`: a program, or the whole machine, into a trace.
 *
 * The program is forked and held, weft-consumerd switches everything on, the program is let go;
 * when it ends, the recording is stopped and written, and its exit status becomes ours.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/record-daemon.h"
#include "cli/record-figures.h"
#include "cli/record-names.h"
#include "cli/record-options.h"
#include "cli/record-patterns.h"
#include "cli/record-program.h"
#include "cli/record-unmarked.h"
#include "cli/rights.h"
#include "trace/clock.h"

#define STATUS_INTERVAL_MS 500
#define NS_PER_S 1000000000u
#define NS_PER_MS 1000000u
#define LAST_WAIT_NS 1000000000u

struct recorder {
	struct record_options options;
	char dir[PATH_MAX];	/* absolute */
	char preload[PATH_MAX]; /* "": none */
	char backend[PATH_MAX]; /* with an absolute path after the colon */
	const char *name;	/* of the trace, for people */
	struct daemon_link link;
	struct bridge_access bridge;
	json_int_t session;
	struct held_program program;
	int signal_fd, pid_fd;
	sigset_t signals; /* that we take */
	sigset_t old_signals;
	uint64_t end_ns;     /* when -d runs out; 0: never */
	bool is_interrupted; /* by one ^C: the program has it too */
	unsigned nr_signals; /* that ask us to end, so far */
	bool is_asked;	     /* for the status; the answer is not here yet */
	bool is_over;	     /* the recording is to end */
	bool has_exited;
	int status; /* of the program, as waitpid() tells */
	bool shows_progress, has_said_problem, has_said_kernel_ended;
	char others[512]; /* which other users' markers are not recorded, as said last */
};

static uint64_t now_ns(void)
{
	return clock_ticks(CLOCK_TICKS_MONO);
}

static int choose_dir(struct recorder *recorder)
{
	char name[64];
	const char *dir = recorder->options.dir;
	int ret;

	if (!dir) {
		names_new("weft", name, sizeof(name));
		dir = name;
	}
	ret = names_absolute(dir, recorder->dir);
	if (ret < 0) {
		log_error("record: cannot use %s: %s", dir, strerror(-ret));
		return ret;
	}
	if (recorder->options.dir) {
		recorder->name = recorder->options.dir;
	} else {
		recorder->name = strrchr(recorder->dir, '/') + 1;
	}
	return 0;
}

/* "fake:FILE" names a file that consumerd must find. */
static int choose_backend(struct recorder *recorder)
{
	const char *backend = recorder->options.backend, *colon;
	char file[PATH_MAX];
	int got;

	colon = backend ? strchr(backend, ':') : NULL;
	if (!colon) {
		snprintf(recorder->backend, sizeof(recorder->backend), "%s",
			 backend ? backend : "");
		return 0;
	}
	if (names_absolute(colon + 1, file) < 0)
		return -ENAMETOOLONG;
	got = snprintf(recorder->backend, sizeof(recorder->backend), "%.*s:%s",
		       (int)(colon - backend), backend, file);
	return got < (int)sizeof(recorder->backend) ? 0 : -ENAMETOOLONG;
}

/* @file: what will be run */
static void choose_preload(struct recorder *recorder, const char *file)
{
	char path[PATH_MAX], why[PATH_MAX + 64];

	if (!recorder->options.argv)
		return;
	if (daemon_find_libmarker(path) < 0) {
		log_warning("record: no markers: no libmarker at %s; set WEFT_LIBMARKER", path);
		return;
	}
	if (names_absolute(path, recorder->preload) < 0 || strpbrk(recorder->preload, " :")) {
		log_warning("record: no markers: ld.so takes no path with a space or colon: %s",
			    path);
		recorder->preload[0] = '\0';
	} else if (unmarked_why_no_preload(file, recorder->preload, why, sizeof(why))) {
		log_warning("record: libmarker is not preloaded into %s: %s", file, why);
		recorder->preload[0] = '\0';
	}
}

/* Return: NULL when a text is not UTF-8. */
static json_t *text_array(const char *const *texts)
{
	json_t *array = json_array();

	for (; *texts; texts++) {
		if (json_array_append_new(array, json_string(*texts)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* The command line as one text, for the trace's header. */
static json_t *command_text(char *const *argv)
{
	char text[512] = "";
	size_t used = 0;
	json_t *json;

	for (; argv && *argv && used < sizeof(text); argv++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
					 *argv);
	json = json_string(text);
	return json ? json : json_string(""); /* not UTF-8 */
}

/* Return: NULL when a text is not UTF-8, which JSON cannot tell. */
static json_t *start_request(const struct recorder *recorder)
{
	const struct record_options *options = &recorder->options;
	pid_t pid = options->argv ? recorder->program.pid : options->pid;

	return json_pack(
		"{s:s, s:s, s:i, s:s, s:s, s:o, s:o, s:s, s:I, s:o, s:b, s:I, s:s, s:I, "
		"s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:s}",
		"command", "start", "dir", recorder->dir, "pid", (int)pid, "kernel",
		options->kernel ? options->kernel : "default", "backend", recorder->backend,
		"extra", text_array(options->extra), "markers", text_array(options->markers),
		"clock", options->clock ? options->clock : "ordered", "ring_size",
		(json_int_t)options->ring_size, "argv", command_text(options->argv), "detach",
		options->is_detached, "duration_ns",
		(json_int_t)(options->is_detached ? options->duration_ns : 0), "no_bridge",
		recorder->bridge.why, "kernel_buffer", (json_int_t)options->kernel_buffer,
		"rotate_bytes", (json_int_t)options->rotate_bytes, "rotate_ns",
		(json_int_t)options->rotate_ns, "max_bytes", (json_int_t)options->max_bytes, "own",
		options->is_own_only, "level_limit", (json_int_t)options->level_limit, "keep_bytes",
		(json_int_t)options->keep_bytes, "keep_ns", (json_int_t)options->keep_ns,
		"when_full", options->when_full ? options->when_full : "discard");
}

static void close_bridge(struct recorder *recorder)
{
	if (recorder->bridge.fd >= 0)
		close(recorder->bridge.fd);
	recorder->bridge.fd = -1;
}

static json_t *session_request(const struct recorder *recorder, const char *command)
{
	return json_pack("{s:s, s:I}", "command", command, "session", recorder->session);
}

static int open_signals(struct recorder *recorder)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};

	sigemptyset(&recorder->signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&recorder->signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &recorder->signals, &recorder->old_signals);
	recorder->signal_fd = signalfd(-1, &recorder->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return recorder->signal_fd < 0 ? -errno : 0;
}

static void reap(struct recorder *recorder)
{
	int status;

	if (recorder->program.pid > 0 && !recorder->has_exited &&
	    waitpid(recorder->program.pid, &status, WNOHANG) == recorder->program.pid) {
		recorder->has_exited = recorder->is_over = true;
		recorder->status = status;
	}
}

/* ^C reaches the program as well: its end ends the recording. The second one does so at once. */
static void take_signal(struct recorder *recorder, const siginfo_t *signal)
{
	if (signal->si_signo == SIGCHLD) {
		reap(recorder);
		return;
	}
	recorder->nr_signals++;
	if (recorder->is_interrupted || recorder->program.pid <= 0)
		recorder->is_over = true;
	recorder->is_interrupted = true;
	/* Not from the terminal: then only we have it so far. */
	if (signal->si_code != SI_KERNEL && recorder->program.pid > 0 && !recorder->has_exited)
		kill(recorder->program.pid, signal->si_signo);
}

/* Not read from the descriptor, which only wakes: a program's end must not be missed, whatever
 * fails. */
static void take_signals(struct recorder *recorder)
{
	const struct timespec at_once = {0};
	siginfo_t signal;

	while (sigtimedwait(&recorder->signals, &signal, &at_once) > 0)
		take_signal(recorder, &signal);
}

/*
 * The daemon's answer; it may be busy with a disk that stalls, or be stopped. One more ^C, and it
 * is not waited for much longer: at our end it ends the recording, when it can. Return: NULL when
 * there is none.
 */
static json_t *receive(struct recorder *recorder)
{
	struct daemon_link *link = &recorder->link;
	uint64_t now = now_ns(), give_up = now + DAEMON_PATIENCE_S * (uint64_t)NS_PER_S;
	unsigned nr_signals = recorder->nr_signals;
	struct pollfd fds[] = {
		{.fd = link->fd, .events = POLLIN},
		{.fd = recorder->signal_fd, .events = POLLIN},
	};

	for (; link->fd >= 0 && now < give_up; now = now_ns()) {
		(void)poll(fds, 2, (int)((give_up - now) / NS_PER_MS + 1));
		if (fds[0].revents)
			return daemon_receive(link);
		take_signals(recorder);
		if (recorder->nr_signals == nr_signals)
			continue;
		nr_signals = recorder->nr_signals;
		if (give_up > now_ns() + LAST_WAIT_NS)
			give_up = now_ns() + LAST_WAIT_NS;
	}
	link->is_silent = link->fd >= 0;
	daemon_disconnect(link);
	return NULL;
}

/*
 * Shows consumerd that we know of the session, which it takes back otherwise. Once that is on its
 * way the recording is on; should consumerd end now, watch() says so. Return: 0 or -1, having said
 * why not.
 */
static int confirm(struct recorder *recorder)
{
	int ret = daemon_send(&recorder->link, session_request(recorder, "status"), -1);
	json_t *answer = ret == 0 ? receive(recorder) : NULL;

	if (answer && !json_is_true(json_object_get(answer, "ok")))
		ret = -1;
	json_decref(answer);
	if (ret == 0)
		return 0;
	log_error("record: weft-consumerd %s; the recording has not begun",
		  daemon_fate(&recorder->link));
	return -1;
}

/* What the recording will not have. @answer: to its start */
static void say_missing(struct recorder *recorder, const json_t *answer)
{
	char why[512];

	if (*figures_text(answer, "missing"))
		log_warning("record: %s; see 'weft doctor'", figures_text(answer, "missing"));
	/* Said by now; from here on only what is new. */
	snprintf(recorder->others, sizeof(recorder->others), "%s", figures_text(answer, "others"));
	if (recorder->options.pid && unmarked_why_running(recorder->options.pid, why, sizeof(why)))
		log_warning("record: %s", why);
}

/* Return: 0 or -1, having said why not. */
static int start(struct recorder *recorder)
{
	char why[512] = "";
	json_t *request = start_request(recorder), *answer = NULL;
	int ret = -1;

	if (!request) {
		log_error("record: names of folders and patterns must be UTF-8");
		return -1;
	}
	/* One that is about to end may still have taken the connection: then once more. */
	for (int i = 0; i < 2 && !answer && !recorder->link.is_silent; i++) {
		if (daemon_connect(&recorder->link, why, sizeof(why)) < 0) {
			if (*why)
				log_error("record: %s", why);
			json_decref(request);
			return -1;
		}
		if (daemon_send(&recorder->link, json_incref(request), recorder->bridge.fd) == 0)
			answer = receive(recorder);
	}
	json_decref(request);
	/* The daemon's alone: its end is then the bridge's. */
	close_bridge(recorder);
	if (!answer) {
		log_error("record: weft-consumerd %s; the recording has not begun",
			  daemon_fate(&recorder->link));
	} else if (!json_is_true(json_object_get(answer, "ok"))) {
		log_error("record: %s", figures_text(answer, "error"));
	} else {
		recorder->session = json_integer_value(json_object_get(answer, "session"));
		say_missing(recorder, answer);
		ret = confirm(recorder);
	}
	json_decref(answer);
	return ret;
}

static void clear_progress(const struct recorder *recorder)
{
	if (recorder->shows_progress)
		fputs("\r\033[K", stderr);
}

static void say_problem(struct recorder *recorder, const json_t *answer)
{
	if (!recorder->has_said_kernel_ended) {
		clear_progress(recorder);
		recorder->has_said_kernel_ended =
			figures_say_kernel_ended("record", recorder->name, answer);
	}
	if (!*figures_text(answer, "problem") || recorder->has_said_problem)
		return;
	clear_progress(recorder);
	figures_say_problem("record", recorder->name, answer);
	recorder->has_said_problem = true;
}

/* Another user's folder has appeared, or was taken away, while we record. */
static void say_others(struct recorder *recorder, const json_t *answer)
{
	const char *others = figures_text(answer, "others");

	if (!strncmp(others, recorder->others, sizeof(recorder->others) - 1))
		return;
	snprintf(recorder->others, sizeof(recorder->others), "%s", others);
	if (!*others)
		return;
	clear_progress(recorder);
	log_warning("record: %s", others);
}

/* Its answer is shown when it is there: signals, and the program's end, do not wait for it. Return:
 * false when the daemon is gone. */
static bool ask_status(struct recorder *recorder)
{
	if (!recorder->is_asked &&
	    daemon_send(&recorder->link, session_request(recorder, "status"), -1) < 0)
		return false;
	recorder->is_asked = true;
	return true;
}

/* Something has come from the daemon. Return: false when it is gone. */
static bool show_status(struct recorder *recorder)
{
	json_t *answer = daemon_receive(&recorder->link);
	char text[FIGURES_SIZE];

	recorder->is_asked = false;
	if (!answer)
		return false;
	say_problem(recorder, answer);
	say_others(recorder, answer);
	if (!strcmp(figures_text(answer, "state"), "ended")) { /* by 'weft stop' elsewhere */
		recorder->is_over = true;
	} else if (recorder->shows_progress) {
		figures_format(answer, text, sizeof(text));
		fprintf(stderr, "\r\033[K%s: %s", recorder->name, text);
	}
	json_decref(answer);
	return true;
}

static void say_gone(const struct recorder *recorder)
{
	const char *fate = daemon_fate(&recorder->link);

	clear_progress(recorder);
	/* It takes back what it never heard that we know of. */
	if (access(recorder->dir, F_OK) == 0)
		log_error("record: weft-consumerd %s; what it wrote is in %s", fate,
			  recorder->name);
	else
		log_error("record: weft-consumerd %s; %s is gone: nothing is recorded", fate,
			  recorder->name);
}

static int poll_timeout(const struct recorder *recorder)
{
	uint64_t now = now_ns(), left_ms;

	if (!recorder->end_ns)
		return STATUS_INTERVAL_MS;
	if (now >= recorder->end_ns)
		return 0;
	left_ms = (recorder->end_ns - now) / NS_PER_MS + 1;
	return left_ms < STATUS_INTERVAL_MS ? (int)left_ms : STATUS_INTERVAL_MS;
}

/* Until the program ends, the time is up, or ^C. Return: false when the daemon has gone meanwhile.
 */
static bool watch(struct recorder *recorder)
{
	uint64_t next_status = 0;
	bool is_alive = true;

	while (!recorder->is_over) {
		struct pollfd fds[] = {
			{.fd = recorder->signal_fd, .events = POLLIN},
			{.fd = recorder->pid_fd, .events = POLLIN},
			{.fd = recorder->link.fd, .events = POLLIN},
		};

		(void)poll(fds, 3, poll_timeout(recorder));
		take_signals(recorder);
		if (recorder->pid_fd >= 0 && fds[1].revents)
			recorder->is_over = true;
		if (recorder->end_ns && now_ns() >= recorder->end_ns)
			recorder->is_over = true;
		if (!is_alive)
			continue;
		if (fds[2].revents)
			is_alive = show_status(recorder);
		if (is_alive && now_ns() >= next_status) {
			next_status = now_ns() + STATUS_INTERVAL_MS * NS_PER_MS;
			is_alive = ask_status(recorder);
		}
		if (!is_alive) {
			say_gone(recorder);
			/* With a program, its end and status are still ours to tell; it may have
			 * ended in this very round. */
			if (recorder->program.pid <= 0)
				recorder->is_over = true;
		}
	}
	return is_alive;
}

static void stop(struct recorder *recorder)
{
	json_t *answer = NULL;

	if (recorder->is_asked)
		json_decref(receive(recorder));
	if (daemon_send(&recorder->link, session_request(recorder, "stop"), -1) == 0)
		answer = receive(recorder);
	if (!answer) {
		say_gone(recorder);
		return;
	}
	clear_progress(recorder);
	say_problem(recorder, answer);
	patterns_say_unmatched(recorder->dir, recorder->options.markers);
	figures_say_end(recorder->name, answer);
	json_decref(answer);
}

static int exit_status(const struct recorder *recorder)
{
	if (!recorder->has_exited)
		return CLI_OK;
	if (WIFSIGNALED(recorder->status))
		return 128 + WTERMSIG(recorder->status);
	return WEXITSTATUS(recorder->status);
}

/* As a shell does: 127 when it is not there, 126 when it is but cannot run. */
static int exec_failed(const char *name, int error)
{
	log_error("record: cannot run '%s': %s", name, strerror(-error));
	return error == -ENOENT ? 127 : 126;
}

/* Everything is on, and goes on without us. Return: the exit status. */
static int leave(const struct recorder *recorder)
{
	fprintf(stderr, "%s: recording in the background; 'weft stop %s' ends it\n", recorder->name,
		recorder->name);
	return CLI_OK;
}

/* Everything is ready: records. Return: the exit status. */
static int record(struct recorder *recorder)
{
	const struct record_options *options = &recorder->options;
	int ret;

	if (start(recorder) < 0) {
		program_drop(&recorder->program);
		return CLI_ERROR;
	}
	/* ^C while it was being switched on: nobody would be here to see it. */
	if (options->is_detached)
		take_signals(recorder);
	if (options->is_detached && recorder->is_interrupted) {
		program_drop(&recorder->program);
		stop(recorder);
		return 128 + SIGINT;
	}
	if (options->argv) {
		ret = program_let_go(&recorder->program);
		if (ret < 0) {
			stop(recorder);
			return exec_failed(options->argv[0], ret);
		}
	}
	if (options->is_detached)
		return leave(recorder);
	if (options->duration_ns)
		recorder->end_ns = now_ns() + options->duration_ns;
	/* On a terminal the running figures say so. */
	if (!options->argv && !options->pid && !recorder->shows_progress)
		fprintf(stderr, "%s: recording; ^C or 'weft stop %s' ends it\n", recorder->name,
			recorder->name);
	/* It may have ended before its SIGCHLD could be waited for. */
	reap(recorder);
	if (watch(recorder))
		stop(recorder);
	return exit_status(recorder);
}

static bool wants_kernel(const struct record_options *options)
{
	if (options->backend && *options->backend)
		return !strcmp(options->backend, "ftrace");
	return !options->kernel || strcmp(options->kernel, "none") || options->nr_extra > 0;
}

/* Under sudo, everything but the bridge is the user's from here on. */
static int settle_rights(struct recorder *recorder)
{
	if (wants_kernel(&recorder->options))
		rights_get_bridge(&recorder->bridge);
	if (!recorder->options.is_as_root && rights_drop("record") < 0)
		return CLI_ERROR;
	return 0;
}

static int prepare(struct recorder *recorder)
{
	struct record_options *options = &recorder->options;
	char file[PATH_MAX] = "";
	int ret;

	if (options->argv) {
		ret = program_find(options->argv[0], file);
		if (ret < 0)
			return exec_failed(options->argv[0], ret);
	}
	if (choose_dir(recorder) < 0 || choose_backend(recorder) < 0)
		return CLI_ERROR;
	choose_preload(recorder, file);
	if (options->pid) {
		recorder->pid_fd = (int)syscall(SYS_pidfd_open, options->pid, 0);
		if (recorder->pid_fd < 0) {
			log_error("record: no process %d", options->pid);
			return CLI_ERROR;
		}
	}
	ret = open_signals(recorder);
	if (ret == 0 && options->argv)
		ret = program_hold(&recorder->program, options->argv,
				   recorder->preload[0] ? recorder->preload : NULL,
				   &recorder->old_signals, options->is_detached);
	if (ret < 0)
		log_error("record: cannot start: %s", strerror(-ret));
	return ret < 0 ? CLI_ERROR : 0;
}

static int run(int argc, char **argv)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int ret;

	if (!recorder) {
		log_error("record: no memory");
		return CLI_ERROR;
	}
	recorder->link.fd = recorder->signal_fd = recorder->pid_fd = recorder->bridge.fd = -1;
	recorder->shows_progress = isatty(STDERR_FILENO);
	ret = record_options_parse(argc, argv, &recorder->options);
	if (ret == 0)
		ret = settle_rights(recorder);
	if (ret == 0)
		ret = prepare(recorder);
	if (ret == 0)
		ret = record(recorder);
	daemon_disconnect(&recorder->link);
	close_bridge(recorder);
	if (recorder->pid_fd >= 0)
		close(recorder->pid_fd);
	if (recorder->signal_fd >= 0)
		close(recorder->signal_fd);
	free(recorder);
	return ret;
}

const struct command command_record = {
	.name = "record",
	.usage = "[OPTIONS] [-- CMD ARGS]",
	.summary = "records a program, or the whole machine, into a trace",
	.help = "Records the markers of programs and the kernel's scheduling, interrupts, block "
		"I/O\n"
		"and, of CMD or PID and its children, system calls and page faults. With CMD, "
		"until\n"
		"it ends; else until ^C. The exit status is CMD's, 128 + N when signal N ended "
		"it.\n\n"
		"  -o, --output=DIR       the trace's folder (default: weft-DATE-TIME)\n"
		"  -p, --pid=PID          a program that runs already; the recording ends with "
		"it.\n"
		"                         It has markers if it is linked with libmarker, and runs\n"
		"                         as the user who records or root records\n"
		"      --kernel=SET       default, all (system calls and faults of all programs), "
		"none,\n"
		"                         or some of "
		"sched,irq,softirq,block,timer,workqueue,signal,\n"
		"                         syscall,fault\n"
		"  -e, --event=PATTERN    more kernel events, such as 'drm:*'; may be repeated\n"
		"  -m, --marker=PATTERN   only these markers, such as 'player:*' or "
		"'!player:poll'; the\n"
		"                         last that matches decides; may be repeated\n"
		"      --level=LEVEL      only markers of this level and more important ones: "
		"emerg,\n"
		"                         alert, crit, err, warning, notice, info, debug "
		"(default: all)\n"
		"      --own              root: markers of root's programs only, not of all "
		"users'\n"
		"      --backend=NAME     where kernel events come from; 'weft doctor' lists them\n"
		"      --clock=KIND       ordered (default), or fast: cheaper markers, order "
		"between\n"
		"                         threads exact to 0.5 us only\n"
		"  -d, --duration=TIME    end the recording after TIME (10, 1.5s, 2m); CMD then "
		"goes on\n"
		"                         without it, and the exit status is 0\n"
		"      --detach           return when everything is on; the recording goes on in "
		"the\n"
		"                         background until CMD or PID ends, the time is up, or "
		"'weft\n"
		"                         stop'. The exit status tells only whether it began\n"
		"      --rotate=SIZE|TIME cut the trace into parts, each a trace of its own: after "
		"so many\n"
		"                         bytes (100M, 1G) or so long (30s, 10m, 1h); may be "
		"repeated\n"
		"      --max-size=SIZE    delete the oldest parts before there is more\n"
		"      --snapshot[=SIZE|TIME]\n"
		"                         a flight recorder: only the last SIZE or TIME is kept "
		"(default:\n"
		"                         30s, of at most 1G; may be repeated), and 'weft "
		"snapshot' "
		"writes\n"
		"                         it as a trace of its own while the recording goes on\n"
		"      --ring-size=SIZE   of each thread's ring (default: 4M)\n"
		"      --when-full=WHAT   a full ring: discard (default; counted, and told when), "
		"or "
		"block:\n"
		"                         the program's thread waits, unless it is a real-time "
		"one\n"
		"      --kernel-buffer=SIZE\n"
		"                         of kernel events, for each CPU and kind (default: 8M, or "
		"less\n"
		"                         where memory is small). More for bursts that are "
		"discarded\n"
		"      --as-root          under sudo: CMD and the trace are root's, not the "
		"user's\n\n"
		"^C goes to CMD too; the recording ends when CMD does. A second ^C ends it at "
		"once.\n"
		"Either way what was recorded is written; where that takes long, one more ^C does "
		"not\n"
		"wait for it.\n\n"
		"Kernel events need 'sudo weft record', under which only weft-bridge is root's, "
		"or\n"
		"'weft setup' once. Without, the markers are recorded.\n\n"
		"  weft record -- player clip.mp4\n"
		"  weft record -d 10 --kernel=sched,irq\n"
		"  weft record --detach --snapshot=30s -o flight\n",
	.runs_program = true,
	.run = run,
};
