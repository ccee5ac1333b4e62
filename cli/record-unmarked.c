/* SPDX-License-Identifier: MIT */
/*
 * record-unmarked.c - see record-unmarked.h. Nothing of the program is run for it.
 */
#include "cli/record-unmarked.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libmarker/rendezvous.h"

/* Scripts whose interpreter is a script: as many as Linux follows. */
#define MAX_INTERPRETERS 5

/* What decides whether ld.so takes a library into a program. */
struct elf_kind {
	unsigned char ident[EI_NIDENT];
	uint16_t machine;
	char interpreter[64]; /* PT_INTERP without its folder; "": static, or a library */
};

/* The file that PT_INTERP's header, at @at, leads to. */
static void read_interpreter(int fd, bool is_64, uint64_t at, char *ret_name, size_t size)
{
	union {
		Elf32_Phdr head32;
		Elf64_Phdr head64;
	} head = {0};
	char path[256] = "";
	uint64_t offset;
	const char *slash;

	if (pread(fd, &head, is_64 ? sizeof(head.head64) : sizeof(head.head32), (off_t)at) <= 0)
		return;
	offset = is_64 ? head.head64.p_offset : head.head32.p_offset;
	if (pread(fd, path, sizeof(path) - 1, (off_t)offset) <= 0)
		return;
	slash = strrchr(path, '/');
	snprintf(ret_name, size, "%.*s", (int)size - 1, slash ? slash + 1 : path);
}

/* Reads both ELF classes' headers of this byte order by their common beginning. */
static int read_elf(int fd, struct elf_kind *ret_kind)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr head32;
		Elf64_Ehdr head64;
	} head;
	bool is_64;
	size_t nr, size;
	uint64_t at;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	memcpy(ret_kind->ident, head.ident, EI_NIDENT);
	ret_kind->machine = head.head32.e_machine; /* at one place in both classes */
	ret_kind->interpreter[0] = '\0';
	is_64 = head.ident[EI_CLASS] == ELFCLASS64;
	nr = is_64 ? head.head64.e_phnum : head.head32.e_phnum;
	size = is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	at = is_64 ? head.head64.e_phoff : head.head32.e_phoff;
	for (size_t i = 0; i < nr; i++) {
		uint32_t type; /* comes first in both classes */

		if (pread(fd, &type, sizeof(type), (off_t)(at + i * size)) != sizeof(type))
			break;
		if (type == PT_INTERP)
			read_interpreter(fd, is_64, at + i * size, ret_kind->interpreter,
					 sizeof(ret_kind->interpreter));
	}
	return 0;
}

/* The interpreter that a script's first line names. Return: 0 or -ENOEXEC. */
static int read_script(int fd, char *ret_path)
{
	char line[256];
	ssize_t got = pread(fd, line, sizeof(line) - 1, 0);
	size_t skip;

	if (got < 3 || line[0] != '#' || line[1] != '!')
		return -ENOEXEC;
	line[got] = '\0';
	skip = 2 + strspn(line + 2, " \t");
	snprintf(ret_path, PATH_MAX, "%.*s", (int)strcspn(line + skip, " \t\n"), line + skip);
	return 0;
}

/* For reading. A FIFO would be waited for, a device asked to do something. Return: it or -errno. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -ENOEXEC;
}

/* Of the program that is loaded in the end. Return: 0 or -errno. */
static int find_elf(const char *file, struct elf_kind *ret_kind)
{
	char path[PATH_MAX];
	int ret = -ENOEXEC, fd;

	snprintf(path, sizeof(path), "%s", file);
	for (int depth = 0; depth < MAX_INTERPRETERS; depth++) {
		fd = open_regular(path);
		if (fd < 0)
			return fd;
		ret = read_elf(fd, ret_kind);
		if (ret == 0 || read_script(fd, path) < 0)
			depth = MAX_INTERPRETERS;
		close(fd);
	}
	return ret;
}

