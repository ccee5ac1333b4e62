/* SPDX-License-Identifier: MIT */
/* clang-format off: a table */
/*
 * fault-preload.c - makes chosen calls of one program fail; LD_PRELOADed into all of a recording.
 *
 *	WEFT_FAULT_TARGET   the program it concerns, by its short name; in others it does nothing
 *	WEFT_FAULT_LIST     a file that gets "CALL SITE" for each call, and nothing fails; or:
 *	WEFT_FAULT_CALL     the call that fails: "malloc", "openat"...
 *	WEFT_FAULT_SITE     only where it comes from there (the second word of such a line)
 *	WEFT_FAULT_AT       the first one that fails, from 1 on
 *	WEFT_FAULT_FOR      how many in a row; 0: all that follow
 *	WEFT_FAULT_ERRNO    a number; 0: a write that ends short, by half
 *	WEFT_FAULT_FILE     gets a backtrace when the first one fails; FILE.crash gets one when the
 *	                    target dies by a signal
 *
 * A site is a hash of where the last callers are in their files, the same in each run. strdup(),
 * asprintf() and the like get their memory by malloc(), which is seen. What libc opens or writes
 * for its own streams is not.
 */
/* clang-format on */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_OBJECTS 64
#define MAX_FRAMES 9
#define OWN_FRAMES 2 /* is_failing() and the call */

static struct {
	bool is_on;
	int error;
	const char *call, *file, *list;
	uint64_t site;
	unsigned long at, length;
	_Atomic unsigned long nr;
	struct {
		uintptr_t begin, end, number;
	} objects[MAX_OBJECTS];
	size_t nr_objects;
} fault;

/* What we call ourselves is nobody's fault. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static int keep_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum && fault.nr_objects < MAX_OBJECTS; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		fault.objects[fault.nr_objects].begin = info->dlpi_addr + phdr->p_vaddr;
		fault.objects[fault.nr_objects].end =
			info->dlpi_addr + phdr->p_vaddr + phdr->p_memsz;
		fault.nr_objects++;
	}
	return 0;
}

static uint64_t place_of(uintptr_t address)
{
	for (size_t i = 0; i < fault.nr_objects; i++)
		if (address >= fault.objects[i].begin && address < fault.objects[i].end)
			return (i + 1) << 40 | (address - fault.objects[i].begin);
	return 0;
}

static uint64_t site_of(const char *call)
{
	void *frames[OWN_FRAMES + MAX_FRAMES];
	int nr = backtrace(frames, OWN_FRAMES + MAX_FRAMES);
	uint64_t hash = 14695981039346656037u;

	for (; *call; call++)
		hash = (hash ^ (uint8_t)*call) * 1099511628211u;
	for (int i = OWN_FRAMES; i < nr; i++)
		hash = (hash ^ place_of((uintptr_t)frames[i])) * 1099511628211u;
	return hash;
}

static void append(const char *file, const char *text)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (fd < 0)
		return;
	(void)!syscall(SYS_write, fd, text, strlen(text));
	syscall(SYS_close, fd);
}

/* Opened each time: a target may close all descriptors and use their numbers again. */
static void list_call(const char *call, uint64_t site)
{
	char line[80];

	snprintf(line, sizeof(line), "%s %016lx\n", call, (unsigned long)site);
	append(fault.list, line);
}

static void write_backtrace(const char *file)
{
	void *frames[64];
	int nr = backtrace(frames, 64);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0644);

	backtrace_symbols_fd(frames, nr, fd);
	syscall(SYS_close, fd);
}

/* Is it the turn of a call that concerns us? */
static bool is_turn(void)
{
	unsigned long nr = atomic_fetch_add_explicit(&fault.nr, 1, memory_order_relaxed) + 1;

	if (nr < fault.at || (fault.length && nr >= fault.at + fault.length))
		return false;
	if (nr == fault.at)
		write_backtrace(fault.file);
	return true;
}

