/* SPDX-License-Identifier: MIT */
/*
 * confine.c - a program that confines itself, by seccomp, or gives up the counter (PR_SET_TSC).
 *
 * A system call of ours could end it then, and in strict mode, where Linux takes away the counter,
 * even a stamp. Nothing in user space tells that a process is confined, and whoever asks the kernel
 * may be killed for it; so we look at the two calls of libc that lead there, prctl() and syscall().
 * Just before the kernel confines it, everything that a later marker might need is made ready:
 * connection, classes, a ring for this thread, the pool for others, one more ring in whose name is
 * counted what is discarded. From then on (process.is_confined) there are plain stores only.
 *
 * It holds for the whole process, whatever thread it was: some filters are for all threads, and
 * those that are not are handed on to each new thread. Who calls the kernel past libc is not seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libmarker/internal.h"

#define LOCK_TRIES 200
__thread bool thread_has_no_clock __attribute__((tls_model("initial-exec")));

/* What is written after the field's name, 0 where there is none. */
static long status_number(const char *status, const char *field)
{
	const char *found = strstr(status, field);

	return found ? strtol(found + strlen(field), NULL, 10) : 0;
}

static bool has_counter(void)
{
#ifdef __x86_64__
	int mode = PR_TSC_ENABLE;

	return prctl(PR_GET_TSC, &mode, 0, 0, 0) || mode == PR_TSC_ENABLE;
#else
	return true;
#endif
}

/*
 * Before our first system call but for those that ld.so has just made: is this program under
 * filters that weft itself, which says how many it is under, is not? They were meant for it, and
 * who knows what they end it for. Return: yes, and it stays confined.
 */
bool confine_is_inherited(void)
{
	const char *allowed = getenv("WEFT_SECCOMP_FILTERS");
	char status[4096];
	ssize_t size;
	long nr = 0;
	int fd;

	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? 0 : read(fd, status, sizeof(status) - 1);
	if (fd >= 0)
		close(fd);
	status[size > 0 ? size : 0] = '\0';
	if (status_number(status, "\nSeccomp:")) {
		nr = status_number(status, "\nSeccomp_filters:");
		nr = nr ? nr : 1; /* older kernels do not say how many */
	}
	if (nr <= (allowed ? strtol(allowed, NULL, 10) : 0) && (nr || has_counter()))
		return false;
	atomic_store_explicit(&process.is_confined, true, memory_order_relaxed);
	return true;
}

#if defined(__x86_64__) || defined(__aarch64__)

/* Six arguments and a number, as the kernel takes them. Return: as the kernel, -errno. */
static long kernel_call(const long *call)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = call[4], r8 __asm__("r8") = call[5];
	register long r9 __asm__("r9") = call[6];
	long ret = call[0];

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(call[1]), "S"(call[2]), "d"(call[3]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = call[0], x0 __asm__("x0") = call[1];
	register long x1 __asm__("x1") = call[2], x2 __asm__("x2") = call[3];
	register long x3 __asm__("x3") = call[4], x4 __asm__("x4") = call[5];
	register long x5 __asm__("x5") = call[6];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#endif
}

long confine_fail(long error)
{
	errno = (int)-error;
	return -1;
}

struct restriction {
	bool is_confining;
	bool is_strict;	   /* this thread loses the counter */
	bool is_inherited; /* and those that it starts */
};

static struct restriction restriction_of(const long *call)
{
	bool is_prctl = call[0] == SYS_prctl && call[1] == PR_SET_SECCOMP;
	bool is_strict = (is_prctl && call[2] == SECCOMP_MODE_STRICT) ||
			 (call[0] == SYS_seccomp && call[1] == SECCOMP_SET_MODE_STRICT);
	bool is_filter = (is_prctl && call[2] == SECCOMP_MODE_FILTER) ||
			 (call[0] == SYS_seccomp && call[1] == SECCOMP_SET_MODE_FILTER);
	bool is_counter =
		call[0] == SYS_prctl && call[1] == PR_SET_TSC && call[2] == PR_TSC_SIGSEGV;

	return (struct restriction){
		.is_confining = is_strict || is_filter || is_counter,
		.is_strict = is_strict || is_counter,
		.is_inherited = is_counter,
	};
}

/* While system calls may still be made. */
static void make_ready(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (process_check() && decide_prepare(true) &&
	    !__atomic_load_n(&thread_self->lanes[0].lane, __ATOMIC_RELAXED))
		thread_claim(frame, true);
}

