# SPDX-License-Identifier: MIT
# What both halves know: the messages between them, and where tracefs is.
noinst_LTLIBRARIES += libbridgewire.la
libbridgewire_la_SOURCES = kernel-bridge/protocol.c kernel-bridge/protocol.h \
	kernel-bridge/tracefs.c kernel-bridge/tracefs.h
libbridgewire_la_LIBADD = libbase.la

# The privileged half, a program of its own: small, and without a library that it could do without.
libexec_PROGRAMS += weft-bridge
weft_bridge_SOURCES = kernel-bridge/privileged/confine.c kernel-bridge/privileged/confine.h \
	kernel-bridge/privileged/instance.c kernel-bridge/privileged/instance.h \
	kernel-bridge/privileged/listen.c kernel-bridge/privileged/listen.h \
	kernel-bridge/privileged/main.c kernel-bridge/privileged/select.c \
	kernel-bridge/privileged/select.h kernel-bridge/privileged/serve.c \
	kernel-bridge/privileged/serve.h kernel-bridge/privileged/tracing.c \
	kernel-bridge/privileged/tracing.h kernel-bridge/privileged/watcher.c
weft_bridge_LDADD = libbridgewire.la

# How systemd listens for members of group tracing.
EXTRA_DIST += tests/stress/hotplug.sh kernel-bridge/weft-bridge.socket kernel-bridge/weft-bridge@.service.in
CLEANFILES += kernel-bridge/weft-bridge@.service
kernel-bridge/weft-bridge@.service: $(top_srcdir)/kernel-bridge/weft-bridge@.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) kernel-bridge && sed 's,@LIBEXECDIR@,$(libexecdir),' \
		'$(top_srcdir)/kernel-bridge/weft-bridge@.service.in' >$@.tmp && mv $@.tmp $@
if WITH_SYSTEMD
systemdsystemunit_DATA = $(top_srcdir)/kernel-bridge/weft-bridge.socket \
	kernel-bridge/weft-bridge@.service
endif

noinst_LTLIBRARIES += libbridge.la
libbridge_la_SOURCES = kernel-bridge/backend.h kernel-bridge/bridge.c kernel-bridge/bridge.h \
	kernel-bridge/backends/fake.c kernel-bridge/backends/none.c \
	kernel-bridge/backends/ftrace.c kernel-bridge/backends/ftrace.h \
	kernel-bridge/backends/ftrace-drain.c kernel-bridge/backends/ftrace-compat.c \
	kernel-bridge/backends/ftrace-compat.h kernel-bridge/backends/ftrace-events.c \
	kernel-bridge/backends/ftrace-events.h kernel-bridge/backends/ftrace-fields.c \
	kernel-bridge/backends/ftrace-fields.h kernel-bridge/backends/ftrace-format.c \
	kernel-bridge/backends/ftrace-format.h kernel-bridge/backends/ftrace-names.h \
	kernel-bridge/backends/ftrace-page.c \
	kernel-bridge/backends/ftrace-page.h kernel-bridge/backends/ftrace-probe.c \
	kernel-bridge/backends/ftrace-select.c kernel-bridge/backends/ftrace-stats.c \
	kernel-bridge/backends/ftrace-stats.h kernel-bridge/backends/ftrace-syscalls.c \
	kernel-bridge/backends/ftrace-syscalls.h kernel-bridge/backends/ftrace-syscall-names.c \
	kernel-bridge/fake-class.c \
	kernel-bridge/fake-event.c kernel-bridge/fake-facts.c kernel-bridge/fake-script.c \
	kernel-bridge/fake-script.h kernel-bridge/fake-standard.c kernel-bridge/fake-words.c \
	kernel-bridge/fake-words.h kernel-bridge/link.c kernel-bridge/link.h
nodist_libbridge_la_SOURCES = kernel-bridge/backends/syscall-table.h \
	kernel-bridge/backends/syscall-table-32.h
libbridge_la_LIBADD = libbridgewire.la libtrace.la libbase.la

