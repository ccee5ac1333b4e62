/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-bridge/backends/ftrace-fields.h"

/* How one field is wanted. */
struct wish {
	char kernel[64], ours[64], tid[64];
	uint8_t size; /* bytes of a number; 0: as the kernel has it */
	bool is_hex;
};

static int parse_format(const char *text, size_t size, struct ftrace_fields *ret_fields)
{
	int ret = ftrace_fields_open(ret_fields, text, size);

	return ret < 0 || ret_fields->common.left ? ret : -EINVAL;
}

static bool fits(const struct ftrace_field *field)
{
	return field->offset <= UINT16_MAX && field->size <= UINT16_MAX;
}

/* One word of a list of wishes. Return: past it; NULL at the end. */
static const char *next_wish(const char *list, struct wish *ret_wish)
{
	char word[64];
	size_t length;
	char *mark;

	*ret_wish = (struct wish){.is_hex = false};

	list += strspn(list, " ");
	length = strcspn(list, " ");
	if (!length || length >= sizeof(word))
		return NULL;
	memcpy(word, list, length);
	word[length] = '\0';
	mark = strchr(word, '@');
	if (mark) {
		strcpy(ret_wish->tid, mark + 1);
		*mark = '\0';
	}
	mark = strchr(word, ':');
	if (mark) {
		*mark = '\0';
		ret_wish->size = (uint8_t)strtoul(mark + 1, &mark, 10);
		ret_wish->is_hex = *mark == 'x';
	}
	mark = strchr(word, '=');
	if (mark)
		*mark = '\0';
	strcpy(ret_wish->kernel, word);
	strcpy(ret_wish->ours, mark ? mark + 1 : word);
	return list + length;
}

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Which operation copies the field, and what it becomes. */
static void choose_op(const struct ftrace_field *field, struct format_op *ret_op,
		      enum trace_field_type *ret_type)
{
	/* Arrays of u8 may hold addresses: they are bytes. */
	bool is_text =
		field->is_array && strstr(field->type, "char") && !strstr(field->type, "unsigned");

	*ret_op = (struct format_op){
		.is_relative = field->is_relative,
		.offset = (uint16_t)field->offset,
		.size = (uint16_t)field->size,
	};
	if (field->is_located)
		ret_op->kind = is_text ? FORMAT_LOC_TEXT : FORMAT_LOC_BYTES;
	else if (field->is_array)
		ret_op->kind = is_text ? FORMAT_TEXT : FORMAT_BYTES;
	else
		ret_op->kind = is_number_size(field->size) ? FORMAT_COPY : FORMAT_BYTES;
	if (ret_op->kind == FORMAT_TEXT || ret_op->kind == FORMAT_LOC_TEXT)
		*ret_type = FIELD_STRING;
	else if (ret_op->kind == FORMAT_COPY)
		*ret_type = field->is_signed ? FIELD_INT : FIELD_UINT;
	else
		*ret_type = FIELD_BYTES;
}

/* To its low bytes. */
static void narrow(struct format_op *op, uint8_t size)
{
	if (size >= op->size)
		return;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	op->offset = (uint16_t)(op->offset + op->size - size);
#endif
	op->size = size;
}

static int add_field(struct format_plan *plan, struct trace_event_class *class,
		     const struct ftrace_field *field, const struct wish *wish)
{
	struct format_op *last = plan->nr_ops ? &plan->ops[plan->nr_ops - 1] : NULL;
	struct format_op op;
	enum trace_field_type type;
	uint32_t end = field->offset + field->size; /* of two that fit an int */
	uint8_t base = wish->is_hex || field->is_pointer ? 16 : 10;

	if (!fits(field) || plan->nr_ops == FORMAT_MAX_OPS)
		return -EINVAL;
	choose_op(field, &op, &type);
	if (op.kind == FORMAT_COPY && wish->size)
		narrow(&op, wish->size);
	if ((op.kind == FORMAT_LOC_TEXT || op.kind == FORMAT_LOC_BYTES) && op.size != 4)
		return -EINVAL;
	if (end > plan->min_record_size)
		plan->min_record_size = end;
	plan->max_payload_size += op.size + 3u;
	/* Neighbours that are copied as they are become one copy. */
	if (last && last->kind == FORMAT_COPY && op.kind == FORMAT_COPY && !last->is_of_name &&
	    !wish->tid[0] && last->offset + last->size == op.offset)
		last->size = (uint16_t)(last->size + op.size);
	else
		plan->ops[plan->nr_ops++] = op;
	return event_class_add_field(class, wish->ours, type,
				     op.kind == FORMAT_COPY ? (uint8_t)op.size : 0, base,
				     ROLE_NONE);
}

