/* SPDX-License-Identifier: MIT */
/*
 * presenter.c - the presenting thread: at each frame's due time, its pixels onto a surface.
 *
 * The surface is memory, as a compositor's buffer is. The scope player:present begins before the
 * wait for the due time, and holds the wait for the frame as well: whatever makes the frame late
 * lies inside.
 */
#include <libavutil/frame.h>
#include <libavutil/imgutils.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/player/player.h"
#include "marker/marker.h"

#define SURFACE_ALIGNMENT 64

/* Planes in the clip's own format, as a display controller's overlay takes them. */
struct surface {
	uint8_t *planes[4];
	int line_sizes[4];
	enum AVPixelFormat format;
	int width, height;
};

static int surface_init(struct surface *surface, const AVCodecContext *codec)
{
	int size;

	*surface = (struct surface){
		.format = codec->pix_fmt, .width = codec->width, .height = codec->height};
	size = av_image_alloc(surface->planes, surface->line_sizes, surface->width, surface->height,
			      surface->format, SURFACE_ALIGNMENT);
	/* Touched now: the first frame shall not pay for the surface's pages. */
	if (size > 0)
		memset(surface->planes[0], 0, (size_t)size);
	return size;
}

/* A clip that changes its size or format half-way is shown no more: a real player would adapt. */
static void draw(struct surface *surface, const AVFrame *frame)
{
	if (frame->format != surface->format || frame->width != surface->width ||
	    frame->height != surface->height)
		return;
	av_image_copy(surface->planes, surface->line_sizes, (const uint8_t **)frame->data,
		      frame->linesize, surface->format, surface->width, surface->height);
}

/* Of a late frame: how long this thread waited for a CPU, which may be other programs' doing. */
static void tell_late(const struct player *player, uint64_t due_ns, uint64_t now_ns,
		      uint64_t queued_ns)
{
	truth_write(player->truth,
		    "{\"kind\":\"late\",\"begin_ns\":%llu,\"end_ns\":%llu,\"frame\":%llu,"
		    "\"queued_ns\":%llu}",
		    (unsigned long long)due_ns, (unsigned long long)now_ns,
		    (unsigned long long)player->nr_frames,
		    (unsigned long long)(truth_queued_ns() - queued_ns));
}

static void count(struct player *player, uint64_t due_ns, uint64_t queued_ns)
{
	uint64_t now_ns = truth_now_ns();
	uint64_t late_ns = now_ns > due_ns ? now_ns - due_ns : 0;

	MARKER_RESULT(MARKER_FIELD(late_us, late_ns / 1000));
	player->nr_late += late_ns > LATE_NS;
	if (late_ns > LATE_NS && player->nr_plants)
		tell_late(player, due_ns, now_ns, queued_ns);
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
	/* Costs a file read: only where frames are meant to be late. */
	uint64_t queued_ns = player->nr_plants ? truth_queued_ns() : 0;
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
	count(player, due_ns, queued_ns);
	av_frame_free(&frame);
	return true;
}

void *presenter_run(void *arg)
{
	struct player *player = arg;
	struct surface surface;
	uint64_t due_ns;
	bool has_surface;
	void *item;

	MARKER_THREAD("presenter");
	player->cpu = truth_pin(player->cpu);
	has_surface = surface_init(&surface, player->codec) >= 0;
	queue_wait_full(&player->frames);
	due_ns = truth_now_ns() + player->frame_ns;
	atomic_store_explicit(&player->next_due_ns, due_ns, memory_order_relaxed);
	atomic_store_explicit(&player->start_ns, due_ns, memory_order_relaxed);
	truth_write(
		player->truth,
		"{\"kind\":\"start\",\"begin_ns\":%llu,\"frame_ns\":%llu,\"tid\":%d,\"cpu\":%d}",
		(unsigned long long)due_ns, (unsigned long long)player->frame_ns, (int)gettid(),
		player->cpu);
	while (has_surface && present(player, &surface, due_ns)) {
		due_ns += player->frame_ns;
		atomic_store_explicit(&player->next_due_ns, due_ns, memory_order_relaxed);
	}
	/* Without a surface: the decoder must not wait for a presenter that has gone. */
	queue_close(&player->frames);
	while (queue_take(&player->frames, &item)) {
		AVFrame *frame = item;

		av_frame_free(&frame);
	}
	av_freep(&surface.planes[0]);
	return NULL;
}
