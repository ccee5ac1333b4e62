/* SPDX-License-Identifier: MIT */
/*
 * dynamic.h - markers whose names and fields are known at run time only: for bindings to other
 * languages. C and C++ programs want marker.h, which costs less and needs nothing linked.
 *
 * The functions are libmarker's: link it, or look them up (dlsym) in the program first, for weft
 * record may have preloaded it, and then in libmarker.so.0. They may be called by any thread, at
 * any time, also in a signal handler but for weft_marker_make_v1(); they never block, print or end
 * the program. errno is left alone.
 *
 *	static const uint8_t codes[] = {WEFT_MARKER_INT | 8, WEFT_MARKER_STRING};
 *	place = weft_marker_make_v1(WEFT_MARKER_INSTANT, WEFT_MARKER_LEVEL_INFO, "shop",
 *				    "sold, number, MARKER_FIELD(what, x)", NULL, codes, 2);
 *	...
 *	if (*generation && place && weft_marker_is_wanted_v1(place))
 *		weft_marker_record_v1(place, payload, payload_size);
 *
 * A payload has the fields' values in their order, without gaps: little-endian numbers of the size
 * that their codes say; strings, UTF-8 of at most 255 bytes with a NUL behind them; and bytes,
 * their number in two bytes before them.
 */
#ifndef MARKER_DYNAMIC_H
#define MARKER_DYNAMIC_H

#include <marker/marker.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * weft_marker_make_v1() - a marker, for as long as the process lives; make each once.
 * @kind, @level: WEFT_MARKER_INSTANT and the like, WEFT_MARKER_LEVEL_INFO and the like (marker.h)
 * @provider: before the colon
 * @text: name and fields as the arguments of MARKER() have them: "shown, frame,
 *	MARKER_FIELD(late_us, x), MARKER_FLOW(packet, x)"; of a message the format comes first,
 *	and is not looked at; of a result fields alone
 * @format: of a message: a literal as in C, in quotes; else NULL
 * @codes: of each field: WEFT_MARKER_INT | 8 and the like
 * Return: NULL when the text and the codes do not fit together, or there is no room: a process has
 * at most 4096 of them. A process with the rights of another user (set-user-id) has none.
 */
struct weft_marker_place *weft_marker_make_v1(unsigned kind, unsigned level, const char *provider,
					      const char *text, const char *format,
					      const uint8_t *codes, unsigned nr_fields);

/* Does anybody record it now? 1 or 0. */
int weft_marker_is_wanted_v1(struct weft_marker_place *place);

/**
 * weft_marker_record_v1() - one event, now.
 * Return: 1 when it is recorded; 0 when nobody wants it, or it had to be discarded, which is
 * counted.
 */
int weft_marker_record_v1(struct weft_marker_place *place, const void *payload, uint32_t size);

/* A word that is 0 while nobody records anything, at the same address for good: to be looked at
 * before anything is prepared. */
const uint32_t *weft_marker_generation_v1(void);

/* As MARKER_THREAD: names the thread and gives it its ring. */
void weft_marker_thread_v1(const char *name);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
