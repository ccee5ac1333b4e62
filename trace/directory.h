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

/* "part-000012" is 12; 0: no part's name. */
uint32_t directory_part_number(const char *name);

/* The parts of a trace that was cut into some, in order. Return: how many, or -errno. */
int directory_list_parts(int dir_fd, struct dirent ***ret_names);

/* Reads and parses a domain's metadata. Return: as metadata_parse(); -ENOENT. */
int directory_read_metadata(int domain_fd, enum trace_domain domain, struct metadata *metadata,
			    struct trace_error *reterr);

#endif
