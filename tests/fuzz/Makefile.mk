# SPDX-License-Identifier: MIT
# Readers of foreign bytes. `make fuzz`, in a build that tests/stress/fuzz.sh configures, makes
# programs for clang's libFuzzer; fuzz-replay runs the corpus of all of them in any build.
fuzz_shared = tests/fuzz/fuzz.c tests/fuzz/fuzz.h tests/temp-dir.h
fuzz_libs = libreport.la libconsumer.la libbridge.la libnoteread.la libtrace.la libbase.la \
	$(URCU_LIBS) $(JANSSON_LIBS) -lpthread
fuzz_cppflags = $(AM_CPPFLAGS) $(URCU_CFLAGS) $(JANSSON_CFLAGS)

UNIT_TESTS += tests/fuzz/fuzz-replay
tests_fuzz_fuzz_replay_SOURCES = tests/fuzz/fuzz-replay.c $(fuzz_shared) \
	tests/fuzz/fuzz-metadata.c tests/fuzz/fuzz-packets.c tests/fuzz/fuzz-index.c \
	tests/fuzz/fuzz-sidecar.c tests/fuzz/fuzz-trace.c tests/fuzz/fuzz-analyses.c \
	tests/fuzz/fuzz-notes.c tests/fuzz/fuzz-announcements.c tests/fuzz/fuzz-rings.c \
	tests/fuzz/fuzz-requests.c tests/fuzz/fuzz-formats.c tests/fuzz/fuzz-script.c \
	tests/fuzz/fuzz-texts.c tests/unit/producer.h
tests_fuzz_fuzz_replay_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_replay_LDADD = $(fuzz_libs)
EXTRA_DIST += tests/fuzz/corpus tests/stress/fuzz.sh

# Whole programs against damage.
check_PROGRAMS += tests/system/damage
tests_system_damage_SOURCES = tests/system/damage.c
dist_check_SCRIPTS += tests/system/test-damage.sh

fuzz_programs = tests/fuzz/fuzz-metadata tests/fuzz/fuzz-packets tests/fuzz/fuzz-index \
	tests/fuzz/fuzz-sidecar tests/fuzz/fuzz-trace tests/fuzz/fuzz-analyses \
	tests/fuzz/fuzz-notes tests/fuzz/fuzz-announcements tests/fuzz/fuzz-rings \
	tests/fuzz/fuzz-requests tests/fuzz/fuzz-formats tests/fuzz/fuzz-script \
	tests/fuzz/fuzz-texts
.PHONY: fuzz
fuzz: $(fuzz_programs)
EXTRA_PROGRAMS += $(fuzz_programs)
CLEANFILES += $(fuzz_programs)

fuzz_alone = $(fuzz_cppflags) -DFUZZ_ALONE
fuzz_ldflags = -fsanitize=fuzzer
tests_fuzz_fuzz_metadata_SOURCES = tests/fuzz/fuzz-metadata.c $(fuzz_shared)
tests_fuzz_fuzz_metadata_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_metadata_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_metadata_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_packets_SOURCES = tests/fuzz/fuzz-packets.c $(fuzz_shared)
tests_fuzz_fuzz_packets_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_packets_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_packets_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_index_SOURCES = tests/fuzz/fuzz-index.c $(fuzz_shared)
tests_fuzz_fuzz_index_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_index_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_index_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_sidecar_SOURCES = tests/fuzz/fuzz-sidecar.c $(fuzz_shared)
tests_fuzz_fuzz_sidecar_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_sidecar_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_sidecar_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz-trace.c $(fuzz_shared)
tests_fuzz_fuzz_trace_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_trace_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_trace_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_analyses_SOURCES = tests/fuzz/fuzz-analyses.c $(fuzz_shared)
tests_fuzz_fuzz_analyses_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_analyses_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_analyses_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_notes_SOURCES = tests/fuzz/fuzz-notes.c $(fuzz_shared)
tests_fuzz_fuzz_notes_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_notes_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_notes_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_announcements_SOURCES = tests/fuzz/fuzz-announcements.c $(fuzz_shared)
tests_fuzz_fuzz_announcements_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_announcements_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_announcements_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_rings_SOURCES = tests/fuzz/fuzz-rings.c $(fuzz_shared)
tests_fuzz_fuzz_rings_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_rings_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_rings_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_requests_SOURCES = tests/fuzz/fuzz-requests.c $(fuzz_shared)
tests_fuzz_fuzz_requests_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_requests_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_requests_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_formats_SOURCES = tests/fuzz/fuzz-formats.c $(fuzz_shared)
tests_fuzz_fuzz_formats_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_formats_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_formats_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_script_SOURCES = tests/fuzz/fuzz-script.c $(fuzz_shared)
tests_fuzz_fuzz_script_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_script_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_script_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_texts_SOURCES = tests/fuzz/fuzz-texts.c $(fuzz_shared)
tests_fuzz_fuzz_texts_CPPFLAGS = $(fuzz_alone)
tests_fuzz_fuzz_texts_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_texts_LDADD = $(fuzz_libs)
