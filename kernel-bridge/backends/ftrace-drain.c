/* SPDX-License-Identifier: MIT */
/*
 * ftrace-drain.c - what the instances hold, to the sink: events, losses, floors.
 */
#include <errno.h>
#include <string.h>

#include "kernel-bridge/backends/ftrace.h"

/*
 * A writer may be preempted between its stamp and its commit (a vCPU that the host takes away: up
 * to 815 us seen). What comes later than this below `now` is late, and consumerd's to count.
 */
enum { SLACK_NS = 2000000 };

static uint64_t slack_ticks(const struct ftrace *ftrace, uint64_t now)
{
	uint64_t ns = clock_ticks(CLOCK_TICKS_MONO) - ftrace->start_ns;

	if (ftrace->clock == CLOCK_TICKS_MONO || ns == 0 || now < ftrace->start_ticks)
		return SLACK_NS;
	return (uint64_t)((double)(now - ftrace->start_ticks) / (double)ns * SLACK_NS);
}

static int tell_loss(struct ftrace *ftrace, struct ftrace_stream *stream, uint64_t count,
		     uint64_t end)
{
	if (!count)
		return 0;
	return ftrace->sink.discarded(ftrace->sink.arg, stream->number, count, stream->last,
				      end > stream->last ? end : stream->last);
}

/* The page says that pages before it were overwritten; @missed -1: not how many. */
static int page_loss(struct ftrace *ftrace, struct ftrace_stream *stream, int64_t missed,
		     uint64_t end)
{
	uint64_t count = (uint64_t)missed;

	if (missed < 0 || stream->had_unknown_loss) {
		struct ftrace_stats stats;

		/*
		 * The kernel's cumulative count may hold later losses already. They are told now,
		 * and from here on no more than it says in all.
		 */
		if (ftrace_stats_read(stream->stats, &stats) < 0)
			return 0; /* the rest is told at the end */
		stream->had_unknown_loss = true;
		count = stats.overrun > stream->nr_overrun_told
				? stats.overrun - stream->nr_overrun_told
				: 0;
		if (missed > 0 && (uint64_t)missed < count)
			count = (uint64_t)missed;
	}
	stream->nr_overrun_told += count;
	return tell_loss(ftrace, stream, count, end);
}

/* What pages did not say: the tail of overruns, and events that found no room at all. */
static int counted_loss(struct ftrace *ftrace, struct ftrace_stream *stream, uint64_t end)
{
	struct ftrace_stats stats;
	uint64_t overrun = 0, dropped = 0;
	int ret = ftrace_stats_read(stream->stats, &stats);

	if (ret < 0)
		return ret;
	if (stats.overrun > stream->nr_overrun_told)
		overrun = stats.overrun - stream->nr_overrun_told;
	if (stats.dropped + stats.commit_overrun > stream->nr_dropped_told)
		dropped = stats.dropped + stats.commit_overrun - stream->nr_dropped_told;
	stream->nr_overrun_told += overrun;
	stream->nr_dropped_told += dropped;
	return tell_loss(ftrace, stream, overrun + dropped, end);
}

static int tell_class(struct ftrace *ftrace, struct ftrace_event *event)
{
	struct trace_event_class *class = event->own_class;

	event->own_class = NULL; /* the sink's, also when it fails */
	if (!class)
		return -EINVAL;
	return ftrace->sink.event_class(ftrace->sink.arg, class, &event->class);
}

/* At the first event that leaves its name out. */
static int tell_short_class(struct ftrace *ftrace, struct ftrace_event *event)
{
	struct trace_event_class *class = format_class_without_name(&event->plan, event->class);

	if (!class)
		return -ENOMEM;
	return ftrace->sink.event_class(ftrace->sink.arg, class, &event->short_class);
}

/* Need the event not name its thread, for the stream has? */
static bool name_is_known(struct ftrace_stream *stream, const struct format_plan *plan,
			  const struct ftrace_record *record)
{
	const struct format_name *name = &plan->name;
	int32_t tid, prio = FTRACE_NO_PRIO;

	if (!name->is_there || record->size < plan->min_record_size)
		return false;
	memcpy(&tid, record->bytes + name->tid_offset, sizeof(tid));
	if (name->has_prio)
		memcpy(&prio, record->bytes + name->prio_offset, sizeof(prio));
	return ftrace_names_told(&stream->names, tid, prio, record->bytes + name->comm_offset);
}

