/* SPDX-License-Identifier: MIT */
/*
 * reader.c - the reading thread: the file's bytes by pread(), packets out of them into a queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/player/player.h"
#include "marker/marker.h"

#define IO_BUFFER_SIZE 32768

/* The file behind an AVIOContext. */
struct source {
	int fd;
	int64_t pos, size;
};

static int source_read(void *opaque, uint8_t *buffer, int size)
{
	struct source *source = opaque;
	ssize_t len;

	do
		len = pread(source->fd, buffer, (size_t)size, source->pos);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return AVERROR(errno);
	source->pos += len;
	return len ? (int)len : AVERROR_EOF;
}

static int64_t source_seek(void *opaque, int64_t offset, int whence)
{
	struct source *source = opaque;

	if (whence == AVSEEK_SIZE)
		return source->size;
	if ((whence & ~AVSEEK_FORCE) == SEEK_CUR)
		offset += source->pos;
	else if ((whence & ~AVSEEK_FORCE) == SEEK_END)
		offset += source->size;
	if (offset < 0)
		return AVERROR(EINVAL);
	return source->pos = offset;
}

static struct source *source_open(const char *path)
{
	struct source *source = calloc(1, sizeof(*source));
	struct stat st;

	if (!source)
		return NULL;
	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0 || fstat(source->fd, &st) < 0) {
		int error = errno;

		if (source->fd >= 0)
			close(source->fd);
		free(source);
		errno = error;
		return NULL;
	}
	source->size = st.st_size;
	return source;
}

static void source_close(struct source *source)
{
	close(source->fd);
	free(source);
}

/* An AVFormatContext over @source, which becomes its own. */
static AVFormatContext *format_create(struct source *source)
{
	AVFormatContext *format = avformat_alloc_context();
	uint8_t *buffer = av_malloc(IO_BUFFER_SIZE);

	if (format && buffer)
		format->pb = avio_alloc_context(buffer, IO_BUFFER_SIZE, 0, source, source_read,
						NULL, source_seek);
	if (format && format->pb)
		return format;
	av_free(buffer);
	avformat_free_context(format);
	source_close(source);
	return NULL;
}

static void format_destroy(AVFormatContext *format, AVIOContext *io)
{
	avformat_close_input(&format);
	source_close(io->opaque);
	av_freep(&io->buffer);
	avio_context_free(&io);
}

int reader_open(struct player *player)
{
	struct source *source = source_open(player->clip);
	AVFormatContext *format;
	AVIOContext *io;
	int ret;

	if (!source)
		return AVERROR(errno);
	format = format_create(source);
	if (!format)
		return AVERROR(ENOMEM);
	io = format->pb;
	/* Frees the context when it fails, but never an io that is not its own. */
	ret = avformat_open_input(&format, player->clip, NULL, NULL);
	if (ret >= 0)
		ret = avformat_find_stream_info(format, NULL);
	if (ret >= 0)
		ret = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
	if (ret < 0) {
		format_destroy(format, io);
		return ret;
	}
	player->format = format;
	player->stream = ret;
	return 0;
}

void reader_close(struct player *player)
{
	if (player->format)
		format_destroy(player->format, player->format->pb);
	player->format = NULL;
}

/* The next packet of the video, numbered. Return: NULL at the end. */
static AVPacket *read_packet(struct player *player, uint64_t number)
{
	AVPacket *packet = av_packet_alloc();
	int ret = packet ? 0 : AVERROR(ENOMEM);

	MARKER_SCOPE(player, read, MARKER_FLOW(packet, number));
	if (plant_is_starving(player, number))
		plant_starve(player, number);
	while (ret >= 0) {
		ret = av_read_frame(player->format, packet);
		if (ret >= 0 && packet->stream_index == player->stream)
			break;
		av_packet_unref(packet);
	}
	if (ret < 0) {
		av_packet_free(&packet);
		return NULL;
	}
	packet->pts = (int64_t)number;
	packet->dts = AV_NOPTS_VALUE;
	MARKER_RESULT(MARKER_FIELD(size, packet->size));
	return packet;
}

void *reader_run(void *arg)
{
	struct player *player = arg;
	AVPacket *packet;

	MARKER_THREAD("reader");
	for (uint64_t number = 0; (packet = read_packet(player, number)); number++) {
		if (queue_put(&player->packets, packet) < 0) {
			av_packet_free(&packet);
			break;
		}
	}
	queue_close(&player->packets);
	return NULL;
}