static int add_all_fields(struct format_plan *plan, struct trace_event_class *class,
			  struct ftrace_text fields)
{
	struct ftrace_field field;
	int ret = 0;

	while (ret == 0 && ftrace_fields_next(&fields, &field)) {
		struct wish wish = {.is_hex = false};

		strcpy(wish.ours, field.name);
		ret = add_field(plan, class, &field, &wish);
	}
	return ret;
}

/*
 * The field added last tells of the thread whose tid the event has as well: first its name, then
 * its priority. Both can be left out.
 */
static void note_name(struct format_plan *plan, const struct trace_event_class *class,
		      const struct ftrace_fields *fields, const struct ftrace_field *field,
		      const struct wish *wish)
{
	struct ftrace_field tid;
	struct format_op *op = &plan->ops[plan->nr_ops - 1];
	struct format_name *name = &plan->name;

	if (!ftrace_fields_find(fields->own, wish->tid, &tid) &&
	    !ftrace_fields_find(fields->common, wish->tid, &tid))
		return;
	if (!fits(&tid) || tid.size != 4 || class->nr_fields > 64)
		return;
	if (op->kind == FORMAT_TEXT && field->size == 16) {
		name->is_there = true;
		name->tid_offset = (uint16_t)tid.offset;
		name->comm_offset = (uint16_t)field->offset;
	} else if (op->kind == FORMAT_COPY && field->size == 4 && name->is_there) {
		name->has_prio = true;
		name->prio_offset = (uint16_t)field->offset;
	} else {
		return;
	}
	if (tid.offset + 4 > plan->min_record_size)
		plan->min_record_size = tid.offset + 4;
	op->is_of_name = true;
	name->fields |= (uint64_t)1 << (class->nr_fields - 1);
}

static int add_wished_fields(struct format_plan *plan, struct trace_event_class *class,
			     const struct ftrace_fields *fields, const char *list)
{
	struct ftrace_field field;
	struct wish wish;
	int ret = 0;

	while (ret == 0 && (list = next_wish(list, &wish))) {
		if (!ftrace_fields_find(fields->own, wish.kernel, &field))
			continue;
		ret = add_field(plan, class, &field, &wish);
		if (ret == 0 && wish.tid[0])
			note_name(plan, class, fields, &field, &wish);
	}
	return ret;
}

int format_read(const char *text, size_t size, const char *class_name, const char *wishes,
		struct format_plan *ret_plan, struct trace_event_class **ret_class)
{
	struct format_plan plan = {0};
	struct trace_event_class *class;
	struct ftrace_fields fields;
	int ret = parse_format(text, size, &fields);

	if (ret < 0)
		return ret;
	class = event_class_create(TRACE_KERNEL, EVENT_INSTANT, class_name);
	if (!class)
		ret = -ENOMEM;
	else if (wishes)
		ret = add_wished_fields(&plan, class, &fields, wishes);
	else
		ret = add_all_fields(&plan, class, fields.own);
	plan.id = fields.id;
	if (ret < 0) {
		event_class_destroy(class);
		return ret;
	}
	event_class_finish(class);
	*ret_plan = plan;
	*ret_class = class;
	return 0;
}

struct trace_event_class *format_class_without_name(const struct format_plan *plan,
						    const struct trace_event_class *class)
{
	struct trace_event_class *without =
		event_class_create(class->domain, class->kind, class->name);

	for (uint32_t i = 0; without && i < class->nr_fields; i++) {
		const struct trace_field *field = &class->fields[i];

		if (!(i < 64 && plan->name.fields >> i & 1) &&
		    event_class_add_field(without, field->name, field->type, field->size,
					  field->base, (enum trace_field_role)field->role) < 0) {
			event_class_destroy(without);
			return NULL;
		}
	}
	if (without)
		event_class_finish(without);
	return without;
}

