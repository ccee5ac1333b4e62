/* SPDX-License-Identifier: MIT */
/*
 * report-why.c - one answer as text: when, how unusual, why in a sentence, and the tiles.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/report/describe.h"
#include "viewer/report/report.h"
#include "viewer/report/why-flows.h"

#define MAX_LINES 40 /* of tiles; of more, the longest are shown */
#define LINE_WIDTH 100
#define MAX_TOTALS 8
#define MIN_SEGMENTS_FOR_TOTALS 12
#define FIXED_WIDTH 59 /* of a tile's line before the culprit */

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void print_head(const struct history *history, const struct why *why,
		       const struct why_answer *answer, FILE *file)
{
	const struct why_instance *instance = &answer->instance;
	const struct history_thread *thread = history_thread(history, instance->thread);
	char name[DESCRIBE_SIZE], policy[32], text[3 * DESCRIBE_SIZE] = "";
	int cpu = thread_cpu_at(thread, instance->end ? instance->end - 1 : 0);
	int used;

	describe_thread(history, instance->thread, name, sizeof(name));
	describe_policy(thread, policy, sizeof(policy));
	used = why ? snprintf(text, sizeof(text), "%s #%zu  ",
			      event_map_stem(
				      &history->map,
				      history->map.domains[TRACE_USER].items[instance->class].stem),
			      answer->number)
		   : 0;
	used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s%s", name,
			 *policy ? " " : "", policy);
	if (cpu >= 0)
		snprintf(text + used, sizeof(text) - (size_t)used, "  CPU %d", cpu);
	fprintf(file, "%-*s%s\n", LINE_WIDTH - 10, text, why_soundness_name(answer->soundness));
}

static void print_payload(const struct history *history, const char *title, uint32_t class,
			  uint64_t payload, FILE *file)
{
	char text[DESCRIBE_SIZE];

	describe_fields(history, class, payload, text, sizeof(text));
	if (*text)
		fprintf(file, "%s: %s\n", title, text);
}

static void print_fields(const struct history *history, const struct why_answer *answer, FILE *file)
{
	const struct why_instance *instance = &answer->instance;
	const struct history_thread *thread = history_thread(history, instance->thread);
	const struct async_item *async;
	const struct span_item *span;

	switch (instance->kind) {
	case WHY_INSTANT:
		print_payload(history, "fields", instance->class,
			      history->instants.items[instance->source].payload, file);
		break;
	case WHY_ASYNC:
		async = &history->asyncs.items[instance->source];
		print_payload(history, "fields", instance->class, async->payload, file);
		print_payload(history, "end", async->end_class, async->end_payload, file);
		break;
	case WHY_SCOPE:
		span = &thread->spans.items[instance->source];
		print_payload(history, "fields", instance->class, span->payload, file);
		for (uint32_t i = span->result; i != HISTORY_NONE;
		     i = history->results.items[i].next)
			print_payload(history, "result", history->results.items[i].class,
				      history->results.items[i].payload, file);
		break;
	}
}

static void print_times(const struct history *history, const struct why *why,
			const struct why_answer *answer, FILE *file)
{
	const struct why_instance *instance = &answer->instance;
	uint64_t length = instance->end - instance->begin;

	fprintf(file, "from %.6f s  to %.6f s  %.3f ms", (double)instance->begin / 1e9,
		(double)instance->end / 1e9, ms(length));
	if (instance->due != HISTORY_NONE_NS)
		fprintf(file, "  due %.6f s, %s by %.3f ms", (double)instance->due / 1e9,
			why_late_ns(instance) > 0 ? "LATE" : "in time",
			ms((uint64_t)llabs(why_late_ns(instance))));
	fputc('\n', file);
	if (why) {
		print_fields(history, answer, file);
		why_flows_print(history, &answer->instance, file);
	}
	if (why)
		fprintf(file, "typical (median of %zu): %.3f ms; this one %.3f ms %s\n",
			why->instances.nr, ms(why->typical_ns),
			ms(length > why->typical_ns ? length - why->typical_ns
						    : why->typical_ns - length),
			length >= why->typical_ns ? "more" : "less");
}

