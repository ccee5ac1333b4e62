# SPDX-License-Identifier: MIT
bashcompletiondir = $(datadir)/bash-completion/completions
install-data-local:
	$(MKDIR_P) $(DESTDIR)$(bashcompletiondir)
	$(INSTALL_DATA) $(srcdir)/completion/weft.bash $(DESTDIR)$(bashcompletiondir)/weft
uninstall-local:
	rm -f $(DESTDIR)$(bashcompletiondir)/weft
EXTRA_DIST += completion/weft.bash
dist_check_SCRIPTS += tests/system/test-manuals.sh
