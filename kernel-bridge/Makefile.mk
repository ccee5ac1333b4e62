# SPDX-License-Identifier: MIT
noinst_LTLIBRARIES += libbridge.la
libbridge_la_SOURCES = kernel-bridge/backend.h kernel-bridge/bridge.h kernel-bridge/backends/fake.c \
	kernel-bridge/backends/none.c kernel-bridge/fake-facts.c kernel-bridge/fake-script.c \
	kernel-bridge/fake-script.h kernel-bridge/fake-standard.c kernel-bridge/fake-words.c kernel-bridge/fake-words.h
libbridge_la_CPPFLAGS = $(AM_CPPFLAGS) $(TRACEEVENT_CFLAGS)
libbridge_la_LIBADD = libtrace.la libbase.la $(TRACEEVENT_LIBS)

UNIT_TESTS += tests/unit/test-fake
tests_unit_test_fake_SOURCES = tests/unit/test-fake.c
tests_unit_test_fake_LDADD = libbridge.la
