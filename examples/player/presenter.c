/* SPDX-License-Identifier: MIT */
/*
 * presenter.c - the presenting thread: at each frame's due time, its pixels onto a surface.
 *
 * The surface is memory, as a compositor's buffer is. The scope player:present begins before the
 * wait for the due time, and holds the wait for the frame as well: whatever makes the frame late
 * lies inside.
 */
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "examples/player/player.h"
#include "marker/marker.h"

struct surface {
	uint32_t *pixels; /* 0xffRRGGBB */
	int width, height;
};

static uint32_t clamp(int value)
{
	return value < 0 ? 0 : value > 255 ? 255 : (uint32_t)value;
}

/* BT.601, studio range, in 1/256. */
static uint32_t to_rgb(int y, int u, int v)
{
	int light = 298 * (y - 16) + 128;

	u -= 128;
	v -= 128;
	return 0xff000000u | clamp((light + 409 * v) >> 8) << 16 |
	       clamp((light - 100 * u - 208 * v) >> 8) << 8 | clamp((light + 516 * u) >> 8);
}

/* Planar YUV of 8 bits in colour; of anything else, the first plane in grey. */
static bool has_chroma(const AVPixFmtDescriptor *format)
{
	return format->nb_components >= 3 && format->comp[0].depth == 8 &&
	       (format->flags & AV_PIX_FMT_FLAG_PLANAR) && !(format->flags & AV_PIX_FMT_FLAG_RGB);
}

static void draw(struct surface *surface, const AVFrame *frame)
{
	const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(frame->format);
	bool is_grey = !has_chroma(format);
	int width = frame->width < surface->width ? frame->width : surface->width;
	int height = frame->height < surface->height ? frame->height : surface->height;

	for (int row = 0; row < height; row++) {
		const uint8_t *y = frame->data[0] + row * frame->linesize[0];
		const uint8_t *u = y, *v = y;
		uint32_t *to = surface->pixels + (size_t)row * (size_t)surface->width;

		if (!is_grey) {
			u = frame->data[1] + (row >> format->log2_chroma_h) * frame->linesize[1];
			v = frame->data[2] + (row >> format->log2_chroma_h) * frame->linesize[2];
		}
		for (int x = 0; x < width; x++) {
			int chroma = x >> format->log2_chroma_w;

			to[x] = is_grey ? to_rgb(y[x], 128, 128)
					: to_rgb(y[x], u[chroma], v[chroma]);
		}
	}
}

static void count(struct player *player, uint64_t due_ns)
{
	uint64_t now_ns = truth_now_ns();
	uint64_t late_ns = now_ns > due_ns ? now_ns - due_ns : 0;

	MARKER_RESULT(MARKER_FIELD(late_us, late_ns / 1000));
	player->nr_late += late_ns > LATE_NS;
	if (late_ns > player->worst_late_ns)
		player->worst_late_ns = late_ns;
	if (player->wants_stats)
		printf("frame %llu: shown %.3f ms after it was due%s\n",
		       (unsigned long long)player->nr_frames, (double)late_ns / 1e6,
		       late_ns > LATE_NS ? ", late" : "");
	player->nr_frames++;
}

/* Waits for the due time, takes the next frame and shows it. Return: false when there is none. */
static bool present(struct player *player, struct surface *surface, uint64_t due_ns)
{
	AVFrame *frame;
	void *item;

	MARKER_SCOPE(player, present, MARKER_DUE(due_ns), MARKER_FIELD(frame, player->nr_frames));
	truth_sleep_until(due_ns);
	if (!queue_take(&player->frames, &item))
		return false;
	frame = item;
	{
		MARKER_SCOPE(player, draw, MARKER_FLOW(packet, (uint64_t)frame->pts));
		draw(surface, frame);
	}
	count(player, due_ns);
	av_frame_free(&frame);
	return true;
}

void *presenter_run(void *arg)
{
	struct player *player = arg;
	struct surface surface = {.width = player->codec->width, .height = player->codec->height};
	uint64_t due_ns;

	MARKER_THREAD("presenter");
	player->cpu = truth_pin(player->cpu);
	/* Touched now: the first frame shall not pay for the surface's pages. */
	surface.pixels = calloc((size_t)surface.width * (size_t)surface.height, sizeof(uint32_t));
	queue_wait_full(&player->frames);
	due_ns = truth_now_ns() + player->frame_ns;
	atomic_store_explicit(&player->next_due_ns, due_ns, memory_order_relaxed);
	atomic_store_explicit(&player->start_ns, due_ns, memory_order_relaxed);
	truth_write(
		player->truth,
		"{\"kind\":\"start\",\"begin_ns\":%llu,\"frame_ns\":%llu,\"tid\":%d,\"cpu\":%d}",
		(unsigned long long)due_ns, (unsigned long long)player->frame_ns, (int)gettid(),
		player->cpu);
	while (surface.pixels && present(player, &surface, due_ns)) {
		due_ns += player->frame_ns;
		atomic_store_explicit(&player->next_due_ns, due_ns, memory_order_relaxed);
	}
	free(surface.pixels);
	return NULL;
}
