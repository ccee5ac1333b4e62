/* SPDX-License-Identifier: MIT */
/*
 * main.c - weft-consumerd: options, the lock on its folder, into the background, exit status.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close-from.h"
#include "base/log.h"
#include "base/stack-limit.h"
#include "base/standard-fds.h"
#include "consumerd/control-socket.h"
#include "consumerd/control.h"
#include "consumerd/folder-lock.h"
#include "consumerd/place-agent.h"
#include "libmarker/rendezvous.h"

struct options {
	bool is_background, exit_when_idle;
	enum log_level level;
};

static void print_help(void)
{
	printf("Usage: weft-consumerd [--foreground | --background] [--exit-when-idle] "
	       "[--verbose]\n\n"
	       "Drains the rings of programs that have markers and the kernel's events, merges\n"
	       "them into one order, and writes traces. 'weft record' starts it when none runs;\n"
	       "it does not need to be started by hand. One serves one user.\n\n"
	       "  --foreground       stay in the terminal, until ^C (default)\n"
	       "  --background       return when it is ready\n"
	       "  --exit-when-idle   end with the last recording\n"
	       "  --verbose          say more\n"
	       "  --version, --help\n\n"
	       "It meets programs in $WEFT_RUNDIR, else $XDG_RUNTIME_DIR/weft, else\n"
	       "/run/user/UID/weft, else /tmp/weft-UID.\n");
}

/* Return: -1 to go on, else the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{"foreground", no_argument, NULL, 'f'},
		{"background", no_argument, NULL, 'b'},
		{"exit-when-idle", no_argument, NULL, 'i'},
		{"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "fbivh", table, NULL)) >= 0) {
		switch (option) {
		case 'f':
			options->is_background = false;
			break;
		case 'b':
			options->is_background = true;
			break;
		case 'i':
			options->exit_when_idle = true;
			break;
		case 'v':
			options->level = LOG_INFO;
			break;
		case 'V':
			printf("weft-consumerd %s\n", PACKAGE_VERSION);
			return 0;
		case 'h':
			print_help();
			return 0;
		default:
			return 2;
		}
	}
	if (optind < argc) {
		log_error("'%s' is not expected; see 'weft-consumerd --help'", argv[optind]);
		return 2;
	}
	return -1;
}

/* Says why there is no lock. Return: the exit status. */
static int say_locked(const char *folder, int error, bool is_background)
{
	struct folder_holder holder;

	if (error != -EWOULDBLOCK) {
		log_error("cannot lock %s: %s; remove it, if nothing is being recorded", folder,
			  strerror(-error));
		return 1;
	}
	if (folder_lock_holder(folder, &holder) == 0 && holder.uid != geteuid()) {
		log_error("cannot record: a recording of root's has this user's markers, by "
			  "weft-consumerd, process %d; wait until it ends",
			  (int)holder.pid);
		return 1;
	}
	if (is_background)
		return CONTROL_RUNS_ALREADY; /* which is all that was asked for */
	log_error("cannot lock %s: another weft-consumerd is running", folder);
	return 1;
}

/*
 * Where the scheduler parts the CPUs between sessions first (autogroup), a nice value counts only
 * within one: the daemon, alone in its own, stands against all of a busy session with the weight of
 * an ordinary thread. So the session's is raised as well as the collector's. Refused to ordinary
 * users and not there in other kernels, which is no harm.
 */
static void raise_session(void)
{
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "-10", 3);
	close(fd);
}

/*
 * Splits in two: the child goes on, the parent waits for its word. Return: in the child a pipe's
 * end to write that word to; -errno. The parent exits.
 */
static int go_to_background(void)
{
	int ends[2], status = 1;
	char byte;
	pid_t child;
	int told;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child < 0)
		return -errno;
	if (child > 0) {
		close(ends[1]);
		/* No word: the child has said on stderr what is wrong, and its status says it too.
		 */
		if (read(ends[0], &byte, 1) == 1)
			status = 0;
		else if (waitpid(child, &told, 0) == child && WIFEXITED(told))
			status = WEXITSTATUS(told);
		_exit(status);
	}
	close(ends[0]);
	setsid();
	raise_session();
	return ends[1];
}

/* Tells the parent that we listen, and lets go of the terminal. */
static void say_ready(int ready_fd)
{
	int null;

	if (write(ready_fd, "r", 1) < 0)
		log_debug("Nobody waits for us any more");
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		close(null);
	close(ready_fd);
}

static void block_signals(void)
{
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN);
	/* A file as large as it may be is one that cannot be written, and said to be. */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* Return: the exit status. */
static int serve(const struct options *options, const char *folder, int ready_fd)
{
	struct collector_config config = {.folder = folder};
	struct collector *collector;
	struct control *control;
	int ret = collector_create(&config, &collector);

	if (ret == 0) {
		ret = collector_start(collector);
		if (ret == 0)
			ret = control_open(folder, collector, options->exit_when_idle, &control);
		if (ret < 0)
			collector_destroy(collector);
	}
	if (ret < 0) {
		log_error("cannot use %s: %s; remove it, if nothing is being recorded", folder,
			  strerror(-ret));
		return 1;
	}
	if (geteuid() == 0 && control_serve_others(control, folder) < 0)
		log_warning("other users' programs are not recorded: %s", strerror(ENOMEM));
	if (ready_fd >= 0)
		say_ready(ready_fd);
	else
		log_info("Ready: folder=%s", folder);
	control_run(control);
	control_close(control);
	collector_destroy(collector);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.level = LOG_WARNING};
	struct folder_holder self = {.uid = geteuid()};
	char folder[RENDEZVOUS_MAX_PATH] = "WEFT_RUNDIR";
	int ret, lock, ready_fd = -1;

	standard_fds_reserve();
	if (argc > 1 && !strcmp(argv[1], PLACE_AGENT_OPTION))
		return place_agent_main(argc - 1, argv + 1);
	log_setup("weft-consumerd", options.level);
	if (!stack_limit_raise())
		return 1;
	ret = parse_options(argc, argv, &options);
	if (ret >= 0)
		return ret;
	log_setup("weft-consumerd", options.level);
	ret = rendezvous_folder(folder);
	if (ret < 0) {
		log_error("cannot meet programs in %s: %s; set WEFT_RUNDIR to a folder of yours, "
			  "mode 0700",
			  folder, strerror(-ret));
		return 1;
	}
	block_signals();
	if (options.is_background) {
		close_from(3);
		ready_fd = go_to_background();
		if (ready_fd < 0) {
			log_error("cannot go to the background: %s", strerror(-ready_fd));
			return 1;
		}
	}
	self.pid = getpid();
	lock = folder_lock(folder, &self);
	if (lock < 0)
		return say_locked(folder, lock, options.is_background);
	ret = serve(&options, folder, ready_fd);
	close(lock);
	return ret;
}
