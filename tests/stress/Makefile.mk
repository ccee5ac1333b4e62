# SPDX-License-Identifier: MIT
# Campaigns: run by hand with counts, short ones in make check.
check_PROGRAMS += tests/stress/counted tests/stress/check-counted
tests_stress_counted_SOURCES = tests/stress/counted.c tests/stress/counted.h
tests_stress_counted_LDADD = -lpthread
tests_stress_check_counted_SOURCES = tests/stress/check-counted.c tests/stress/counted.h
EXTRA_DIST += tests/stress/stress.sh tests/stress/kill.sh
dist_check_SCRIPTS += tests/stress/test-kill.sh
