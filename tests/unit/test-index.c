/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/index.h"

static char dir[TEMP_DIR_SIZE], stream_path[TEMP_DIR_SIZE + 16], index_path[TEMP_DIR_SIZE + 16];
static const uint8_t uuid[PACKET_UUID_SIZE] = {1, 2, 3};

#define NR_PACKETS 1000
#define PACKET_SIZE 96u
#define STREAM_SIZE ((uint64_t)NR_PACKETS * PACKET_SIZE)

/* A stream of empty packets, ten ns each, and its index. */
static void write_files(void)
{
	FILE *stream = fopen(stream_path, "w"), *index = fopen(index_path, "w");
	uint8_t header[INDEX_HEADER_SIZE], entry[INDEX_ENTRY_SIZE];

	index_encode_header(header);
	fwrite(header, 1, sizeof(header), index);
	for (unsigned i = 0; i < NR_PACKETS; i++) {
		uint8_t packet[PACKET_SIZE] = {0};
		struct packet_info info = {
			.instance = 3,
			.begin_ns = 100 + 10 * i,
			.end_ns = 105 + 10 * i,
			.content_size = 84,
			.size = PACKET_SIZE,
			.number = i,
			.discarded = i / 2,
			.cpu = 1,
		};

		packet_encode(packet, TRACE_KERNEL, uuid, &info);
		fwrite(packet, 1, sizeof(packet), stream);
		index_encode_entry(entry, (uint64_t)i * PACKET_SIZE, &info);
		fwrite(entry, 1, sizeof(entry), index);
	}
	fclose(stream);
	fclose(index);
}

static int load(struct packet_index *index, uint64_t stream_size)
{
	int fd = open(index_path, O_RDONLY), ret;

	memset(index, 0, sizeof(*index));
	ret = index_load(index, fd, TRACE_KERNEL, stream_size);
	close(fd);
	return ret;
}

static int walk(struct packet_index *index, uint64_t stream_size, uint64_t *tail)
{
	int fd = open(stream_path, O_RDONLY), ret;
	const char *why = "";

	ret = index_walk(index, fd, TRACE_KERNEL, uuid, stream_size, tail, &why);
	if (ret < 0)
		printf("# %s\n", why);
	close(fd);
	return ret;
}

static void patch(const char *path, long offset, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "r+");

	fseek(file, offset, SEEK_SET);
	fwrite(bytes, 1, size, file);
	fclose(file);
}

static void test_load_and_walk(void)
{
	struct packet_index loaded, walked = {0};
	struct stat st;
	uint64_t tail = 99;

	write_files();
	stat(index_path, &st);
	ok(st.st_size == 16 + 72 * NR_PACKETS,
	   "an index is 16 bytes and 72 a packet, as LTTng has it");
	ok(load(&loaded, STREAM_SIZE) == 0 && loaded.nr == NR_PACKETS, "an index file is loaded");
	ok(walk(&walked, STREAM_SIZE, &tail) == 0 && walked.nr == NR_PACKETS && tail == 0,
	   "a stream file is walked");
	ok(!memcmp(loaded.items, walked.items, NR_PACKETS * sizeof(*loaded.items)),
	   "and both tell the same");
	ok(index_end(&loaded) == STREAM_SIZE, "the last packet ends where the file does");
	ok(index_find(&loaded, 0) == 0 && index_find(&loaded, 105) == 0 &&
		   index_find(&loaded, 106) == 1 && index_find(&loaded, 115) == 1 &&
		   index_find(&loaded, 105 + 10 * (NR_PACKETS - 1)) == NR_PACKETS - 1 &&
		   index_find(&loaded, 106 + 10 * (NR_PACKETS - 1)) == NR_PACKETS,
	   "a time is found in the first packet that ends at or after it");
	index_fini(&loaded);
	index_fini(&walked);
	ok(index_find(&walked, 5) == 0 && index_end(&walked) == 0, "an empty index finds nothing");
}

static void test_partial(void)
{
	struct packet_index index;
	uint64_t tail = 0;

	ok(load(&index, 10 * PACKET_SIZE + 50) == 0 && index.nr == 10,
	   "entries beyond the stream file are left out");
	ok(walk(&index, 12 * PACKET_SIZE + 50, &tail) == 0 && index.nr == 12 && tail == 50,
	   "the walk goes on where the index ends, and tells the tail");
	index_fini(&index);
	truncate(index_path, 16 + 72 * 7 + 30);
	ok(load(&index, STREAM_SIZE) == 0 && index.nr == 7, "a partial entry is left out");
	index_fini(&index);
	truncate(index_path, 10);
	ok(load(&index, STREAM_SIZE) == -EBADMSG, "a partial header is damage");
	index_fini(&index);
}

static void test_damage(void)
{
	struct packet_index index;
	uint64_t tail = 0;

	write_files();
	patch(index_path, 16 + 72 * 5, "\0\0\0\0\0\0\0\1", 8);
	ok(load(&index, STREAM_SIZE) == -EBADMSG, "an entry that leaves a gap is damage");
	index_fini(&index);
	write_files();
	patch(index_path, 16 + 72 * 5 + 24, "\0\0\0\0\0\0\0\1", 8);
	ok(load(&index, STREAM_SIZE) == -EBADMSG,
	   "a packet that begins before the last one's end is damage");
	index_fini(&index);
	write_files();
	patch(stream_path, 4 * PACKET_SIZE, "x", 1);
	ok(walk(&index, STREAM_SIZE, &tail) == -EBADMSG && index.nr == 4,
	   "a walk ends at what is no packet");
	index_fini(&index);
	write_files();
	patch(stream_path, 4 * PACKET_SIZE + 56, "\0\0\0\0\0\0\0\0", 8);
	ok(walk(&index, STREAM_SIZE, &tail) == -EBADMSG,
	   "a packet of size 0 does not keep the walk going");
	index_fini(&index);
	write_files();
	patch(stream_path, 4 * PACKET_SIZE + 56, "\0\0\0\0\0\0\0\1", 8);
	ok(walk(&index, STREAM_SIZE, &tail) == -EBADMSG, "nor is an enormous one believed");
	index_fini(&index);
	write_files();
	patch(stream_path, 4 * PACKET_SIZE + 5, "x", 1);
	ok(walk(&index, STREAM_SIZE, &tail) == -EBADMSG, "a packet of another trace is refused");
	index_fini(&index);
}

int main(void)
{
	temp_dir_make(dir);
	snprintf(stream_path, sizeof(stream_path), "%s/stream", dir);
	snprintf(index_path, sizeof(index_path), "%s/stream.idx", dir);
	test_load_and_walk();
	test_partial();
	test_damage();
	temp_dir_remove(dir);
	return done_testing();
}
