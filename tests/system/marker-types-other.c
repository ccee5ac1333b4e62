/* SPDX-License-Identifier: MIT */
/* marker-types-other.c - a second file of marker-types: the same places again, and its own. */
#include <marker/marker.h>

#ifdef __cplusplus
inline void marker_types_shared(int value)
{
	MARKER(types, in_shared, value);
}
#endif
void other_file(void);

void other_file(void)
{
#ifdef __cplusplus
	marker_types_shared(6);
#endif
	MARKER(types, in_other_file);
}
