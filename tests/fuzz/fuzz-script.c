/* SPDX-License-Identifier: MIT */
/*
 * fuzz-script.c - a script of the fake backend. Each event that is read has a whole payload.
 */
#include <errno.h>
#include <stdio.h>

#include "kernel-bridge/fake-script.h"
#include "tests/fuzz/fuzz.h"

static void check_script(const struct fake_script *script)
{
	for (size_t i = 0; i < script->entries.nr; i++) {
		const struct fake_entry *entry = &script->entries.items[i];

		if (entry->kind == FAKE_DRAIN)
			continue;
		fuzz_check(entry->stream < script->streams.nr);
		if (entry->kind != FAKE_EVENT)
			continue;
		fuzz_check(entry->class < script->classes.nr &&
			   entry->payload + entry->payload_size <= script->nr_bytes);
		/* A script of events without payload has no bytes at all. */
		fuzz_check(event_payload_check(script->classes.items[entry->class],
					       script->nr_bytes ? script->bytes + entry->payload
								: (const uint8_t *)"",
					       entry->payload_size) == 0);
	}
}

int FUZZ_TARGET(script)(const uint8_t *bytes, size_t size)
{
	struct fake_script script;
	char why[256] = "";
	FILE *file;
	int ret;

	if (!size)
		return 0;
	file = fmemopen((void *)(uintptr_t)bytes, size, "r");
	ret = fake_script_read(file, "script", &script, why, sizeof(why));
	if (ret == 0) {
		check_script(&script);
		fake_script_fini(&script);
	} else {
		fuzz_check(ret == -EINVAL && why[0]);
	}
	fclose(file);
	return 0;
}
