# SPDX-License-Identifier: MIT

noinst_PROGRAMS += bench/bench-marker
bench_bench_marker_SOURCES = bench/bench-marker.c tests/sink.c tests/sink.h
bench_bench_marker_CPPFLAGS = $(AM_CPPFLAGS)
bench_bench_marker_CFLAGS = $(AM_CFLAGS)
bench_bench_marker_LDADD = libmarker.la libringread.la -lpthread
bench_bench_marker_LDFLAGS = -no-install -Wl,--no-as-needed
if HAVE_LTTNG_UST
bench_bench_marker_SOURCES += bench/bench-marker-lttng.c bench/bench-marker-lttng.h
bench_bench_marker_CPPFLAGS += -DHAVE_LTTNG_UST
bench_bench_marker_CFLAGS += $(LTTNG_UST_CFLAGS)
bench_bench_marker_LDADD += $(LTTNG_UST_LIBS)
endif
EXTRA_DIST += bench/bench-marker.sh

noinst_PROGRAMS += bench/bench-consumer
bench_bench_consumer_SOURCES = bench/bench-consumer.c
bench_bench_consumer_CPPFLAGS = $(AM_CPPFLAGS)
bench_bench_consumer_CFLAGS = $(AM_CFLAGS)
if HAVE_LTTNG_UST
bench_bench_consumer_SOURCES += bench/bench-marker-lttng.c bench/bench-marker-lttng.h
bench_bench_consumer_CPPFLAGS += -DHAVE_LTTNG_UST
bench_bench_consumer_CFLAGS += $(LTTNG_UST_CFLAGS)
bench_bench_consumer_LDADD = $(LTTNG_UST_LIBS)
endif
EXTRA_DIST += bench/bench-consumer.sh

noinst_PROGRAMS += bench/bench-threads
bench_bench_threads_SOURCES = bench/bench-threads.c
bench_bench_threads_LDADD = -lpthread
EXTRA_DIST += bench/bench-threads.sh

noinst_PROGRAMS += bench/bench-run bench/bench-faults
bench_bench_run_SOURCES = bench/bench-run.c
bench_bench_faults_SOURCES = bench/bench-faults.c
EXTRA_DIST += bench/bench-languages.sh bench/bench-read.sh bench/bench-sizes.sh bench/recorders.sh
