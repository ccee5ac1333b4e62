/* SPDX-License-Identifier: MIT */
/*
 * record-program.h - the program under `weft record`: held until recording is on, then let go.
 */
#ifndef CLI_RECORD_PROGRAM_H
#define CLI_RECORD_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct held_program {
	pid_t pid; /* 0: there is none */
	int go_fd, error_fd;
};

/**
 * program_find() - the file that execvp() would run.
 * @ret_path: PATH_MAX bytes
 * Return: 0, -ENOENT, -EACCES.
 */
int program_find(const char *name, char *ret_path);

/**
 * program_hold() - forks it, and holds it before its exec.
 * @preload: put before what LD_PRELOAD holds already; NULL: none
 * @signals: what it starts with: the mask before ours
 * @is_detached: it stays when we and our terminal go
 * Return: 0 or -errno.
 */
int program_hold(struct held_program *program, char *const *argv, const char *preload,
		 const sigset_t *signals, bool is_detached);

/* Lets it go. Return: 0, or the -errno of its exec; it is gone then. */
int program_let_go(struct held_program *program);

/* Ends one that is still held. */
void program_drop(struct held_program *program);

#endif
