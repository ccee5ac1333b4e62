/* SPDX-License-Identifier: MIT */
/*
 * writer.c - the trace: its classes, its sidecar, its end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/array.h"
#include "trace/sidecar.h"
#include "trace/writer-internal.h"

#define DEFAULT_PACKET_SIZE (1u << 20)
#define MIN_PACKET_SIZE 512u
/* Lines of the sidecar wait for the next flush, but not more than this. */
#define MAX_PENDING_LINES (256u << 10)

/* Text for the queue: a domain's metadata, or the sidecar. */
struct text_job {
	struct write_job job;
	struct trace_writer *writer;
	struct file_text *text;
	int domain; /* -1: the sidecar */
};

static void read_boot_id(char boot_id[37])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	boot_id[0] = 0;
	if (!file)
		return;
	if (!fgets(boot_id, 37, file) || strlen(boot_id) != 36)
		boot_id[0] = 0;
	fclose(file);
}

static int make_uuid(uint8_t uuid[PACKET_UUID_SIZE])
{
	if (getrandom(uuid, PACKET_UUID_SIZE, 0) != PACKET_UUID_SIZE)
		return -EIO;
	uuid[6] = (uuid[6] & 0x0f) | 0x40; /* RFC 4122, version 4 */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

static int write_text(struct trace_writer *writer, int domain, struct file_text *text)
{
	if (domain < 0)
		return trace_files_sidecar(&writer->files, text);
	return trace_files_metadata(&writer->files, (enum trace_domain)domain, text);
}

static void run_text(struct write_job *job)
{
	struct text_job *self = (struct text_job *)job;

	/* What failed waits in the files, and is noted there. */
	(void)write_text(self->writer, self->domain, self->text);
	free(self);
}

/* Text on its way. Return: 0; -ENOMEM: it is not; without a queue, -errno: it waits. */
static int send_text(struct trace_writer *writer, int domain, const char *bytes, size_t size)
{
	struct file_text *text = file_text_create(bytes, size);
	struct text_job *self;

	if (!text)
		return -ENOMEM;
	if (!writer->queue)
		return write_text(writer, domain, text);
	self = malloc(sizeof(*self));
	if (!self) {
		free(text);
		return -ENOMEM;
	}
	*self = (struct text_job){
		.job = {.run = run_text, .size = sizeof(*self) + size},
		.writer = writer,
		.text = text,
		.domain = domain,
	};
	write_queue_put(writer->queue, &self->job);
	return 0;
}

/* Formatted text, which is freed. Return: as send_text(). */
static int send_formatted(struct trace_writer *writer, int domain, char *text)
{
	int ret = text ? send_text(writer, domain, text, strlen(text)) : -ENOMEM;

	free(text);
	return ret;
}

int writer_describe(struct trace_writer *writer, enum trace_domain domain)
{
	struct writer_domain *self = &writer->domains[domain];
	const struct trace_event_class *class;
	int ret = 0, sent;

	if (!self->has_preamble) {
		ret = send_formatted(writer, domain,
				     metadata_format_preamble(domain, &self->origin));
		if (ret == -ENOMEM)
			return ret;
		self->has_preamble = true;
	}
	while ((class = class_set_get(writer->classes, domain, self->nr_described))) {
		sent = send_formatted(writer, domain, metadata_format_class(class));
		if (sent == -ENOMEM)
			return sent;
		ret = ret ? ret : sent;
		self->nr_described++;
	}
	return ret;
}

static struct packet_buffer *take_spare(struct trace_writer *writer)
{
	struct packet_buffer *packet = writer->spare;

	if (!packet)
		return NULL;
	writer->spare = (struct packet_buffer *)packet->job.next;
	writer->nr_spare--;
	if (writer->nr_unused > writer->nr_spare)
		writer->nr_unused = writer->nr_spare;
	return packet;
}

static struct packet_buffer *packet_buffer_create(uint32_t capacity)
{
	struct packet_buffer *packet = malloc(sizeof(*packet));
	size_t blocks = capacity / PACKET_FILE_BLOCK + 2;

	if (!packet)
		return NULL;
	packet->bytes = aligned_alloc(PACKET_FILE_BLOCK, blocks * PACKET_FILE_BLOCK);
	packet->capacity = capacity;
	if (packet->bytes)
		return packet;
	free(packet);
	return NULL;
}

void packet_buffer_destroy(struct packet_buffer *packet)
{
	if (packet)
		free(packet->bytes);
	free(packet);
}

static void writer_free(struct trace_writer *writer)
{
	struct trace_stream_writer *stream;
	struct packet_buffer *packet;

	while ((stream = writer->streams)) {
		writer->streams = stream->next;
		stream_destroy(stream);
	}
	while ((packet = take_spare(writer)))
		packet_buffer_destroy(packet);
	trace_files_close(&writer->files);
	if (writer->owns_classes)
		class_set_destroy(writer->classes);
	array_fini(&writer->lines);
	free(writer);
}

/* Return: 0, -ENOMEM, -EIO. */
static int writer_init(struct trace_writer *writer, const struct trace_writer_config *config)
{
	uint32_t size = config->packet_size ? config->packet_size : DEFAULT_PACKET_SIZE;
	int ret = 0;

	writer->queue = config->queue;
	writer->packet_size = size < MIN_PACKET_SIZE   ? MIN_PACKET_SIZE
			      : size > PACKET_MAX_SIZE ? PACKET_MAX_SIZE
						       : size;
	for (int i = 0; ret == 0 && i < TRACE_NR_DOMAINS; i++) {
		struct metadata_origin *origin = &writer->domains[i].origin;

		origin->realtime_offset_ns = config->realtime_offset_ns;
		snprintf(origin->clock_name, sizeof(origin->clock_name), "%s",
			 config->clock_name ? config->clock_name : "");
		read_boot_id(origin->boot_id);
		ret = make_uuid(origin->uuid);
	}
	writer->owns_classes = !config->classes;
	writer->classes = config->classes ? config->classes : class_set_create();
	return ret < 0 ? ret : writer->classes ? 0 : -ENOMEM;
}

int trace_writer_create(const struct trace_writer_config *config, struct trace_writer **ret_writer)
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	int ret;

	if (!writer)
		return -ENOMEM;
	ret = writer_init(writer, config);
	/* Last, for it leaves nothing behind when it fails. */
	if (ret == 0)
		ret = trace_files_open(&writer->files, config->dir);
	if (ret < 0) {
		if (writer->owns_classes)
			class_set_destroy(writer->classes);
		free(writer);
		return ret;
	}
	*ret_writer = writer;
	return 0;
}

