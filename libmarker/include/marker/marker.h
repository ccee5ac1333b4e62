/* SPDX-License-Identifier: MIT */
/*
 * marker.h - markers: what a program says of itself, recorded by weft in one exact order with what
 * the kernel does. One self-contained header for C11 (gnu) and C++17; nothing needs to be linked.
 *
 *	#include <marker/marker.h>
 *
 *	MARKER(player, shown, frame, f->pts, MARKER_FIELD(late_us, now - due));     an instant
 *	MARKER_BEGIN(player, decode, size);  ...  MARKER_END(player, decode, ret);  a scope
 *	MARKER_SCOPE(audio, callback, MARKER_DUE(due_ns), nframes);     ends with the block
 *	MARKER_RESULT(underruns);                 more about the innermost open scope
 *	MARKER_ASYNC_BEGIN(player, buffering, id);  ...  MARKER_ASYNC_END(player, buffering, id);
 *	MARKER_COUNTER(player, queue_depth, n);   how much there is of something from now on
 *	MARKER_FRAME(player, video, n);           the beginning of the next frame
 *	MARKER_LOG(player, "%d of %s", n, name);  a message, formatted only when it is read
 *	MARKER_THREAD("audio-rt");                names this thread, sets it up now
 *	if (MARKER_ENABLED(xclient, damage)) ...  is it worth preparing?
 *
 * A marker that nobody records costs one load and a branch; its arguments are not evaluated. When
 * it records, they are evaluated once, before the time is read. errno is left alone.
 *
 * Fields. `frame` is named frame, `f->pts` and `f.pts` are named pts, `queue.size()` size; any
 *other expression needs a name: MARKER_FIELD(name, expression); without one it is called argN,
 *counted from 0. Types are inferred: bool, integers, enumerations, float, double, pointers (shown
 *in hex), and strings (char pointers and arrays). Of a string up to 255 bytes are copied; a longer
 *one is cut and ends with
 * "..." as one character (U+2026) within the 255. NULL is recorded as "(null)". A bit-field has its
 * declared type, in C under gcc int where it is narrower than that. At most 16 fields; in C++17
 * without lambdas in them.
 *
 * In C++ also what has data() and size() of chars (std::string, std::string_view, QByteArray, ...)
 * is a string, std::chrono's durations and times are integers, ns, an std::atomic is what it holds,
 * and classes and enumerations are what a function marker_value() beside them says:
 *	const char *marker_value(state s) { return names[int(s)]; }
 * Declared before the first marker with that type; it returns anything that a field may be.
 *
 * Levels. A marker has the level that MARKER_LEVEL expands to where it stands: as syslog's, 0 for
 * an emergency to 7 for what only who debugs it wants to know; 6 unless the program defines it
 * otherwise, before this header or, after an #undef, anywhere. MARKER_AT(level, provider, name,
 * fields...) is an instant with a level of its own. `weft record --level` leaves out what is less
 * important.
 *
 * The text of names and fields is taken as written, so that a provider may be called linux and a
 * field errno. What a macro of your own passes on has been expanded before it gets here.
 *
 * Each name exists with WEFT_ in front, too: WEFT_MARKER(...). Before including:
 *	#define MARKER_NO_SHORT_NAMES   only those with WEFT_ in front
 *	#define MARKER_OFF              compiles everything away, but still checks it
 *
 * How it works. Each place leaves an ELF note with its text and types (section .note.weft) and 16
 * writable bytes of state. libmarker, preloaded or linked, finds the notes, lays a read-only page
 * that consumerd writes over weft_marker_page_v1 below, and fills weft_marker_calls_v1. Without
 * libmarker the page stays zero and nothing ever happens. Architectures: x86-64 and aarch64;
 * elsewhere the header behaves as under MARKER_OFF.
 */
#ifndef MARKER_MARKER_H
#define MARKER_MARKER_H

/* Some of it only later standards have, or none: a macro's empty list, a flexible array in C++.
 * Strict programs shall not be warned of that; clang warns where a macro is used, not where it is
 * made, so there this one warning is off from here on. */
#pragma GCC system_header
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#include <stdint.h>
#ifdef __cplusplus
#include <cstddef>
#include <type_traits>
#endif

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(MARKER_OFF)
#define MARKER_OFF
#endif

/* ---- Between the program and libmarker: a change here is a change of ABI. ---- */

/* The state of one place. */
struct weft_marker_place {
	uint32_t off_generation; /* not wanted in that generation: the place goes on at once */
	uint32_t on_generation;	 /* wanted in that one, and its class is announced */
	uint32_t event_class;	 /* libmarker's number for it */
	int32_t to_note;	 /* from this word's address to its note */
};

/* Where a record's payload goes, and the head of its lane (libmarker/ring.h). */
struct weft_marker_lane {
	uint64_t writing;
	uint64_t write_pos;
};
struct weft_marker_slot {
	char *payload; /* NULL: not recorded; libmarker has counted it */
	struct weft_marker_lane *lane;
};

/* What libmarker provides; filled before any generation is seen. */
struct weft_marker_calls {
	/* Room for a payload, after the place was found wanted in that generation; from here to the
	 * commit the lane is "writing". */
	struct weft_marker_slot (*reserve)(struct weft_marker_place *place, uint32_t size,
					   uint32_t generation);
	/* Bytes of a string that will be copied: 0 to 255. Remember the result for copy(). */
	uint32_t (*measure)(const char *text);
	/* Copies them and the NUL. Returns what follows. */
	char *(*copy)(char *payload, const char *text, uint32_t length);
	/* Is it wanted in this generation? The answer is left in the place's words. */
	int (*is_enabled)(struct weft_marker_place *place, uint32_t generation);
	void (*thread)(struct weft_marker_place *place, const char *name);
	void *reserved[3];
};

/* The note: owner "weft", type WEFT_MARKER_NOTE_PLACE, and after the four words that lead from
 * their own address to what they name: kind, level, number of fields, 0, one code a field. The
 * text: provider, then name and fields (no name where the kind says it), then of a message its
 * format as the compiler saw it ("a" "b\n"), each NUL-terminated. */
#define WEFT_MARKER_NOTE_PLACE 1
struct weft_marker_note {
	int32_t to_text, to_place, to_page, to_calls;
	uint8_t kind, level, nr_fields, reserved;
	uint8_t codes[];
};

