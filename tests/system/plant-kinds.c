/* SPDX-License-Identifier: MIT */
/*
 * plant-kinds.c - the table of causes that can be planted, and the helpers that cause them.
 *
 * The victim is tied to the last CPU. A helper sleeps until the victim sends it a job; those that
 * preempt are tied to the victim's CPU, the others to any other one where there is one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "examples/disturb/cold-file.h"
#include "marker/marker.h"
#include "tests/system/plant-kinds.h"

#define PLANT_NS (25 * NS_PER_MS)
#define COLD_SIZE (64u << 20)
#define COLD_STEP (128u << 10)
#define FRESH_SIZE (96u << 20)
#define PAGE_SIZE 4096u

/* Ahead of what else the machine does: only what is planted shall disturb. */
#define PRIORITY_OF_ALL 1

struct helper {
	const char *name;
	enum { HELPER_BESIDE, HELPER_FIFO, HELPER_NICE } kind;
	pid_t tid;
	int error;
	void (*job)(void);	    /* set by the victim before go */
	sem_t go, is_ready;	    /* ready: started, and after each job */
	uint64_t waited_ns, ran_ns; /* during the last job */
	bool is_busy;		    /* the victim's note: a job was sent */
};

static struct helper fifo = {.name = "fifo", .kind = HELPER_FIFO};
static struct helper nice_one = {.name = "nice", .kind = HELPER_NICE};
static struct helper first = {.name = "first"};
static struct helper second = {.name = "second"};
static struct helper *const helpers[] = {&fifo, &nice_one, &first, &second};
#define NR_HELPERS (sizeof(helpers) / sizeof(helpers[0]))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_held, stage_one, stage_two;
static struct cold_file cold;
static uint64_t work_per_ms;
static int victim_cpu;

/* Time on a CPU and on a run queue, so far, of the calling thread. */
static void read_schedstat(uint64_t *ret_ran_ns, uint64_t *ret_waited_ns)
{
	unsigned long long ran = 0, waited = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (file) {
		if (fscanf(file, "%llu %llu", &ran, &waited) != 2)
			ran = waited = 0;
		fclose(file);
	}
	*ret_ran_ns = ran;
	*ret_waited_ns = waited;
}

/* One copy of it: a loop's place in the code can double what a turn takes. */
__attribute__((noinline)) static void spin(uint64_t nr_turns)
{
	for (uint64_t i = 0; i < nr_turns; i++)
		__asm__ volatile("" ::: "memory");
}

void plant_work(uint64_t ns)
{
	spin(work_per_ms * ns / NS_PER_MS);
}

static void calibrate(void)
{
	const uint64_t nr_turns = 1000000;
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t begin_ns = truth_now_ns(), length_ns;

		spin(nr_turns);
		length_ns = truth_now_ns() - begin_ns;
		if (length_ns < best_ns)
			best_ns = length_ns;
	}
	work_per_ms = nr_turns * NS_PER_MS / best_ns;
}

static int set_policy(int policy, int priority)
{
	struct sched_param param = {.sched_priority = priority};

	return sched_setscheduler(0, policy, &param) < 0 ? -errno : 0;
}

