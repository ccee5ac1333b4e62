/* SPDX-License-Identifier: MIT */
/*
 * cmd-setup.c - `weft setup`: kernel events without sudo, for members of a group.
 *
 * The group and its members are the system's own tools' work, and so is the service.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/record-daemon.h"

#define GROUP "tracing"
#define SOCKET_UNIT "weft-bridge.socket"

static int run(int argc, char **argv);

const struct command command_setup = {
	.name = "setup",
	.usage = "[--remove] [USER]",
	.summary = "lets members of group tracing record kernel events without sudo",
	.help = "Makes the group '" GROUP "' if there is none, adds USER (default: who called "
		"sudo), and\n"
		"has systemd listen for its members; without systemd it says what to start. To be "
		"run\n"
		"as root, once. A member sees what the whole machine does: every program's "
		"scheduling,\n"
		"system calls with their arguments, disk requests and interrupts, whoever's they "
		"are.\n\n"
		"  --remove    take USER out of the group; without USER, do not listen any more\n\n"
		"  sudo weft setup\n"
		"  sudo weft setup --remove\n",
	.run = run,
};

/* Runs one of the system's tools. Return: 0, or CLI_ERROR, having said what failed. */
static int run_tool(const char *const *argv)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		execvp(argv[0], (char *const *)argv);
		log_error("setup: cannot run '%s': %s", argv[0], strerror(errno));
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	log_error("setup: '%s %s' did not succeed", argv[0], argv[1]);
	return CLI_ERROR;
}

static bool has_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

/* USER, else who called sudo, else nobody. */
static const char *choose_user(const char *named)
{
	const char *caller = getenv("SUDO_USER");

	if (named)
		return named;
	return caller && *caller && strcmp(caller, "root") ? caller : NULL;
}

static bool is_member(const char *user)
{
	const struct group *group = getgrnam(GROUP);

	for (char **member = group ? group->gr_mem : NULL; member && *member; member++)
		if (strcmp(*member, user) == 0)
			return true;
	return false;
}

static int add_user(const char *user)
{
	const char *const make_group[] = {"groupadd", "--system", GROUP, NULL};
	const char *const add[] = {"gpasswd", "--add", user, GROUP, NULL};

	if (!getgrnam(GROUP) && run_tool(make_group) != 0)
		return CLI_ERROR;
	if (!user || is_member(user))
		return 0;
	if (run_tool(add) != 0)
		return CLI_ERROR;
	printf("%s is in group " GROUP " from the next login on\n", user);
	return 0;
}

static int remove_user(const char *user)
{
	const char *const take_out[] = {"gpasswd", "--delete", user, GROUP, NULL};

	return is_member(user) ? run_tool(take_out) : 0;
}

static int listen_by_systemd(bool is_on)
{
	const char *const on[] = {"systemctl", "enable", "--now", SOCKET_UNIT, NULL};
	const char *const off[] = {"systemctl", "disable", "--now", SOCKET_UNIT, NULL};

	return run_tool(is_on ? on : off);
}

static int start_service(void)
{
	char path[PATH_MAX];

	if (has_systemd())
		return listen_by_systemd(true);
	if (daemon_find_bridge(path) < 0) {
		log_error("setup: no weft-bridge at %s; install it", path);
		return CLI_ERROR;
	}
	printf("there is no systemd here: at each boot, start as root\n  %s --listen\n", path);
	return 0;
}

static int stop_service(void)
{
	if (has_systemd())
		return listen_by_systemd(false);
	printf("there is no systemd here: end 'weft-bridge --listen', and start it no more\n");
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {{"remove", no_argument, NULL, 'r'}, {0}};
	bool is_removal = false;
	const char *user;
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'r')
			return cli_usage_error(&command_setup, "no option '%s'", argv[optind - 1]);
		is_removal = true;
	}
	if (optind + 1 < argc)
		return cli_usage_error(&command_setup, "'%s' is one too many", argv[optind + 1]);
	user = optind < argc ? argv[optind] : NULL;
	if (user && (*user == '-' || !getpwnam(user)))
		return cli_usage_error(&command_setup, "there is no user '%s'", user);
	if (geteuid() != 0) {
		log_error("setup: to be run as root: sudo weft setup");
		return CLI_ERROR;
	}
	if (is_removal)
		return user ? remove_user(user) : stop_service();
	return add_user(choose_user(user)) == 0 ? start_service() : CLI_ERROR;
}
