/* SPDX-License-Identifier: MIT */
/* stack-limit.c - see stack-limit.h. The kernel asks for the limit whenever a stack grows. */
#include "base/stack-limit.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define LEAST_SIZE ((rlim_t)256 << 10) /* as the text below says */
#define WANTED_SIZE ((rlim_t)8 << 20)

static struct rlimit given;
static bool is_raised;

/* As log_error() would, which takes more stack than may be left. */
static void say_too_small(void)
{
	static const char text[] = ": the stack is too small, it takes 256 kB; see 'ulimit -s'\n";
	struct iovec parts[] = {
		{program_invocation_short_name, strlen(program_invocation_short_name)},
		{(void *)text, sizeof(text) - 1},
	};

	(void)!writev(STDERR_FILENO, parts, 2);
}

bool stack_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &given) < 0 || given.rlim_cur >= LEAST_SIZE)
		return true;
	limit = given;
	limit.rlim_cur = limit.rlim_max < WANTED_SIZE ? limit.rlim_max : WANTED_SIZE;
	if (limit.rlim_max < LEAST_SIZE)
		limit = (struct rlimit){WANTED_SIZE, WANTED_SIZE};
	is_raised = setrlimit(RLIMIT_STACK, &limit) == 0;
	if (!is_raised)
		say_too_small();
	return is_raised;
}

void stack_limit_restore(void)
{
	if (is_raised)
		(void)setrlimit(RLIMIT_STACK, &given);
}
