/* SPDX-License-Identifier: MIT */
#include "base/parse-size.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int parse_size(const char *text, uint64_t *ret_size)
{
	static const char units[] = "KMGT";
	unsigned long long value;
	const char *unit;
	char *end;
	int shift = 0;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		end++;
		if (*end == 'i')
			end++;
	}
	if (*end == 'B')
		end++;
	if (*end)
		return -EINVAL;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_size = (uint64_t)value << shift;
	return 0;
}

int parse_duration(const char *text, uint64_t default_unit_ns, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1},	  {"us", 1e3},	 {"ms", 1e6},  {"s", 1e9},
		     {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
	double value, unit_ns = 0;
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	value = strtod(text, &end);
	if (!*end)
		unit_ns = (double)default_unit_ns;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0)
			unit_ns = units[i].ns;
	if (end == text || unit_ns == 0 || !isfinite(value))
		return -EINVAL;
	if (value * unit_ns >= 1.8e19)
		return -ERANGE;
	*ret_ns = (uint64_t)(value * unit_ns + 0.5);
	return 0;
}
