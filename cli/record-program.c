/* SPDX-License-Identifier: MIT */
/*
 * record-program.c - the program under `weft record`.
 */
#include "cli/record-program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stack-limit.h"

/* Return: 0, -ENOENT, -EACCES. */
static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -ENOENT;
	if (S_ISDIR(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

int program_find(const char *name, char *ret_path)
{
	const char *path = getenv("PATH");
	int ret = -ENOENT, one;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		snprintf(ret_path, PATH_MAX, "%s", name);
		return check_file(name);
	}
	if (!path)
		path = "/usr/bin:/bin";
	for (size_t length; *path; path += length, path += *path == ':') {
		length = strcspn(path, ":");
		snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)length, path, length ? "/" : "",
			 name);
		one = check_file(ret_path);
		if (one == 0)
			return 0;
		if (one == -EACCES)
			ret = one;
	}
	return ret;
}

/* Return: 0 or -ENOMEM. */
static int set_preload(const char *preload)
{
	const char *before = getenv("LD_PRELOAD");
	char *text;
	int ret;

	if (!before || !*before)
		return setenv("LD_PRELOAD", preload, 1) < 0 ? -ENOMEM : 0;
	if (asprintf(&text, "%s:%s", preload, before) < 0)
		return -ENOMEM;
	ret = setenv("LD_PRELOAD", text, 1) < 0 ? -ENOMEM : 0;
	free(text);
	return ret;
}

/* gcc's address sanitizer ends a program that has another library before its own. */
static void calm_sanitizer(void)
{
	const char *before = getenv("ASAN_OPTIONS");
	char *text;

	if (asprintf(&text, "%s%sverify_asan_link_order=0", before ? before : "",
		     before ? ":" : "") < 0)
		return;
	setenv("ASAN_OPTIONS", text, 1);
	free(text);
}

/* How many seccomp filters this process is under: libmarker makes its system calls under these and
 * no others (confine.c). */
static void tell_filters(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256], number[16];
	unsigned mode = 0, nr = 0;

	while (status && fgets(line, sizeof(line), status)) {
		(void)sscanf(line, "Seccomp: %u", &mode);
		(void)sscanf(line, "Seccomp_filters: %u", &nr);
	}
	if (status)
		fclose(status);
	snprintf(number, sizeof(number), "%u", mode && !nr ? 1 : nr);
	setenv("WEFT_SECCOMP_FILTERS", number, 1);
}

/* The terminal's ^C and hang-up are not for a program in the background, nor is its input. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	if (null >= 0 && isatty(STDIN_FILENO))
		(void)dup2(null, STDIN_FILENO);
}

/* The child: waits, then becomes the program. */
static void become(char *const *argv, const char *preload, const sigset_t *signals, int go_fd,
		   int error_fd)
{
	char byte;
	int error;

	/* ^C before the start ends it as it would end the program. */
	sigprocmask(SIG_SETMASK, signals, NULL);
	if (read(go_fd, &byte, 1) != 1)
		_exit(127);
	error = preload ? -set_preload(preload) : 0;
	if (preload)
		calm_sanitizer();
	tell_filters();
	stack_limit_restore();
	if (!error) {
		execvp(argv[0], argv);
		error = errno;
	}
	if (write(error_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int program_hold(struct held_program *program, char *const *argv, const char *preload,
		 const sigset_t *signals, bool is_detached)
{
	int go[2], error[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(error, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	program->pid = fork();
	if (program->pid == 0) {
		close(go[1]);
		close(error[0]);
		if (is_detached)
			leave_terminal();
		become(argv, preload, signals, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	program->go_fd = go[1];
	program->error_fd = error[0];
	return program->pid < 0 ? -errno : 0;
}

int program_let_go(struct held_program *program)
{
	int error = 0;
	ssize_t got = -1;

	if (write(program->go_fd, "g", 1) == 1) {
		do {
			got = read(program->error_fd, &error, sizeof(error));
		} while (got < 0 && errno == EINTR);
	}
	close(program->go_fd);
	close(program->error_fd);
	if (got != sizeof(error))
		return 0; /* it runs, or has been ended by a signal, which its status will say */
	while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
	program->pid = 0;
	return -error;
}

void program_drop(struct held_program *program)
{
	if (program->pid <= 0)
		return;
	/* It reads an end instead of a word, and goes. */
	close(program->go_fd);
	close(program->error_fd);
	while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
	program->pid = 0;
}
