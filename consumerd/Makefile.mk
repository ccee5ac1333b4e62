# SPDX-License-Identifier: MIT
# All of consumerd but main.c, for tests.
noinst_LTLIBRARIES += libconsumer.la
libconsumer_la_SOURCES = consumerd/announcement.c consumerd/announcement.h consumerd/collect.c \
	consumerd/collect.h consumerd/control-socket.c consumerd/control-socket.h \
	consumerd/control.h consumerd/folder-lock.c consumerd/folder-lock.h \
	consumerd/place-agent.c consumerd/place-agent.h consumerd/place-find.c \
	consumerd/place-find.h consumerd/place.c consumerd/place.h consumerd/places.c \
	consumerd/places.h consumerd/user-names.c consumerd/user-names.h consumerd/discards.c consumerd/discards.h \
	consumerd/drain.c consumerd/drain.h consumerd/output.c \
	consumerd/output.h consumerd/parts.c consumerd/parts.h consumerd/procfs.c \
	consumerd/procfs.h consumerd/programs.c consumerd/programs.h consumerd/records.c \
	consumerd/records.h consumerd/requests.c consumerd/requests.h consumerd/session-open.c \
	consumerd/session-sink.c consumerd/session-sink.h consumerd/session.c \
	consumerd/session.h consumerd/snapshot.c consumerd/snapshot.h consumerd/source.c consumerd/source.h consumerd/statedump.c \
	consumerd/statedump.h consumerd/wish.c consumerd/wish.h
libconsumer_la_CPPFLAGS = $(AM_CPPFLAGS) $(URCU_CFLAGS) $(JANSSON_CFLAGS)
libconsumer_la_LIBADD = libbridge.la libringread.la libtrace.la libbase.la $(URCU_LIBS) \
	$(JANSSON_LIBS) -lpthread

libexec_PROGRAMS += weft-consumerd
weft_consumerd_SOURCES = consumerd/main.c
weft_consumerd_CPPFLAGS = $(AM_CPPFLAGS) $(URCU_CFLAGS) $(JANSSON_CFLAGS)
weft_consumerd_LDADD = libconsumer.la

UNIT_TESTS += tests/unit/test-consumer
tests_unit_test_consumer_SOURCES = tests/unit/test-consumer.c tests/unit/producer.h
tests_unit_test_consumer_CPPFLAGS = $(AM_CPPFLAGS) $(URCU_CFLAGS)
tests_unit_test_consumer_LDADD = libconsumer.la

check_PROGRAMS += tests/system/record-numbers tests/system/when-full
tests_system_when_full_SOURCES = tests/system/when-full.c
tests_system_record_numbers_SOURCES = tests/system/record-numbers.c
tests_system_record_numbers_LDADD = -lpthread
dist_check_SCRIPTS += tests/system/test-background.sh tests/system/test-consumerd.sh \
	tests/system/test-namespaces.sh tests/system/test-parts.sh \
	tests/system/test-record.sh tests/system/test-snapshot.sh tests/system/test-users.sh \
	tests/system/test-when-full.sh

UNIT_TESTS += tests/unit/test-floor
tests_unit_test_floor_SOURCES = tests/unit/test-floor.c tests/unit/producer.h
tests_unit_test_floor_CPPFLAGS = $(AM_CPPFLAGS) $(URCU_CFLAGS)
tests_unit_test_floor_LDADD = libconsumer.la
UNIT_TESTS += tests/unit/test-output
tests_unit_test_output_SOURCES = tests/unit/test-output.c tests/temp-dir.h
tests_unit_test_output_CPPFLAGS = $(AM_CPPFLAGS) $(URCU_CFLAGS)
tests_unit_test_output_LDADD = libconsumer.la
UNIT_TESTS += tests/unit/test-session
tests_unit_test_session_SOURCES = tests/unit/test-session.c
tests_unit_test_session_CPPFLAGS = $(AM_CPPFLAGS) $(URCU_CFLAGS)
tests_unit_test_session_LDADD = libconsumer.la
