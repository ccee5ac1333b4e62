/* SPDX-License-Identifier: MIT */
/*
 * fuzz-texts.c - small texts: what people type, and what /proc tells of a thread.
 *
 *	u8 which, then the text
 */
#include <stdlib.h>

#include "base/parse-size.h"
#include "consumerd/procfs.h"
#include "kernel-bridge/bridge.h"
#include "tests/fuzz/fuzz.h"
#include "trace/parse-time.h"

static void read_stat(char *text)
{
	struct procfs_thread thread = {0};

	if (procfs_parse_stat(text, &thread) == 0)
		fuzz_check(memchr(thread.thread.comm, '\0', sizeof(thread.thread.comm)));
}

int FUZZ_TARGET(texts)(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = {data, size};
	uint64_t which = fuzz_number(&bytes, 1), value;
	char *text = fuzz_text(bytes.at, bytes.left);
	uint32_t set;

	switch (which % 6) {
	case 0:
		(void)parse_size(text, &value);
		break;
	case 1:
		(void)parse_duration(text, 1000000, &value);
		break;
	case 2:
		(void)trace_parse_time(text, which << 56, &value);
		break;
	case 3:
		(void)bridge_parse_sets(text, &set);
		break;
	case 4:
		read_stat(text);
		break;
	default:
		fuzz_check(procfs_parse_innermost(text) >= 0);
	}
	free(text);
	return 0;
}
