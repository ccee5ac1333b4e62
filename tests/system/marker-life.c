/* SPDX-License-Identifier: MIT */
/*
 * marker-life.c - programs that end, fork, jump and are interrupted while they have markers; one a
 * mode. Each says on stderr what it did ("did NAME COUNT"), for test-marker-life.sh to compare with
 * what was recorded.
 */
#include <marker/marker.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void did(const char *what, long count)
{
	fprintf(stderr, "did %s %ld\n", what, count);
}

static void every(long us, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	struct itimerval timer = {{0, us}, {0, us}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void no_timer(void)
{
	struct itimerval timer = {{0, 0}, {0, 0}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void plain(long count)
{
	for (long i = 0; i < count; i++)
		MARKER(life, plain, i);
	did("plain", count);
}

/* A handler that interrupts markers, and has its own. */
static volatile long in_handler;
static volatile int level;
static void marking_handler(int signal)
{
	int saved_errno = errno;

	level++;
	MARKER(life, handler, in_handler, MARKER_FIELD(text, "from a handler"));
	in_handler++;
	level--;
	errno = saved_errno;
	(void)signal;
}

static void interrupted(long count, int flags)
{
	static char text[] = "some text of the main program";
	long wrong = 0;

	every(30, marking_handler, flags);
	for (long i = 0; i < count; i++) {
		errno = 42;
		MARKER(life, main, i, text);
		wrong += errno != 42;
	}
	no_timer();
	did("main", count);
	did("handler", in_handler);
	did("errno-changed", wrong);
}

static void on_altstack(long count)
{
	static char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	sigaltstack(&stack, NULL);
	interrupted(count, SA_ONSTACK);
}

/* A handler that never comes back to what it interrupted. */
static sigjmp_buf jump;
static volatile long jumps;
static volatile sig_atomic_t may_jump;
static void jumping_handler(int signal)
{
	(void)signal;
	if (!may_jump)
		return;
	jumps++;
	siglongjmp(jump, 1);
}

static __attribute__((noinline)) void deeper(long i, int depth)
{
	volatile char frame[200] = {0};

	if (depth)
		deeper(i, depth - 1);
	else
		MARKER(life, jumped, i);
	frame[0]++;
}

static void jumping(long count, int flags)
{
	static char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	static volatile long i;

	if (flags & SA_ONSTACK)
		sigaltstack(&stack, NULL);
	plain(1); /* set-up is over before the first jump */
	deeper(-1, 0);
	every(50, jumping_handler, flags | SA_NODEFER);
	sigsetjmp(jump, 1);
	while (i < count) {
		may_jump = 1;
		deeper(i, (int)(i % 3));
		may_jump = 0;
		i++;
	}
	no_timer();
	did("jumps", jumps);
	did("completed", count);
	for (long k = 0; k < 1000; k++)
		MARKER(life, after, k);
	did("after", 1000);
}

/* Every way to make a child. */
static int child_of_clone(void *arg)
{
	(void)arg;
	plain(10);
	return 0;
}

static void forking(void)
{
	int status;
	pid_t pid;

	plain(100);
	pid = fork();
	if (!pid) {
		for (long i = 0; i < 50; i++)
			MARKER(life, child, i);
		if (!fork()) {
			MARKER(life, grandchild);
			_exit(0);
		}
		wait(&status);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	did("child-status", status);
	/* Past the library: no handler of fork() runs. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		for (long i = 0; i < 20; i++)
			MARKER(life, cloned, i);
		syscall(SYS_exit_group, 0);
	}
	waitpid(pid, &status, 0);
	did("cloned-status", status);
	pid = vfork();
	if (!pid) {
		MARKER(life, vforked);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	did("vforked-status", status);
	for (long i = 0; i < 100; i++)
		MARKER(life, parent, i);
	did("parent", 100);
	(void)child_of_clone;
}

/* A child whose first marker is not that of the thread that forked. */
static void *first_of_child(void *arg)
{
	MARKER(life, child_thread);
	return arg;
}

static void forked_threaded(void)
{
	pthread_t id;
	int status;
	pid_t pid;

	plain(1);
	pid = fork();
	if (!pid) {
		if (pthread_create(&id, NULL, first_of_child, NULL) || pthread_join(id, NULL))
			_exit(1);
		for (long i = 0; i < 20; i++)
			MARKER(life, child_main, i);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	did("child-status", status);
}

/* A handler forks while a marker is under way; the child goes on into it. */
static volatile long forks;
static volatile pid_t parent_pid;
static void forking_handler(int signal)
{
	(void)signal;
	if (getpid() != parent_pid || forks >= 20)
		return;
	if (!fork()) {
		struct itimerval none = {{0, 0}, {0, 0}};

		setitimer(ITIMER_REAL, &none, NULL);
		return; /* into the marker */
	}
	forks++;
}

static void forked_inside(void)
{
	long i, bad = 0;
	int status;

	parent_pid = getpid();
	every(1000, forking_handler, 0);
	for (i = 0; forks < 20 || getpid() != parent_pid; i++) {
		MARKER(life, inside, i);
		if (getpid() != parent_pid && i % 1000 == 0)
			_exit(0);
	}
	no_timer();
	did("inside", i);
	did("inside-pid", getpid());
	while (wait(&status) > 0) {
		if (status)
			did("child-status", status);
		bad += status != 0;
	}
	did("bad-children", bad);
}

/* Threads that end, with markers in the destructors of their keys. */
static pthread_key_t key;
static void destructor(void *value)
{
	MARKER(life, destructor, MARKER_FIELD(round, (long)value));
	if ((long)value < 2)
		pthread_setspecific(key, (void *)((long)value + 1));
}

static void *thread(void *arg)
{
	long count = (long)arg;

	MARKER_THREAD("worker");
	pthread_setspecific(key, (void *)1L);
	for (long i = 0; i < count; i++)
		MARKER(life, thread, i);
	return NULL;
}

static void threads(long nr)
{
	pthread_t ids[64];

	pthread_key_create(&key, destructor);
	for (int round = 0; round < 4; round++) {
		for (long i = 0; i < nr; i++)
			pthread_create(&ids[i], NULL, thread, (void *)1000L);
		for (long i = 0; i < nr; i++)
			pthread_join(ids[i], NULL);
	}
	did("thread", 4 * nr * 1000);
	did("destructor", 4 * nr * 2);
}

static void *realtime_thread(void *arg)
{
	struct sched_param param = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &param)) {
		did("not-permitted", errno);
		return NULL;
	}
	for (long i = 0; i < 100; i++)
		MARKER(life, realtime, i);
	did("realtime", 100);
	return arg;
}

static void realtime(void)
{
	pthread_t id;

	plain(1);
	pthread_create(&id, NULL, realtime_thread, NULL);
	pthread_join(id, NULL);
}

static void plugin(const char *path)
{
	for (int i = 0; i < 5; i++) {
		void *handle = dlopen(path, RTLD_NOW);
		void (*run)(int);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		*(void **)&run = dlsym(handle, "plugin_run");
		run(i);
		dlclose(handle);
	}
	did("plugin", 5);
}

/* Runs until told to end, whether anybody records or not. */
static volatile sig_atomic_t is_ended;
static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

static void lasting(void)
{
	struct timespec pause = {0, 1000000};

	signal(SIGTERM, end);
	fprintf(stderr, "started\n");
	for (long i = 0; !is_ended; i++) {
		MARKER(life, lasting, i);
		nanosleep(&pause, NULL);
	}
}

/* A daemon closes what it did not open, and its own files get those numbers. */
static void closing(const char *path)
{
	long first, low = open("/dev/null", O_RDONLY), written = 0;

	MARKER(life, before_close);
	did("first-descriptor", low);
	for (int fd = 3; fd < 2048; fd++)
		close(fd);
	first = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int fd = 3; fd < 1100; fd++)
		if (fd != first)
			dup2((int)first, fd);
	MARKER(life, after_close, first);
	MARKER(life, after_close_too, first);
	written = lseek((int)first, 0, SEEK_END);
	did("written-to-others", written);
}

/* A child of a process whose other threads are busy setting up, and its dlopen(). */
static void around(long count)
{
	for (long i = 0; i < count; i++)
		MARKER(life, around, i);
}

static void *around_in_thread(void *arg)
{
	around((long)arg);
	return NULL;
}

/* The same place before and after: nothing but a new thread has reason to speak to the consumer. */
static void closing_all(void)
{
	pthread_t id;

	around(100);
	for (int fd = 3; fd < 2048; fd++)
		close(fd);
	around(100);
	for (int i = 0; i < 4; i++)
		if (!pthread_create(&id, NULL, around_in_thread, (void *)100L))
			pthread_join(id, NULL);
}

static void becoming(const char *self, int times)
{
	char text[16];

	around(10);
	usleep(20000); /* the consumer sees that this program has gone */
	snprintf(text, sizeof(text), "%d", times - 1);
	if (times)
		execl(self, self, "becoming", text, (char *)NULL);
}

static void *claiming(void *arg)
{
	(void)arg;
	while (!is_ended) {
		pthread_t id;

		if (!pthread_create(&id, NULL, thread, (void *)10L))
			pthread_join(id, NULL);
	}
	return NULL;
}

static void forked_busy(const char *path)
{
	struct timespec begin, now;
	long slow = 0, bad = 0;
	pthread_t ids[2];
	int status;

	pthread_key_create(&key, destructor);
	for (int i = 0; i < 2; i++)
		pthread_create(&ids[i], NULL, claiming, NULL);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid) {
			void *handle;

			clock_gettime(CLOCK_MONOTONIC, &begin);
			handle = dlopen(path, RTLD_NOW);
			MARKER(life, busy_child);
			clock_gettime(CLOCK_MONOTONIC, &now);
			if (!handle)
				fprintf(stderr, "child %d: %s\n", i, dlerror());
			if (now.tv_sec - begin.tv_sec > 1)
				fprintf(stderr, "child %d: slow\n", i);
			_exit(!handle || now.tv_sec - begin.tv_sec > 1);
		}
		waitpid(pid, &status, 0);
		slow += WIFEXITED(status) && WEXITSTATUS(status);
		bad += !WIFEXITED(status);
		if (WIFSIGNALED(status))
			fprintf(stderr, "child %d: signal %d\n", i, WTERMSIG(status));
	}
	is_ended = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	did("bad-children", slow + bad);
}

static void flood(long count)
{
	for (long i = 0; i < count; i++)
		MARKER(life, flood, i);
	did("flood", count);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(mode, "plain"))
		plain(count);
	else if (!strcmp(mode, "interrupted"))
		interrupted(count, 0);
	else if (!strcmp(mode, "altstack"))
		on_altstack(count);
	else if (!strcmp(mode, "jumping"))
		jumping(count, 0);
	else if (!strcmp(mode, "jumping-altstack"))
		jumping(count, SA_ONSTACK);
	else if (!strcmp(mode, "forking"))
		forking();
	else if (!strcmp(mode, "forked-threaded"))
		forked_threaded();
	else if (!strcmp(mode, "forked-inside"))
		forked_inside();
	else if (!strcmp(mode, "threads"))
		threads(count);
	else if (!strcmp(mode, "realtime"))
		realtime();
	else if (!strcmp(mode, "plugin"))
		plugin(argv[2]);
	else if (!strcmp(mode, "lasting"))
		lasting();
	else if (!strcmp(mode, "closing"))
		closing(argv[2]);
	else if (!strcmp(mode, "closing-all"))
		closing_all();
	else if (!strcmp(mode, "becoming"))
		becoming(argv[0], atoi(argv[2]));
	else if (!strcmp(mode, "forked-busy"))
		forked_busy(argv[2]);
	else if (!strcmp(mode, "flood"))
		flood(count);
	else if (!strcmp(mode, "killed")) {
		plain(count);
		raise(SIGKILL);
	} else if (!strcmp(mode, "executing")) {
		plain(count);
		execl(argv[0], argv[0], "plain", "7", (char *)NULL);
	} else {
		fprintf(stderr, "marker-life: which mode?\n");
		return 2;
	}
	return 0;
}
