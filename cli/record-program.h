/* SPDX-License-Identifier: MIT */
/*
 * record-program.h - the program under `weft record`: held until recording is on, then let go.
 */
#ifndef CLI_RECORD_PROGRAM_H
#define CLI_RECORD_PROGRAM_H

#include <signal.h>
#include <sys/types.h>

struct held_program {
	pid_t pid; /* 0: there is none */
	int go_fd, error_fd;
};

/* Is there such a program? Return: 0, -ENOENT, -EACCES. */
int program_check(const char *name);

/**
 * program_hold() - forks it, and holds it before its exec.
 * @preload: put before what LD_PRELOAD holds already; NULL: none
 * @signals: what it starts with: the mask before ours
 * Return: 0 or -errno.
 */
int program_hold(struct held_program *program, char *const *argv, const char *preload,
		 const sigset_t *signals);

/* Lets it go. Return: 0, or the -errno of its exec; it is gone then. */
int program_let_go(struct held_program *program);

/* Ends one that is still held. */
void program_drop(struct held_program *program);

#endif
