/* SPDX-License-Identifier: MIT */
/*
 * decoder.c - the decoding thread: packets from one queue, frames into the next.
 */
#include "examples/player/player.h"
#include "marker/marker.h"

int decoder_open(struct player *player)
{
	const AVStream *stream = player->format->streams[player->stream];
	const AVCodec *codec = avcodec_find_decoder(stream->codecpar->codec_id);
	int ret;

	if (!codec)
		return AVERROR_DECODER_NOT_FOUND;
	player->codec = avcodec_alloc_context3(codec);
	if (!player->codec)
		return AVERROR(ENOMEM);
	ret = avcodec_parameters_to_context(player->codec, stream->codecpar);
	/* It decodes in this thread, not in threads of its own: there is one to look at. */
	player->codec->thread_count = 1;
	if (ret >= 0)
		ret = avcodec_open2(player->codec, codec, NULL);
	if (ret < 0)
		avcodec_free_context(&player->codec);
	return ret;
}

/* What the codec has ready goes into the queue. Return: 0, or an error to stop at. */
static int put_frames(struct player *player)
{
	int ret;

	for (;;) {
		AVFrame *frame = av_frame_alloc();

		if (!frame)
			return AVERROR(ENOMEM);
		ret = avcodec_receive_frame(player->codec, frame);
		if (ret >= 0)
			ret = queue_put(&player->frames, frame);
		if (ret < 0) {
			av_frame_free(&frame);
			return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
		}
	}
}

/* Decodes one packet, which becomes this function's; NULL: no more will come. */
static void decode(struct player *player, AVPacket *packet)
{
	uint64_t number = packet ? (uint64_t)packet->pts : 0;

	MARKER_SCOPE(player, decode, MARKER_FLOW(packet, number),
		     MARKER_FIELD(size, packet ? packet->size : 0));
	/* A broken packet costs its picture, not the rest of the film. */
	avcodec_send_packet(player->codec, packet);
	av_packet_free(&packet);
}

void *decoder_run(void *arg)
{
	struct player *player = arg;
	void *item;

	MARKER_THREAD("decoder");
	while (queue_take(&player->packets, &item)) {
		decode(player, item);
		if (put_frames(player) < 0)
			break;
	}
	decode(player, NULL);
	put_frames(player);
	queue_close(&player->frames);
	/* Only after an error: the reader must not wait for a decoder that has gone. */
	queue_close(&player->packets);
	while (queue_take(&player->packets, &item)) {
		AVPacket *packet = item;

		av_packet_free(&packet);
	}
	return NULL;
}
