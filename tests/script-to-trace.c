/* SPDX-License-Identifier: MIT */
/*
 * script-to-trace.c - a script of the fake backend (kernel-bridge/fake-script.h) as a trace
 * directory, its facts in the sidecar: so a test of an analysis is a text.
 *
 *	script-to-trace SCRIPT DIR        exit 0; 1 with a line on stderr
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-bridge/fake-script.h"
#include "trace/writer.h"

struct conversion {
	struct fake_script script;
	struct trace_writer *writer;
	const struct trace_event_class **classes;
	struct trace_stream_writer **streams;
};

/* Hands a formatted line on, and frees it. */
static int put_line(struct conversion *conversion, char *line)
{
	int ret = line ? trace_writer_sidecar(conversion->writer, line) : -ENOMEM;

	free(line);
	return ret;
}

static int put_header(struct conversion *conversion)
{
	const struct fake_script *script = &conversion->script;
	struct sidecar_header header = script->facts.header;
	int nr_cpus = 0;

	for (size_t i = 0; i < script->streams.nr; i++)
		if (script->streams.items[i].cpu >= nr_cpus)
			nr_cpus = script->streams.items[i].cpu + 1;
	header.version = SIDECAR_VERSION;
	if (!header.nr_cpus)
		header.nr_cpus = nr_cpus;
	header.begin_ns = script->begin_ns;
	strcpy(header.backend, "fake");
	strcpy(header.host, "script");
	if (!header.clock[0])
		strcpy(header.clock, "monotonic");
	return put_line(conversion, sidecar_format_header(&header));
}

static int put_facts(struct conversion *conversion)
{
	const struct sidecar *facts = &conversion->script.facts;
	int ret = 0;

	for (size_t i = 0; i < facts->processes.nr && ret == 0; i++)
		ret = put_line(conversion, sidecar_format_process(&facts->processes.items[i]));
	for (size_t i = 0; i < facts->threads.nr && ret == 0; i++)
		ret = put_line(conversion, sidecar_format_thread(&facts->threads.items[i]));
	for (size_t i = 0; i < facts->maps.nr && ret == 0; i++)
		ret = put_line(conversion, sidecar_format_map(&facts->maps.items[i]));
	for (size_t i = 0; i < facts->irqs.nr && ret == 0; i++)
		ret = put_line(conversion, sidecar_format_irq(&facts->irqs.items[i]));
	for (size_t i = 0; i < facts->devices.nr && ret == 0; i++)
		ret = put_line(conversion, sidecar_format_device(&facts->devices.items[i]));
	return ret;
}

static int put_classes_and_streams(struct conversion *conversion)
{
	struct fake_script *script = &conversion->script;
	int ret = 0;

	conversion->classes = calloc(script->classes.nr + 1, sizeof(*conversion->classes));
	conversion->streams = calloc(script->streams.nr + 1, sizeof(*conversion->streams));
	if (!conversion->classes || !conversion->streams)
		return -ENOMEM;
	for (size_t i = 0; i < script->classes.nr && ret == 0; i++) {
		ret = trace_writer_class(conversion->writer, script->classes.items[i],
					 &conversion->classes[i]);
		if (ret == 0)
			script->classes.items[i] = NULL; /* the writer's now */
	}
	for (size_t i = 0; i < script->streams.nr && ret == 0; i++) {
		const struct fake_stream *stream = &script->streams.items[i];

		ret = trace_writer_stream(conversion->writer, stream->domain, stream->name,
					  stream->cpu, &conversion->streams[i]);
	}
	return ret;
}

static int put_event(struct conversion *conversion, const struct fake_entry *entry)
{
	const struct trace_event event = {
		.stamp = entry->stamp,
		.class = conversion->classes[entry->class],
		.payload = conversion->script.bytes + entry->payload,
		.payload_size = entry->payload_size,
		.pid = entry->pid,
		.tid = entry->tid,
		.cpu = entry->cpu,
		.context = entry->context,
	};

	return trace_stream_append(conversion->streams[entry->stream], &event);
}

static int put_loss(struct conversion *conversion, const struct fake_entry *entry)
{
	const struct fake_stream *stream = &conversion->script.streams.items[entry->stream];
	char source[32];

	if (stream->cpu >= 0)
		snprintf(source, sizeof(source), "cpu%d", stream->cpu);
	else
		snprintf(source, sizeof(source), "%.31s", stream->name);
	return trace_stream_discarded(conversion->streams[entry->stream], source, entry->count,
				      entry->stamp, entry->end);
}

static int put_entries(struct conversion *conversion)
{
	const struct fake_script *script = &conversion->script;
	int ret = 0;

	for (size_t i = 0; i < script->entries.nr && ret == 0; i++) {
		const struct fake_entry *entry = &script->entries.items[i];

		/* Floors and drains are of a recording that goes on. */
		if (entry->kind == FAKE_EVENT)
			ret = put_event(conversion, entry);
		else if (entry->kind == FAKE_LOSS)
			ret = put_loss(conversion, entry);
	}
	return ret;
}

static int convert(struct conversion *conversion, const char *dir)
{
	const struct trace_writer_config config = {.dir = dir, .clock_name = "monotonic"};
	int ret = trace_writer_create(&config, &conversion->writer), error;

	if (ret < 0)
		return ret;
	ret = put_header(conversion);
	if (ret == 0)
		ret = put_facts(conversion);
	if (ret == 0)
		ret = put_classes_and_streams(conversion);
	if (ret == 0)
		ret = put_entries(conversion);
	error = trace_writer_close(conversion->writer, conversion->script.end_ns);
	return ret < 0 ? ret : error;
}

int main(int argc, char **argv)
{
	struct conversion conversion = {.writer = NULL};
	char why[256];
	int ret;

	if (argc != 3) {
		fprintf(stderr, "Usage: script-to-trace SCRIPT DIR\n");
		return 2;
	}
	if (fake_script_load(argv[1], &conversion.script, why, sizeof(why)) < 0) {
		fprintf(stderr, "script-to-trace: %s\n", why);
		return 1;
	}
	ret = convert(&conversion, argv[2]);
	if (ret < 0)
		fprintf(stderr, "script-to-trace: %s: %s\n", argv[2], strerror(-ret));
	free(conversion.classes);
	free(conversion.streams);
	fake_script_fini(&conversion.script);
	return ret < 0;
}