int trace_writer_class(struct trace_writer *writer, struct trace_event_class *class,
		       const struct trace_event_class **ret_class)
{
	enum trace_domain domain = class->domain;
	int ret = class_set_add(writer->classes, class, ret_class);

	if (ret < 0)
		return ret;
	/* What fails now is done with the first packet, or noted as an error of the files. */
	(void)writer_describe(writer, domain);
	return 0;
}

/* Return: 0, or -errno: they stay, in one place or the other, and are tried again. */
static int send_lines(struct trace_writer *writer)
{
	int ret;

	if (!writer->lines.nr)
		return writer->queue ? 0 : trace_files_sidecar(&writer->files, NULL);
	ret = send_text(writer, -1, writer->lines.items, writer->lines.nr);
	if (ret != -ENOMEM)
		writer->lines.nr = 0;
	return ret;
}

static int reserve_lines(struct trace_writer *writer, size_t needed)
{
	size_t capacity = writer->lines.capacity ? writer->lines.capacity : 4096;
	char *items;

	if (needed <= writer->lines.capacity)
		return 0;
	while (capacity < needed)
		capacity *= 2;
	items = realloc(writer->lines.items, capacity);
	if (!items)
		return -ENOMEM;
	writer->lines.items = items;
	writer->lines.capacity = capacity;
	return 0;
}

int trace_writer_sidecar(struct trace_writer *writer, const char *json_line)
{
	size_t length = strlen(json_line);
	int ret = reserve_lines(writer, writer->lines.nr + length + 1);

	if (ret < 0)
		return ret;
	memcpy(writer->lines.items + writer->lines.nr, json_line, length);
	writer->lines.items[writer->lines.nr + length] = '\n';
	writer->lines.nr += length + 1;
	return writer->lines.nr > MAX_PENDING_LINES ? send_lines(writer) : 0;
}

struct packet_buffer *writer_take_buffer(struct trace_writer *writer, uint32_t capacity)
{
	struct packet_buffer *packet = NULL;

	if (capacity <= writer->packet_size) {
		packet = take_spare(writer);
		capacity = writer->packet_size;
	}
	return packet ? packet : packet_buffer_create(capacity);
}

