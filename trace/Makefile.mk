# SPDX-License-Identifier: MIT
noinst_LTLIBRARIES += libtrace.la
libtrace_la_SOURCES = trace/class-set.c trace/class-set.h trace/clock-break.c \
	trace/clock-break.h trace/clock.c trace/clock.h \
	trace/directory.c trace/directory.h \
	trace/find.c trace/flow.c trace/flow.h trace/index.c trace/index.h trace/merge.c trace/merge.h \
	trace/metadata-read.c trace/metadata-write.c trace/metadata.h trace/model.c \
	trace/model.h trace/packet-file.c trace/packet-file.h trace/packet.c trace/packet.h trace/parse-time.c trace/parse-time.h \
	trace/message.c trace/message.h trace/payload.c trace/print.c trace/print.h trace/reader-part.c trace/reader-part.h \
	trace/reader.c trace/reader.h trace/repair.c \
	trace/sidecar-read.c trace/sidecar-write.c trace/sidecar.h trace/stream-reader.c \
	trace/stream-reader.h trace/stream-writer.c trace/threads.c trace/threads.h trace/tsdl.c \
	trace/tsdl.h trace/trace-files.c trace/trace-files.h trace/write-queue.c \
	trace/write-queue.h trace/writer-internal.h trace/writer.c trace/writer.h
libtrace_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libtrace_la_LIBADD = libbase.la $(JANSSON_LIBS) -lpthread

UNIT_TESTS += tests/unit/test-clock-break tests/unit/test-model tests/unit/test-clock tests/unit/test-merge
tests_unit_test_model_SOURCES = tests/unit/test-model.c
tests_unit_test_model_LDADD = libtrace.la
tests_unit_test_clock_break_SOURCES = tests/unit/test-clock-break.c
tests_unit_test_clock_break_LDADD = libtrace.la -lm
tests_unit_test_clock_SOURCES = tests/unit/test-clock.c
tests_unit_test_clock_LDADD = libtrace.la -lm
tests_unit_test_merge_SOURCES = tests/unit/test-merge.c
tests_unit_test_merge_LDADD = libtrace.la

UNIT_TESTS += tests/unit/test-packet-file tests/unit/test-write-queue
tests_unit_test_packet_file_SOURCES = tests/unit/test-packet-file.c tests/temp-dir.h
tests_unit_test_packet_file_LDADD = libtrace.la
tests_unit_test_write_queue_SOURCES = tests/unit/test-write-queue.c tests/temp-dir.h
tests_unit_test_write_queue_LDADD = libtrace.la

UNIT_TESTS += tests/unit/test-writer tests/unit/test-sidecar tests/unit/test-metadata \
	tests/unit/test-index tests/unit/test-reader tests/unit/test-reader-damage
tests_unit_test_writer_SOURCES = tests/unit/test-writer.c tests/temp-dir.h
tests_unit_test_writer_LDADD = libtrace.la
tests_unit_test_sidecar_SOURCES = tests/unit/test-sidecar.c tests/temp-dir.h
tests_unit_test_sidecar_LDADD = libtrace.la
tests_unit_test_metadata_SOURCES = tests/unit/test-metadata.c
tests_unit_test_metadata_LDADD = libtrace.la
tests_unit_test_index_SOURCES = tests/unit/test-index.c tests/temp-dir.h
tests_unit_test_index_LDADD = libtrace.la
UNIT_TESTS += tests/unit/test-parts
tests_unit_test_parts_SOURCES = tests/unit/test-parts.c tests/temp-dir.h
tests_unit_test_parts_LDADD = libtrace.la
tests_unit_test_reader_SOURCES = tests/unit/test-reader.c tests/sample-trace.c \
	tests/sample-trace.h tests/temp-dir.h
tests_unit_test_reader_LDADD = libtrace.la
tests_unit_test_reader_damage_SOURCES = tests/unit/test-reader-damage.c tests/sample-trace.c \
	tests/sample-trace.h tests/temp-dir.h
tests_unit_test_reader_damage_LDADD = libtrace.la

check_PROGRAMS += tests/write-sample-trace
tests_write_sample_trace_SOURCES = tests/write-sample-trace.c tests/sample-trace.c \
	tests/sample-trace.h
tests_write_sample_trace_LDADD = libtrace.la

# weft's and babeltrace2's reading of any trace, compared: tests/compare-babeltrace TRACE
if HAVE_BABELTRACE2
check_PROGRAMS += tests/compare-babeltrace
tests_compare_babeltrace_SOURCES = tests/compare-babeltrace.c tests/babeltrace-events.c \
	tests/babeltrace-events.h
tests_compare_babeltrace_CPPFLAGS = $(AM_CPPFLAGS) $(BABELTRACE2_CFLAGS)
tests_compare_babeltrace_LDADD = libtrace.la $(BABELTRACE2_LIBS)
endif
dist_check_SCRIPTS += tests/system/test-babeltrace.sh tests/system/test-old-format.sh
EXTRA_DIST += tests/data/format-1.script tests/data/format-1

UNIT_TESTS += tests/unit/test-print
tests_unit_test_print_SOURCES = tests/unit/test-print.c tests/temp-dir.h
tests_unit_test_print_LDADD = libtrace.la

UNIT_TESTS += tests/unit/test-message
tests_unit_test_message_SOURCES = tests/unit/test-message.c
tests_unit_test_message_LDADD = libtrace.la
