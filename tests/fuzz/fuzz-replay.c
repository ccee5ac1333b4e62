/* SPDX-License-Identifier: MIT */
/*
 * fuzz-replay.c - every target on every file of its corpus: tests/fuzz/corpus/TARGET/.
 *
 *	fuzz-replay                  all of them, a test each
 *	fuzz-replay TARGET FILE...   these, in this process: for a debugger
 *
 * Each target runs in a child, which notes in shared memory what it is at.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#define MAX_SECONDS 60

#define DECLARE(name) int fuzz_##name(const uint8_t *bytes, size_t size);
FUZZ_TARGETS(DECLARE)

#define ENTRY(name) {#name, fuzz_##name},
static const struct target {
	const char *name;
	int (*run)(const uint8_t *bytes, size_t size);
} targets[] = {FUZZ_TARGETS(ENTRY)};
enum { NR_TARGETS = sizeof(targets) / sizeof(targets[0]) };

struct progress {
	unsigned nr;
	char file[NAME_MAX + 1];
};

/* Return: 0, or -1 where the file cannot be read. */
static int replay(const struct target *target, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	/* Of exactly the size, so that a sanitizer sees what reads beyond. */
	bytes = malloc((size_t)st.st_size);
	got = read(fd, bytes, (size_t)st.st_size);
	close(fd);
	if (got == st.st_size)
		target->run(bytes, (size_t)got);
	free(bytes);
	return got == st.st_size ? 0 : -1;
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* In a child. Return: the exit status. */
static int replay_all(const struct target *target, const char *corpus, struct progress *progress)
{
	struct dirent **names;
	int dir = open(corpus, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int nr = dir < 0 ? -1 : scandirat(dir, ".", &names, is_file, alphasort);

	alarm(MAX_SECONDS);
	for (int i = 0; i < nr; i++) {
		snprintf(progress->file, sizeof(progress->file), "%s", names[i]->d_name);
		if (replay(target, dir, names[i]->d_name) < 0)
			return 2;
		progress->nr++;
	}
	return nr > 0 ? 0 : 3;
}

static void test_target(const struct target *target, struct progress *progress)
{
	const char *srcdir = getenv("top_srcdir");
	char corpus[PATH_MAX];
	int status = -1;
	pid_t pid;

	snprintf(corpus, sizeof(corpus), "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".",
		 target->name);
	*progress = (struct progress){.nr = 0};
	pid = fork();
	if (pid == 0)
		exit(replay_all(target, corpus, progress));
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (!ok(status == 0, "%s: %u files of the corpus do no harm", target->name, progress->nr))
		printf("# %s, wait status %d\n", progress->file, status);
}

static int replay_by_hand(char **args)
{
	for (int i = 0; i < NR_TARGETS; i++)
		for (char **file = args + 2; !strcmp(targets[i].name, args[1]) && *file; file++) {
			printf("%s\n", *file);
			fflush(stdout);
			if (replay(&targets[i], AT_FDCWD, *file) < 0)
				perror(*file);
		}
	return 0;
}

int main(int argc, char **argv)
{
	struct progress *progress;

	if (argc > 2)
		return replay_by_hand(argv);
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (progress == MAP_FAILED)
		return 1;
	for (int i = 0; i < NR_TARGETS; i++)
		test_target(&targets[i], progress);
	return done_testing();
}
