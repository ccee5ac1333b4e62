/* SPDX-License-Identifier: MIT */
/*
 * fuzz-sidecar.c - a sidecar file. Every text in what is read has an end.
 */
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "trace/sidecar.h"

#define check_text(array) fuzz_check(memchr(array, '\0', sizeof(array)))

static void check_texts(const struct sidecar *sidecar)
{
	check_text(sidecar->header.host);
	check_text(sidecar->header.command);
	check_text(sidecar->header.missing);
	for (size_t i = 0; i < sidecar->threads.nr; i++) {
		check_text(sidecar->threads.items[i].comm);
		check_text(sidecar->threads.items[i].name);
	}
	for (size_t i = 0; i < sidecar->processes.nr; i++)
		check_text(sidecar->processes.items[i].command);
	for (size_t i = 0; i < sidecar->maps.nr; i++) {
		check_text(sidecar->maps.items[i].path);
		check_text(sidecar->maps.items[i].build_id);
	}
	for (size_t i = 0; i < sidecar->irqs.nr; i++)
		check_text(sidecar->irqs.items[i].pci);
	for (size_t i = 0; i < sidecar->losses.nr; i++)
		check_text(sidecar->losses.items[i].source);
}

int FUZZ_TARGET(sidecar)(const uint8_t *bytes, size_t size)
{
	int fd = fuzz_file(bytes, size);
	char path[FUZZ_PATH_SIZE];
	struct sidecar sidecar;

	fuzz_file_path(fd, path);
	if (sidecar_load(path, &sidecar) == 0) {
		check_texts(&sidecar);
		fuzz_check(!sidecar.nr_damaged == !sidecar.damage);
		sidecar_fini(&sidecar);
	}
	close(fd);
	return 0;
}
