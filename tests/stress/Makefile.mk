# SPDX-License-Identifier: MIT
# Campaigns: run by hand with counts, short ones in make check.
check_PROGRAMS += tests/stress/counted tests/stress/check-counted
tests_stress_counted_SOURCES = tests/stress/counted.c tests/stress/counted.h
tests_stress_counted_LDADD = -lpthread
tests_stress_check_counted_SOURCES = tests/stress/check-counted.c tests/stress/counted.h
EXTRA_DIST += tests/stress/stress.sh tests/stress/kill.sh tests/stress/faults.sh \
	tests/stress/conserve.sh tests/stress/package.sh tests/stress/snapshots.sh
dist_check_SCRIPTS += tests/stress/test-kill.sh
# -rpath makes a shared library of one that is not installed.
check_LTLIBRARIES += tests/stress/fault-preload.la
tests_stress_fault_preload_la_SOURCES = tests/stress/fault-preload.c
tests_stress_fault_preload_la_CFLAGS = $(AM_CFLAGS) -fno-optimize-sibling-calls
tests_stress_fault_preload_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_stress_fault_preload_la_LIBADD = -ldl
dist_check_SCRIPTS += tests/stress/test-faults.sh tests/stress/test-conserve.sh tests/stress/test-snapshots.sh
# A neighbour that means harm.
check_PROGRAMS += tests/stress/hostile
tests_stress_hostile_SOURCES = tests/stress/hostile.c
EXTRA_DIST += tests/stress/neighbour.sh
dist_check_SCRIPTS += tests/stress/test-neighbour.sh
