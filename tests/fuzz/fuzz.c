/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/temp-dir.h"

char *fuzz_text(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, bytes, size);
	text[size] = '\0';
	return text;
}

int fuzz_file(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || (size && pwrite(fd, bytes, size, 0) != (ssize_t)size)) {
		perror("fuzz: cannot make a file");
		exit(2);
	}
	return fd;
}

void fuzz_file_path(int fd, char path[FUZZ_PATH_SIZE])
{
	snprintf(path, FUZZ_PATH_SIZE, "/proc/self/fd/%d", fd);
}

static char folder[TEMP_DIR_SIZE];
static pid_t folder_owner;

static void remove_folder(void)
{
	if (folder_owner == getpid())
		temp_dir_remove(folder);
}

const char *fuzz_folder(void)
{
	if (folder_owner == getpid())
		return folder;
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	temp_dir_make(folder);
	folder_owner = getpid();
	atexit(remove_folder);
	return folder;
}
