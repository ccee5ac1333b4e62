/* SPDX-License-Identifier: MIT */
/*
 * directory.h - where things are in a trace directory. Internal to trace/.
 */
#ifndef TRACE_DIRECTORY_H
#define TRACE_DIRECTORY_H

#include <dirent.h>

#include "trace/metadata.h"

/* "kernel", "user": by enum trace_domain. */
extern const char *const trace_domain_dirs[TRACE_NR_DOMAINS];

/* Names in a domain's folder that may be stream files, "sched_2" before "sched_10". Return: how
 * many, or -errno. */
int directory_list_streams(int domain_fd, struct dirent ***ret_names);
void directory_free_names(struct dirent **names, int nr);

/* Reads and parses a domain's metadata. Return: as metadata_parse(); -ENOENT. */
int directory_read_metadata(int domain_fd, enum trace_domain domain, struct metadata *metadata,
			    struct trace_error *reterr);

#endif
