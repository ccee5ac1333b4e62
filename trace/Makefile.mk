# SPDX-License-Identifier: MIT
noinst_LTLIBRARIES += libtrace.la
libtrace_la_SOURCES = trace/clock.c trace/clock.h trace/index.c trace/index.h trace/merge.c \
	trace/merge.h trace/metadata-words.h trace/metadata-write.c trace/metadata.h trace/model.c \
	trace/model.h trace/packet.c trace/packet.h trace/payload.c trace/reader.h \
	trace/sidecar-read.c trace/sidecar-write.c trace/sidecar.h trace/stream-writer.c \
	trace/writer-internal.h trace/writer.c trace/writer.h
libtrace_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libtrace_la_LIBADD = libbase.la $(JANSSON_LIBS)