const struct why_total *report_why_main(const struct why_answer *answer)
{
	const struct why_total *best = NULL;

	for (size_t i = 0; i < answer->totals.nr; i++)
		if (!best || answer->totals.items[i].excess_ns > best->excess_ns)
			best = &answer->totals.items[i];
	return best;
}

static bool is_of_total(const struct why_segment *segment, const struct why_total *total)
{
	return segment->tile.class == total->class && segment->tile.culprit == total->culprit &&
	       segment->chain.root_class == total->root_class &&
	       segment->chain.root_culprit == total->root_culprit;
}

static const struct why_segment *longest_of(const struct why_answer *answer,
					    const struct why_total *total)
{
	const struct why_segment *longest = NULL;

	for (size_t i = 0; i < answer->segments.nr; i++) {
		const struct why_segment *segment = &answer->segments.items[i];

		if (is_of_total(segment, total) &&
		    (!longest || segment->tile.end - segment->tile.begin >
					 longest->tile.end - longest->tile.begin))
			longest = segment;
	}
	return longest;
}

/* A text in lines of LINE_WIDTH columns, broken at blanks, the later ones indented as @first. */
static void print_wrapped(FILE *file, const char *first, const char *text)
{
	size_t column = 5;

	fprintf(file, "%-5s", first);

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > 5 && column + 1 + word > LINE_WIDTH) {
			fprintf(file, "\n     ");
			column = 5;
		} else if (column > 5) {
			fputc(' ', file);
			column++;
		}
		fprintf(file, "%.*s", (int)word, text);
		column += word;
		text += word + (text[word] == ' ');
	}
	fputc('\n', file);
}

/* The sentence: the largest excess, and the way from it to its root. */
static void print_sentence(const struct history *history, const struct why_answer *answer,
			   FILE *file)
{
	const struct why_total *total = report_why_main(answer);
	const struct why_segment *segment = total ? longest_of(answer, total) : NULL;
	char text[2 * DESCRIBE_SIZE], line[3 * DESCRIBE_SIZE];

	if (!segment)
		return;
	describe_cause(history, &segment->tile, total->ns, text, sizeof(text));
	snprintf(line, sizeof(line), "%s%s", text, segment->chain.nr_links ? "," : "   <- root");
	fputc('\n', file);
	print_wrapped(file, "WHY", line);
	for (uint32_t i = 0; i < segment->chain.nr_links; i++) {
		const struct chain_link *link = &segment->chain.links[i];
		char name[DESCRIBE_SIZE / 2];

		describe_thread(history, link->thread, name, sizeof(name));
		describe_cause(history, &link->tile, link->tile.end - link->tile.begin, text,
			       sizeof(text));
		snprintf(line, sizeof(line), "where %s %s%s", name, text,
			 i + 1 < segment->chain.nr_links ? "," : "   <- root");
		print_wrapped(file, "", line);
	}
	if (segment->chain.nr_links)
		fprintf(file, "     root: %s, %.3f of the longest wait's %.3f ms\n",
			cause_name(segment->chain.root_class), ms(segment->chain.root_ns),
			ms(segment->tile.end - segment->tile.begin));
}

