# SPDX-License-Identifier: MIT
noinst_LTLIBRARIES += libtrace.la
libtrace_la_SOURCES = trace/clock.c trace/clock.h trace/merge.c trace/merge.h trace/model.c \
	trace/model.h trace/payload.c trace/reader.h trace/sidecar.h trace/writer.h
libtrace_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libtrace_la_LIBADD = libbase.la $(JANSSON_LIBS)