void writer_put_buffer(struct trace_writer *writer, struct packet_buffer *packet)
{
	/* Larger ones were for one large event. */
	if (packet->capacity != writer->packet_size) {
		packet_buffer_destroy(packet);
		return;
	}
	packet->job.next = (struct write_job *)writer->spare;
	writer->spare = packet;
	writer->nr_spare++;
}

void writer_reap(struct trace_writer *writer)
{
	struct write_job *job, *next;

	if (!writer->queue)
		return;
	for (job = write_queue_take(writer->queue, &writer->done); job; job = next) {
		next = job->next;
		(void)stream_packet_done((struct packet_buffer *)job);
	}
}

/* Memory that was used once costs less than new one; but what nobody needed since the last flush
 * goes back to the system. */
static void drop_unused(struct trace_writer *writer)
{
	for (uint32_t nr = writer->nr_unused; nr > 0; nr--)
		packet_buffer_destroy(take_spare(writer));
	writer->nr_unused = writer->nr_spare;
}

static int flush_all(struct trace_writer *writer, uint64_t end_ns, bool is_last)
{
	int ret, first_error = 0;

	writer_reap(writer);
	for (struct trace_stream_writer *stream = writer->streams; stream; stream = stream->next) {
		ret = stream_flush(stream, end_ns, is_last);
		first_error = first_error ? first_error : ret;
		ret = stream_tell_losses(stream, is_last);
		first_error = first_error ? first_error : ret;
	}
	drop_unused(writer);
	ret = send_lines(writer);
	return first_error ? first_error : ret;
}

int trace_writer_flush(struct trace_writer *writer)
{
	return flush_all(writer, 0, false);
}

void trace_writer_clock_error(struct trace_writer *writer, uint32_t error_ns)
{
	writer->clock_error_ns = error_ns;
}

struct trace_writer_totals trace_writer_totals(struct trace_writer *writer)
{
	writer_reap(writer);
	return (struct trace_writer_totals){
		.events = writer->nr_events,
		.discarded = writer->nr_discarded,
		.lost = writer->lost,
		/* Relaxed: a figure for people. */
		.bytes = atomic_load_explicit(&writer->files.bytes, memory_order_relaxed),
	};
}

int trace_writer_error(const struct trace_writer *writer)
{
	/* Relaxed: for people to read. */
	return atomic_load_explicit(&writer->files.error, memory_order_relaxed);
}

static int write_end(struct trace_writer *writer, uint64_t now_ns)
{
	char *line = sidecar_format_end(now_ns, writer->nr_events, writer->nr_discarded,
					writer->clock_error_ns);
	int ret = line ? trace_writer_sidecar(writer, line) : -ENOMEM;

	free(line);
	if (ret == 0)
		ret = send_lines(writer);
	return ret ? ret : trace_writer_error(writer);
}

/* The end of a writer that has no queue, or no longer. */
static int close_now(struct trace_writer *writer, uint64_t now_ns,
		     struct trace_writer_totals *ret_totals)
{
	int ret = flush_all(writer, now_ns, true);
	int end_ret = write_end(writer, now_ns);

	*ret_totals = trace_writer_totals(writer);
	writer_free(writer);
	return ret ? ret : end_ret;
}

static void run_close(struct write_job *job)
{
	struct trace_close *self = (struct trace_close *)job;

	/* Everything sent before has been written: from here on the writer is ours. */
	writer_reap(self->writer);
	self->writer->queue = NULL;
	self->ret = close_now(self->writer, self->now_ns, &self->totals);
	self->writer = NULL;
	/* Release pairs with the acquire in trace_close_is_done(). */
	atomic_store_explicit(&self->is_done, true, memory_order_release);
}

void trace_writer_close_later(struct trace_writer *writer, uint64_t now_ns,
			      struct trace_close *close)
{
	*close = (struct trace_close){
		.job.run = run_close,
		.writer = writer,
		.now_ns = now_ns,
	};
	if (writer->queue)
		write_queue_put(writer->queue, &close->job);
	else
		run_close(&close->job);
}

int trace_writer_close(struct trace_writer *writer, uint64_t now_ns)
{
	struct write_queue *queue;
	struct trace_close close;

	if (!writer)
		return 0;
	queue = writer->queue;
	trace_writer_close_later(writer, now_ns, &close);
	if (queue)
		write_queue_wait(queue);
	return close.ret;
}
