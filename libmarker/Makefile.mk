# SPDX-License-Identifier: MIT
# Consumer side and rendezvous, for consumerd, tests and the benchmark.
noinst_LTLIBRARIES += libringread.la
libringread_la_SOURCES = libmarker/rendezvous.c libmarker/rendezvous.h libmarker/ring-read.c libmarker/ring-read.h \
	libmarker/ring.h libmarker/wire.h
