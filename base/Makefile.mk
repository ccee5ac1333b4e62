# SPDX-License-Identifier: MIT
noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES = base/array.c base/array.h base/close-from.c base/close-from.h \
	base/copy-tree.c base/copy-tree.h base/heap.c base/heap.h base/json-writer.c \
	base/json-writer.h base/log.c base/log.h base/parse-size.c base/parse-size.h \
	base/stack-limit.c base/stack-limit.h base/standard-fds.c base/standard-fds.h
libbase_la_LIBADD = -lm

UNIT_TESTS += tests/unit/test-base
tests_unit_test_base_SOURCES = tests/unit/test-base.c
tests_unit_test_base_LDADD = libbase.la

UNIT_TESTS += tests/unit/test-close-from
tests_unit_test_close_from_SOURCES = tests/unit/test-close-from.c
tests_unit_test_close_from_LDADD = libbase.la

UNIT_TESTS += tests/unit/test-copy-tree
tests_unit_test_copy_tree_SOURCES = tests/unit/test-copy-tree.c tests/temp-dir.h
tests_unit_test_copy_tree_LDADD = libbase.la
