/* SPDX-License-Identifier: MIT */
/*
 * fake.c - events from a text script, for tests: --backend=fake:FILE. kernel-bridge/fake-script.h
 * tells the language.
 *
 * The script's times are ns of CLOCK_MONOTONIC, so config.clock must be CLOCK_TICKS_MONO. Markers
 * in the script come with domain TRACE_USER, in a stream named markers_fake, as if a backend gave
 * them. What the script says of threads, processes, irqs and devices does not pass a sink: see
 * tests/script-to-trace.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-bridge/backend.h"
#include "kernel-bridge/fake-script.h"

struct fake_place {
	uint32_t number; /* the sink's */
	uint64_t floor;
	bool has_floor; /* the script said it for this drain */
	bool has_next;	/* events of it are still to come */
};

struct fake {
	struct fake_script script;
	struct bridge_sink sink;
	const struct trace_event_class **classes;
	struct fake_place *places; /* one per stream of the script */
	size_t next;		   /* entry */
	uint64_t origin;	   /* added to every time: 0, or enable() of `origin start` */
	bool is_enabled, is_stopped;
};

static void fake_close(void *self)
{
	struct fake *fake = self;

	if (!fake)
		return;
	fake_script_fini(&fake->script);
	free(fake->classes);
	free(fake->places);
	free(fake);
}

static void fake_probe(const struct bridge_config *config, struct backend_report *ret_report)
{
	memset(ret_report, 0, sizeof(*ret_report));
	snprintf(ret_report->reason, sizeof(ret_report->reason),
		 "plays a script, for tests: name it, --backend=fake:FILE");
}

/* Streams and classes to the sink. */
static int introduce(struct fake *fake)
{
	struct fake_script *script = &fake->script;
	int ret;

	for (size_t i = 0; i < script->streams.nr; i++) {
		ret = fake->sink.stream(fake->sink.arg, script->streams.items[i].name,
					script->streams.items[i].cpu, &fake->places[i].number);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < script->classes.nr; i++) {
		struct trace_event_class *class = script->classes.items[i];

		script->classes.items[i] = NULL; /* the sink's, also when it fails */
		ret = fake->sink.event_class(fake->sink.arg, class, &fake->classes[i]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int fake_open(const struct bridge_config *config, const struct bridge_sink *sink,
		     void **ret_self, char *reterr, size_t reterr_size)
{
	struct fake *fake;
	int ret;

	if (!config->argument || !config->argument[0]) {
		snprintf(reterr, reterr_size, "the fake backend needs a script: fake:FILE");
		return -EINVAL;
	}
	if (config->clock != CLOCK_TICKS_MONO) {
		snprintf(reterr, reterr_size, "the fake backend's times are CLOCK_MONOTONIC's");
		return -EINVAL;
	}
	fake = calloc(1, sizeof(*fake));
	if (!fake)
		return -ENOMEM;
	ret = fake_script_load(config->argument, &fake->script, reterr, reterr_size);
	if (ret < 0)
		goto fail;
	fake->sink = *sink;
	fake->classes = calloc(fake->script.classes.nr + 1, sizeof(*fake->classes));
	fake->places = calloc(fake->script.streams.nr + 1, sizeof(*fake->places));
	ret = fake->classes && fake->places ? introduce(fake) : -ENOMEM;
	if (ret < 0) {
		snprintf(reterr, reterr_size, "%s: %s", config->argument, strerror(-ret));
		goto fail;
	}
	*ret_self = fake;
	return 0;
fail:
	fake_close(fake);
	return ret;
}

static int fake_enable(void *self)
{
	struct fake *fake = self;

	fake->is_enabled = true;
	if (fake->script.is_relative)
		fake->origin = clock_ticks(CLOCK_TICKS_MONO);
	return 0;
}

static int fake_pid(void *self, pid_t pid)
{
	return 0; /* a script says itself what is in it */
}

static int deliver(struct fake *fake, const struct fake_entry *entry)
{
	struct fake_place *place = &fake->places[entry->stream];
	const struct trace_event event = {
		.stamp = entry->stamp + fake->origin,
		.class = fake->classes[entry->class],
		.payload = fake->script.bytes + entry->payload,
		.payload_size = entry->payload_size,
		.pid = entry->pid,
		.tid = entry->tid,
		.cpu = entry->cpu,
		.context = entry->context,
		.stream = place->number,
	};
	int ret;

	switch (entry->kind) {
	case FAKE_EVENT:
		ret = fake->sink.event(fake->sink.arg, place->number, &event);
		return ret < 0 ? ret : 1;
	case FAKE_LOSS:
		return fake->sink.discarded(fake->sink.arg, place->number, entry->count,
					    entry->stamp + fake->origin, entry->end + fake->origin);
	case FAKE_FLOOR:
		place->floor = entry->stamp + fake->origin;
		place->has_floor = true;
		return 0;
	case FAKE_DRAIN:
		break;
	}
	return 0;
}

/* A floor the script said; else the next event's time, else @now. */
static void tell_floors(struct fake *fake, uint64_t now)
{
	const struct fake_script *script = &fake->script;

	for (size_t i = 0; i < script->streams.nr; i++)
		fake->places[i].has_next = false;
	for (size_t i = fake->next; i < script->entries.nr; i++) {
		const struct fake_entry *entry = &script->entries.items[i];
		struct fake_place *place = &fake->places[entry->stream];

		if (entry->kind != FAKE_EVENT || place->has_next)
			continue;
		place->has_next = true;
		if (!place->has_floor)
			place->floor = entry->stamp + fake->origin;
	}
	for (size_t i = 0; i < script->streams.nr; i++) {
		struct fake_place *place = &fake->places[i];
		uint64_t floor = place->has_floor || place->has_next ? place->floor : now;

		fake->sink.floor(fake->sink.arg, place->number, floor < now ? floor : now);
		place->has_floor = false;
	}
}

static int64_t fake_drain(void *self, uint64_t now)
{
	struct fake *fake = self;
	const struct fake_script *script = &fake->script;
	int64_t nr = 0;

	while (fake->is_enabled && fake->next < script->entries.nr) {
		const struct fake_entry *entry = &script->entries.items[fake->next];
		int ret;

		if (script->is_relative && entry->kind == FAKE_EVENT &&
		    entry->stamp + fake->origin > now)
			break;
		ret = deliver(fake, entry);
		if (ret < 0)
			return ret;
		nr += ret;
		fake->next++;
		/* After stop() everything is at hand. */
		if (entry->kind == FAKE_DRAIN && !fake->is_stopped)
			break;
	}
	tell_floors(fake, now);
	return nr;
}

static int fake_stop(void *self)
{
	struct fake *fake = self;

	fake->is_stopped = true;
	return 0;
}

const struct backend backend_fake = {
	.name = "fake",
	.summary = "events from a text script, for tests",
	.probe = fake_probe,
	.open = fake_open,
	.enable = fake_enable,
	.attach = fake_pid,
	.exclude = fake_pid,
	.drain = fake_drain,
	.stop = fake_stop,
	.close = fake_close,
};
