/* SPDX-License-Identifier: MIT */
/*
 * model.h - what every layer meets at: event classes, their fields, and one event.
 *
 * An event's payload has one form everywhere, in a ring, in memory and on disk: the fields of its
 * class one after the other, little-endian, without padding:
 *
 *	FIELD_UINT, FIELD_INT, FIELD_FLOAT   field->size bytes
 *	FIELD_STRING                         bytes up to and including a NUL
 *	FIELD_BYTES                          u16 length, then that many bytes
 */
#ifndef TRACE_MODEL_H
#define TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_domain {
	TRACE_KERNEL, /* one stream per CPU and instance; TRACE/kernel/ */
	TRACE_USER,   /* markers; TRACE/user/ */
	TRACE_NR_DOMAINS,
};

enum trace_field_type {
	FIELD_UINT = 1, /* size 1, 2, 3, 4, 8 */
	FIELD_INT,	/* size 1, 2, 3, 4, 8 */
	FIELD_FLOAT,	/* size 4, 8 */
	FIELD_STRING,	/* size 0 */
	FIELD_BYTES,	/* size 0; at most 65535 bytes */
};

/* What a field means to weft; kept in the metadata (FORMAT.md, "Event classes"). */
enum trace_field_role {
	ROLE_NONE,
	ROLE_FLOW,	  /* the key of a flow named as the field, within one process */
	ROLE_FLOW_GLOBAL, /* the same, across processes; two fields of one name: base, then sequence
			   */
	ROLE_DUE,	  /* when it should have happened: ns of CLOCK_MONOTONIC */
	ROLE_ID,	  /* the id of an asynchronous span */
};

enum trace_event_kind {
	EVENT_INSTANT,
	EVENT_BEGIN,  /* of a scope of this thread; class name "provider:name:begin" */
	EVENT_END,    /* its end; "provider:name:end" */
	EVENT_RESULT, /* fields added to the innermost open scope of the thread; "weft:result" */
	EVENT_ASYNC_BEGIN, /* "provider:name:async_begin" */
	EVENT_ASYNC_END,
	EVENT_COUNTER,
	EVENT_FRAME,
	EVENT_LOG,
	EVENT_THREAD, /* the thread names itself; "weft:thread", one string field "name" */
};

enum { FIELD_NR_ROLES = ROLE_ID + 1, EVENT_NR_KINDS = EVENT_THREAD + 1 };

/* Their words by number, in metadata, scripts and listings. */
extern const char *const field_role_names[FIELD_NR_ROLES];
extern const char *const event_kind_names[EVENT_NR_KINDS];

struct trace_field {
	char *name;
	enum trace_field_type type;
	uint8_t size;	/* bytes, 0 for strings and bytes */
	uint8_t base;	/* 10 or 16: how to print an integer */
	uint8_t role;	/* enum trace_field_role */
	int32_t offset; /* from the payload's start; -1 behind a string or bytes, where it varies */
};

struct trace_event_class {
	char *name; /* "player:shown", "player:decode:begin", "sched_switch" */
	enum trace_domain domain;
	enum trace_event_kind kind;
	uint8_t level; /* syslog's, 0 to 7; markers have 6 unless they say else; kernel 6 */
	uint32_t id;   /* unique among the classes of its domain in one trace; set by who adds it
			  there */
	uint32_t nr_fields;
	struct trace_field *fields;
	char *format;	    /* of a message, as printf() takes it; NULL: none */
	uint32_t min_size;  /* bytes of the shortest payload; set by event_class_finish() */
	bool is_fixed_size; /* no string and no bytes: each payload is as long; likewise */
	void *user;	    /* of whoever owns the class; NULL at first */
};

/* One value of a payload. Text borrows the payload's bytes. */
struct trace_value {
	enum trace_field_type type;
	union {
		uint64_t u;
		int64_t i;
		double f;
		struct {
			const char *text; /* strings: NUL-terminated; bytes: not */
			uint32_t size;	  /* bytes, without the NUL */
		};
	};
};

/* Set in trace_event.context: what the CPU was doing when a kernel event was recorded, as ftrace's
 * common_flags tell it. Zero for markers. */
#define CONTEXT_HARDIRQ 0x08u
#define CONTEXT_SOFTIRQ 0x10u

/*
 * One event, on its way to disk or back. On the way in, stamp is in ticks of the source's clock
 * (trace/clock.h); a reader delivers ns of CLOCK_MONOTONIC.
 */
