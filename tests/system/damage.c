/* SPDX-License-Identifier: MIT */
/*
 * damage.c - one wound to a trace folder, chosen by a seed, and said in a line.
 *
 *	damage SEED DIR
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILES 64

static char *files[MAX_FILES];
static unsigned nr_files, seed;

static uint32_t chance(uint64_t below)
{
	return below ? (uint32_t)((uint64_t)rand_r(&seed) % below) : 0;
}

static int note_file(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)where;
	if (type == FTW_F && nr_files < MAX_FILES)
		files[nr_files++] = strdup(path);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void cut(const char *path, int fd, off_t size)
{
	off_t left = chance((uint64_t)size);

	printf("%s cut to %lld of %lld bytes\n", path, (long long)left, (long long)size);
	if (ftruncate(fd, left) < 0)
		perror(path);
}

static void flip(const char *path, int fd, off_t size)
{
	unsigned nr = 1 + chance(8);

	printf("%s with %u bits flipped, at", path, nr);
	while (nr-- && size > 0) {
		off_t at = chance((uint64_t)size);
		unsigned bit = chance(8);
		char byte;

		if (pread(fd, &byte, 1, at) != 1)
			continue;
		byte = (char)(byte ^ 1 << bit);
		if (pwrite(fd, &byte, 1, at) == 1)
			printf(" %lld.%u", (long long)at, bit);
	}
	putchar('\n');
}

static void grow(const char *path, int fd, off_t size)
{
	static const off_t sizes[] = {1, 8, 4096, 1 << 20, (off_t)1 << 32, (off_t)1 << 40};
	off_t larger = size + sizes[chance(sizeof(sizes) / sizeof(sizes[0]))];

	printf("%s with zeros behind it, %lld bytes\n", path, (long long)larger);
	if (ftruncate(fd, larger) < 0)
		perror(path);
}

/* A stretch of the file by another: numbers and texts that are good, in a wrong place. */
static void mix(const char *path, int fd, off_t size)
{
	off_t from = chance((uint64_t)size), to = chance((uint64_t)size);
	char bytes[64];
	ssize_t got = pread(fd, bytes, 1 + chance(sizeof(bytes)), from);

	printf("%s with %zd bytes at %lld as at %lld\n", path, got, (long long)to, (long long)from);
	if (got > 0 && pwrite(fd, bytes, (size_t)got, to) < 0)
		perror(path);
}

static void lose(const char *path)
{
	static const char *const kinds[] = {"missing", "empty", "a folder", "a fifo",
					    "a link to itself"};
	unsigned kind = chance(5);
	int fd;

	printf("%s is %s\n", path, kinds[kind]);
	unlink(path);
	if (kind == 1 && (fd = open(path, O_WRONLY | O_CREAT, 0600)) >= 0)
		close(fd);
	if ((kind == 2 && mkdir(path, 0700) < 0) || (kind == 3 && mkfifo(path, 0600) < 0) ||
	    (kind == 4 && symlink(path, path) < 0))
		perror(path);
}

static void wound(const char *path)
{
	static void (*const ways[])(const char *path, int fd, off_t size) = {cut, flip, flip, grow,
									     mix};
	unsigned way = chance(sizeof(ways) / sizeof(ways[0]) + 1);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (way == sizeof(ways) / sizeof(ways[0]))
		lose(path);
	else if (fd >= 0 && fstat(fd, &st) == 0)
		ways[way](path, fd, st.st_size);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "Usage: damage SEED DIR\n");
		return 2;
	}
	seed = (unsigned)atoi(argv[1]);
	if (nftw(argv[2], note_file, 8, FTW_PHYS) < 0 || !nr_files) {
		perror(argv[2]);
		return 1;
	}
	qsort(files, nr_files, sizeof(files[0]), compare);
	wound(files[chance(nr_files)]);
	return 0;
}
