/* SPDX-License-Identifier: MIT */
/*
 * parse-size.h - numbers as people type them: "2M", "10ms".
 */
#ifndef BASE_PARSE_SIZE_H
#define BASE_PARSE_SIZE_H

#include <stdint.h>

/**
 * parse_size() - bytes from "4096", "64K", "2M", "1G" (powers of 1024; an i or B may follow).
 * Return: 0, -EINVAL when it is not a size, -ERANGE when it does not fit; *ret_size set on success
 * only.
 */
int parse_size(const char *text, uint64_t *ret_size);

/**
 * parse_duration() - nanoseconds from "1.5s", "10ms", "20us", "300ns", "2m"; a bare number has
 * @default_unit_ns. Return: 0, -EINVAL, -ERANGE; *ret_ns set on success only.
 */
int parse_duration(const char *text, uint64_t default_unit_ns, uint64_t *ret_ns);

#endif
