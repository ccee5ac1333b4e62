/* SPDX-License-Identifier: MIT */
#include "trace/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/index.h"

const char *const trace_domain_dirs[TRACE_NR_DOMAINS] = {"kernel", "user"};

static int is_stream_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "metadata") &&
	       strcmp(entry->d_name, "index");
}

int directory_list_streams(int domain_fd, struct dirent ***ret_names)
{
	int nr = scandirat(domain_fd, ".", ret_names, is_stream_name, versionsort);

	return nr < 0 ? -errno : nr;
}

uint32_t directory_part_number(const char *name)
{
	static const char prefix[] = "part-";
	const char *digits = name + strlen(prefix);
	unsigned long number;
	char *end;

	if (strncmp(name, prefix, strlen(prefix)) || strspn(digits, "0123456789") < 6)
		return 0;
	number = strtoul(digits, &end, 10);
	return *end || number > UINT32_MAX ? 0 : (uint32_t)number;
}

static int is_part_name(const struct dirent *entry)
{
	return directory_part_number(entry->d_name) != 0;
}

int directory_list_parts(int dir_fd, struct dirent ***ret_names)
{
	int nr = scandirat(dir_fd, ".", ret_names, is_part_name, versionsort);

	return nr < 0 ? -errno : nr;
}

void directory_free_names(struct dirent **names, int nr)
{
	for (int i = 0; i < nr; i++)
		free(names[i]);
	free(names);
}

/* A whole file. Return: 0 and *ret_text (caller frees), or -errno. */
static int read_file(int fd, char **ret_text, size_t *ret_size)
{
	struct stat st;
	char *text;
	int64_t got;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > METADATA_MAX_SIZE)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	got = read_at(fd, text, (size_t)st.st_size, 0);
	if (got < 0) {
		free(text);
		return (int)got;
	}
	*ret_text = text;
	*ret_size = (size_t)got;
	return 0;
}

int directory_read_metadata(int domain_fd, enum trace_domain domain, struct metadata *metadata,
			    struct trace_error *reterr)
{
	int fd = openat(domain_fd, "metadata", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	size_t size = 0;
	int ret;

	memset(reterr, 0, sizeof(*reterr));
	snprintf(reterr->file, sizeof(reterr->file), "%s/metadata", trace_domain_dirs[domain]);
	if (fd < 0)
		return -errno;
	ret = read_file(fd, &text, &size);
	close(fd);
	if (ret == -EINVAL || ret == -EFBIG) {
		snprintf(reterr->why, sizeof(reterr->why), "%s",
			 ret == -EINVAL ? "not a regular file" : "larger than any metadata");
		return -EBADMSG;
	}
	if (ret < 0)
		return ret;
	ret = metadata_parse(text, size, metadata, reterr);
	free(text);
	if (ret == 0 && metadata->domain != domain) {
		snprintf(reterr->why, sizeof(reterr->why), "belongs to the other domain");
		metadata_fini(metadata);
		return -EBADMSG;
	}
	return ret;
}