static int compare_lengths(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* The shortest tile that is shown: at most MAX_LINES are. */
static uint64_t shortest_shown(const struct why_answer *answer)
{
	uint64_t *lengths, shortest;

	if (answer->segments.nr <= MAX_LINES)
		return 0;
	lengths = malloc(answer->segments.nr * sizeof(*lengths));
	if (!lengths)
		return 0;
	for (size_t i = 0; i < answer->segments.nr; i++)
		lengths[i] =
			answer->segments.items[i].tile.end - answer->segments.items[i].tile.begin;
	qsort(lengths, answer->segments.nr, sizeof(*lengths), compare_lengths);
	shortest = lengths[MAX_LINES - 1];
	free(lengths);
	return shortest;
}

/* Class, culprit and root at the end of a line; the root below where the line would be too long. */
static void print_cause(enum cause_class class, const char *culprit, const char *root, FILE *file)
{
	if (!*culprit && !*root)
		fprintf(file, "%s\n", cause_name(class));
	else if (FIXED_WIDTH + strlen(culprit) + strlen(root) <= LINE_WIDTH || !*root)
		fprintf(file, "%-17s %s%s\n", cause_name(class), culprit, root);
	else
		fprintf(file, "%-17s %s\n%*s%s\n", cause_name(class), culprit, FIXED_WIDTH - 2, "",
			root);
}

/* "  <- block-io reader[103]", or "" where the direct cause is the root. */
static void describe_root(const struct history *history, uint8_t class, uint32_t thread, char *text,
			  size_t size)
{
	char who[DESCRIBE_SIZE / 2] = "";

	if (thread != HISTORY_NONE)
		describe_thread(history, thread, who, sizeof(who));
	snprintf(text, size, "  <- %s %s", cause_name(class), who);
}

static double excess_of(const struct why_answer *answer, const struct why_segment *segment)
{
	for (size_t i = 0; i < answer->totals.nr; i++) {
		const struct why_total *total = &answer->totals.items[i];

		if (is_of_total(segment, total))
			return (double)total->excess_ns / 1e6 *
			       (double)(segment->tile.end - segment->tile.begin) /
			       (double)total->ns;
	}
	return 0;
}

static void print_segment(const struct history *history, const struct why *why,
			  const struct why_answer *answer, const struct why_segment *segment,
			  FILE *file)
{
	char culprit[DESCRIBE_SIZE], root[DESCRIBE_SIZE] = "", excess[16] = "";

	describe_culprit(history, &segment->tile, culprit, sizeof(culprit));
	if (segment->chain.nr_links)
		describe_root(history, segment->chain.root_class, segment->chain.root_culprit, root,
			      sizeof(root));
	if (why)
		snprintf(excess, sizeof(excess), "%+.3f", excess_of(answer, segment));
	fprintf(file, "%+9.3f %9.3f %9s  %-9s ", ms(segment->tile.begin - answer->instance.begin),
		ms(segment->tile.end - segment->tile.begin), excess,
		state_name(segment->tile.state));
	print_cause(segment->tile.class, culprit, root, file);
}

/* Where many tiles make it hard to see: what they add up to. */
static void print_totals(const struct history *history, const struct why *why,
			 const struct why_answer *answer, FILE *file)
{
	uint64_t length = answer->instance.end - answer->instance.begin;

	if (answer->segments.nr <= MIN_SEGMENTS_FOR_TOTALS)
		return;
	fprintf(file, "\n%9s %9s %9s  %-9s %-17s %s\n", "total", "ms", why ? "excess" : "", "share",
		"class", "culprit");
	for (size_t i = 0; i < answer->totals.nr && i < MAX_TOTALS; i++) {
		const struct why_total *total = &answer->totals.items[i];
		char culprit[DESCRIBE_SIZE / 2] = "", root[DESCRIBE_SIZE] = "", excess[16] = "";

		if (total->culprit != HISTORY_NONE)
			describe_thread(history, total->culprit, culprit, sizeof(culprit));
		if (total->root_class != total->class || total->root_culprit != total->culprit)
			describe_root(history, total->root_class, total->root_culprit, root,
				      sizeof(root));
		if (why)
			snprintf(excess, sizeof(excess), "%+.3f", (double)total->excess_ns / 1e6);
		fprintf(file, "%9s %9.3f %9s  %5.1f %%   ", "", ms(total->ns), excess,
			100 * (double)total->ns / (double)length);
		print_cause(total->class, culprit, root, file);
	}
	if (answer->totals.nr > MAX_TOTALS)
		fprintf(file, "%9s and %zu more\n", "...", answer->totals.nr - MAX_TOTALS);
}

static void print_segments(const struct history *history, const struct why *why,
			   const struct why_answer *answer, FILE *file)
{
	uint64_t shortest = shortest_shown(answer), left_ns = 0, sum = 0;
	size_t left = 0, shown = 0;

	fprintf(file, "\n%9s %9s %9s  %-9s %-17s %s\n", "from", "ms", why ? "excess" : "", "state",
		"class", "culprit");
	for (size_t i = 0; i < answer->segments.nr; i++) {
		const struct why_segment *segment = &answer->segments.items[i];
		uint64_t length = segment->tile.end - segment->tile.begin;

		sum += length;
		if (length < shortest || shown == MAX_LINES) {
			left++;
			left_ns += length;
			continue;
		}
		shown++;
		print_segment(history, why, answer, segment, file);
	}
	if (left)
		fprintf(file, "%9s %9.3f %9s  in %zu shorter ones; --json has all\n", "...",
			ms(left_ns), "", left);
	fprintf(file, "%9s %9.3f", "sum", ms(sum));
	if (why)
		fprintf(file, " %+9.3f", ((double)sum - (double)why->typical_ns) / 1e6);
	fputc('\n', file);
}

static void print_clock_breaks(const struct history *history, const struct why_instance *instance,
			       FILE *file)
{
	const struct sidecar *sidecar = history->sidecar;
	char text[DESCRIBE_SIZE * 2];

	for (size_t i = 0; sidecar && i < sidecar->breaks.nr; i++) {
		const struct clock_break *item = &sidecar->breaks.items[i];

		if (item->from_ns >= instance->end || item->to_ns <= instance->begin)
			continue;
		describe_clock_break(item, text, sizeof(text));
		fprintf(file, "clock: %s\n", text);
	}
}

static void print_foot(const struct history *history, const struct why_answer *answer, FILE *file)
{
	print_clock_breaks(history, &answer->instance, file);
	if (history->sidecar)
		fprintf(file, "clock \u00b1%u ns, ", history->sidecar->clock_error_ns);
	if (!answer->gaps.nr)
		fprintf(file, "no loss");
	for (size_t i = 0; i < answer->gaps.nr && i < 4; i++) {
		const struct history_loss *loss = &history->losses.items[answer->gaps.items[i]];

		fprintf(file, "%s%s discarded %" PRIu64 " events in %.3f ms", i ? ", " : "",
			loss->source, loss->discarded, ms(loss->end_ns - loss->begin_ns));
	}
	if (answer->gaps.nr > 4)
		fprintf(file, " and %zu more gaps", answer->gaps.nr - 4);
	for (size_t i = 0; i < answer->totals.nr; i++)
		if (answer->totals.items[i].class == CAUSE_LOCK) {
			fprintf(file, ".   holder: from waker");
			break;
		}
	fputs("\n\n", file);
}

void report_why(const struct history *history, const struct why *why,
		const struct why_answer *answer, FILE *file)
{
	print_head(history, why, answer, file);
	print_times(history, why, answer, file);
	print_sentence(history, answer, file);
	print_totals(history, why, answer, file);
	print_segments(history, why, answer, file);
	print_foot(history, answer, file);
}

void report_why_count(struct report_why_tally *tally, const struct why_answer *answer)
{
	const struct why_total *total = report_why_main(answer);

	tally->answers++;
	for (size_t i = 0; total && i < tally->nr; i++) {
		if (tally->items[i].total.root_class == total->root_class &&
		    tally->items[i].total.root_culprit == total->root_culprit) {
			tally->items[i].count++;
			return;
		}
	}
	if (total && tally->nr < sizeof(tally->items) / sizeof(tally->items[0])) {
		tally->items[tally->nr].total = *total;
		tally->items[tally->nr++].count = 1;
	}
}

void report_why_tally(const struct history *history, const struct report_why_tally *tally,
		      FILE *file)
{
	if (tally->answers < 2)
		return;
	for (size_t i = 0; i < tally->nr; i++) {
		const struct why_total *total = &tally->items[i].total;
		char who[DESCRIBE_SIZE] = "";

		if (total->root_culprit != HISTORY_NONE)
			describe_thread(history, total->root_culprit, who, sizeof(who));
		fprintf(file, "same root: %zu of %zu: %s%s%s\n", tally->items[i].count,
			tally->answers, cause_name(total->root_class), *who ? " of " : "", who);
	}
}
