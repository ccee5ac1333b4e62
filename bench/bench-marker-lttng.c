/* SPDX-License-Identifier: MIT */
/* bench-marker-lttng.c - the peer's probe. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/bench-marker-lttng.h"