/* As translate(), of an event whose format we have. */
static int translate_known(struct ftrace *ftrace, struct ftrace_stream *stream,
			   struct ftrace_event *known, const struct ftrace_record *record,
			   struct trace_event *event)
{
	bool is_short = !ftrace->tells_all && name_is_known(stream, &known->plan, record);
	int ret = 0;

	if (!known->class)
		ret = tell_class(ftrace, known);
	if (ret == 0 && is_short && !known->short_class)
		ret = tell_short_class(ftrace, known);
	if (ret < 0)
		return ret;
	event->class = is_short ? known->short_class : known->class;
	return format_translate(&known->plan, record->bytes, record->size, ftrace->payload,
				FTRACE_PAYLOAD, is_short);
}

/* Fills class, payload and payload_size. Return: 1, 0 for a record that is not ours, -errno. */
static int translate(struct ftrace *ftrace, struct ftrace_stream *stream,
		     const struct ftrace_record *record, uint16_t type, struct trace_event *event)
{
	struct ftrace_event *known = type < ftrace->nr_ids ? ftrace->by_id[type] : NULL;
	int ret;

	if (known) {
		ret = translate_known(ftrace, stream, known, record, event);
	} else if (ftrace->has_syscalls &&
		   (type == ftrace->syscalls.enter_id || type == ftrace->syscalls.exit_id)) {
		ret = ftrace_syscalls_translate(
			&ftrace->syscalls, &ftrace->sink, type == ftrace->syscalls.enter_id,
			event->tid, record->bytes, record->size, ftrace->payload, &event->class);
	} else {
		return 0;
	}
	if (ret < 0)
		return ret;
	event->payload_size = (uint32_t)ret;
	return 1;
}

static int deliver(struct ftrace *ftrace, struct ftrace_stream *stream,
		   const struct ftrace_record *record)
{
	const struct format_common *common = &ftrace->common;
	struct trace_event event;
	uint16_t type;
	int ret;

	/* The three fields that all records have lie within their first bytes. */
	if (record->size < 8 || record->size < common->pid_offset + 4u)
		return -EBADMSG;
	memcpy(&type, record->bytes + common->type_offset, sizeof(type));
	memcpy(&event.tid, record->bytes + common->pid_offset, sizeof(event.tid));
	ret = translate(ftrace, stream, record, type, &event);
	/* One event that is not as its format says is not worth the recording. */
	if (ret == -EBADMSG)
		return tell_loss(ftrace, stream, 1, record->stamp);
	if (ret <= 0)
		return ret;
	event.stamp = record->stamp > stream->last ? record->stamp : stream->last;
	event.payload = ftrace->payload;
	event.pid = -1;
	event.cpu = (int16_t)stream->cpu;
	event.context = record->bytes[common->flags_offset] & (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ);
	event.stream = stream->number;
	stream->last = event.stamp;
	ret = ftrace->sink.event(ftrace->sink.arg, stream->number, &event);
	return ret < 0 ? ret : 1;
}

static int64_t drain_page(struct ftrace *ftrace, struct ftrace_stream *stream, int64_t missed)
{
	struct ftrace_record record;
	bool is_there = ftrace_page_next(&stream->pages, &record);
	int64_t nr = 0;
	int ret = 0;

	if (missed && is_there)
		ret = page_loss(ftrace, stream, missed, record.stamp);
	while (is_there && ret >= 0) {
		stream->nr_read++;
		ret = deliver(ftrace, stream, &record);
		nr += ret > 0;
		is_there = ftrace_page_next(&stream->pages, &record);
	}
	return ret < 0 ? ret : nr;
}

/*
 * A half-read page comes first, full ones stand behind it, and a page that is being written comes
 * again and again with a few events: so it ends at an empty buffer, or at events as new as @now.
 */
static int64_t drain_stream(struct ftrace *ftrace, struct ftrace_stream *stream, uint64_t now)
{
	int64_t nr = 0, missed;

	for (;;) {
		int64_t ret = ftrace_page_read(&stream->pages, &missed);

		if (ret <= 0)
			return ret < 0 ? ret : nr;
		ret = drain_page(ftrace, stream, missed);
		if (ret < 0)
			return ret;
		nr += ret;
		/* After stop() nothing more is written, and everything is to come. */
		if (stream->last >= now && !ftrace->is_stopped)
			return nr;
	}
}

