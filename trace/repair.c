/* SPDX-License-Identifier: MIT */
/*
 * repair.c - cuts off what a crash left half written. The writer holds a lock on the sidecar while
 * it records: a running recording is left alone.
 *
 * A trace may come from anybody: a link in it, to a file or to a folder, is not followed, for what
 * it leads to is not ours to cut.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/directory.h"
#include "trace/sidecar.h"
#include "trace/stream-reader.h"

/* Why a file or folder could not be opened: 0 where it is missing, or a link, which is left alone.
 */
static int open_error(void)
{
	return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? 0 : -errno;
}

static int open_folder(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Cuts a file to @size if it is longer. */
static int cut_file(int dir_fd, const char *name, uint64_t size, uint64_t *cut)
{
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int ret = 0;

	if (fd < 0)
		return open_error();
	if (fstat(fd, &st) < 0) {
		ret = -errno;
	} else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > size) {
		if (ftruncate(fd, (off_t)size) < 0)
			ret = -errno;
		else
			*cut += (uint64_t)st.st_size - size;
	}
	close(fd);
	return ret;
}

/* An index that is cut, wrong, or not as long as its stream, is of no use to others: it goes. */
static int repair_index(int index_fd, const struct stream_reader *stream, uint64_t *cut)
{
	char name[sizeof(stream->name) + 8];
	uint64_t wanted = INDEX_HEADER_SIZE + (uint64_t)stream->index.nr * INDEX_ENTRY_SIZE;
	struct stat st;

	snprintf(name, sizeof(name), "%s.idx", stream->name);
	if (fstatat(index_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (!stream->index_is_walked && (uint64_t)st.st_size == wanted)
		return 0;
	if (!stream->index_is_walked && (uint64_t)st.st_size > wanted)
		return cut_file(index_fd, name, wanted, cut);
	if (unlinkat(index_fd, name, 0) < 0)
		return -errno;
	*cut += (uint64_t)st.st_size;
	return 0;
}

static int repair_index_of(int domain_fd, const struct stream_reader *stream, uint64_t *cut)
{
	int fd = open_folder(domain_fd, "index"), ret;

	if (fd < 0)
		return open_error();
	ret = repair_index(fd, stream, cut);
	close(fd);
	return ret;
}

static int repair_stream(int domain_fd, const char *name, const struct metadata *metadata,
			 uint64_t *cut, struct trace_error *reterr)
{
	struct stream_reader stream;
	int ret = stream_reader_open(&stream, domain_fd, name, metadata, reterr);

	if (ret)
		return ret < 0 ? ret : 0;
	/* By a wrong index whole packets would be cut. */
	ret = stream_reader_check_index(&stream);
	if (ret == 0 && stream.tail)
		ret = cut_file(domain_fd, name, stream.size - stream.tail, cut);
	if (ret == 0)
		ret = repair_index_of(domain_fd, &stream, cut);
	stream_reader_close(&stream);
	return ret;
}

static int repair_streams(int domain_fd, const struct metadata *metadata, uint64_t *cut,
			  struct trace_error *reterr)
{
	struct dirent **names;
	int ret = 0, nr = directory_list_streams(domain_fd, &names);

	if (nr < 0)
		return nr;
	for (int i = 0; ret == 0 && i < nr; i++)
		ret = repair_stream(domain_fd, names[i]->d_name, metadata, cut, reterr);
	directory_free_names(names, nr);
	return ret;
}

static int repair_domain(int dir_fd, enum trace_domain domain, uint64_t *cut,
			 struct trace_error *reterr)
{
	int fd = open_folder(dir_fd, trace_domain_dirs[domain]);
	struct metadata metadata;
	int ret;

	if (fd < 0)
		return open_error();
	ret = directory_read_metadata(fd, domain, &metadata, reterr);
	if (ret == 0) {
		ret = cut_file(fd, "metadata", metadata.valid_size, cut);
		if (ret == 0)
			ret = repair_streams(fd, &metadata, cut, reterr);
		metadata_fini(&metadata);
	}
	close(fd);
	return ret;
}

/* Bytes up to the end of the last whole line; all, where that is too far back for a line of ours.
 */
static uint64_t whole_lines(int fd, uint64_t file_size)
{
	uint64_t size = file_size;
	char block[4096];

	while (size) {
		size_t part = size < sizeof(block) ? (size_t)size : sizeof(block);
		int64_t got = read_at(fd, block, part, size - part);
		char *newline = got == (int64_t)part ? memrchr(block, '\n', part) : NULL;

		size -= part;
		if (newline)
			return size + (uint64_t)(newline - block) + 1;
		if (file_size - size > SIDECAR_MAX_LINE)
			return file_size;
	}
	return 0;
}

/* The sidecar's last line, if it has no end. */
static int repair_sidecar(int weft_fd, uint64_t *cut)
{
	int fd = openat(weft_fd, "sidecar", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	uint64_t size;

	if (fd < 0)
		return open_error();
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	size = whole_lines(fd, (uint64_t)st.st_size);
	close(fd);
	return cut_file(weft_fd, "sidecar", size, cut);
}

/* Return: 0 nobody writes it, and nobody can begin to; -EBUSY; *ret_lock_fd is closed by the
 * caller.
 */
static int lock_trace(int weft_fd, int *ret_lock_fd)
{
	int fd = openat(weft_fd, "sidecar", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(fd);
		return -EBUSY;
	}
	*ret_lock_fd = fd;
	return 0;
}

static int repair_all(int dir_fd, int weft_fd, uint64_t *cut, struct trace_error *reterr)
{
	int lock_fd, ret = lock_trace(weft_fd, &lock_fd);

	if (ret < 0)
		return ret;
	for (int i = 0; ret == 0 && i < TRACE_NR_DOMAINS; i++)
		ret = repair_domain(dir_fd, (enum trace_domain)i, cut, reterr);
	if (ret == 0 && weft_fd >= 0)
		ret = repair_sidecar(weft_fd, cut);
	if (lock_fd >= 0)
		close(lock_fd);
	return ret;
}

static int repair_folder(int dir_fd, uint64_t *cut, struct trace_error *reterr)
{
	int weft_fd = open_folder(dir_fd, "weft");
	int ret = repair_all(dir_fd, weft_fd, cut, reterr);

	if (weft_fd >= 0)
		close(weft_fd);
	return ret;
}

/* Each for itself: the last one may be under way. */
static int repair_parts(int dir_fd, struct dirent **names, int nr, uint64_t *cut,
			struct trace_error *reterr)
{
	int ret = 0;

	for (int i = 0; ret == 0 && i < nr; i++) {
		int fd = open_folder(dir_fd, names[i]->d_name);

		if (fd < 0)
			continue;
		ret = repair_folder(fd, cut, reterr);
		close(fd);
	}
	return ret;
}

int trace_repair(const char *dir, uint64_t *ret_cut, struct trace_error *reterr)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	uint64_t cut = 0;
	int ret, nr;

	memset(reterr, 0, sizeof(*reterr));
	if (dir_fd < 0)
		return -errno;
	nr = directory_list_parts(dir_fd, &names);
	ret = nr > 0   ? repair_parts(dir_fd, names, nr, &cut, reterr)
	      : nr < 0 ? nr
		       : repair_folder(dir_fd, &cut, reterr);
	if (nr >= 0)
		directory_free_names(names, nr);
	close(dir_fd);
	if (ret == 0)
		*ret_cut = cut;
	return ret;
}
