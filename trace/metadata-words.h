/* SPDX-License-Identifier: MIT */
/*
 * metadata-words.h - the words of model.emf.uri for kinds and roles, by their enums' numbers.
 * Internal to trace/.
 */
#ifndef TRACE_METADATA_WORDS_H
#define TRACE_METADATA_WORDS_H

static const char *const metadata_kinds[] = {
	"instant",   "begin",	"end",	 "result", "async_begin",
	"async_end", "counter", "frame", "log",	   "thread",
};
static const char *const metadata_roles[] = {"none", "flow", "flow_global", "due", "id"};

#define METADATA_NR_KINDS (sizeof(metadata_kinds) / sizeof(metadata_kinds[0]))
#define METADATA_NR_ROLES (sizeof(metadata_roles) / sizeof(metadata_roles[0]))

#endif
