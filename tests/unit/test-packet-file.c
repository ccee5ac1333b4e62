/* SPDX-License-Identifier: MIT */
/*
 * test-packet-file.c - packets on their way to a file, by either way.
 */
#include "trace/packet-file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"

#define LARGE (1u << 20)
#define NR_LARGE 70u

static char dir[TEMP_DIR_SIZE];
static int dir_fd;

static struct packet_file create(const char *name)
{
	struct packet_file file = {.file.fd = -1, .direct_fd = -1};

	ok(packet_file_create(&file, dir_fd, name) == 0, "%s: is made", name);
	return file;
}

/* A packet of that size, in memory for its padding too, all of it that number. */
static uint8_t *make_packet(uint32_t size, uint8_t number)
{
	uint8_t *bytes = aligned_alloc(PACKET_FILE_BLOCK, LARGE + 2 * PACKET_FILE_BLOCK);

	memset(bytes, 0, LARGE + 2 * PACKET_FILE_BLOCK);
	memset(bytes, number, size);
	return bytes;
}

/* Return: its size in the file, or -errno. */
static int append(struct packet_file *file, uint32_t size, uint8_t number)
{
	uint8_t *bytes = make_packet(size, number);
	uint32_t padded = packet_file_padded(file, size);
	int ret = packet_file_append(file, bytes, padded);

	free(bytes);
	return ret < 0 ? ret : (int)padded;
}

/* Is that number there @size times, and then zero up to @end? */
static bool holds(int fd, uint64_t begin, uint32_t size, uint64_t end, uint8_t number)
{
	uint8_t *bytes = malloc(end - begin);
	bool is_so = pread(fd, bytes, end - begin, (off_t)begin) == (ssize_t)(end - begin);

	for (uint64_t i = 0; is_so && i < end - begin; i++)
		is_so = bytes[i] == (i < size ? number : 0);
	free(bytes);
	return is_so;
}

static void test_small(void)
{
	struct packet_file file = create("small");

	ok(append(&file, 1000, 1) == 1000, "a small packet is as long in the file");
	ok(append(&file, 24, 2) == 24, "and so is the next");
	ok(file.file.size == 1024, "they follow each other");
	ok(append(&file, PACKET_FILE_LARGE, 3) == (int)(PACKET_FILE_LARGE + 3072),
	   "a large one is filled up to a block");
	ok(append(&file, PACKET_FILE_LARGE + 1, 4) == (int)(PACKET_FILE_LARGE + 4096),
	   "each of them");
	packet_file_close(&file);
}

static void test_ways(void)
{
	struct packet_file file = create("large");
	uint64_t ends[NR_LARGE + 1] = {0};
	unsigned nr_written = 0, nr_right = 0;
	int fd = openat(dir_fd, "large", O_RDONLY);

	for (unsigned i = 0; i < NR_LARGE; i++) {
		/* In between a small one, which leaves the next large one at no block. */
		uint32_t size = i % 10 == 9 ? 40 : LARGE - i * 8;

		nr_written += append(&file, size, (uint8_t)(i + 1)) >= (int)size;
		ends[i + 1] = file.file.size;
	}
	ok(nr_written == NR_LARGE, "large packets are written");
	ok(file.ns_per_mib[PACKET_CACHED] > 0, "the way through the cache was measured");
	ok(file.ns_per_mib[PACKET_DIRECT] > 0 || file.has_no_direct,
	   "and the one past it, where the file system has it");
	for (unsigned i = 0; i < NR_LARGE; i++)
		nr_right += holds(fd, ends[i], i % 10 == 9 ? 40 : LARGE - i * 8, ends[i + 1],
				  (uint8_t)(i + 1));
	ok(nr_right == NR_LARGE, "by either way each is where it belongs");
	close(fd);
	packet_file_close(&file);
}

/* The fastest way is taken, whichever that is. */
static void test_choice(void)
{
	struct packet_file file = create("choice");

	append(&file, LARGE, 1);
	ok(file.direct_fd == -1, "at first packets go through the cache");
	file.ns_per_mib[PACKET_DIRECT] = 1;
	append(&file, LARGE, 2);
	ok(file.direct_fd >= 0 || file.has_no_direct, "past it where that was faster");
	close(file.direct_fd);
	file.direct_fd = open("/dev/full", O_WRONLY);
	file.has_no_direct = false;
	file.ns_per_mib[PACKET_DIRECT] = 1;
	ok(append(&file, LARGE, 3) == LARGE, "a packet that cannot go past it goes through it");
	ok(file.has_no_direct, "and so do all the next");
	ok(file.file.size == 3 * LARGE, "nothing is there twice");
	packet_file_close(&file);
}

static void test_limit(void)
{
	struct packet_file file = create("limit");
	struct rlimit before, limit;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){LARGE + 100000, before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	ok(append(&file, LARGE, 1) == LARGE, "below the limit a packet is written");
	file.ns_per_mib[PACKET_DIRECT] = 1;
	ok(append(&file, LARGE, 2) < 0, "one beyond it is an error");
	setrlimit(RLIMIT_FSIZE, &before);
	ok(fstat(file.file.fd, &st) == 0, "the file is there");
	ok(st.st_size == LARGE, "and nothing of that packet");
	ok(append(&file, LARGE, 3) == LARGE, "the next one is written again");
	packet_file_close(&file);
}

int main(void)
{
	temp_dir_make(dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	test_small();
	test_ways();
	test_choice();
	test_limit();
	temp_dir_remove(dir);
	return done_testing();
}
