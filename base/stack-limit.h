/* SPDX-License-Identifier: MIT */
/*
 * stack-limit.h - stack enough, also where a small one was asked for (ulimit -s) for what is run.
 */
#ifndef BASE_STACK_LIMIT_H
#define BASE_STACK_LIMIT_H

#include <stdbool.h>

/**
 * stack_limit_raise() - raises the limit of this process where it is too low for us; first thing in
 * main(), for what is below it may need it.
 * Return: false when it may not be raised; that has been said.
 */
bool stack_limit_raise(void);

/* In a child: what is to be run has the limit that we were given. */
void stack_limit_restore(void);

#endif
