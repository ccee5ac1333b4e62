/* SPDX-License-Identifier: MIT */
/*
 * main.c - weft-bridge: the one privileged process of a recording.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/close-from.h"
#include "base/log.h"
#include "base/standard-fds.h"
#include "kernel-bridge/privileged/confine.h"
#include "kernel-bridge/privileged/listen.h"
#include "kernel-bridge/privileged/serve.h"
#include "kernel-bridge/protocol.h"

struct options {
	const char *listen, *group;
};

static void print_help(void)
{
	printf("Usage: weft-bridge\n"
	       "       weft-bridge --listen[=PATH] [--group=GROUP]\n\n"
	       "The privileged half of kernel events: makes instances in tracefs, switches events\n"
	       "on, and hands them over to be read. It serves the client at the other end of its\n"
	       "stdin, a socket; 'sudo weft record' and systemd start it so, not people.\n\n"
	       "  --listen=PATH    without systemd: wait at PATH (/run/weft/bridge) for members "
	       "of\n"
	       "                   the group, each of whom sees the whole machine; until SIGTERM\n"
	       "  --group=GROUP    instead of 'tracing'\n"
	       "  --version, --help\n");
}

/* Return: -1 to go on, else the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{"listen", optional_argument, NULL, 'l'},
		{"group", required_argument, NULL, 'g'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", table, NULL)) >= 0) {
		switch (option) {
		case 'l':
			options->listen = optarg ? optarg : BRIDGE_SERVICE_SOCKET;
			break;
		case 'g':
			options->group = optarg;
			break;
		case 'V':
			printf("weft-bridge %s\n", PACKAGE_VERSION);
			return 0;
		case 'h':
			print_help();
			return 0;
		default:
			return 2;
		}
	}
	if (optind < argc) {
		log_error("'%s' is not expected; see 'weft-bridge --help'", argv[optind]);
		return 2;
	}
	return -1;
}

static int open_signals(void)
{
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool is_client(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

static int listen_for(const struct options *options)
{
	const struct group *group = getgrnam(options->group);
	int listener;

	if (!group) {
		log_error("no group '%s'; 'weft setup' makes it", options->group);
		return -ENOENT;
	}
	listener = listen_open(options->listen, group->gr_gid);
	if (listener < 0)
		log_error("cannot listen at %s: %s", options->listen, strerror(-listener));
	return listener;
}

int main(int argc, char **argv)
{
	struct options options = {.group = "tracing"};
	int ret, signals, listener = -1;

	standard_fds_reserve();
	log_setup("weft-bridge", LOG_WARNING);
	ret = parse_options(argc, argv, &options);
	if (ret >= 0)
		return ret;
	if (!options.listen && !is_client(STDIN_FILENO)) {
		log_error("stdin is no client's socket; see 'weft-bridge --help'");
		return 2;
	}
	close_from(3);
	signals = open_signals();
	if (options.listen)
		listener = listen_for(&options);
	if (signals < 0 || (options.listen && listener < 0))
		return 1;
	ret = confine();
	if (ret < 0)
		return 1;
	if (options.listen)
		listen_serve(listener, signals);
	else
		serve_client(STDIN_FILENO, signals);
	if (options.listen)
		(void)unlink(options.listen);
	return 0;
}