/*
 * The bridge is gone. The kernel has emptied the buffers with its end: how much was in them nobody
 * knows, and nothing follows until the end of the recording. Told when it is seen, and at the end.
 */
static int tell_the_end(struct ftrace *ftrace, uint64_t now, bool is_news)
{
	int ret = 0;

	for (int part = 0; part < BRIDGE_NR_PARTS; part++) {
		struct ftrace_instance_part *of = &ftrace->parts[part];

		for (int i = 0; i < of->nr_streams; i++) {
			struct ftrace_stream *stream = &of->streams[i];
			uint64_t end = now > stream->last ? now : stream->last;

			if (ret == 0 && of->is_enabled && (is_news || ftrace->is_stopped)) {
				ret = ftrace->sink.discarded(ftrace->sink.arg, stream->number,
							     DISCARDED_UNKNOWN, stream->last, end);
				stream->last = end;
			}
			ftrace->sink.floor(ftrace->sink.arg, stream->number, end);
		}
	}
	return ret;
}

/* Return: 0, 1 when the bridge is gone and that has been told, -errno. */
static int look_after_bridge(struct ftrace *ftrace, uint64_t now)
{
	bool is_news = !ftrace->has_ended;
	int nr, ret;

	if (!ftrace->is_enabled)
		return 0;
	if (!ftrace->has_ended) {
		nr = link_take_answers(ftrace->link);
		if (nr >= 0) {
			ftrace->nr_unanswered -= (uint32_t)nr <= ftrace->nr_unanswered
							 ? (uint32_t)nr
							 : ftrace->nr_unanswered;
			return 0;
		}
		ftrace->has_ended = true;
		/* What we hold open could not be removed. */
		ftrace_let_go(ftrace);
		if (ftrace->sink.ended)
			ftrace->sink.ended(
				ftrace->sink.arg,
				ftrace->is_late
					? "weft-bridge does not answer: kernel events end here"
					: "weft-bridge has ended: kernel events end here");
	}
	ret = tell_the_end(ftrace, now, is_news);
	return ret < 0 ? ret : 1;
}

int64_t ftrace_drain(void *self, uint64_t now)
{
	struct ftrace *ftrace = self;
	uint64_t slack = slack_ticks(ftrace, now);
	int64_t nr = 0;
	int ended = look_after_bridge(ftrace, now);

	if (ended)
		return ended < 0 ? ended : 0;
	for (int part = 0; part < BRIDGE_NR_PARTS && ftrace->is_enabled; part++) {
		struct ftrace_instance_part *of = &ftrace->parts[part];

		for (int i = 0; i < of->nr_streams; i++) {
			struct ftrace_stream *stream = &of->streams[i];
			uint64_t floor = ftrace->is_stopped ? now : now - slack;
			int64_t ret = 0;

			if (of->is_enabled)
				ret = drain_stream(ftrace, stream, now);
			if (ret >= 0 && ftrace->is_stopped && of->is_enabled) {
				int error = counted_loss(ftrace, stream, ftrace->stop_ticks);

				ret = error < 0 ? error : ret;
			}
			if (ret < 0)
				return ret;
			nr += ret;
			/* A CPU's own events are in order, so its last one is a floor as well. */
			if (of->is_enabled && floor < stream->last)
				floor = stream->last;
			ftrace->sink.floor(ftrace->sink.arg, stream->number, floor);
		}
	}
	return nr;
}

int ftrace_count(const struct ftrace *ftrace, struct ftrace_totals *ret_totals)
{
	struct ftrace_totals totals = {0};

	for (int part = 0; part < BRIDGE_NR_PARTS; part++) {
		const struct ftrace_instance_part *of = &ftrace->parts[part];

		for (int i = 0; i < of->nr_streams; i++) {
			const struct ftrace_stream *stream = &of->streams[i];
			struct ftrace_stats stats;
			int ret = ftrace_stats_read(stream->stats, &stats);

			if (ret < 0)
				return ret;
			totals.written += stats.entries + stats.read + stats.overrun +
					  stats.dropped + stats.commit_overrun;
			totals.read += stream->nr_read;
			totals.discarded += stream->nr_overrun_told + stream->nr_dropped_told;
		}
	}
	*ret_totals = totals;
	return 0;
}