/* Kinds, numbered as trace/model.h's event kinds; ENABLED records nothing. */
#define WEFT_MARKER_INSTANT 0
#define WEFT_MARKER_BEGIN_KIND 1
#define WEFT_MARKER_END_KIND 2
#define WEFT_MARKER_RESULT_KIND 3
#define WEFT_MARKER_ASYNC_BEGIN_KIND 4
#define WEFT_MARKER_ASYNC_END_KIND 5
#define WEFT_MARKER_COUNTER_KIND 6
#define WEFT_MARKER_FRAME_KIND 7
#define WEFT_MARKER_LOG_KIND 8
#define WEFT_MARKER_THREAD_KIND 9
#define WEFT_MARKER_ENABLED_KIND 255

/* A field's code: type (1 unsigned, 2 signed, 3 float, 4 string, 5 bytes) << 4, size in bytes, 128:
 * hex. */
#define WEFT_MARKER_UINT 0x10
#define WEFT_MARKER_INT 0x20
#define WEFT_MARKER_FLOAT 0x30
#define WEFT_MARKER_STRING 0x40
#define WEFT_MARKER_BYTES_CODE 0x50
#define WEFT_MARKER_HEX 0x80

/* Levels, as syslog's. */
#define WEFT_MARKER_LEVEL_EMERG 0
#define WEFT_MARKER_LEVEL_ALERT 1
#define WEFT_MARKER_LEVEL_CRIT 2
#define WEFT_MARKER_LEVEL_ERR 3
#define WEFT_MARKER_LEVEL_WARNING 4
#define WEFT_MARKER_LEVEL_NOTICE 5
#define WEFT_MARKER_LEVEL_INFO 6
#define WEFT_MARKER_LEVEL_DEBUG 7
#define WEFT_MARKER_PAGE_SIZE 4096

/* WEFT_MARKER_BYTES()'s. */
struct weft_marker_bytes {
	const void *data;
	uint32_t size;
};
#define WEFT_MARKER_MAX_BYTES 255u

#ifndef WEFT_MARKER_ABI_ONLY

/* ---- The API. ---- */

#ifndef MARKER_NO_SHORT_NAMES
#define MARKER_LEVEL_EMERG WEFT_MARKER_LEVEL_EMERG
#define MARKER_LEVEL_ALERT WEFT_MARKER_LEVEL_ALERT
#define MARKER_LEVEL_CRIT WEFT_MARKER_LEVEL_CRIT
#define MARKER_LEVEL_ERR WEFT_MARKER_LEVEL_ERR
#define MARKER_LEVEL_WARNING WEFT_MARKER_LEVEL_WARNING
#define MARKER_LEVEL_NOTICE WEFT_MARKER_LEVEL_NOTICE
#define MARKER_LEVEL_INFO WEFT_MARKER_LEVEL_INFO
#define MARKER_LEVEL_DEBUG WEFT_MARKER_LEVEL_DEBUG
#endif

/* The level of the markers that follow; the program may define it, and again (#undef first). */
#ifndef WEFT_MARKER_LEVEL
#ifdef MARKER_NO_SHORT_NAMES
#define WEFT_MARKER_LEVEL WEFT_MARKER_LEVEL_INFO
#else
#define WEFT_MARKER_LEVEL MARKER_LEVEL
#ifndef MARKER_LEVEL
#define MARKER_LEVEL WEFT_MARKER_LEVEL_INFO
#endif
#endif
#endif

/**
 * WEFT_MARKER(provider, name, fields...) - something happened here, at one instant.
 */
