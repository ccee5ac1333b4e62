# SPDX-License-Identifier: MIT
EXTRA_DIST += python/weft_marker.py
if WITH_PYTHON
python_DATA = python/weft_marker.py
dist_man_MANS += doc/man/weft_marker.3
else
EXTRA_DIST += doc/man/weft_marker.3
endif
dist_check_SCRIPTS += tests/system/test-python.sh
EXTRA_DIST += tests/system/marker-python.py
