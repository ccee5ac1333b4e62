/* SPDX-License-Identifier: MIT */
/*
 * ftrace-work.c - does a known amount of work for test-ftrace.sh to find again.
 *
 *	ftrace-work getppid N       N system calls
 *	ftrace-work fork N          a child that does them
 *	ftrace-work thread N        a second thread that does them, the first waits
 *	ftrace-work pingpong N      N bytes there and back between two threads, on two CPUs if any
 *	ftrace-work faults N        N pages touched for the first time
 *	ftrace-work read FILE       one 4 KiB read past the page cache
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int there[2], back[2];
static long count;

static void call(long nr)
{
	for (long i = 0; i < nr; i++)
		syscall(SYS_getppid);
}

static void *call_in_thread(void *arg)
{
	call(count);
	return NULL;
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		/* Then both are on one CPU: as many switches, though no hand-over between two. */
	}
}

static void *answer(void *arg)
{
	char byte;

	run_on(1);
	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			break;
	return NULL;
}

static int pingpong(void)
{
	pthread_t thread;
	char byte = 0;

	if (pipe(there) < 0 || pipe(back) < 0 || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	fprintf(stderr, "tid=%d\n", (int)gettid());
	run_on(0);
	for (long i = 0; i < count; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	close(there[1]);
	return pthread_join(thread, NULL);
}

static int touch(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, (size_t)count * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return 1;
	madvise(pages, (size_t)count * page, MADV_NOHUGEPAGE);
	fprintf(stderr, "begin=%#lx\nend=%#lx\n", (unsigned long)pages,
		(unsigned long)pages + (unsigned long)count * page);
	for (long i = 0; i < count; i++)
		pages[(size_t)i * page] = 1;
	return 0;
}

static int read_past_cache(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT);
	void *buffer = aligned_alloc(4096, 4096);

	/* 77: this file system cannot. */
	if (fd < 0 || !buffer || pread(fd, buffer, 4096, 0) != 4096)
		return 77;
	fprintf(stderr, "tid=%d\n", (int)gettid());
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status = 0;

	if (argc != 3)
		return 2;
	count = atol(argv[2]);
	if (strcmp(argv[1], "read") == 0)
		return read_past_cache(argv[2]);
	if (strcmp(argv[1], "pingpong") == 0)
		return pingpong();
	if (strcmp(argv[1], "faults") == 0)
		return touch();
	if (strcmp(argv[1], "thread") == 0)
		return pthread_create(&thread, NULL, call_in_thread, NULL) ||
		       pthread_join(thread, NULL);
	if (strcmp(argv[1], "fork") == 0) {
		if (fork() == 0) {
			call(count);
			_exit(0);
		}
		return wait(&status) < 0 || status;
	}
	call(count);
	return 0;
}
