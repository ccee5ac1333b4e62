# SPDX-License-Identifier: MIT
dist_man_MANS += doc/man/libmarker.3 doc/man/weft-bridge.8 doc/man/weft-consumerd.1 doc/man/weft-doctor.1 \
	doc/man/weft-list.1 doc/man/weft-mark.1 doc/man/weft-record.1 doc/man/weft-setup.1 doc/man/weft-snapshot.1 doc/man/weft-status.1 doc/man/weft-stop.1 \
	doc/man/weft-trace.5 doc/man/weft.7
dist_check_SCRIPTS += tests/system/test-guide.sh
viewer_manuals = doc/man/weft-dump.1 doc/man/weft-report.1 doc/man/weft-verify-order.1 \
	doc/man/weft-why.1
EXTRA_DIST += $(viewer_manuals)
if WITH_VIEWER
man_MANS += $(viewer_manuals)
endif
