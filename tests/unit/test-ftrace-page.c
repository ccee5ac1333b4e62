/* SPDX-License-Identifier: MIT */
/*
 * test-ftrace-page.c - pages made by chance, read by us and by libtraceevent: the same records.
 */
#include <stdlib.h>
#include <string.h>
#include <traceevent/kbuffer.h>
#include <unistd.h>

#include "kernel-bridge/backends/ftrace-page.h"
#include "tests/tap.h"

enum { NR_PAGES = 3000, HEADER = 8 + (int)sizeof(long) };

static unsigned seed = 1;

static uint32_t chance(uint32_t below)
{
	return (uint32_t)rand_r(&seed) % below;
}

struct page {
	uint8_t *bytes;
	size_t size, capacity; /* of the data */
	bool has_absolute;
};

static bool put(struct page *page, const void *bytes, size_t size)
{
	if (page->capacity - page->size < size)
		return false;
	memcpy(page->bytes + HEADER + page->size, bytes, size);
	page->size += size;
	return true;
}

static bool put_words(struct page *page, uint32_t type, uint32_t delta, uint32_t word,
		      size_t data_words)
{
	uint32_t words[1200] = {type | delta << 5, word};
	size_t nr = type && type <= 28 ? 1 + data_words : 2 + data_words;

	for (size_t i = type && type <= 28 ? 1 : 2; i < nr; i++)
		words[i] = (uint32_t)rand_r(&seed);
	return put(page, words, nr * 4);
}

/* A page of records of all sizes, with gaps in time, withdrawn records, and perhaps an end. */
static void make_page(struct page *page, bool is_absolute)
{
	static const uint64_t stamp = 123456789012345;
	uint64_t now = stamp;
	bool fits = true;

	page->size = 0;
	memset(page->bytes, 0xee, page->capacity + HEADER);
	while (fits) {
		uint32_t delta = chance(5000), words = 1 + chance(28);

		switch (chance(12)) {
		case 0:
			fits = put_words(page, 30, delta, chance(100), 0);
			break;
		case 1:
			words = chance(60);
			fits = put_words(page, 0, delta, 4 + 4 * words, words);
			break;
		case 2:
			words = chance(10);
			fits = put_words(page, 29, 1 + delta, 4 + 4 * words, words);
			break;
		case 3:
			now += 1000000000;
			if (is_absolute)
				fits = put_words(page, 31, now & ((1 << 27) - 1),
						 (uint32_t)(now >> 27), 0);
			break;
		case 4:
			fits = chance(40) != 0;
			break;
		default:
			fits = put_words(page, words, delta, 0, words);
		}
	}
	memcpy(page->bytes, &stamp, sizeof(stamp));
	memcpy(page->bytes + 8, &(unsigned long){page->size}, sizeof(long));
}

static void compare(bool is_absolute, const char *sentence)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct kbuffer *kbuffer =
		kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
	struct ftrace_page_reader reader;
	unsigned long nr_records = 0, nr_different = 0;
	struct page page = {.capacity = page_size - HEADER};

	ftrace_page_open(&reader, -1);
	page.bytes = reader.page;
	for (int i = 0; i < NR_PAGES; i++) {
		struct ftrace_record record;
		unsigned long long stamp;
		void *bytes;
		int64_t missed;

		make_page(&page, is_absolute);
		kbuffer_load_subbuffer(kbuffer, page.bytes);
		nr_different += ftrace_page_load(&reader, &missed) != 0 || missed != 0;
		for (bytes = kbuffer_read_event(kbuffer, &stamp); bytes;
		     bytes = kbuffer_next_event(kbuffer, &stamp)) {
			nr_records++;
			nr_different += !ftrace_page_next(&reader, &record) ||
					record.bytes != bytes || record.stamp != stamp ||
					record.size != (uint32_t)kbuffer_event_size(kbuffer);
		}
		nr_different += ftrace_page_next(&reader, &record);
	}
	ok(nr_records > 50000 && nr_different == 0, "%s (%lu records, %lu different)", sentence,
	   nr_records, nr_different);
	ftrace_page_close(&reader);
	kbuffer_free(kbuffer);
}

static void test_missed(void)
{
	struct ftrace_page_reader reader;
	unsigned long commit = 8 | 1ul << 31;
	long count = 4711;
	int64_t missed = 0;

	ftrace_page_open(&reader, -1);
	memset(reader.page, 0, reader.page_size);
	memcpy(reader.page + 8, &commit, sizeof(commit));
	ok(ftrace_page_load(&reader, &missed) == 0 && missed == -1,
	   "events discarded before a page that does not say how many");
	commit |= 1ul << 30;
	memcpy(reader.page + 8, &commit, sizeof(commit));
	memcpy(reader.page + HEADER + 8, &count, sizeof(count));
	ok(ftrace_page_load(&reader, &missed) == 0 && missed == 4711, "and before one that does");
	commit = reader.page_size;
	memcpy(reader.page + 8, &commit, sizeof(commit));
	ok(ftrace_page_load(&reader, &missed) < 0, "a page larger than itself is refused");
	ftrace_page_close(&reader);
}

/* Whatever the bytes, no record leaves its page. */
static void test_noise(void)
{
	struct ftrace_page_reader reader;
	unsigned long nr_outside = 0, nr_records = 0;

	ftrace_page_open(&reader, -1);
	for (int i = 0; i < NR_PAGES; i++) {
		unsigned long commit = chance((uint32_t)reader.page_size - HEADER);
		struct ftrace_record record;
		int64_t missed;

		for (size_t at = 0; at < reader.page_size; at++)
			reader.page[at] = (uint8_t)rand_r(&seed);
		memcpy(reader.page + 8, &commit, sizeof(commit));
		if (ftrace_page_load(&reader, &missed) < 0)
			continue;
		for (; ftrace_page_next(&reader, &record); nr_records++)
			nr_outside += record.bytes < reader.page + HEADER ||
				      record.bytes + record.size > reader.end;
	}
	ok(nr_records > 1000 && nr_outside == 0, "noise gives no record outside of its page");
	ftrace_page_close(&reader);
}

int main(void)
{
	compare(false, "libtraceevent reads the same records");
	compare(true, "also where stamps are absolute");
	test_missed();
	test_noise();
	return done_testing();
}