#define WEFT_MARKER(provider, ...) \
	WEFT_EVENT_(WEFT_MARKER_INSTANT, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_AT(level, provider, name, fields...) - the same, with a level of its own.
 */
#define WEFT_MARKER_AT(level, provider, ...)                                           \
	WEFT_EVENT_(WEFT_LEVELED_(WEFT_MARKER_INSTANT, level), __COUNTER__, #provider, \
		    #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_BEGIN(provider, name, fields...), WEFT_MARKER_END(provider, name, fields...) - a
 * scope of this thread, begun and ended by hand; scopes of one thread nest.
 */
#define WEFT_MARKER_BEGIN(provider, ...) \
	WEFT_EVENT_(WEFT_MARKER_BEGIN_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define WEFT_MARKER_END(provider, ...) \
	WEFT_EVENT_(WEFT_MARKER_END_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_SCOPE(provider, name, fields...) - a scope that ends with the enclosing block, by
 * whatever way it is left. A declaration: it stands in a block, not after an if without braces.
 */
#define WEFT_MARKER_SCOPE(provider, ...) \
	WEFT_SCOPE_(__COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_RESULT(fields...) - adds fields to the innermost open scope of this thread.
 */
#define WEFT_MARKER_RESULT(...)                                                                \
	WEFT_EVENT_(WEFT_MARKER_RESULT_KIND, __COUNTER__, "weft", #__VA_ARGS__, 0, \
		    __VA_ARGS__)

/**
 * WEFT_MARKER_ASYNC_BEGIN(provider, name, id, fields...), WEFT_MARKER_ASYNC_END(provider, name, id,
 * fields...) - a span that may end in another thread of the process, and overlap others.
 * @id: an integer or a pointer that no other span of the name has while this one is open; with
 * WEFT_MARKER_FLOW_GLOBAL() as the id it may end in another process
 */
#define WEFT_MARKER_ASYNC_BEGIN(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_ASYNC_BEGIN_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define WEFT_MARKER_ASYNC_END(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_ASYNC_END_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_COUNTER(provider, name, value, fields...) - how much there is of something from now
 * on: the depth of a queue, the bytes in a buffer. @value: a number; field value.
 */
#define WEFT_MARKER_COUNTER(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_COUNTER_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_FRAME(provider, name, number, fields...) - frame @number begins here, and the one
 * before ends; field frame.
 */
#define WEFT_MARKER_FRAME(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_FRAME_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_LOG(provider, format, arguments...) - a message, as printf() takes it; recorded are
 * the arguments, and who reads the recording formats them. The event is provider:log.
 * @format: string literals, PRIu64 and the like between them. A place whose format limits a string
 * (%.8s) records nothing: the argument is copied to its NUL, which might not be there.
 * WEFT_MARKER_LOG_AT(level, provider, format, arguments...) has a level of its own.
 */
#define WEFT_MARKER_LOG(provider, ...) \
	WEFT_LOG_(WEFT_MARKER_LOG_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define WEFT_MARKER_LOG_AT(level, provider, ...)                                          \
	WEFT_LOG_(WEFT_LEVELED_(WEFT_MARKER_LOG_KIND, level), __COUNTER__, #provider, \
		  #__VA_ARGS__, __VA_ARGS__)

/**
 * WEFT_MARKER_THREAD(name) - names this thread in recordings, and gives it its ring now, mapped and
 * prefaulted, instead of at its first marker. For the start of a thread, before it turns
 * real-time. @name: up to 31 bytes are kept.
 */
#define WEFT_MARKER_THREAD(name) WEFT_THREAD_(__COUNTER__, name)

/**
 * WEFT_MARKER_ENABLED(provider, name) - is a marker of that name wanted now? 1 or 0.
 */
#define WEFT_MARKER_ENABLED(provider, name) WEFT_ENABLED_(__COUNTER__, #provider, #name)

/* WEFT_MARKER_FIELD(name, value) - a field with a name of its own. */
#define WEFT_MARKER_FIELD(name, ...) (__VA_ARGS__)

/* WEFT_MARKER_DUE(ns) - when this should have happened, ns of CLOCK_MONOTONIC; field due_ns. In C++
 * also a time of std::chrono::steady_clock. */
#ifdef __cplusplus
#define WEFT_MARKER_DUE(ns) ::weft_marker::due(ns)
#else
#define WEFT_MARKER_DUE(ns) ((uint64_t)(ns))
#endif

/* WEFT_MARKER_BYTES(data, size) - memory as it is, up to 255 bytes of it; NULL is empty. */
#ifdef __cplusplus
#define WEFT_MARKER_BYTES(data, size) ::weft_marker::bytes((data), (size))
#else
#define WEFT_MARKER_BYTES(data, size) \
	((const struct weft_marker_bytes *)&(struct weft_marker_bytes){(data), (uint32_t)(size)})
#endif

/* WEFT_MARKER_BOOL(value) - 1 or 0, whatever its type. WEFT_MARKER_ENUM(value) - an enumeration's
 * number. WEFT_MARKER_LIT(text) - a string literal. */
#ifdef __cplusplus
#define WEFT_MARKER_BOOL(...) static_cast<bool>(__VA_ARGS__)
#else
#define WEFT_MARKER_BOOL(...) ((_Bool)(__VA_ARGS__))
#endif
#define WEFT_MARKER_ENUM(...) (__VA_ARGS__)
#define WEFT_MARKER_LIT(text) ("" text)

/* WEFT_MARKER_FLOW(flow, key) - events of this process with the same key belong together. */
#define WEFT_MARKER_FLOW(flow, ...) (__VA_ARGS__)

/* WEFT_MARKER_FLOW_GLOBAL(flow, base, sequence) - the same across processes. */
#define WEFT_MARKER_FLOW_GLOBAL(flow, base, sequence) (base), (sequence)

#ifndef MARKER_NO_SHORT_NAMES
#define MARKER(provider, ...) \
	WEFT_EVENT_(WEFT_MARKER_INSTANT, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_AT(level, provider, ...)                                                \
	WEFT_EVENT_(WEFT_LEVELED_(WEFT_MARKER_INSTANT, level), __COUNTER__, #provider, \
		    #__VA_ARGS__, __VA_ARGS__)
#define MARKER_BEGIN(provider, ...) \
	WEFT_EVENT_(WEFT_MARKER_BEGIN_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_END(provider, ...) \
	WEFT_EVENT_(WEFT_MARKER_END_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_SCOPE(provider, ...) \
	WEFT_SCOPE_(__COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_RESULT(...)                                                                     \
	WEFT_EVENT_(WEFT_MARKER_RESULT_KIND, __COUNTER__, "weft", #__VA_ARGS__, 0, \
		    __VA_ARGS__)
#define MARKER_ASYNC_BEGIN(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_ASYNC_BEGIN_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_ASYNC_END(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_ASYNC_END_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_COUNTER(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_COUNTER_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_FRAME(provider, ...) \
	WEFT_KEYED_(WEFT_MARKER_FRAME_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_LOG(provider, ...) \
	WEFT_LOG_(WEFT_MARKER_LOG_KIND, __COUNTER__, #provider, #__VA_ARGS__, __VA_ARGS__)
#define MARKER_LOG_AT(level, provider, ...)                                               \
	WEFT_LOG_(WEFT_LEVELED_(WEFT_MARKER_LOG_KIND, level), __COUNTER__, #provider, \
		  #__VA_ARGS__, __VA_ARGS__)
#define MARKER_THREAD(name) WEFT_THREAD_(__COUNTER__, name)
#define MARKER_ENABLED(provider, name) WEFT_ENABLED_(__COUNTER__, #provider, #name)
#define MARKER_FIELD(name, ...) (__VA_ARGS__)
#define MARKER_DUE(ns) WEFT_MARKER_DUE(ns)
#define MARKER_BYTES(data, size) WEFT_MARKER_BYTES(data, size)
#define MARKER_BOOL(...) WEFT_MARKER_BOOL(__VA_ARGS__)
#define MARKER_ENUM(...) (__VA_ARGS__)
#define MARKER_LIT(text) ("" text)
#define MARKER_FLOW(flow, ...) (__VA_ARGS__)
#define MARKER_FLOW_GLOBAL(flow, base, sequence) WEFT_MARKER_FLOW_GLOBAL(flow, base, sequence)
#endif

/* ---- From here on: how. ---- */

/* The number of fields: arguments less the name. Of 17 to 32 the compiler's error tells. */
#define WEFT_NR_(...)                                                                              \
	WEFT_NR2_(__VA_ARGS__, WEFT_TOO_MANY_, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, \
		  1, 0)
#define WEFT_TOO_MANY_ WEFT_TOO_MANY4_, WEFT_TOO_MANY4_, WEFT_TOO_MANY4_, WEFT_TOO_MANY4_
#define WEFT_TOO_MANY4_                                                 \
	a_marker_has_at_most_16_fields, a_marker_has_at_most_16_fields, \
		a_marker_has_at_most_16_fields, a_marker_has_at_most_16_fields
#define WEFT_NR2_(...) WEFT_NR3_(__VA_ARGS__)
#define WEFT_NR3_(n, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z, A, \
		  B, C, D, E, F, G, nr, ...)                                                       \
	nr
#define WEFT_JOIN_(a, b) WEFT_JOIN2_(a, b)
#define WEFT_JOIN2_(a, b) a##b
#define WEFT_TEXT_(a) WEFT_TEXT2_(a)
#define WEFT_TEXT2_(a) #a

/* A kind with a level of its own, and what it is taken apart into. */
#define WEFT_LEVELED_(kind, level) ((kind) | ((level) + 1) << 8)
#define WEFT_KIND_(kind) ((kind)&255)
#define WEFT_LEVEL_(kind) ((kind) >> 8 ? ((kind) >> 8) - 1 : (WEFT_MARKER_LEVEL))

/* Those whose first field is their id, value or number. */
#define WEFT_KEYED_(kind, n, provider, text, ...)                                              \
	do {                                                                                   \
		WEFT_ASSERT_(WEFT_NR_(__VA_ARGS__) > 0, "its id, value or number is missing"); \
		WEFT_EVENT_(kind, n, provider, text, __VA_ARGS__);                             \
	} while (0)

/* A message: its format is checked as printf()'s, and stands behind the text; by now its macros are
 * expanded. */
#define WEFT_LOG_(kind, n, provider, text, ...) \
	WEFT_LOG2_(kind, n, provider, text, WEFT_FIRST_(__VA_ARGS__, 0), __VA_ARGS__)
#define WEFT_FIRST_(first, ...) first
#define WEFT_LOG2_(kind, n, provider, text, format, ...) \
	WEFT_LOG3_(kind, n, provider, text, format, __VA_ARGS__)
#define WEFT_LOG3_(kind, n, provider, text, format, ...)                        \
	do {                                                                    \
		if (0) {                                                        \
			(void)("" format);                                      \
			weft_marker_format_(__VA_ARGS__);                       \
		}                                                               \
		WEFT_EVENT2_(kind, n, provider, text, #format, __VA_ARGS__);    \
	} while (0)

/* do_(index, field) for each field; index is unique, its order is not the fields'. */
#define WEFT_EACH_(do_, ...) \
	WEFT_EACH2_(WEFT_JOIN_(WEFT_EACH_, WEFT_NR_(__VA_ARGS__)), do_, __VA_ARGS__)
#define WEFT_EACH2_(each, do_, ...) WEFT_EACH3_(each, do_, __VA_ARGS__)
#define WEFT_EACH3_(each, do_, name, ...) each(do_, __VA_ARGS__)
#define WEFT_EACH_0(do_, ...)
#define WEFT_EACH_1(do_, x) do_(1, x)
#define WEFT_EACH_2(do_, x, ...) do_(2, x) WEFT_EACH_1(do_, __VA_ARGS__)
#define WEFT_EACH_3(do_, x, ...) do_(3, x) WEFT_EACH_2(do_, __VA_ARGS__)
#define WEFT_EACH_4(do_, x, ...) do_(4, x) WEFT_EACH_3(do_, __VA_ARGS__)
#define WEFT_EACH_5(do_, x, ...) do_(5, x) WEFT_EACH_4(do_, __VA_ARGS__)
#define WEFT_EACH_6(do_, x, ...) do_(6, x) WEFT_EACH_5(do_, __VA_ARGS__)
#define WEFT_EACH_7(do_, x, ...) do_(7, x) WEFT_EACH_6(do_, __VA_ARGS__)
#define WEFT_EACH_8(do_, x, ...) do_(8, x) WEFT_EACH_7(do_, __VA_ARGS__)
#define WEFT_EACH_9(do_, x, ...) do_(9, x) WEFT_EACH_8(do_, __VA_ARGS__)
#define WEFT_EACH_10(do_, x, ...) do_(10, x) WEFT_EACH_9(do_, __VA_ARGS__)
#define WEFT_EACH_11(do_, x, ...) do_(11, x) WEFT_EACH_10(do_, __VA_ARGS__)
#define WEFT_EACH_12(do_, x, ...) do_(12, x) WEFT_EACH_11(do_, __VA_ARGS__)
#define WEFT_EACH_13(do_, x, ...) do_(13, x) WEFT_EACH_12(do_, __VA_ARGS__)
#define WEFT_EACH_14(do_, x, ...) do_(14, x) WEFT_EACH_13(do_, __VA_ARGS__)
#define WEFT_EACH_15(do_, x, ...) do_(15, x) WEFT_EACH_14(do_, __VA_ARGS__)
#define WEFT_EACH_16(do_, x, ...) do_(16, x) WEFT_EACH_15(do_, __VA_ARGS__)

#ifdef __cplusplus
namespace weft_marker
{
template <typename T> T &&some(); /* never called */
template <typename...> struct make_void {
	typedef void type;
};

/* What is declared beside T, as it is found from a call of it. */
template <typename T, typename = void> struct is_told : std::false_type {
};
template <typename T>
struct is_told<T, typename make_void<decltype(marker_value(some<const T &>()))>::type>
    : std::integral_constant<bool, std::is_class<T>::value || std::is_union<T>::value ||
					   std::is_enum<T>::value> {
};

template <typename T, typename = void> struct is_text : std::false_type {
};
template <typename T>
struct is_text<T, typename make_void<decltype(some<const T &>().data()),
				     decltype(some<const T &>().size())>::type>
    : std::integral_constant<
	      bool, std::is_convertible<decltype(some<const T &>().data()), const char *>::value &&
			    std::is_integral<decltype(some<const T &>().size())>::value> {
};

/* A text that has no NUL at its end, or will be gone: as much of it as shows that it is longer than
 * what is recorded. */
struct text {
	const char *begin; /* first: this is what is recorded */
	char bytes[257];

	template <typename T> explicit text(const T &from) : begin(bytes)
	{
		std::size_t size = static_cast<std::size_t>(from.size());

		if (size >= sizeof(bytes))
			size = sizeof(bytes) - 1;
		if (size)
			__builtin_memcpy(bytes, from.data(), size);
		bytes[size] = 0;
	}
	text(const text &other) : begin(bytes)
	{
		__builtin_memcpy(bytes, other.bytes, sizeof(bytes));
	}
	text &operator=(const text &) = delete;
};

/* std::atomic and its like. */
template <typename T, typename = void> struct is_atomic : std::false_type {
};
template <typename T>
struct is_atomic<T, typename make_void<decltype(some<const T &>().load()),
				       decltype(some<const T &>().is_lock_free())>::type>
    : std::true_type {
};

/* std::chrono::duration, and std::chrono::time_point. */
template <typename T, typename = void> struct is_duration : std::false_type {
};
template <typename T>
struct is_duration<T, typename make_void<typename T::rep, typename T::period,
					 decltype(some<const T &>().count())>::type>
    : std::true_type {
};
template <typename T, typename = void> struct is_time : std::false_type {
};
template <typename T>
struct is_time<T, typename make_void<typename T::clock, typename T::duration,
				     decltype(some<const T &>().time_since_epoch())>::type>
    : std::true_type {
};

/* Nanoseconds. */
struct ns {
	int64_t kept; /* alone: this is what is recorded */

	template <typename T, typename std::enable_if<is_duration<T>::value, int>::type = 0>
	explicit ns(const T &from) : kept(of(from.count(), T::period::num, T::period::den))
	{
	}
	template <typename T, typename std::enable_if<is_time<T>::value, int>::type = 0>
	explicit ns(const T &from) : kept(ns(from.time_since_epoch()).kept)
	{
	}

      private:
	template <typename T> static int64_t of(T count, int64_t num, int64_t den)
	{
		int64_t whole = static_cast<int64_t>(count) / den * den;
		double rest = static_cast<double>(count - static_cast<T>(whole));

		return whole / den * num * 1000000000 +
		       static_cast<int64_t>(rest * static_cast<double>(num) * 1e9 /
					    static_cast<double>(den));
	}
};

/* MARKER_DUE()'s. */
template <typename T> uint64_t due_of(const T &at, std::true_type)
{
	static_assert(T::clock::is_steady, "MARKER_DUE takes a time of std::chrono::steady_clock");
	return static_cast<uint64_t>(ns(at).kept);
}
template <typename T> uint64_t due_of(const T &at, std::false_type)
{
	return static_cast<uint64_t>(at);
}
template <typename T> uint64_t due(const T &at)
{
	return due_of(at, typename is_time<T>::type());
}

/* MARKER_BYTES()'s. */
struct bytes {
	const weft_marker_bytes *begin; /* first: as in C this is what is recorded */
	weft_marker_bytes kept;

	template <typename N>
	bytes(const void *data, N size) : begin(&kept), kept{data, static_cast<uint32_t>(size)}
	{
	}
	bytes(const bytes &other) : begin(&kept), kept(other.kept)
	{
	}
	bytes &operator=(const bytes &) = delete;
};

/* The type in which a field of type T is kept, and its code. */
struct unknown {
	template <typename T> explicit unknown(const T &)
	{
	}
};
template <typename T, typename = void> struct value {
	static_assert(sizeof(T) == 0, "a marker's field is a number, an enumeration, a pointer, a "
				      "string, a duration, or of a type that has a marker_value()");
	typedef unknown type; /* the compiler need not say more */
	enum { code = WEFT_MARKER_UINT | 1 };
};
template <typename T> using value_of = value<typename std::decay<T>::type>;
template <typename T>
struct value<T, typename std::enable_if<std::is_integral<T>::value && sizeof(T) <= 8>::type> {
	typedef T type;
	enum {
		code = ((std::is_signed<T>::value ? WEFT_MARKER_INT : WEFT_MARKER_UINT) |
			int(sizeof(T)))
	};
};
template <typename T>
struct value<T, typename std::enable_if<std::is_enum<T>::value && !is_told<T>::value>::type>
    : value<typename std::underlying_type<T>::type> {
};
template <> struct value<float> {
	typedef float type;
	enum { code = WEFT_MARKER_FLOAT | 4 };
};
template <> struct value<double> {
	typedef double type;
	enum { code = WEFT_MARKER_FLOAT | 8 };
};
template <> struct value<long double> : value<double> {
};
template <typename T> struct value<T *> {
	typedef T *type;
	enum { code = WEFT_MARKER_HEX | WEFT_MARKER_UINT | int(sizeof(T *)) };
};
template <> struct value<char *> {
	typedef const char *type;
	enum { code = WEFT_MARKER_STRING };
};
template <> struct value<const char *> : value<char *> {
};
template <> struct value<std::nullptr_t> : value<const void *> {
};
template <> struct value<bytes> {
	typedef bytes type;
	enum { code = WEFT_MARKER_BYTES_CODE };
};
template <typename T>
struct value<T, typename std::enable_if<is_text<T>::value && !is_told<T>::value>::type> {
	typedef text type;
	enum { code = WEFT_MARKER_STRING };
};

template <typename T>
struct value<T, typename std::enable_if<(is_duration<T>::value || is_time<T>::value) &&
					!is_told<T>::value>::type> {
	typedef ns type;
	enum { code = WEFT_MARKER_INT | 8 };
};

/* What an atomic holds. */
template <typename T> struct loaded {
	typedef value_of<decltype(some<const T &>().load())> inner;
	typename inner::type kept; /* alone: this is what is recorded */

	explicit loaded(const T &from) : kept(static_cast<typename inner::type>(from.load()))
	{
	}
};
template <typename T>
struct value<T, typename std::enable_if<is_atomic<T>::value && !is_told<T>::value>::type> {
	typedef loaded<T> type;
	enum { code = loaded<T>::inner::code };
};

/* Of a type that has a marker_value(). */
template <typename T> struct told {
	typedef value_of<decltype(marker_value(some<const T &>()))> inner;
	typename inner::type kept; /* alone: this is what is recorded */

	explicit told(const T &from) : kept(static_cast<typename inner::type>(marker_value(from)))
	{
	}
};
template <typename T> struct value<T, typename std::enable_if<is_told<T>::value>::type> {
	typedef told<T> type;
	enum { code = told<T>::inner::code };
};
} // namespace weft_marker
#define WEFT_CODE_(x) int(::weft_marker::value_of<decltype((x))>::code)

#define WEFT_INLINE_ inline __attribute__((always_inline))
#define WEFT_ASSERT_ static_assert
extern "C" {
#else
#define WEFT_ASSERT_ _Static_assert
/* gnu_inline: usable from the inline functions of other headers, and never emitted by itself. */
#define WEFT_INLINE_ extern __inline__ __attribute__((gnu_inline, always_inline))
#endif

/* Not there: only its format is checked, in code that is never reached. */
void weft_marker_format_(const char *format, ...) __attribute__((format(printf, 1, 2)));

#ifdef MARKER_OFF

WEFT_INLINE_ void weft_marker_use_(int nothing, ...)
{
	(void)nothing;
}

/* Checked like a call's arguments, never evaluated. */
#ifdef __cplusplus
#define WEFT_OFF_ARG_(i, x) , ((void)(x), WEFT_CODE_(x))
#else
#define WEFT_OFF_ARG_(i, x) , (x)
#endif
#define WEFT_EVENT_(kind, n, provider, text, ...)                                     \
	do {                                                                          \
		if (0)                                                                \
			weft_marker_use_(0 WEFT_EACH_(WEFT_OFF_ARG_, __VA_ARGS__));   \
	} while (0)
#define WEFT_EVENT2_(kind, n, provider, text, format, ...) \
	WEFT_EVENT_(kind, n, provider, text, __VA_ARGS__)
#define WEFT_SCOPE_(n, provider, text, ...) WEFT_EVENT_(0, n, provider, text, __VA_ARGS__)
#define WEFT_THREAD_(n, name)             \
	do {                              \
		if (0)                    \
			(void)*(name);    \
	} while (0)
#define WEFT_ENABLED_(n, provider, name) 0

#else /* !MARKER_OFF */

/* One of each in every program or library with markers; libmarker finds them through the notes.
 * The page has its memory page to itself: consumerd's page is mapped over it. */
__attribute__((weak, visibility("hidden"), used,
	       aligned(WEFT_MARKER_PAGE_SIZE))) uint32_t
	weft_marker_page_v1[WEFT_MARKER_PAGE_SIZE / sizeof(uint32_t)];
__attribute__((weak, visibility("hidden"), used)) struct weft_marker_calls weft_marker_calls_v1;

/* libmarker's entry; absent, 0. @is_gone: the object at @page is being unloaded. */
extern void weft_marker_object_v1(void *page, int is_gone)
	__attribute__((weak, visibility("default")));

/* For objects that dlopen() brings; the others are found without it. */
__attribute__((constructor, used)) static void weft_marker_attach_(void)
{
	if (weft_marker_object_v1)
		weft_marker_object_v1(weft_marker_page_v1, 0);
}
__attribute__((destructor, used)) static void weft_marker_detach_(void)
{
	if (weft_marker_object_v1)
		weft_marker_object_v1(weft_marker_page_v1, 1);
}

/* Relaxed: what the generation promises is read by libmarker, with acquire. */
WEFT_INLINE_ uint32_t weft_marker_generation_(void)
{
	return __atomic_load_n(&weft_marker_page_v1[0], __ATOMIC_RELAXED);
}

/* Asked before the fields are evaluated; libmarker answers once per place and generation. */
WEFT_INLINE_ int weft_marker_is_wanted_(struct weft_marker_place *place, uint32_t generation)
{
	/* Acquire pairs with the release in libmarker's decide(): the class before the word. */
	if (__builtin_expect(__atomic_load_n(&place->on_generation, __ATOMIC_ACQUIRE) ==
				     generation,
			     1))
		return 1;
	/* Relaxed: a stale answer costs one call into libmarker. */
	if (__atomic_load_n(&place->off_generation, __ATOMIC_RELAXED) == generation)
		return 0;
	return weft_marker_calls_v1.is_enabled(place, generation);
}

/* Release pairs with consumerd's acquire: the payload before its position, that before "not
 * writing". */
WEFT_INLINE_ void weft_marker_commit_(struct weft_marker_lane *lane, uint32_t size)
{
	uint64_t pos = __atomic_load_n(&lane->write_pos, __ATOMIC_RELAXED);

	__atomic_store_n(&lane->write_pos, pos + ((16 + (uint64_t)size + 7) & ~(uint64_t)7),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&lane->writing, 0, __ATOMIC_RELEASE);
}

/* Bytes of one field; @code is a constant, so that one arm remains. */
WEFT_INLINE_ uint32_t weft_marker_measure_(int code, const void *value)
{
	const struct weft_marker_bytes *bytes;
	const char *text;

	if ((code & 0x70) == WEFT_MARKER_BYTES_CODE) {
		__builtin_memcpy(&bytes, value, sizeof(bytes));
		if (!bytes || !bytes->data)
			return 0;
		return bytes->size > WEFT_MARKER_MAX_BYTES ? WEFT_MARKER_MAX_BYTES : bytes->size;
	}
	if ((code & 0x70) != WEFT_MARKER_STRING)
		return 0;
	__builtin_memcpy(&text, value, sizeof(text));
	return weft_marker_calls_v1.measure(text);
}

WEFT_INLINE_ char *weft_marker_put_(char *payload, int code, const void *value, uint32_t length)
{
	const struct weft_marker_bytes *bytes;
	const char *text;

	if ((code & 0x70) == WEFT_MARKER_BYTES_CODE) {
		__builtin_memcpy(&bytes, value, sizeof(bytes));
		payload[0] = (char)length;
		payload[1] = 0;
		if (length)
			__builtin_memcpy(payload + 2, bytes->data, length);
		return payload + 2 + length;
	}
	if ((code & 0x70) != WEFT_MARKER_STRING) {
		/* Little-endian: the value's first bytes are its low ones. */
		__builtin_memcpy(payload, value, code & 15);
		return payload + (code & 15);
	}
	__builtin_memcpy(&text, value, sizeof(text));
	return weft_marker_calls_v1.copy(payload, text, length);
}

/* What a scope's end needs. */
struct weft_marker_scope {
	struct weft_marker_place *end; /* NULL: it was not wanted when it began */
#ifdef __cplusplus
	~weft_marker_scope();
#endif
};

WEFT_INLINE_ void weft_marker_scope_end_(struct weft_marker_scope *scope)
{
	struct weft_marker_slot slot;
	uint32_t generation;

	if (__builtin_expect(!scope->end, 1))
		return;
	generation = weft_marker_generation_();
	if (!generation || !weft_marker_is_wanted_(scope->end, generation))
		return;
	slot = weft_marker_calls_v1.reserve(scope->end, 0, generation);
	if (slot.payload)
		weft_marker_commit_(slot.lane, 0);
}

#ifdef __cplusplus
} /* extern "C" */

inline weft_marker_scope::~weft_marker_scope()
{
	weft_marker_scope_end_(this);
}

#define WEFT_TEMP_(i, x)                                                     \
	typename ::weft_marker::value_of<decltype((x))>::type weft_v##i##_ = \
		static_cast<typename ::weft_marker::value_of<decltype((x))>::type>(x);
#define WEFT_SCOPE_CLEANUP_

#else /* C */

/* Selections that are not taken must compile for any field: 1 ? x : x has the promoted, decayed
 * type, also of a bit-field, whose own type typeof() refuses. */
#define WEFT_PLAIN_(x) (1 ? (x) : (x))
#define WEFT_IS_POINTER_(x) (__builtin_classify_type(WEFT_PLAIN_(x)) == 5)
#define WEFT_NUMBER_(x) __builtin_choose_expr(WEFT_IS_POINTER_(x), 0L, WEFT_PLAIN_(x))
#define WEFT_CODE_WIDE_(x)                                                                   \
	(WEFT_IS_POINTER_(x)                                                                 \
		 ? WEFT_MARKER_HEX | WEFT_MARKER_UINT | (int)sizeof(WEFT_PLAIN_(x))          \
		 : ((__typeof__(WEFT_NUMBER_(x)))-1 < 1 ? WEFT_MARKER_INT : WEFT_MARKER_UINT) | \
			   (int)sizeof(WEFT_PLAIN_(x)))
#define WEFT_CODE_PROMOTED_(x)                                                        \
	_Generic(WEFT_PLAIN_(x),                                                      \
		int: WEFT_MARKER_INT | 4,                                             \
		unsigned: WEFT_MARKER_UINT | 4,                                       \
		default: WEFT_CODE_WIDE_(x))
#define WEFT_CODE_(x) \
	_Generic((x),                                                                   \
		_Bool: WEFT_MARKER_UINT | 1,                                            \
		char: (((char)-1 < 0) ? WEFT_MARKER_INT : WEFT_MARKER_UINT) | 1,        \
		signed char: WEFT_MARKER_INT | 1,                                       \
		unsigned char: WEFT_MARKER_UINT | 1,                                    \
		short: WEFT_MARKER_INT | 2,                                             \
		unsigned short: WEFT_MARKER_UINT | 2,                                   \
		int: WEFT_MARKER_INT | 4,                                               \
		unsigned: WEFT_MARKER_UINT | 4,                                         \
		long: WEFT_MARKER_INT | (int)sizeof(long),                              \
		unsigned long: WEFT_MARKER_UINT | (int)sizeof(long),                    \
		long long: WEFT_MARKER_INT | 8,                                         \
		unsigned long long: WEFT_MARKER_UINT | 8,                               \
		float: WEFT_MARKER_FLOAT | 4,                                           \
		double: WEFT_MARKER_FLOAT | 8,                                          \
		long double: WEFT_MARKER_FLOAT | 8,                                     \
		char *: WEFT_MARKER_STRING,                                             \
		const char *: WEFT_MARKER_STRING,                                       \
		const struct weft_marker_bytes *: WEFT_MARKER_BYTES_CODE,                       \
		default: WEFT_CODE_PROMOTED_(x))
#define WEFT_TEMP_(i, x)                                                                   \
	__typeof__(_Generic((x), _Bool: (_Bool)0, long double: 0.0, default: WEFT_PLAIN_(x))) \
		weft_v##i##_ = (__typeof__(weft_v##i##_))(x);
#define WEFT_SCOPE_CLEANUP_ __attribute__((cleanup(weft_marker_scope_end_)))

#endif /* C */

#if defined(__x86_64__)
#define WEFT_ADDRESS_(label) "leaq " label "(%%rip), %[weft_place]\n"
#elif defined(__aarch64__)
#define WEFT_ADDRESS_(label)                  \
	"adrp %[weft_place], " label "\n"     \
	"add %[weft_place], %[weft_place], :lo12:" label "\n"
#endif

/*
 * The text goes in a statement without operands, for it may hold percent signs; the place follows
 * in the next one and refers to the nearest text above it. Both are volatile and stand together in
 * one block; should a compiler ever part them, the assembler refuses the file rather than mix up
 * two markers. The numbers also keep two places from being merged into one.
 *
 * Section flag "?": in the group of the function, so that of a template or an inline function the
 * linker keeps one set of everything.
 */
#define WEFT_PLACE_(var, kind, n, provider, text, ...) \
	WEFT_PLACE2_(var, kind, n, provider, text, "", __VA_ARGS__)
#define WEFT_FORMAT_(format) ".asciz " #format "\n"
#define WEFT_PLACE2_(var, kind, n, provider, text, more, ...)                             \
	__asm__ volatile(".set .Lweft_text, " WEFT_TEXT_(n) "\n"                          \
			 ".pushsection .rodata.weft,\"a\",%progbits\n"                    \
			 "990: .asciz " #provider "\n"                                    \
			 ".asciz " #text "\n" more                                        \
			 ".popsection\n");                                                \
	__asm__ volatile(".ifne .Lweft_text - " WEFT_TEXT_(n) "\n"                        \
			 ".error \"a marker was parted from its text\"\n"                 \
			 ".endif\n"                                                       \
			 ".pushsection .data.weft,\"aw?\",%%progbits\n"                   \
			 ".balign 16\n"                                                   \
			 "991: .long 0, 0, 0, 992f - .\n"                                 \
			 ".popsection\n"                                                  \
			 ".pushsection .note.weft,\"a?\",%%note\n"                        \
			 ".balign 4\n"                                                    \
			 ".long 5, 994f - 993f, 1\n"                                      \
			 ".asciz \"weft\"\n"                                              \
			 ".balign 4\n"                                                    \
			 "992:\n"                                                         \
			 "993: .long 990b - ., 991b - .\n"                                \
			 ".long weft_marker_page_v1 - ., weft_marker_calls_v1 - .\n"      \
			 ".byte %c[weft_kind], %c[weft_level], %c[weft_nr], 0\n"          \
			 WEFT_EACH_(WEFT_CODE_BYTE_, __VA_ARGS__)                         \
			 "994: .balign 4\n"                                               \
			 ".popsection\n"                                                  \
			 WEFT_ADDRESS_("991b")                                            \
			 : [weft_place] "=r"(var)                                         \
			 : [weft_kind] "i"(WEFT_KIND_(kind)),                             \
			   [weft_level] "i"(WEFT_LEVEL_(kind)),                           \
			   [weft_nr] "i"(WEFT_NR_(__VA_ARGS__))                           \
			   WEFT_EACH_(WEFT_CODE_OPERAND_, __VA_ARGS__))
#define WEFT_CODE_BYTE_(i, x) ".byte %c[weft_c" #i "]\n"
#define WEFT_CODE_OPERAND_(i, x) , [weft_c##i] "i"(WEFT_CODE_(x))

#define WEFT_LENGTH_(i, x) \
	const uint32_t weft_l##i##_ = weft_marker_measure_(WEFT_CODE_(x), &weft_v##i##_);
#define WEFT_SIZE_(i, x)                                                        \
	+((WEFT_CODE_(x) & 0x70) == WEFT_MARKER_STRING	     ? weft_l##i##_ + 1 \
	  : (WEFT_CODE_(x) & 0x70) == WEFT_MARKER_BYTES_CODE ? weft_l##i##_ + 2 \
							     : (uint32_t)(WEFT_CODE_(x) & 15))
#define WEFT_PUT_(i, x)                                                                     \
	weft_payload_ = weft_marker_put_(weft_payload_, WEFT_CODE_(x), &weft_v##i##_, \
					 weft_l##i##_);

/* Evaluates the fields, asks for room, writes them, commits. */
#define WEFT_RECORD_(place, generation, ...)                                                \
	do {                                                                                \
		WEFT_EACH_(WEFT_TEMP_, __VA_ARGS__)                                         \
		WEFT_EACH_(WEFT_LENGTH_, __VA_ARGS__)                                       \
		const uint32_t weft_size_ = 0 WEFT_EACH_(WEFT_SIZE_, __VA_ARGS__);          \
		struct weft_marker_slot weft_slot_ =                                        \
			weft_marker_calls_v1.reserve(place, weft_size_, generation);        \
		char *weft_payload_ = weft_slot_.payload;                                   \
		if (__builtin_expect(weft_payload_ != 0, 1)) {                              \
			WEFT_EACH_(WEFT_PUT_, __VA_ARGS__)                                  \
			weft_marker_commit_(weft_slot_.lane, weft_size_);                   \
		}                                                                           \
	} while (0)

#define WEFT_EVENT_(kind, n, provider, text, ...) \
	WEFT_EVENT3_(kind, n, provider, text, "", __VA_ARGS__)
#define WEFT_EVENT2_(kind, n, provider, text, format, ...) \
	WEFT_EVENT3_(kind, n, provider, text, WEFT_FORMAT_(format), __VA_ARGS__)
#define WEFT_EVENT3_(kind, n, provider, text, more, ...)                                    \
	do {                                                                                \
		const uint32_t weft_generation_ = weft_marker_generation_();                \
		if (__builtin_expect(weft_generation_ != 0, 0)) {                           \
			struct weft_marker_place *weft_place_;                              \
			WEFT_PLACE2_(weft_place_, kind, n, provider, text, more,            \
				     __VA_ARGS__);                                          \
			if (weft_marker_is_wanted_(weft_place_, weft_generation_))            \
				WEFT_RECORD_(weft_place_, weft_generation_, __VA_ARGS__);   \
		}                                                                           \
	} while (0)

#define WEFT_SCOPE_(n, provider, text, ...) WEFT_SCOPE2_(n, provider, text, __VA_ARGS__)
#define WEFT_SCOPE2_(n, provider, text, ...)                                                \
	WEFT_SCOPE_CLEANUP_ struct weft_marker_scope weft_scope_##n##_ = {0};               \
	do {                                                                                \
		const uint32_t weft_generation_ = weft_marker_generation_();                \
		if (__builtin_expect(weft_generation_ != 0, 0)) {                           \
			struct weft_marker_place *weft_place_, *weft_end_;                  \
			WEFT_PLACE_(weft_place_, WEFT_MARKER_BEGIN_KIND, n, provider, text, \
				    __VA_ARGS__);                                           \
			WEFT_PLACE_(weft_end_, WEFT_MARKER_END_KIND, n, provider, text, 0); \
			/* A field that throws: it has not begun. */                        \
			if (weft_marker_is_wanted_(weft_place_, weft_generation_)) {        \
				WEFT_RECORD_(weft_place_, weft_generation_, __VA_ARGS__);   \
				weft_scope_##n##_.end = weft_end_;                          \
			}                                                                   \
		}                                                                           \
	} while (0)

#define WEFT_THREAD_(n, name)                                                               \
	do {                                                                                \
		struct weft_marker_place *weft_place_;                                      \
		WEFT_PLACE_(weft_place_, WEFT_MARKER_THREAD_KIND, n, "weft", "name", 0,     \
			    (const char *)0);                                               \
		if (weft_marker_calls_v1.thread)                                            \
			weft_marker_calls_v1.thread(weft_place_, name);                     \
	} while (0)

#define WEFT_ENABLED_(n, provider, name)                                                    \
	(__extension__({                                                                    \
		const uint32_t weft_generation_ = weft_marker_generation_();                \
		int weft_is_enabled_ = 0;                                                   \
		if (__builtin_expect(weft_generation_ != 0, 0)) {                           \
			struct weft_marker_place *weft_place_;                              \
			WEFT_PLACE_(weft_place_, WEFT_MARKER_ENABLED_KIND, n, provider,     \
				    name, 0);                                               \
			weft_is_enabled_ =                                                  \
				weft_marker_is_wanted_(weft_place_, weft_generation_);      \
		}                                                                           \
		weft_is_enabled_;                                                           \
	}))

#endif /* !MARKER_OFF */

#if defined(__cplusplus) && defined(MARKER_OFF)
} /* extern "C" */
#endif

#endif /* !WEFT_MARKER_ABI_ONLY */
#endif