/* Return: whether the call is to fail, with errno. */
static __attribute__((noinline)) bool is_failing(const char *call)
{
	bool ret = false;
	int saved = errno;
	uint64_t site;

	if (!fault.is_on || is_inside)
		return false;
	is_inside = true;
	if (fault.list) {
		list_call(call, site_of(call));
	} else if (!strcmp(call, fault.call)) {
		site = fault.site ? site_of(call) : 0;
		ret = site == fault.site && is_turn();
	}
	is_inside = false;
	errno = ret && fault.error ? fault.error : saved;
	return ret;
}

static void die(int number)
{
	char name[512];

	snprintf(name, sizeof(name), "%s.crash", fault.file);
	write_backtrace(name);
	signal(number, SIG_DFL);
	raise(number);
}

static unsigned long number_of(const char *name, int base)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, base) : 0;
}

__attribute__((constructor)) static void set_up(void)
{
	static const int deadly[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
	const char *target = getenv("WEFT_FAULT_TARGET");
	void *frame;

	if (!target || strcmp(target, program_invocation_short_name))
		return;
	backtrace(&frame, 1); /* it loads a library the first time */
	dl_iterate_phdr(keep_object, NULL);
	fault.list = getenv("WEFT_FAULT_LIST");
	fault.call = getenv("WEFT_FAULT_CALL");
	fault.file = getenv("WEFT_FAULT_FILE");
	fault.site = number_of("WEFT_FAULT_SITE", 16);
	fault.at = number_of("WEFT_FAULT_AT", 10);
	fault.length = number_of("WEFT_FAULT_FOR", 10);
	fault.error = (int)number_of("WEFT_FAULT_ERRNO", 10);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]) && fault.file; i++)
		signal(deadly[i], die);
	fault.is_on = fault.list || (fault.call && fault.file);
}

/* ---- memory: libc's own names for its functions need no dlsym(), which itself allocates */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
	return is_failing("malloc") ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return is_failing("calloc") ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *memory, size_t size)
{
	return is_failing("realloc") ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return is_failing("aligned_alloc") ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
	void *memory = is_failing("aligned_alloc") ? NULL : __libc_memalign(alignment, size);

	if (!memory)
		return ENOMEM;
	*ret_memory = memory;
	return 0;
}

/* ---- the others: the next one of that name */
static void *next_of(void **cache, const char *name)
{
	bool was_inside = is_inside;

	if (!*cache) {
		is_inside = true;
		*cache = dlsym(RTLD_NEXT, name);
		is_inside = was_inside;
	}
	return *cache;
}

