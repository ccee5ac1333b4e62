/* SPDX-License-Identifier: MIT */
#include "tests/sample-trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of TSDL, and names that others might make up for a sequence's length. */
static const char *const field_names[] = {
	"int", "string", "event",  "errno", "struct", "enum", "variant",   "x_length", "_x",
	"id",  "fields", "stream", "clock", "signed", "x",    "timestamp", "__line",   "float",
};
#define NR_NAMES (sizeof(field_names) / sizeof(field_names[0]))

static void add_field(struct trace_event_class *class, const char *name, unsigned kind)
{
	static const struct {
		enum trace_field_type type;
		uint8_t size, base;
	} kinds[] = {
		{FIELD_UINT, 1, 10},  {FIELD_UINT, 2, 10},   {FIELD_UINT, 4, 16},
		{FIELD_UINT, 8, 16},  {FIELD_INT, 1, 10},    {FIELD_INT, 2, 10},
		{FIELD_INT, 4, 10},   {FIELD_INT, 8, 10},    {FIELD_FLOAT, 4, 10},
		{FIELD_FLOAT, 8, 10}, {FIELD_STRING, 0, 10}, {FIELD_BYTES, 0, 10},
	};
	size_t i = kind % (sizeof(kinds) / sizeof(kinds[0]));

	event_class_add_field(class, name, kinds[i].type, kinds[i].size, kinds[i].base,
			      (enum trace_field_role)(kind / 12 % 5));
}

static struct trace_event_class *make_class(unsigned number, unsigned *seed)
{
	char name[64];
	enum trace_domain domain = number % 2 ? TRACE_USER : TRACE_KERNEL;
	struct trace_event_class *class;
	unsigned nr = (unsigned)rand_r(seed) % 8, first = (unsigned)rand_r(seed);

	snprintf(name, sizeof(name), domain == TRACE_USER ? "sample:m%u:begin" : "sample_k%u",
		 number);
	class = event_class_create(domain,
				   domain == TRACE_USER
					   ? (enum trace_event_kind)((unsigned)rand_r(seed) % 10)
					   : EVENT_INSTANT,
				   name);
	if (!class)
		return NULL;
	class->level = (uint8_t)((unsigned)rand_r(seed) % 8);
	if (number == 1 || number == 2) /* one class of each domain has every type */
		for (unsigned i = 0; i < 12; i++)
			add_field(class, field_names[i], i);
	else
		for (unsigned i = 0; i < nr; i++)
			add_field(class, field_names[(first + i) % NR_NAMES],
				  (unsigned)rand_r(seed) % 60);
	if (class->kind == EVENT_LOG)
		event_class_set_format(class, "%d of \"%s\": 100%%,\n%-8.3f; \xc3\xa4 %");
	if (number % 7 == 5) /* the same name twice */
		add_field(class, field_names[first % NR_NAMES], 2);
	event_class_finish(class);
	return class;
}

int sample_init(struct sample *sample, const struct sample_config *config)
{
	memset(sample, 0, sizeof(*sample));
	sample->config = *config;
	sample->seed = config->seed;
	sample->now = 70000000000000;
	sample->classes = calloc(config->nr_classes, sizeof(*sample->classes));
	for (unsigned i = 0; sample->classes && i < config->nr_classes; i++) {
		sample->classes[i] = make_class(i, &sample->seed);
		if (!sample->classes[i])
			return -ENOMEM;
	}
	return sample->classes ? 0 : -ENOMEM;
}

void sample_fini(struct sample *sample)
{
	for (unsigned i = 0; sample->classes && i < sample->config.nr_classes; i++)
		event_class_destroy(sample->classes[i]);
	free(sample->classes);
}

static uint64_t random_bits(unsigned *seed)
{
	uint64_t bits = 0;

	for (int i = 0; i < 4; i++)
		bits = bits << 16 ^ (uint64_t)rand_r(seed);
	/* Small numbers and edges, too. */
	return rand_r(seed) % 3 ? bits : bits & 1 ? bits % 100 : ~(uint64_t)(bits % 3);
}

static void add_float(struct sample *sample, struct payload_builder *builder, uint8_t size)
{
	uint64_t bits = random_bits(&sample->seed);
	double wide = (double)(int64_t)bits / 3;
	float narrow = (float)wide;
	uint32_t narrow_bits;

	if (!sample->config.is_clean && rand_r(&sample->seed) % 2) {
		payload_uint(builder, size, bits);
		return;
	}
	memcpy(&bits, &wide, sizeof(bits));
	memcpy(&narrow_bits, &narrow, sizeof(narrow_bits));
	payload_uint(builder, size, size == 4 ? narrow_bits : bits);
}

static void add_text(struct sample *sample, struct payload_builder *builder)
{
	static const char *const clean[] = {"", "a", "swapper/0", "two words", "comma,brace}"};
	static const char *const dirty[] = {"h\xc3\xa9",    "\xff\xfe", "q\"uote\\",
					    "line\nline\t", "\xe2\x82", "\xed\xa0\x80"};
	const char *text = clean[rand_r(&sample->seed) % 5];

	if (!sample->config.is_clean && rand_r(&sample->seed) % 2)
		text = dirty[rand_r(&sample->seed) % 6];
	payload_string(builder, text, 64);
}