static int helper_prepare(struct helper *helper)
{
	cpu_set_t set;
	int ret;

	helper->tid = gettid();
	MARKER_THREAD(helper->name);
	if (helper->kind != HELPER_BESIDE) {
		truth_pin(victim_cpu);
	} else if (victim_cpu > 0) {
		CPU_ZERO(&set);
		for (int i = 0; i < victim_cpu; i++)
			CPU_SET(i, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	if (helper->kind == HELPER_FIFO)
		return set_policy(SCHED_FIFO, 50);
	if (helper->kind != HELPER_NICE)
		return 0;
	ret = set_policy(SCHED_OTHER, 0);
	if (ret == 0 && setpriority(PRIO_PROCESS, (id_t)helper->tid, -20) < 0)
		ret = -errno;
	return ret;
}

/* Started by plant_setup(); ends with the process. */
static void *helper_run(void *arg)
{
	struct helper *helper = arg;
	uint64_t ran_ns, waited_ns;

	helper->error = helper_prepare(helper);
	for (;;) {
		sem_post(&helper->is_ready);
		while (sem_wait(&helper->go) < 0)
			;
		read_schedstat(&ran_ns, &waited_ns);
		helper->job();
		read_schedstat(&helper->ran_ns, &helper->waited_ns);
		helper->ran_ns -= ran_ns;
		helper->waited_ns -= waited_ns;
	}
	return NULL;
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0)
		;
}

static void send(struct helper *helper, void (*job)(void))
{
	helper->job = job;
	helper->is_busy = true;
	sem_post(&helper->go);
}

static void read_cold(void)
{
	uint64_t end_ns = truth_now_ns() + PLANT_NS;

	while (truth_now_ns() < end_ns && !cold_file_read(&cold))
		;
}

static void burn(void)
{
	plant_work(PLANT_NS);
}

static void hold_working(void)
{
	pthread_mutex_lock(&lock);
	sem_post(&is_held);
	truth_spin_until(truth_now_ns() + PLANT_NS);
	pthread_mutex_unlock(&lock);
}

static void hold_reading(void)
{
	pthread_mutex_lock(&lock);
	sem_post(&is_held);
	read_cold();
	pthread_mutex_unlock(&lock);
}

/* Takes the lock second, and only for a moment. */
static void hold_briefly(void)
{
	pthread_mutex_lock(&lock);
	truth_spin_until(truth_now_ns() + NS_PER_MS);
	pthread_mutex_unlock(&lock);
}

static void make_slowly(void)
{
	read_cold();
	sem_post(&stage_one);
}

static void pass_on(void)
{
	wait_for(&stage_one);
	plant_work(NS_PER_MS / 10);
	sem_post(&stage_two);
}

static void plant_own_work(struct planted *planted)
{
	plant_work(PLANT_NS);
}

/* The helper takes the CPU with the sem_post; what follows is what it delays. */
static void plant_fifo(struct planted *planted)
{
	planted->tid = fifo.tid;
	send(&fifo, burn);
	plant_work(NS_PER_MS);
}

static void plant_nice(struct planted *planted)
{
	/* As any other program, for this once. */
	set_policy(SCHED_OTHER, 0);
	planted->tid = nice_one.tid;
	send(&nice_one, burn);
	/* Long enough for the helper to have had its time before this ends. */
	plant_work(PLANT_NS / 2);
	set_policy(SCHED_FIFO, PRIORITY_OF_ALL);
}

static void wait_for_lock(void (*job)(void))
{
	send(&first, job);
	wait_for(&is_held);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void plant_mutex(struct planted *planted)
{
	planted->tid = first.tid;
	wait_for_lock(hold_working);
}

static void plant_mutex_read(struct planted *planted)
{
	planted->tid = planted->root_tid = first.tid;
	wait_for_lock(hold_reading);
}

/* The lock goes first -> second -> victim: the one who held it long is to blame, not the last. */
static void plant_convoy(struct planted *planted)
{
	planted->tid = first.tid;
	send(&first, hold_working);
	wait_for(&is_held);
	send(&second, hold_briefly);
	truth_sleep_until(truth_now_ns() + NS_PER_MS);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void plant_sleep(struct planted *planted)
{
	truth_sleep_until(truth_now_ns() + PLANT_NS);
}

static void plant_read(struct planted *planted)
{
	read_cold();
}

static void plant_major(struct planted *planted)
{
	uint64_t end_ns = truth_now_ns() + PLANT_NS, random = end_ns;
	volatile unsigned char *map;

	posix_fadvise(cold.fd, 0, 0, POSIX_FADV_DONTNEED);
	map = mmap(NULL, COLD_SIZE, PROT_READ, MAP_SHARED, cold.fd, 0);
	if (map == MAP_FAILED)
		return;
	madvise((void *)map, COLD_SIZE, MADV_RANDOM);
	while (truth_now_ns() < end_ns) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		(void)map[(random >> 33) % (COLD_SIZE / PAGE_SIZE) * PAGE_SIZE];
	}
	munmap((void *)map, COLD_SIZE);
}

/* Freed in plant_settle(): that is work, which may take as long. */
static unsigned char *fresh = MAP_FAILED;

static void plant_minor(struct planted *planted)
{
	fresh = mmap(NULL, FRESH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return;
	madvise(fresh, FRESH_SIZE, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < FRESH_SIZE; at += PAGE_SIZE)
		*(volatile unsigned char *)(fresh + at) = 1;
}

/* second reads, first waits for second, the victim waits for first. */
static void plant_starve(struct planted *planted)
{
	planted->tid = first.tid;
	planted->root_tid = second.tid;
	send(&first, pass_on);
	send(&second, make_slowly);
	wait_for(&stage_two);
}

const struct plant_kind plant_kinds[] = {
	{"own-work", "running", NULL, false, plant_own_work},
	{"fifo", "preempted", NULL, true, plant_fifo},
	{"nice", "preempted", NULL, true, plant_nice},
	{"mutex", "lock", NULL, false, plant_mutex},
	{"mutex-read", "lock", "block-io", false, plant_mutex_read},
	{"convoy", "lock", NULL, false, plant_convoy},
	{"sleep", "timer", NULL, false, plant_sleep},
	{"read", "block-io", NULL, false, plant_read},
	{"major-faults", "page-fault-major", NULL, false, plant_major},
	{"minor-faults", "page-fault-minor", NULL, false, plant_minor},
	{"starve", NULL, "block-io", false, plant_starve},
};
const size_t nr_plant_kinds = sizeof(plant_kinds) / sizeof(plant_kinds[0]);
_Static_assert(sizeof(plant_kinds) / sizeof(plant_kinds[0]) <= PLANT_MAX_KINDS, "too many kinds");

void plant_run(const struct plant_kind *kind, struct planted *planted)
{
	uint64_t ran_ns, waited_ns, ran_after_ns, waited_after_ns;

	read_schedstat(&ran_ns, &waited_ns);
	planted->begin_ns = truth_now_ns();
	kind->run(planted);
	planted->end_ns = truth_now_ns();
	read_schedstat(&ran_after_ns, &waited_after_ns);
	planted->foreign_ns = waited_after_ns - waited_ns;
}

void plant_settle(const struct plant_kind *kind, struct planted *planted)
{
	uint64_t ours_ns = 0;

	for (size_t i = 0; i < NR_HELPERS; i++) {
		if (!helpers[i]->is_busy)
			continue;
		wait_for(&helpers[i]->is_ready);
		helpers[i]->is_busy = false;
		/* One that shares the victim's CPU waits for the victim. */
		if (!kind->is_preempting)
			planted->foreign_ns += helpers[i]->waited_ns;
		ours_ns += helpers[i]->ran_ns;
	}
	if (kind->is_preempting)
		planted->foreign_ns -=
			ours_ns < planted->foreign_ns ? ours_ns : planted->foreign_ns;
	if (fresh != MAP_FAILED)
		munmap(fresh, FRESH_SIZE);
	fresh = MAP_FAILED;
}

int plant_setup(const char *scratch)
{
	pthread_t thread;
	int ret;

	victim_cpu = truth_pin(-1);
	if (victim_cpu < 0)
		return victim_cpu;
	/* Helpers inherit it. */
	ret = set_policy(SCHED_FIFO, PRIORITY_OF_ALL);
	if (ret < 0)
		return ret;
	calibrate();
	ret = cold_file_open(&cold, scratch, COLD_SIZE, COLD_STEP);
	if (ret < 0)
		return ret;
	sem_init(&is_held, 0, 0);
	sem_init(&stage_one, 0, 0);
	sem_init(&stage_two, 0, 0);
	for (size_t i = 0; i < NR_HELPERS; i++) {
		sem_init(&helpers[i]->go, 0, 0);
		sem_init(&helpers[i]->is_ready, 0, 0);
		ret = -pthread_create(&thread, NULL, helper_run, helpers[i]);
		if (ret < 0)
			return ret;
		wait_for(&helpers[i]->is_ready);
		if (helpers[i]->error)
			return helpers[i]->error;
	}
	return 0;
}
