/* SPDX-License-Identifier: MIT */
/*
 * marker-confined.c - programs with markers that confine themselves by seccomp, give up the
 * counter, or leave the folder behind where they meet consumerd; one a mode, for
 * test-marker-confined.sh. Exit status 0: all went as it should; 77: it is not permitted here.
 */
#include <marker/marker.h>

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_EACH 1000L
#define NOT_PERMITTED 77

static void around(void)
{
	for (long i = 0; i < NR_EACH; i++)
		MARKER(confined, around, i);
}

static void *around_in_thread(void *arg)
{
	around();
	return arg;
}

static int threads(long nr)
{
	pthread_t id;

	for (long i = 0; i < nr; i++)
		if (pthread_create(&id, NULL, around_in_thread, NULL) || pthread_join(id, NULL))
			return 1;
	return 0;
}

/* What this program itself still does, and exec to go on under the filter. All else kills. */
static const int allowed[] = {
	SYS_write,	     SYS_read,	     SYS_pread64, SYS_close,	    SYS_openat,
	SYS_fstat,	     SYS_newfstatat, SYS_mmap,	  SYS_mprotect,	    SYS_munmap,
	SYS_madvise,	     SYS_brk,	     SYS_clone,	  SYS_clone3,	    SYS_set_robust_list,
	SYS_set_tid_address, SYS_rseq,	     SYS_futex,	  SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_rt_sigreturn,    SYS_getpid,     SYS_gettid,  SYS_tgkill,	    SYS_wait4,
	SYS_getrandom,	     SYS_prlimit64,  SYS_execve,  SYS_exit,	    SYS_exit_group,
#ifdef __x86_64__
	SYS_access,	     SYS_arch_prctl,
#endif
};

/* Return: 0, or it is not permitted here. */
static int install(bool is_prctl, unsigned flags)
{
	enum { NR = sizeof(allowed) / sizeof(*allowed) };
	struct sock_filter filter[NR + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = {NR + 3, filter};

	for (unsigned i = 0; i < NR; i++)
		filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							     (unsigned)allowed[i], NR - i, 0);
	filter[NR + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[NR + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (is_prctl)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int strict(void)
{
	around();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return NOT_PERMITTED;
	around();
	syscall(SYS_exit, 0);
	return 1;
}

/* Its first marker comes when it is confined. */
static int strict_first(void)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL))
		return NOT_PERMITTED;
	around();
	syscall(SYS_exit, 0);
	return 1;
}

static int without_counter(void)
{
#ifdef PR_SET_TSC
	around();
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return NOT_PERMITTED;
	around();
	return threads(1);
#else
	return 1;
#endif
}

static int filtered(bool is_prctl, long nr_threads)
{
	around();
	if (install(is_prctl, 0))
		return NOT_PERMITTED;
	around();
	return threads(nr_threads);
}

static int filtered_first(void)
{
	if (install(false, 0))
		return NOT_PERMITTED;
	around();
	return threads(1);
}

/* Threads that had markers before another one confines them all. */
static pthread_barrier_t barrier;
static void *before_and_after(void *arg)
{
	around();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	around();
	return arg;
}

static int filtered_all(void)
{
	pthread_t ids[4];

	pthread_barrier_init(&barrier, NULL, 5);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&ids[i], NULL, before_and_after, NULL))
			return 1;
	pthread_barrier_wait(&barrier);
	if (install(false, SECCOMP_FILTER_FLAG_TSYNC))
		return NOT_PERMITTED;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 4; i++)
		if (pthread_join(ids[i], NULL))
			return 1;
	return 0;
}

static int forked(void)
{
	int status;
	pid_t pid;

	around();
	if (install(false, 0))
		return NOT_PERMITTED;
	pid = fork();
	if (!pid) {
		around();
		exit(0);
	}
	around();
	return waitpid(pid, &status, 0) != pid || status;
}

/* A handler interrupts a marker, and has one. */
static volatile long nr_handled;
static void handler(int signal)
{
	MARKER(confined, handled, nr_handled);
	nr_handled++;
	(void)signal;
}