int unmarked_why_no_preload(const char *file, const char *libmarker, char *retwhy,
			    size_t retwhy_size)
{
	struct elf_kind program, library, own;

	/* What cannot be read says nothing: ld.so decides. */
	if (find_elf(file, &program) < 0 || find_elf(libmarker, &library) < 0 ||
	    find_elf("/proc/self/exe", &own) < 0)
		return 0;
	if (program.ident[EI_CLASS] != library.ident[EI_CLASS] ||
	    program.ident[EI_DATA] != library.ident[EI_DATA] ||
	    program.machine != library.machine) {
		snprintf(retwhy, retwhy_size, "it is of another architecture than %s", libmarker);
		return 1;
	}
	/* One that is static ignores it, and its children may want it. */
	if (!program.interpreter[0] || !strcmp(program.interpreter, own.interpreter))
		return 0;
	snprintf(retwhy, retwhy_size, "its loader is %s, libmarker's is %s", program.interpreter,
		 own.interpreter);
	return 1;
}

/* What of ours a process has mapped. */
struct mapped {
	bool has_libmarker; /* the library, or where that is linked statically, the control page */
	bool has_ring;
};

static struct mapped look_at_maps(FILE *maps)
{
	struct mapped mapped = {false, false};
	char line[PATH_MAX + 128];

	while (fgets(line, sizeof(line), maps)) {
		mapped.has_libmarker |= strstr(line, "/libmarker.so") || strstr(line, "/control\n");
		mapped.has_ring |= strstr(line, "/memfd:weft-ring") != NULL;
	}
	return mapped;
}

/* One that has no ring yet needs two descriptors for it: has it them, below its limit? */
static bool has_descriptors(pid_t pid)
{
	unsigned long limit = ULONG_MAX, nr = 0;
	char path[32], line[128];
	struct dirent *entry;
	FILE *limits;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	limits = fopen(path, "re");
	while (limits && fgets(line, sizeof(line), limits))
		(void)sscanf(line, "Max open files %lu", &limit);
	if (limits)
		fclose(limits);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && (entry = readdir(fds)))
		nr += *entry->d_name != '.' && strtoul(entry->d_name, NULL, 10) < limit;
	if (fds)
		closedir(fds);
	return !fds || nr + 2 <= limit;
}

/* Of one that has libmarker and no ring. */
static int why_no_ring(pid_t pid, char *retwhy, size_t retwhy_size)
{
	if (has_descriptors(pid))
		return 0;
	snprintf(retwhy, retwhy_size,
		 "no markers of process %d: its limit on open files leaves none for them; "
		 "raise it: prlimit --nofile=64 --pid %d",
		 (int)pid, (int)pid);
	return 1;
}

/* Where programs meet consumerd, as that process sees it. Where it cannot be told: yes. */
static bool sees_rendezvous(pid_t pid, const char *folder)
{
	char path[RENDEZVOUS_MAX_PATH + 32];
	struct stat ours, its;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, folder);
	if (stat(folder, &ours) < 0)
		return true;
	if (stat(path, &its) < 0)
		return errno == EACCES || errno == EPERM;
	return ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

int unmarked_why_running(pid_t pid, char *retwhy, size_t retwhy_size)
{
	char path[32], folder[RENDEZVOUS_MAX_PATH];
	struct stat owner;
	struct mapped mapped;
	FILE *maps;

	if (rendezvous_folder(folder) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &owner) < 0)
		return 0;
	if (owner.st_uid != geteuid() && geteuid() != 0) {
		snprintf(retwhy, retwhy_size,
			 "no markers of process %d: it is uid %u's, and markers are recorded of "
			 "programs of one's own, here uid %u's",
			 (int)pid, owner.st_uid, geteuid());
		return 1;
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return 0;
	if (!sees_rendezvous(pid, folder)) {
		fclose(maps);
		snprintf(retwhy, retwhy_size,
			 "no markers of process %d: its root or mount namespace does not show it "
			 "%s; bind-mount that folder there",
			 (int)pid, folder);
		return 1;
	}
	mapped = look_at_maps(maps);
	fclose(maps);
	if (mapped.has_libmarker)
		return mapped.has_ring ? 0 : why_no_ring(pid, retwhy, retwhy_size);
	snprintf(retwhy, retwhy_size,
		 "no markers of process %d: it has no libmarker; link it, or start it by "
		 "'weft record -- PROGRAM'",
		 (int)pid);
	return 1;
}
