/* SPDX-License-Identifier: MIT */
/* bench-marker-lttng.h - the peer of bench-marker: an lttng-ust tracepoint with one u64. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER weft_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/bench-marker-lttng.h"

#if !defined(BENCH_MARKER_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_MARKER_LTTNG_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(weft_bench, event, LTTNG_UST_TP_ARGS(uint64_t, value),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, value, value)))

/* bench-consumer's, of eight. */
LTTNG_UST_TRACEPOINT_EVENT(
	weft_bench, wide,
	LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d, uint64_t, e, uint64_t,
			  f, uint64_t, g, uint64_t, h),
	/* clang-format off */
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, a, a)
		lttng_ust_field_integer(uint64_t, b, b)
		lttng_ust_field_integer(uint64_t, c, c)
		lttng_ust_field_integer(uint64_t, d, d)
		lttng_ust_field_integer(uint64_t, e, e)
		lttng_ust_field_integer(uint64_t, f, f)
		lttng_ust_field_integer(uint64_t, g, g)
		lttng_ust_field_integer(uint64_t, h, h)
	)
	/* clang-format on */
)

#endif

#include <lttng/tracepoint-event.h>