/* Under the lock, as far as it can be had. */
static void prepare_locked(const struct restriction *restriction)
{
	if (process.is_ready && announce_is_open()) {
#ifdef __x86_64__
		/* Where the counter is no clock, to read one may take a system call. */
		if (process.clock == RING_CLOCK_MONO) {
			process.has_no_clock = true;
			rings_invalidate();
		}
#endif
		thread_prepare_loss();
	}
	process.has_no_clock |= restriction->is_inherited;
}

/* The lock is held all along, so that no other thread is in the midst of a call of ours. */
static long confine(const long *call, const struct restriction *restriction)
{
	bool had_no_clock = process.has_no_clock, thread_had_none = thread_has_no_clock;
	bool was_confined = process_is_confined(), is_locked;
	int saved_errno = errno;
	struct guard guard;
	long ret;

	if (!was_confined)
		make_ready();
	is_locked = guard_enter(&guard, LOCK_TRIES);
	if (!was_confined)
		prepare_locked(restriction);
	thread_has_no_clock |= restriction->is_strict;
	if (restriction->is_strict && thread_self != &thread_none)
		ring_disarm(thread_self);
	atomic_store_explicit(&process.is_confined, true, memory_order_seq_cst);
	if (is_locked)
		guard_unmask(&guard);
	ret = kernel_call(call);
	if (ret < 0) {
		/* What was taken away comes back at the next marker. */
		thread_has_no_clock = thread_had_none;
		process.has_no_clock = had_no_clock;
		atomic_store_explicit(&process.is_confined, was_confined, memory_order_seq_cst);
	}
	if (is_locked)
		guard_leave(&guard);
	errno = saved_errno;
	return ret;
}

/* Called by syscall() below, for the calls that it does not make itself. */
long confine_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long call[] = {number, a, b, c, d, e, f}, ret;
	struct restriction restriction = restriction_of(call);

	ret = restriction.is_confining ? confine(call, &restriction) : kernel_call(call);
	return ret < 0 && ret >= -4095 ? confine_fail(ret) : ret;
}

__attribute__((visibility("default"))) int prctl(int option, ...)
{
	va_list args;
	long a, b, c, d;

	va_start(args, option);
	a = va_arg(args, long);
	b = va_arg(args, long);
	c = va_arg(args, long);
	d = va_arg(args, long);
	va_end(args);
	return (int)confine_syscall(SYS_prctl, option, a, b, c, d, 0);
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Not in C: after a call that goes on upon another stack there must be nothing to take from it. */
/* clang-format off */
#ifdef __x86_64__
__asm__(".pushsection .text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"cmpq $" TEXT(SYS_prctl) ", %rdi\n"
	"je weft_confine_syscall\n"
	"cmpq $" TEXT(SYS_seccomp) ", %rdi\n"
	"je weft_confine_syscall\n"
	"movq %rdi, %rax\n"
	"movq %rsi, %rdi\n"
	"movq %rdx, %rsi\n"
	"movq %rcx, %rdx\n"
	"movq %r8, %r10\n"
	"movq %r9, %r8\n"
	"movq 8(%rsp), %r9\n"
	"syscall\n"
	"cmpq $-4095, %rax\n"
	"jae 1f\n"
	"ret\n"
	"1: movq %rax, %rdi\n"
	"jmp weft_confine_fail\n"
	".cfi_endproc\n"
	".size syscall, . - syscall\n"
	".popsection\n");
#else
__asm__(".pushsection .text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	".cfi_startproc\n"
	"hint #34\n" /* bti c */
	"cmp x0, #" TEXT(SYS_prctl) "\n"
	"b.eq weft_confine_syscall\n"
	"cmp x0, #" TEXT(SYS_seccomp) "\n"
	"b.eq weft_confine_syscall\n"
	"mov x8, x0\n"
	"mov x0, x1\n"
	"mov x1, x2\n"
	"mov x2, x3\n"
	"mov x3, x4\n"
	"mov x4, x5\n"
	"mov x5, x6\n"
	"svc 0\n"
	"cmn x0, #4095\n"
	"b.cs weft_confine_fail\n"
	"ret\n"
	".cfi_endproc\n"
	".size syscall, . - syscall\n"
	".popsection\n");
#endif
/* clang-format on */

#endif
