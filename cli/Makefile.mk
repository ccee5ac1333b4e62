# SPDX-License-Identifier: MIT
bin_PROGRAMS += weft
weft_SOURCES = cli/weft.c cli/cli.h cli/cmd-doctor.c cli/cmd-list.c cli/cmd-mark.c \
	cli/cmd-record.c cli/cmd-snapshot.c cli/cmd-status.c cli/cmd-setup.c cli/cmd-stop.c cli/record-daemon.c \
	cli/record-daemon.h cli/record-figures.c cli/record-figures.h cli/record-names.c \
	cli/record-names.h cli/record-options.c cli/record-options.h cli/record-patterns.c \
	cli/record-patterns.h cli/record-program.c cli/record-program.h cli/record-running.c \
	cli/record-running.h cli/record-unmarked.c cli/record-unmarked.h cli/rights.c cli/rights.h
weft_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(ELF_CFLAGS)
weft_LDADD =
dist_check_SCRIPTS += tests/system/test-mark.sh
if WITH_VIEWER
weft_SOURCES += cli/cmd-dump.c cli/cmd-report.c cli/cmd-verify-order.c cli/cmd-why.c
weft_LDADD += libreport.la libanalysis.la
endif
weft_LDADD += libbridge.la libringread.la libnoteread.la libtrace.la libbase.la $(JANSSON_LIBS) \
	$(ELF_LIBS) -lm
