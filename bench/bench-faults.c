/* SPDX-License-Identifier: MIT */
/*
 * bench-faults.c - bench-faults PAGES: touches as many fresh anonymous pages, each a page fault.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_PAGES = 4096 };

/* Return: 0, or -1 without memory. */
static int touch(size_t nr_pages, size_t page_size)
{
	size_t size = nr_pages * page_size;
	volatile char *bytes =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return -1;
	/* A huge page would be one fault for 512. */
	madvise((void *)bytes, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr_pages; i++)
		bytes[i * page_size] = 1;
	return munmap((void *)bytes, size);
}

int main(int argc, char **argv)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t left = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;

	while (left) {
		size_t nr_pages = left < CHUNK_PAGES ? left : CHUNK_PAGES;

		if (touch(nr_pages, page_size) < 0) {
			perror("bench-faults");
			return 1;
		}
		left -= nr_pages;
	}
	return 0;
}
