/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/heap.h"
#include "base/json-writer.h"
#include "base/parse-size.h"
#include "tests/tap.h"

static void test_heap(void)
{
	struct heap heap = {0};
	uint64_t last = 0;
	unsigned seed = 1, unsorted = 0, popped = 0;

	ok(!heap_top(&heap), "an empty heap has no top");
	for (uint32_t i = 0; i < 1000; i++)
		heap_push(&heap, (uint64_t)rand_r(&seed) % 100, i);
	for (; heap_top(&heap); popped++) {
		uint64_t key = heap_top(&heap)->key;

		unsorted += key < last;
		last = key;
		if (popped % 3 == 0)
			heap_replace_top(&heap, key + 50);
		heap_pop(&heap);
		if (popped % 3 == 0)
			last = heap_top(&heap) ? 0 : last;
	}
	ok(popped == 1000, "a thousand pushed are a thousand popped");
	heap_push(&heap, 7, 2);
	heap_push(&heap, 7, 1);
	ok(heap_top(&heap)->owner == 1, "of two equal keys the smaller owner comes first");
	heap_fini(&heap);

	seed = 2;
	last = unsorted = 0;
	for (uint32_t i = 0; i < 1000; i++)
		heap_push(&heap, (uint64_t)rand_r(&seed), i);
	while (heap_top(&heap)) {
		unsorted += heap_top(&heap)->key < last;
		last = heap_top(&heap)->key;
		heap_pop(&heap);
	}
	ok(unsorted == 0, "keys come out in ascending order");
	heap_fini(&heap);
}

static void test_parse(void)
{
	uint64_t value = 99;

	ok(!parse_size("4096", &value) && value == 4096, "a bare size is bytes");
	ok(!parse_size("2M", &value) && value == 2 << 20, "2M is two mebibytes");
	ok(!parse_size("1GiB", &value) && value == 1 << 30, "1GiB is a gibibyte");
	ok(parse_size("2X", &value) == -EINVAL && value == 1 << 30,
	   "an unknown unit is refused and changes nothing");
	ok(parse_size("-1", &value) == -EINVAL, "a negative size is refused");
	ok(parse_size("99999999999999999999", &value) == -ERANGE,
	   "a size beyond 64 bits is refused");
	ok(parse_size("16777216T", &value) == -ERANGE, "a size whose unit overflows is refused");
	ok(!parse_duration("10ms", 1, &value) && value == 10000000, "10ms is ten million ns");
	ok(!parse_duration("1.5s", 1, &value) && value == 1500000000, "fractions of seconds count");
	ok(!parse_duration("3", 1000000000, &value) && value == 3000000000u,
	   "a bare duration has the default unit");
	ok(parse_duration("ms", 1, &value) == -EINVAL, "a unit without a number is refused");
	ok(parse_duration("1e300s", 1, &value) == -ERANGE, "a duration beyond 64 bits is refused");
}

static void test_json(void)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct json_writer json = {.file = file};

	json_object(&json, NULL);
	json_u64(&json, "a", UINT64_MAX);
	json_array(&json, "list");
	json_i64(&json, NULL, -1);
	json_double(&json, NULL, 1.0 / 0.0);
	json_end_array(&json);
	json_string(&json, "text", "q\"\\\n\xff\xc3\xa9\xc0\x80");
	json_string(&json, "none", NULL);
	json_bool(&json, "yes", true);
	json_end_object(&json);
	json_line(&json);
	json_object(&json, NULL);
	json_end_object(&json);
	fclose(file);
	ok(!strcmp(text, "{\"a\":18446744073709551615,\"list\":[-1,null],"
			 "\"text\":\"q\\\"\\\\\\u000a\\ufffd\xc3\xa9\\ufffd\\ufffd\",\"none\":null,"
			 "\"yes\":true}\n{}"),
	   "commas, escapes, bytes that are no UTF-8 and infinities come out as valid JSON");
	free(text);
}

static void test_array(void)
{
	struct {
		int *items;
		size_t nr, capacity;
	} array = {0};

	for (int i = 0; i < 1000; i++)
		*array_push(&array) = i;
	ok(array.nr == 1000 && array.items[999] == 999, "an array grows and keeps what it has");
	ok(*array_push(&array) == 0, "a new element is zero");
	array_fini(&array);
}

int main(void)
{
	test_array();
	test_heap();
	test_parse();
	test_json();
	return done_testing();
}
