# SPDX-License-Identifier: MIT
# Without the viewer only its tests need them.
if WITH_VIEWER
noinst_LTLIBRARIES += libanalysis.la libreport.la
else
EXTRA_LTLIBRARIES += libanalysis.la libreport.la
endif
libanalysis_la_SOURCES = viewer/analysis/async-spans.c viewer/analysis/block-io.c viewer/analysis/calls.c \
	viewer/analysis/causality.c viewer/analysis/causality.h viewer/analysis/chain.c \
	viewer/analysis/event-map.c viewer/analysis/event-map.h viewer/analysis/flows.c viewer/analysis/history.c \
	viewer/analysis/history.h viewer/analysis/instances.c viewer/analysis/interrupts.c \
	viewer/analysis/markers.c viewer/analysis/order.c viewer/analysis/order.h \
	viewer/analysis/signals.c \
	viewer/analysis/thread-state.c viewer/analysis/threads.c viewer/analysis/tiling.c \
	viewer/analysis/u64-map.c viewer/analysis/u64-map.h viewer/analysis/usage.c \
	viewer/analysis/usage.h viewer/analysis/usage-faults.c viewer/analysis/usage-io.c \
	viewer/analysis/usage-irqs.c viewer/analysis/usage-sched.c viewer/analysis/why.c \
	viewer/analysis/why.h viewer/analysis/works.c
libanalysis_la_LIBADD = libtrace.la libbase.la

libreport_la_SOURCES = viewer/report/describe.c viewer/report/describe.h \
	viewer/report/report-faults.c viewer/report/report-flows.c viewer/report/report-io.c viewer/report/report-irq.c \
	viewer/report/report-markers.c viewer/report/report-order.c viewer/report/report-sched.c \
	viewer/report/report-summary.c viewer/report/report-threads.c \
	viewer/report/report-why-json.c viewer/report/report-why.c viewer/report/report.h \
	viewer/report/table.c viewer/report/table.h viewer/report/usage-table.c \
	viewer/report/usage-table.h viewer/report/why-flows.c viewer/report/why-flows.h
libreport_la_LIBADD = libanalysis.la libtrace.la libbase.la

dist_check_SCRIPTS += tests/system/test-flows.sh tests/system/test-marker-kinds.sh tests/system/test-target.sh tests/system/test-usage.sh \
	tests/system/test-why.sh \
	tests/system/test-why-reports.sh
EXTRA_DIST += tests/data/flows.script tests/data/kinds.script tests/data/usage.script
EXTRA_DIST += $(why_scripts)
why_scripts = tests/data/why-block-io.script tests/data/why-early-waking.script \
	tests/data/why-exit.script tests/data/why-fault-awake.script \
	tests/data/why-faults.script tests/data/why-flush.script tests/data/why-journal.script \
	tests/data/why-kworker.script tests/data/why-lock-convoy.script \
	tests/data/why-loss-elsewhere.script tests/data/why-loss.script \
	tests/data/why-pipe.script tests/data/why-preempted.script \
	tests/data/why-read-awake.script tests/data/why-socket.script \
	tests/data/why-starvation.script tests/data/why-timer.script \
	tests/data/why-stopped.script tests/data/why-unseen-switch.script \
	tests/data/why-unseen-waking.script

UNIT_TESTS += tests/unit/test-markers tests/unit/test-order tests/unit/test-state \
	tests/unit/test-tiling
tests_unit_test_markers_SOURCES = tests/unit/test-markers.c tests/unit/feed.c tests/unit/feed.h
tests_unit_test_markers_LDADD = libanalysis.la
tests_unit_test_order_SOURCES = tests/unit/test-order.c tests/unit/feed.c tests/unit/feed.h
tests_unit_test_order_LDADD = libanalysis.la
tests_unit_test_state_SOURCES = tests/unit/test-state.c tests/unit/feed.c tests/unit/feed.h
tests_unit_test_state_LDADD = libanalysis.la
tests_unit_test_tiling_SOURCES = tests/unit/test-tiling.c tests/unit/feed.c tests/unit/feed.h
tests_unit_test_tiling_LDADD = libanalysis.la