static int common_field(const struct ftrace_fields *fields, const char *name, uint16_t *ret_offset,
			uint16_t *ret_size)
{
	struct ftrace_field field;

	if (!ftrace_fields_find(fields->common, name, &field) || !fits(&field) ||
	    !is_number_size(field.size) || field.offset > 64)
		return -EINVAL;
	*ret_offset = (uint16_t)field.offset;
	*ret_size = (uint16_t)field.size;
	return 0;
}

int format_read_common(const char *text, size_t size, struct format_common *ret_common)
{
	struct format_common common;
	struct ftrace_fields fields;
	int ret = parse_format(text, size, &fields);

	if (ret < 0)
		return ret;
	if (common_field(&fields, "common_type", &common.type_offset, &common.type_size) ||
	    common_field(&fields, "common_flags", &common.flags_offset, &common.flags_size) ||
	    common_field(&fields, "common_pid", &common.pid_offset, &common.pid_size))
		ret = -EINVAL;
	else if (common.type_size != 2 || common.flags_size != 1 || common.pid_size != 4)
		ret = -EINVAL; /* no kernel has had other sizes; a faster reader relies on them */
	else
		*ret_common = common;
	return ret;
}

int format_read_syscall(const char *text, size_t size, struct format_syscall *ret_syscall,
			uint32_t *ret_id)
{
	struct format_syscall syscall = {0};
	struct ftrace_field id, args, value;
	struct ftrace_fields fields;
	bool has_args, has_value;
	int ret = parse_format(text, size, &fields);

	if (ret < 0)
		return ret;
	if (!ftrace_fields_find(fields.own, "id", &id) || !fits(&id) || !is_number_size(id.size))
		return -EINVAL;
	has_args = ftrace_fields_find(fields.own, "args", &args);
	has_value = ftrace_fields_find(fields.own, "ret", &value);
	if ((!has_args && !has_value) || (has_args && !fits(&args)) ||
	    (has_value && (!fits(&value) || !is_number_size(value.size))))
		return -EINVAL;
	syscall.id_offset = (uint16_t)id.offset;
	syscall.id_size = (uint16_t)id.size;
	if (has_args) {
		syscall.args_offset = (uint16_t)args.offset;
		syscall.nr_args = (uint16_t)(args.size / sizeof(long));
	}
	if (has_value) {
		syscall.ret_offset = (uint16_t)value.offset;
		syscall.ret_size = (uint16_t)value.size;
	}
	*ret_id = fields.id;
	*ret_syscall = syscall;
	return 0;
}

/* The record has a long for each argument; what the call takes of it is told by its C type. */
static void choose_argument(const struct ftrace_field *field, struct format_argument *argument)
{
	static const struct {
		const char *name;
		enum trace_field_type type;
		uint8_t size;
	} types[] = {
		{"int", FIELD_INT, 4},
		{"pid_t", FIELD_INT, 4},
		{"clockid_t", FIELD_INT, 4},
		{"key_serial_t", FIELD_INT, 4},
		{"mqd_t", FIELD_INT, 4},
		{"timer_t", FIELD_INT, 4},
		{"key_t", FIELD_INT, 4},
		{"rwf_t", FIELD_INT, 4},
		{"__s32", FIELD_INT, 4},
		{"unsigned int", FIELD_UINT, 4},
		{"unsigned", FIELD_UINT, 4},
		{"u32", FIELD_UINT, 4},
		{"__u32", FIELD_UINT, 4},
		{"uint32_t", FIELD_UINT, 4},
		{"uid_t", FIELD_UINT, 4},
		{"gid_t", FIELD_UINT, 4},
		{"qid_t", FIELD_UINT, 4},
		{"umode_t", FIELD_UINT, 2},
		{"long", FIELD_INT, sizeof(long)},
		{"off_t", FIELD_INT, 8},
		{"loff_t", FIELD_INT, 8},
	};

	const char *c_type = field->type;

	if (strncmp(c_type, "const ", 6) == 0)
		c_type += 6;
	snprintf(argument->name, sizeof(argument->name), "%.*s", (int)sizeof(argument->name) - 1,
		 field->name);
	argument->type = FIELD_UINT;
	argument->size = sizeof(long);
	argument->base = 10;
	if (field->is_pointer)
		argument->base = 16;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, c_type) == 0 && types[i].size <= sizeof(long)) {
			argument->type = types[i].type;
			argument->size = types[i].size;
		}
}

