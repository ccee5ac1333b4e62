/* SPDX-License-Identifier: MIT */
/*
 * marker-types.c - every type and name a marker takes, once; C and C++, for marker-types.sh,
 * which knows what must come out. Exits 0 when nothing was evaluated that should not be, and errno
 * stayed what it was.
 */
#include <marker/marker.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct frame {
	long pts;
	unsigned small : 5;
	unsigned long long wide : 40;
	long long negative : 40;
	bool is_key;
	char name[16];
	struct frame *next;
};
enum color { RED, GREEN = 7 };

static int evaluated;

static int evaluate(void)
{
	errno = 77; /* a field's own business, but not the marker's */
	return ++evaluated;
}

/* In a header this would be in every file: its notes must not clash. */
static inline void inline_function(int value)
{
	MARKER(types, in_inline, value);
}

#ifdef __cplusplus
template <typename T> void in_template(T value)
{
	MARKER(types, in_template, value);
	{
		MARKER_SCOPE(types, template_scope, value);
	}
}
enum class scoped : unsigned char { ONE = 1 };
inline void marker_types_shared(int value)
{
	MARKER(types, in_shared, value);
}
#endif
void other_file(void);

static void integers(void)
{
	signed char s8 = -8;
	unsigned char u8 = 200;
	short s16 = -1600;
	unsigned short u16 = 60000;
	int s32 = INT_MIN;
	unsigned u32 = UINT_MAX;
	long long s64 = LLONG_MIN;
	unsigned long long u64 = ULLONG_MAX;
	bool yes = true;
	enum color color = GREEN;
	const volatile int fixed = 5;

	MARKER(types, integers, s8, u8, s16, u16, s32, u32, s64, u64, yes, color, fixed);
}

static void others(struct frame *frame)
{
	float f32 = 1.5f;
	double f64 = -2.25;
	long double f80 = 4.5L;
	const char *nothing = NULL;
	const char *empty = "";
	enum color color = GREEN;
	void *pointer = (void *)0x1234;
	char longest[256], longer[300];

	memset(longest, 'a', 255);
	longest[255] = '\0';
	memset(longer, 'b', 299);
	longer[299] = '\0';
	/* A character of two bytes across the place where it is cut. */
	memcpy(longer + 251, "\xc3\xa4", 2);
	MARKER(types, floats, f32, f64, f80);
	MARKER(types, strings, nothing, empty, frame->name, MARKER_FIELD(literal, "100%d, (\"x\")"));
	MARKER(types, longest, longest);
	MARKER(types, longer, longer);
	MARKER(types, pointers, pointer, MARKER_FIELD(null, (void *)0));
	MARKER(types, bytes, MARKER_BYTES(frame->name, 4),
	       MARKER_FIELD(none, MARKER_BYTES(NULL, 9)),
	       MARKER_FIELD(most, WEFT_MARKER_BYTES(longer, 299)), frame->is_key);
	MARKER(types, said, MARKER_BOOL(frame->pts), MARKER_ENUM(color),
	       MARKER_FIELD(literal, MARKER_LIT("text")));
	MARKER(types, bits, frame->wide, frame->negative, frame->is_key);
	MARKER(types, small_bits, MARKER_FIELD(small, (unsigned)frame->small));
}

static void names(struct frame *frame, int argument)
{
	struct frame local = *frame;

	MARKER(linux, unix, MARKER_FIELD(errno, 3), frame->pts, local.next->pts,
	       MARKER_FIELD(sum, frame->pts + 1), argument % 4, WEFT_MARKER_FIELD(last, 9));
	WEFT_MARKER(types, long_name);
}

static void scopes(int frames)
{
	MARKER_BEGIN(types, by_hand, frames);
	MARKER_END(types, by_hand, MARKER_FIELD(ret, -1));
	{
		MARKER_SCOPE(types, outer, MARKER_DUE(123456789), frames);
		{
			MARKER_SCOPE(types, inner, MARKER_FLOW(packet, frames));
			MARKER_RESULT(frames, MARKER_FIELD(twice, frames * 2));
		}
		for (int i = 0; i < 2; i++) {
			MARKER_SCOPE(types, loop, i);
			if (i == 0)
				continue;
		}
	}
	MARKER(types, flow, MARKER_FLOW_GLOBAL(x11, frames, 8));
}

static void kinds(struct frame *frame, int number)
{
	unsigned long long id = 1ULL << 40;

	MARKER_ASYNC_BEGIN(types, span, id, number);
	WEFT_MARKER_ASYNC_END(types, span, id, MARKER_FIELD(ret, 0));
	MARKER_ASYNC_BEGIN(types, pointer_span, (void *)0x1234);
	MARKER_COUNTER(types, depth, frame->pts);
	WEFT_MARKER_COUNTER(types, load, 0.5);
	MARKER_FRAME(types, video, number, MARKER_DUE(5));
	WEFT_MARKER_FRAME(types, audio, MARKER_FIELD(period, number));
	MARKER_AT(MARKER_LEVEL_DEBUG, types, detail, number);
	WEFT_MARKER_AT(WEFT_MARKER_LEVEL_ERR, types, failure);
#undef MARKER_LEVEL
#define MARKER_LEVEL MARKER_LEVEL_WARNING
	MARKER(types, warned, number);
#undef MARKER_LEVEL
#define MARKER_LEVEL MARKER_LEVEL_INFO
	MARKER_LOG(types,
		   "%d of %s: 100%%, \""
		   "%" PRIu64 "\"\n",
		   number, frame->name, (uint64_t)id);
	MARKER_LOG_AT(MARKER_LEVEL_ERR, types, "no arguments");
	WEFT_MARKER_LOG(types, "%c %g", 'x', 0.5);
	WEFT_MARKER(types, flow2, WEFT_MARKER_FLOW_GLOBAL(x11, 3, 9), number);
}

int main(void)
{
	struct frame next = {8, 0, 0, 0, false, "next", NULL};
	struct frame frame = {98112, 17, 1ULL << 39, -3, true, "comm-of-16-byte", &next};
	int bad = 0;

	MARKER_THREAD("types");
	integers();
	others(&frame);
	names(&frame, 7);
	scopes(3);
	kinds(&frame, 3);
	inline_function(1);
	inline_function(2);
	other_file();
#ifdef __cplusplus
	in_template(4);
	in_template("four");
	in_template(scoped::ONE);
	marker_types_shared(5);
#endif
	errno = 5;
	MARKER(types, keeps_errno, MARKER_FIELD(five, 5));
	bad |= errno != 5 ? 1 : 0;
	/* The test excludes these by pattern. */
	MARKER(unwanted, event, MARKER_FIELD(never, evaluate()));
	{
		MARKER_SCOPE(unwanted, scope, MARKER_FIELD(never, evaluate()));
	}
	bad |= evaluated || errno != 5 ? 2 : 0;
	MARKER(types, evaluated, MARKER_FIELD(once, evaluate()));
	bad |= evaluated > 1 ? 4 : 0;
	bad |= MARKER_ENABLED(unwanted, event) ? 8 : 0;
	if (MARKER_ENABLED(types, enabled))
		MARKER(types, enabled);
	return bad;
}
