/* SPDX-License-Identifier: MIT */
#include "trace/parse-time.h"

#include <errno.h>
#include <string.h>

#include "base/parse-size.h"

#define NS_PER_S 1000000000u

/* Digits, up to the first other character. Return: how many, or -ERANGE. */
static int read_digits(const char *text, uint64_t *value)
{
	int nr = 0;

	for (; text[nr] >= '0' && text[nr] <= '9'; nr++)
		if (__builtin_mul_overflow(*value, 10u, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(text[nr] - '0'), value))
			return -ERANGE;
	return nr;
}

/* "12.345678901", to the ns, which no double is. */
static int parse_seconds(const char *text, const char *point, uint64_t *ret_ns)
{
	uint64_t seconds = 0, fraction = 0;
	int nr = read_digits(text, &seconds), nr_fraction = read_digits(point + 1, &fraction);

	if (nr < 0 || nr_fraction < 0)
		return -ERANGE;
	if (text + nr != point || point[1 + nr_fraction] || nr_fraction > 9 || !nr_fraction)
		return -EINVAL;
	for (; nr_fraction < 9; nr_fraction++)
		fraction *= 10;
	if (__builtin_mul_overflow(seconds, NS_PER_S, &seconds) ||
	    __builtin_add_overflow(seconds, fraction, ret_ns))
		return -ERANGE;
	return 0;
}

static int parse_point(const char *text, uint64_t *ret_ns)
{
	const char *point = strchr(text, '.');
	uint64_t ns = 0;
	int nr;

	if (point && !strpbrk(text, "nums"))
		return parse_seconds(text, point, ret_ns);
	nr = read_digits(text, &ns);
	if (nr < 0)
		return nr;
	if (!nr || text[nr])
		return parse_duration(text, 1, ret_ns);
	*ret_ns = ns;
	return 0;
}

int trace_parse_time(const char *text, uint64_t begin_ns, uint64_t *ret_ns)
{
	uint64_t ns;
	int ret = parse_point(text[0] == '+' ? text + 1 : text, &ns);

	if (ret < 0)
		return ret;
	if (text[0] == '+' && __builtin_add_overflow(ns, begin_ns, &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}