/* FAULTY(result, failure, name, (parameters), (arguments)) */
#define FAULTY(type, failure, name, parameters, arguments)                           \
	type name parameters                                                         \
	{                                                                            \
		static void *cache;                                                  \
		type(*next) parameters = (type(*) parameters)next_of(&cache, #name); \
                                                                                     \
		return is_failing(#name) ? (failure) : next arguments;               \
	}

FAULTY(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAULTY(int, -1, bind, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
FAULTY(int, -1, listen, (int fd, int backlog), (fd, backlog))
FAULTY(int, -1, connect, (int fd, const struct sockaddr *address, socklen_t size),
       (fd, address, size))
FAULTY(int, -1, socketpair, (int domain, int type, int protocol, int fds[2]),
       (domain, type, protocol, fds))
FAULTY(int, -1, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags),
       (fd, address, size, flags))
FAULTY(int, -1, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
       (fd, level, name, value, size))
FAULTY(ssize_t, -1, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
FAULTY(ssize_t, -1, sendmsg, (int fd, const struct msghdr *message, int flags),
       (fd, message, flags))
FAULTY(ssize_t, -1, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
FAULTY(ssize_t, -1, send, (int fd, const void *bytes, size_t size, int flags),
       (fd, bytes, size, flags))
FAULTY(ssize_t, -1, pread, (int fd, void *bytes, size_t size, off_t offset),
       (fd, bytes, size, offset))
FAULTY(ssize_t, -1, splice,
       (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size, unsigned flags),
       (in, in_offset, out, out_offset, size, flags))
FAULTY(void *, MAP_FAILED, mmap,
       (void *address, size_t size, int protection, int flags, int fd, off_t offset),
       (address, size, protection, flags, fd, offset))
FAULTY(int, -1, ftruncate, (int fd, off_t size), (fd, size))
FAULTY(int, -1, epoll_create1, (int flags), (flags))
FAULTY(int, -1, epoll_ctl, (int fd, int what, int of, struct epoll_event *event),
       (fd, what, of, event))
FAULTY(int, -1, eventfd, (unsigned int count, int flags), (count, flags))
FAULTY(int, -1, memfd_create, (const char *name, unsigned int flags), (name, flags))
FAULTY(int, -1, signalfd, (int fd, const sigset_t *signals, int flags), (fd, signals, flags))
FAULTY(int, -1, pipe2, (int fds[2], int flags), (fds, flags))
FAULTY(int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
FAULTY(int, -1, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
FAULTY(int, -1, rename, (const char *from, const char *to), (from, to))
FAULTY(int, -1, renameat, (int from_fd, const char *from, int to_fd, const char *to),
       (from_fd, from, to_fd, to))
FAULTY(int, -1, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
FAULTY(int, -1, chmod, (const char *path, mode_t mode), (path, mode))
FAULTY(int, -1, flock, (int fd, int what), (fd, what))
FAULTY(pid_t, -1, fork, (void), ())
FAULTY(int, (errno = EAGAIN), pthread_create,
       (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg),
       (thread, attributes, run, arg))
FAULTY(int, -1, close_range, (unsigned int from, unsigned int to, int flags), (from, to, flags))
FAULTY(int, -1, fsync, (int fd), (fd))
FAULTY(int, -1, fdatasync, (int fd), (fd))
FAULTY(int, -1, dup2, (int from, int to), (from, to))
FAULTY(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
FAULTY(DIR *, NULL, opendir, (const char *path), (path))
FAULTY(DIR *, NULL, fdopendir, (int fd), (fd))
FAULTY(ssize_t, -1, readlink, (const char *path, char *text, size_t size), (path, text, size))
FAULTY(ssize_t, -1, getrandom, (void *bytes, size_t size, unsigned int flags), (bytes, size, flags))

/* Return: how much of a write is to be done; -1: none, with errno. */
static ssize_t part_of(bool is_to_fail, size_t size)
{
	if (!is_to_fail)
		return (ssize_t)size;
	return fault.error ? -1 : (ssize_t)(size / 2);
}

/* What a descriptor is: S_IFREG...; 0: an eventfd and the like. */
static mode_t kind_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* Words between threads and processes do not fail in the kernel as files do. */
ssize_t read(int fd, void *bytes, size_t size)
{
	return kind_of(fd) != S_IFIFO && is_failing("read") ? -1
							    : syscall(SYS_read, fd, bytes, size);
}

/* Nor does the word to an eventfd; that it cannot be taken back is survived. */
ssize_t write(int fd, const void *bytes, size_t size)
{
	mode_t kind = kind_of(fd);
	ssize_t part = part_of(kind != 0 && kind != S_IFIFO && is_failing("write"), size);

	return part < 0 ? -1 : syscall(SYS_write, fd, bytes, (size_t)part);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	ssize_t part = part_of(is_failing("pwrite"), size);

	return part < 0 ? -1 : syscall(SYS_pwrite64, fd, bytes, (size_t)part, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int nr)
{
	bool is_to_fail = is_failing("writev");

	if (is_to_fail && fault.error)
		return -1;
	return is_to_fail ? syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2)
			  : syscall(SYS_writev, fd, parts, nr);
}

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list rest;

	va_start(rest, flags);
	mode = va_arg(rest, mode_t);
	va_end(rest);
	return is_failing("open") ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	va_list rest;

	va_start(rest, flags);
	mode = va_arg(rest, mode_t);
	va_end(rest);
	return is_failing("openat") ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}
