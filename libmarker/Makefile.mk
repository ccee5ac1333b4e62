# SPDX-License-Identifier: MIT
# In the traced program: needs nothing but libc, exports versioned symbols and wraps two of libc's (confine.c).
lib_LTLIBRARIES += libmarker.la
libmarker_la_SOURCES = libmarker/announce.c libmarker/confine.c libmarker/decide.c libmarker/dynamic.c libmarker/internal.h \
	libmarker/names.h libmarker/note.c libmarker/note.h libmarker/process.c \
	libmarker/registry.c libmarker/rendezvous.c libmarker/rendezvous.h \
	libmarker/ring-write.c libmarker/ring.h libmarker/rings.c libmarker/thread.c \
	libmarker/wait.c libmarker/wire.h
libmarker_la_CPPFLAGS = $(AM_CPPFLAGS) -include $(top_srcdir)/libmarker/names.h
libmarker_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden -ftls-model=initial-exec
libmarker_la_LDFLAGS = -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/libmarker/libmarker.map -Wl,-z,nodelete
EXTRA_libmarker_la_DEPENDENCIES = libmarker/libmarker.map
markerincludedir = $(includedir)/marker
markerinclude_HEADERS = libmarker/include/marker/marker.h libmarker/include/marker/dynamic.h
pkgconfig_DATA = libmarker/libmarker.pc
EXTRA_DIST += libmarker/libmarker.map

# Consumer side and rendezvous, for consumerd, tests and the benchmark.
noinst_LTLIBRARIES += libringread.la
libringread_la_SOURCES = libmarker/rendezvous.c libmarker/rendezvous.h libmarker/ring-read.c \
	libmarker/ring-read.h libmarker/ring.h libmarker/wire.h

# A consumer of our own for tests and benchmarks.
check_LTLIBRARIES += libsink.la
libsink_la_SOURCES = tests/sink.c tests/sink.h
libsink_la_LIBADD = libringread.la
check_PROGRAMS += tests/marker-sink
tests_marker_sink_SOURCES = tests/marker-sink.c
tests_marker_sink_LDADD = libsink.la

# Notes out of ELF files, for `weft list`.
noinst_LTLIBRARIES += libnoteread.la
libnoteread_la_SOURCES = libmarker/note.c libmarker/note.h libmarker/note-read.c \
	libmarker/note-read.h
libnoteread_la_CFLAGS = $(AM_CFLAGS) $(ELF_CFLAGS)
libnoteread_la_LIBADD = $(ELF_LIBS)

UNIT_TESTS += tests/unit/test-ring tests/unit/test-note
tests_unit_test_ring_SOURCES = tests/unit/test-ring.c
tests_unit_test_ring_LDADD = libringread.la
tests_unit_test_note_SOURCES = tests/unit/test-note.c
tests_unit_test_note_LDADD = libnoteread.la
dist_check_SCRIPTS += tests/system/test-header-matrix.sh tests/system/test-marker-header.sh \
	tests/system/test-marker-names.sh tests/system/test-marker-select.sh tests/system/test-marker-versions.sh
EXTRA_DIST += tests/data/marker-2026-11.h
EXTRA_DIST += tests/system/marker-types.sh tests/system/marker-types.c tests/system/marker-types-other.c
check_PROGRAMS += tests/system/marker-life
tests_system_marker_life_SOURCES = tests/system/marker-life.c
tests_system_marker_life_LDFLAGS = -pthread
tests_system_marker_life_LDADD = -ldl
dist_check_SCRIPTS += tests/system/test-marker-life.sh
EXTRA_DIST += tests/system/marker-plugin.c tests/system/marker-cxx.cc tests/system/marker-dynamic.c
dist_check_SCRIPTS += tests/system/test-marker-cxx.sh tests/system/test-marker-dynamic.sh
check_PROGRAMS += tests/system/marker-confined
tests_system_marker_confined_SOURCES = tests/system/marker-confined.c
tests_system_marker_confined_LDFLAGS = -pthread
dist_check_SCRIPTS += tests/system/test-marker-confined.sh tests/system/test-marker-tools.sh
check_PROGRAMS += tests/system/handover
tests_system_handover_SOURCES = tests/system/handover.c
tests_system_handover_LDFLAGS = -pthread
dist_check_SCRIPTS += tests/system/test-handover.sh