# Numbers of system calls to their names, by the headers of the machine weft is built for. Only
# x86-64 has a second table that we know.
BUILT_SOURCES += $(nodist_libbridge_la_SOURCES)
CLEANFILES += $(nodist_libbridge_la_SOURCES)
syscall_table = $(CC) -E -dM - | $(AWK) -f $(top_srcdir)/kernel-bridge/syscall-table.awk
kernel-bridge/backends/syscall-table.h: $(top_srcdir)/kernel-bridge/syscall-table.awk
	$(AM_V_GEN)$(MKDIR_P) kernel-bridge/backends && echo '#include <asm/unistd.h>' | $(syscall_table) >$@.tmp && mv $@.tmp $@
kernel-bridge/backends/syscall-table-32.h: $(top_srcdir)/kernel-bridge/syscall-table.awk
	$(AM_V_GEN)$(MKDIR_P) kernel-bridge/backends && { echo '#if defined(__x86_64__) && !defined(__ILP32__)'; \
		echo '#include <asm/unistd_32.h>'; echo '#endif'; } | $(syscall_table) >$@.tmp && mv $@.tmp $@
$(libbridge_la_OBJECTS): $(nodist_libbridge_la_SOURCES)
EXTRA_DIST += kernel-bridge/syscall-table.awk

UNIT_TESTS += tests/unit/test-fake
tests_unit_test_fake_SOURCES = tests/unit/test-fake.c
tests_unit_test_fake_LDADD = libbridge.la

UNIT_TESTS += tests/unit/test-bridge
tests_unit_test_bridge_SOURCES = tests/unit/test-bridge.c
tests_unit_test_bridge_LDADD = libbridge.la

UNIT_TESTS += tests/unit/test-ftrace-format
tests_unit_test_ftrace_format_SOURCES = tests/unit/test-ftrace-format.c
tests_unit_test_ftrace_format_LDADD = libbridge.la

# libtraceevent is what our readers of formats and pages are compared with.
UNIT_TESTS += tests/unit/test-ftrace-fields
tests_unit_test_ftrace_fields_SOURCES = tests/unit/test-ftrace-fields.c
tests_unit_test_ftrace_fields_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_ftrace_fields_LDADD = libbridge.la
if HAVE_TRACEEVENT
tests_unit_test_ftrace_fields_CPPFLAGS += $(TRACEEVENT_CFLAGS) -DHAVE_TRACEEVENT
tests_unit_test_ftrace_fields_LDADD += $(TRACEEVENT_LIBS)
UNIT_TESTS += tests/unit/test-ftrace-page
tests_unit_test_ftrace_page_SOURCES = tests/unit/test-ftrace-page.c
tests_unit_test_ftrace_page_CPPFLAGS = $(AM_CPPFLAGS) $(TRACEEVENT_CFLAGS)
tests_unit_test_ftrace_page_LDADD = libbridge.la $(TRACEEVENT_LIBS)
endif

# Records with the backend alone, for its tests and its benchmark.
noinst_PROGRAMS += tests/bridge-record
tests_bridge_record_SOURCES = tests/bridge-record.c
tests_bridge_record_LDADD = libbridge.la libtrace.la

# A script of the fake backend as a trace: for tests of analyses, and of whoever reads traces.
check_PROGRAMS += tests/script-to-trace
tests_script_to_trace_SOURCES = tests/script-to-trace.c
tests_script_to_trace_LDADD = libbridge.la libtrace.la

dist_check_SCRIPTS += tests/system/test-ftrace.sh tests/system/test-doctor.sh \
	tests/system/test-script.sh tests/system/test-rights.sh tests/system/test-setup.sh
check_PROGRAMS += tests/system/ftrace-work
tests_system_ftrace_work_SOURCES = tests/system/ftrace-work.c
tests_system_ftrace_work_LDADD = -lpthread

EXTRA_DIST += bench/bench-kernel.sh

check_PROGRAMS += tests/system/crowd
tests_system_crowd_SOURCES = tests/system/crowd.c
tests_system_crowd_LDADD = libbridge.la
UNIT_TESTS += tests/unit/test-protocol
tests_unit_test_protocol_SOURCES = tests/unit/test-protocol.c
tests_unit_test_protocol_LDADD = libbridge.la