int format_read_arguments(const char *text, size_t size, struct format_argument arguments[6])
{
	struct ftrace_fields fields;
	struct ftrace_field field;
	int nr = 0;
	int ret = parse_format(text, size, &fields);

	if (ret < 0)
		return ret;
	while (nr < 6 && ftrace_fields_next(&fields.own, &field)) {
		/* The number is first; __data_loc fields of newer kernels are no arguments. */
		if (strcmp(field.name, "__syscall_nr") == 0 || strcmp(field.name, "nr") == 0 ||
		    field.is_located)
			continue;
		choose_argument(&field, &arguments[nr++]);
	}
	return nr;
}

/* Where a __data_loc field points to, or NULL when that is not within the record. */
static const uint8_t *locate(const struct format_op *op, const uint8_t *record,
			     uint32_t record_size, uint32_t *ret_size)
{
	uint32_t word, offset;

	memcpy(&word, record + op->offset, sizeof(word));
	offset = (word & 0xffff) + (op->is_relative ? op->offset + 4u : 0);
	*ret_size = word >> 16;
	if (offset > record_size || *ret_size > record_size - offset)
		return NULL;
	return record + offset;
}

/* Bytes before the first NUL of eight; 8 when there is none. */
static inline size_t length_of_8(const uint8_t *text)
{
	const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
	uint64_t word, zeros;

	memcpy(&word, text, sizeof(word));
	zeros = (word - ones) & ~word & high;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return zeros ? (size_t)__builtin_ctzll(zeros) / 8 : 8;
#else
	return zeros ? strnlen((const char *)text, 8) : 8;
#endif
}

/* Names of threads, two in each switch: without a call, and 16 bytes are copied whatever the
 * length. */
static inline uint8_t *put_comm(uint8_t *to, const uint8_t *text)
{
	size_t length = length_of_8(text);

	if (length == 8)
		length += length_of_8(text + 8);
	memcpy(to, text, 16);
	to[length] = '\0';
	return to + length + 1;
}

static uint8_t *put_text(uint8_t *to, const uint8_t *text, uint32_t size)
{
	size_t length = strnlen((const char *)text, size);

	memcpy(to, text, length);
	to[length] = '\0';
	return to + length + 1;
}

static uint8_t *put_bytes(uint8_t *to, const uint8_t *bytes, uint32_t size)
{
	uint16_t length = (uint16_t)size;

	memcpy(to, &length, sizeof(length));
	memcpy(to + sizeof(length), bytes, length);
	return to + sizeof(length) + length;
}

/* The operations that are rare, one after the other. Return: behind the payload, or NULL. */
static uint8_t *translate_rest(const struct format_op *op, const uint8_t *record,
			       uint32_t record_size, uint8_t *to, uint32_t *capacity)
{
	const uint8_t *from;
	uint32_t size;

	switch (op->kind) {
	case FORMAT_COPY:
		memcpy(to, record + op->offset, op->size);
		return to + op->size;
	case FORMAT_TEXT:
		return put_text(to, record + op->offset, op->size);
	case FORMAT_BYTES:
		return put_bytes(to, record + op->offset, op->size);
	default:
		from = locate(op, record, record_size, &size);
		if (!from || size > *capacity)
			return NULL;
		*capacity -= size;
		return op->kind == FORMAT_LOC_TEXT ? put_text(to, from, size)
						   : put_bytes(to, from, size);
	}
}

int format_translate(const struct format_plan *plan, const uint8_t *record, uint32_t record_size,
		     uint8_t *payload, uint32_t capacity, bool without_name)
{
	uint8_t *to = payload;

	if (record_size < plan->min_record_size || capacity < plan->max_payload_size + FORMAT_SPARE)
		return -EBADMSG;
	capacity -= plan->max_payload_size + FORMAT_SPARE; /* left for __data_loc fields */
	for (uint32_t i = 0; i < plan->nr_ops; i++) {
		const struct format_op *op = &plan->ops[i];

		if (without_name && op->is_of_name)
			continue;
		/* Nearly all: 16 bytes are moved whatever the size, without a call or a switch. */
		if (op->kind == FORMAT_COPY && op->size <= 16) {
			memcpy(to, record + op->offset, 16);
			to += op->size;
		} else if (op->kind == FORMAT_TEXT && op->size == 16) {
			to = put_comm(to, record + op->offset);
		} else {
			to = translate_rest(op, record, record_size, to, &capacity);
			if (!to)
				return -EBADMSG;
		}
	}
	return (int)(to - payload);
}
