/* SPDX-License-Identifier: MIT */
/*
 * marker-dynamic.c - marker/dynamic.h, for test-marker-dynamic.sh: what it refuses is told on
 * stdout, what it takes is recorded.
 */
#include <marker/dynamic.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define EVENTS 1000

static const uint8_t number_and_text[] = {WEFT_MARKER_INT | 4, WEFT_MARKER_STRING};

static struct weft_marker_place *make(const char *text, const uint8_t *codes, unsigned nr)
{
	return weft_marker_make_v1(WEFT_MARKER_INSTANT, WEFT_MARKER_LEVEL_INFO, "dynamic", text,
				   NULL, codes, nr);
}

static struct weft_marker_place *message(const char *format)
{
	return weft_marker_make_v1(WEFT_MARKER_LOG_KIND, WEFT_MARKER_LEVEL_INFO, "dynamic", "f, x",
				   format, number_and_text, 1);
}

static void refused(void)
{
	char longest[8192];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	printf("no name: %d\n", make("", NULL, 0) != NULL);
	printf("a field too few: %d\n", make("name, a", number_and_text, 2) != NULL);
	printf("a code that is none: %d\n", make("name, a", (const uint8_t[]){0x73}, 1) != NULL);
	printf("17 fields: %d\n", make("name", number_and_text, 17) != NULL);
	printf("an endless text: %d\n", make(longest, NULL, 0) != NULL);
	printf("no kind: %d\n",
	       weft_marker_make_v1(99, 6, "dynamic", "name", NULL, NULL, 0) != NULL);
	printf("no level: %d\n",
	       weft_marker_make_v1(0, 8, "dynamic", "name", NULL, NULL, 0) != NULL);
	printf("a message without a format: %d\n", message(NULL) != NULL);
	printf("one whose format is no literal: %d\n", message("%d") != NULL);
	printf("one that limits a string: %d\n", message("\"%.3s\"") != NULL);
}

static void *count(void *arg)
{
	struct weft_marker_place *place =
		make("counted, MARKER_FIELD(thread, x), MARKER_FIELD(number, x)",
		     (const uint8_t[]){WEFT_MARKER_UINT | 1, WEFT_MARKER_UINT | 2}, 2);

	for (uint16_t i = 0; i < EVENTS; i++) {
		uint8_t payload[3] = {(uint8_t)(uintptr_t)arg};

		memcpy(payload + 1, &i, sizeof(i));
		weft_marker_record_v1(place, payload, sizeof(payload));
	}
	return NULL;
}

static void fill_up(void)
{
	unsigned made = 0;

	while (made < 10000 && make("filling", NULL, 0))
		made++;
	printf("there is an end: %d\n", made > 4000 && made < 4096);
}

int main(void)
{
	static const char payload[] = "\x07\0\0\0seven", large[5000];
	const uint32_t *generation = weft_marker_generation_v1();
	struct weft_marker_place *place = make("first, MARKER_FIELD(number, x), MARKER_FIELD(text, "
					       "y)",
					       number_and_text, 2);
	struct weft_marker_place *unwanted = weft_marker_make_v1(
		WEFT_MARKER_INSTANT, WEFT_MARKER_LEVEL_INFO, "unwanted", "event", NULL, NULL, 0);
	pthread_t threads[THREADS];

	errno = 5;
	weft_marker_thread_v1("dynamic");
	printf("recorded: %d %d\n", *generation != 0, weft_marker_is_wanted_v1(place));
	printf("first: %d\n", weft_marker_record_v1(place, payload, sizeof(payload)));
	printf("too large: %d\n", weft_marker_record_v1(place, large, sizeof(large)));
	printf("unwanted: %d %d\n", weft_marker_is_wanted_v1(unwanted),
	       weft_marker_record_v1(unwanted, NULL, 0));
	printf("errno: %d\n", errno);
	refused();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, count, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	fflush(stdout);
	if (fork() == 0) {
		weft_marker_record_v1(place, payload, sizeof(payload));
		weft_marker_record_v1(make("child", NULL, 0), NULL, 0);
		_exit(0);
	}
	wait(NULL);
	fill_up();
	printf("afterwards: %d\n", weft_marker_record_v1(place, payload, sizeof(payload)));
	return 0;
}
