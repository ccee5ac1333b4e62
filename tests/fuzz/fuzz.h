/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the fuzz targets share: their name, bytes taken apart, files and a folder.
 *
 * Each target is one function in a file of its own. clang's libFuzzer calls it with bytes it makes
 * up (tests/stress/fuzz.sh); fuzz-replay calls all of them with what is in tests/fuzz/corpus.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef FUZZ_ALONE
#define FUZZ_TARGET(name) LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
#else
#define FUZZ_TARGET(name) fuzz_##name
#endif

/* All targets: X(name). The name is the corpus's folder, and the file's: fuzz-NAME.c. */
#define FUZZ_TARGETS(X)  \
	X(metadata)      \
	X(packets)       \
	X(index)         \
	X(sidecar)       \
	X(trace)         \
	X(analyses)      \
	X(notes)         \
	X(announcements) \
	X(rings)         \
	X(requests)      \
	X(formats)       \
	X(script)        \
	X(texts)

/* A broken promise of the code under test: told by dying, which is what both drivers look for. */
#define fuzz_check(condition)             \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

/* What is left of an input. */
struct fuzz_bytes {
	const uint8_t *at;
	size_t left;
};

/* The next bytes, at most as many as are left. Return: how many. */
static inline size_t fuzz_take(struct fuzz_bytes *bytes, size_t size, const uint8_t **ret_at)
{
	if (size > bytes->left)
		size = bytes->left;
	*ret_at = bytes->at;
	bytes->at += size;
	bytes->left -= size;
	return size;
}

/* A number of up to 8 bytes; what is not there reads as 0. */
static inline uint64_t fuzz_number(struct fuzz_bytes *bytes, size_t size)
{
	const uint8_t *at;
	uint64_t value = 0;

	size = fuzz_take(bytes, size, &at);
	if (size)
		memcpy(&value, at, size);
	return value;
}

/* The bytes with a NUL behind them, in memory of exactly that size. The caller frees. */
char *fuzz_text(const uint8_t *bytes, size_t size);

/* A file without a name that holds the bytes. Return: its descriptor. */
int fuzz_file(const uint8_t *bytes, size_t size);

enum { FUZZ_PATH_SIZE = 64 };
/* A path by which such a file can be opened. */
void fuzz_file_path(int fd, char path[FUZZ_PATH_SIZE]);

/* A folder of this process, in memory where there is /dev/shm; removed at exit. */
const char *fuzz_folder(void);

#endif