static long raising(long i)
{
	raise(SIGUSR1);
	return i;
}

static int interrupted(void)
{
	char text[8] = "text";

	signal(SIGUSR1, handler);
	around();
	if (install(true, 0))
		return NOT_PERMITTED;
	for (long i = 0; i < NR_EACH; i++) {
		MARKER(confined, main, MARKER_FIELD(i, raising(i)), text);
		raise(SIGUSR1);
	}
	return nr_handled != 2 * NR_EACH;
}

static int refused(void)
{
	around();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xffffu, NULL) == 0)
		return 1;
	around();
	return threads(1);
}

/* The new program is under the filter from its start. */
static int executed(void)
{
	around();
	if (install(false, 0))
		return NOT_PERMITTED;
	execl("/proc/self/exe", "marker-confined", "around", (char *)NULL);
	return 1;
}

/* A child's way to consumerd is another one: as another user, in another root, or none. */
static int child_after(int is_left)
{
	int status, grand_status;
	pid_t pid;

	if (is_left)
		return NOT_PERMITTED;
	around();
	pid = fork();
	if (!pid) {
		around();
		pid = fork();
		if (!pid)
			exit((around(), 0));
		exit(waitpid(pid, &grand_status, 0) != pid || grand_status);
	}
	return waitpid(pid, &status, 0) != pid || status;
}

static int other_user(void)
{
	around();
	return child_after(setgroups(0, NULL) || setgid(65534) || setuid(65534));
}

static int other_root(void)
{
	around();
	return child_after(chroot("/proc") || chdir("/"));
}

static int no_descriptors(void)
{
	struct rlimit none = {0, 0};

	around();
	return child_after(setrlimit(RLIMIT_NOFILE, &none));
}

/* A daemon's parent has gone before its child, another user by then, has its first marker. */
static int daemon_first(void)
{
	int line[2];
	char byte;

	around();
	if (pipe(line))
		return 1;
	if (fork())
		return 0;
	close(line[1]);
	/* Its end of the line is closed when it has gone. */
	if (read(line[0], &byte, 1) != 0 || setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return 1;
	usleep(50000); /* consumerd sees it too */
	around();
	return 0;
}

/* That libc's calls are as they would be. */
static int wrapped(void)
{
	char name[16] = "", *memory;
	long ret;

	ret = prctl(PR_SET_NAME, "a name");
	ret |= prctl(PR_GET_NAME, name);
	if (ret || strcmp(name, "a name") || prctl(-1, 0, 0, 0, 0) != -1)
		return 1;
	memory = (char *)syscall(SYS_mmap, NULL, 4096L, 3L, 0x22L, -1L, 0L);
	if (memory == (char *)-1 || syscall(SYS_munmap, memory, 4096L))
		return 1;
	if (syscall(SYS_gettid) != getpid() || syscall(SYS_prctl, PR_GET_NAME, name))
		return 1;
	return syscall(SYS_close, -1) != -1;
}

static int by_prctl(void)
{
	return filtered(true, 1);
}

static int by_syscall(void)
{
	return filtered(false, 1);
}

static int many_threads(void)
{
	return filtered(false, 20);
}

static int alone(void)
{
	around();
	return 0;
}

static const struct mode {
	const char *name;
	int (*run)(void);
} modes[] = {
	{"around", alone},
	{"strict", strict},
	{"strict-first", strict_first},
	{"without-counter", without_counter},
	{"prctl", by_prctl},
	{"syscall", by_syscall},
	{"many-threads", many_threads},
	{"first", filtered_first},
	{"all", filtered_all},
	{"forked", forked},
	{"interrupted", interrupted},
	{"refused", refused},
	{"other-user", other_user},
	{"other-root", other_root},
	{"no-descriptors", no_descriptors},
	{"daemon", daemon_first},
	{"executed", executed},
	{"wrapped", wrapped},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes) && argc > 1; i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run();
	fprintf(stderr, "marker-confined: which mode?\n");
	return 2;
}