struct trace_event {
	uint64_t stamp;
	const struct trace_event_class *class; /* borrowed */
	const uint8_t *payload;		       /* borrowed until the next event */
	uint32_t payload_size;
	int32_t pid;	 /* kernel: the process where known, else -1; markers: vpid */
	int32_t tid;	 /* kernel: the thread that was current (0: idle); markers: vtid */
	int16_t cpu;	 /* kernel: where it happened; markers: -1, not recorded */
	uint8_t context; /* CONTEXT_* */
	uint32_t stream; /* which stream of the trace: an index, stable within one reader */
};

/*
 * An event as it waits in memory, its payload behind it; the next one starts at the next multiple
 * of 8 bytes. Without a class it is none, but something else that its owner put in between.
 */
struct event_item {
	uint64_t stamp;
	const struct trace_event_class *class;
	uint32_t payload_size;
	int32_t pid, tid;
	int16_t cpu;
	uint8_t context;
};

/* Bytes from one item to the next. */
static inline uint32_t event_item_size(uint32_t payload_size)
{
	return (uint32_t)((sizeof(struct event_item) + payload_size + 7) & ~(size_t)7);
}

/**
 * event_class_create() - a class with no fields yet.
 * Return: the class, owned by the caller until event_class_destroy(); NULL without memory.
 */
struct trace_event_class *event_class_create(enum trace_domain domain, enum trace_event_kind kind,
					     const char *name);

/* Adds a field at the end. Return: 0, -ENOMEM, -EINVAL (a size the type does not have, an empty
 * name). */
int event_class_add_field(struct trace_event_class *class, const char *name,
			  enum trace_field_type type, uint8_t size, uint8_t base,
			  enum trace_field_role role);

/* Of a message (message.h). Return: 0 or -ENOMEM. */
int event_class_set_format(struct trace_event_class *class, const char *format);

/* To be called after the last field: computes min_size. */
void event_class_finish(struct trace_event_class *class);

/* Accepts NULL. */
void event_class_destroy(struct trace_event_class *class);

/* Same name, kind and format, and the same fields in the same order. */
bool event_class_equal(const struct trace_event_class *a, const struct trace_event_class *b);

/* Index of the field of that name, or -1. */
int event_class_field(const struct trace_event_class *class, const char *name);

/**
 * event_payload_check() - is this a whole payload of that class? For bytes from outside.
 * Return: 0, or -EBADMSG: it ends early or late, or a string has no end.
 */
int event_payload_check(const struct trace_event_class *class, const uint8_t *payload,
			uint32_t size);

/**
 * event_payload_size() - how long is the payload that starts here? For bytes from outside.
 * @available: bytes that may be looked at
 * Return: 0, or -EBADMSG: it does not end within them.
 */
int event_payload_size(const struct trace_event_class *class, const uint8_t *payload,
		       uint32_t available, uint32_t *ret_size);

/**
 * event_value() - one field of an event whose payload is known to be whole.
 * @index: of the field, below class->nr_fields
 * Cost: linear in the strings before it; fixed-size fields at the front cost nothing.
 */
struct trace_value event_value(const struct trace_event *event, uint32_t index);

/*
 * The value of the field that starts at *@at, which moves behind it: all fields in turn, each
 * looked at once. Of a payload that is known to be whole.
 */
struct trace_value event_value_next(const struct trace_field *field, const uint8_t **at);

/* An integer field as is, by index from event_class_field(); 0 where index is -1 or the field is no
 * integer. */
uint64_t event_u64(const struct trace_event *event, int index);
int64_t event_i64(const struct trace_event *event, int index);
/* A string field, or "" where index is -1 or the field is no string. */
const char *event_text(const struct trace_event *event, int index);

/*
 * A payload under construction, for sources that translate. Overflow is remembered, not written.
 *
 *	struct payload_builder b = {.bytes = buffer, .capacity = sizeof(buffer)};
 *	payload_uint(&b, 4, 17); payload_string(&b, "sh", 2);
 */
struct payload_builder {
	uint8_t *bytes;
	uint32_t size, capacity;
	bool is_full;
};
void payload_uint(struct payload_builder *builder, uint8_t size, uint64_t value);
/* At most @length bytes, up to the first NUL; adds the NUL. */
void payload_string(struct payload_builder *builder, const char *text, uint32_t length);
void payload_bytes(struct payload_builder *builder, const void *bytes, uint16_t size);

#endif