static void add_value(struct sample *sample, struct payload_builder *builder,
		      const struct trace_field *field)
{
	uint8_t bytes[300];
	uint16_t size = (uint16_t)(rand_r(&sample->seed) % 5);

	switch (field->type) {
	case FIELD_UINT:
	case FIELD_INT:
		payload_uint(builder, field->size, random_bits(&sample->seed));
		break;
	case FIELD_FLOAT:
		add_float(sample, builder, field->size);
		break;
	case FIELD_STRING:
		add_text(sample, builder);
		break;
	case FIELD_BYTES:
		if (rand_r(&sample->seed) % 20 == 0)
			size = sizeof(bytes);
		for (uint16_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)rand_r(&sample->seed);
		payload_bytes(builder, bytes, size);
		break;
	}
}

/* Mostly microseconds apart; some gaps need the long form of the event header. */
static uint64_t random_gap(struct sample *sample)
{
	unsigned dice = (unsigned)rand_r(&sample->seed) % 200;

	if (dice == 0)
		return 5000000000 + (uint64_t)rand_r(&sample->seed);
	if (dice < 4)
		return 100000000 + (uint64_t)rand_r(&sample->seed) % 100000000;
	if (sample->config.has_ties && dice < 100)
		return 0;
	return 1 + (uint64_t)rand_r(&sample->seed) % 10000;
}

bool sample_next(struct sample *sample, struct trace_event *ret_event)
{
	struct payload_builder builder = {.bytes = sample->payload,
					  .capacity = sizeof(sample->payload)};
	const struct trace_event_class *class;
	bool is_kernel;

	if (sample->nr_made == sample->config.nr_events)
		return false;
	sample->nr_made++;
	class = sample->classes[(unsigned)rand_r(&sample->seed) % sample->config.nr_classes];
	is_kernel = class->domain == TRACE_KERNEL;
	for (uint32_t i = 0; i < class->nr_fields; i++)
		add_value(sample, &builder, &class->fields[i]);
	sample->now += random_gap(sample);
	*ret_event = (struct trace_event){
		.stamp = sample->now,
		.class = class,
		.payload = sample->payload,
		.payload_size = builder.size,
		.stream = (unsigned)rand_r(&sample->seed) % sample->config.nr_streams,
		.tid = rand_r(&sample->seed) % 1000,
		.pid = is_kernel ? -1 : rand_r(&sample->seed) % 1000,
		.context = is_kernel ? (uint8_t)(rand_r(&sample->seed) % 4 << 3) : 0,
	};
	ret_event->cpu = is_kernel ? (int16_t)ret_event->stream : -1;
	return true;
}

static int write_events(struct sample *sample, struct trace_writer *writer,
			const struct trace_event_class **classes,
			struct trace_stream_writer *streams[TRACE_NR_DOMAINS][SAMPLE_MAX_STREAMS])
{
	unsigned every = sample->config.discard_every;
	struct trace_event event;
	int ret = 0;

	while (ret == 0 && sample_next(sample, &event)) {
		struct trace_stream_writer *stream = streams[event.class->domain][event.stream];

		for (unsigned i = 0; i < sample->config.nr_classes; i++)
			if (event.class == sample->classes[i]) {
				event.class = classes[i];
				break;
			}
		ret = trace_stream_append(stream, &event);
		if (ret == 0 && every && sample->nr_made % every == 0)
			ret = trace_stream_discarded(stream, "sample", sample->nr_made,
						     sample->now - 5, sample->now);
	}
	return ret;
}

static int open_streams(const struct sample_config *config, struct trace_writer *writer,
			struct trace_stream_writer *streams[TRACE_NR_DOMAINS][SAMPLE_MAX_STREAMS])
{
	char name[32];
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < config->nr_streams; i++) {
		snprintf(name, sizeof(name), "cpu_%u", i);
		ret = trace_writer_stream(writer, TRACE_KERNEL, name, (int)i,
					  &streams[TRACE_KERNEL][i]);
		snprintf(name, sizeof(name), "markers_%u", i);
		if (ret == 0)
			ret = trace_writer_stream(writer, TRACE_USER, name, -1,
						  &streams[TRACE_USER][i]);
	}
	return ret;
}

/* The writer's own classes; made again, for it takes them over. */
static int add_classes(const struct sample_config *config, struct trace_writer *writer,
		       const struct trace_event_class **classes)
{
	struct sample copy;
	int ret = sample_init(&copy, config);

	for (unsigned i = 0; ret == 0 && i < config->nr_classes; i++) {
		ret = trace_writer_class(writer, copy.classes[i], &classes[i]);
		if (ret == 0)
			copy.classes[i] = NULL;
	}
	sample_fini(&copy);
	return ret;
}

int sample_write(const struct sample_config *config, const char *dir)
{
	struct trace_writer_config writer_config = {
		.dir = dir,
		.realtime_offset_ns = 1700000000123456789,
		.clock_name = "sample",
		.packet_size = config->packet_size,
	};
	struct trace_stream_writer *streams[TRACE_NR_DOMAINS][SAMPLE_MAX_STREAMS];
	const struct trace_event_class **classes;
	struct trace_writer *writer;
	struct sample *sample;
	int ret, close_ret;

	ret = trace_writer_create(&writer_config, &writer);
	if (ret < 0)
		return ret;
	sample = malloc(sizeof(*sample));
	classes = calloc(config->nr_classes, sizeof(*classes));
	ret = sample && classes ? sample_init(sample, config) : -ENOMEM;
	if (ret == 0)
		ret = add_classes(config, writer, classes);
	if (ret == 0)
		ret = open_streams(config, writer, streams);
	if (ret == 0)
		ret = write_events(sample, writer, classes, streams);
	close_ret = trace_writer_close(writer, sample ? sample->now + 1000 : 0);
	if (sample)
		sample_fini(sample);
	free(sample);
	free(classes);
	return ret ? ret : close_ret;
}
