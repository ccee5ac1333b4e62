#!/bin/bash
# SPDX-License-Identifier: MIT
# Includes go only down the layers (doc/ARCHITECTURE.md, "Layers").
. "${top_srcdir:-.}/tests/tap.sh"
cd "$top_srcdir" || exit 1

# allowed FOLDER FOLDER...: what the first may include of ours.
allowed() {
	local folder=$1 pattern bad
	shift
	pattern=$(printf '%s|' "$folder" "$@")
	bad=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' --include='*.c' --include='*.h' "$folder" |
		grep -vE "\"(config\\.h\"|(${pattern%|})[/\"])" || true)
	is "$folder includes nothing above it" "$bad" ""
}

allowed base
allowed trace base
allowed libmarker/include
allowed libmarker marker
allowed kernel-bridge trace base
allowed consumerd kernel-bridge trace base libmarker/ring.h libmarker/ring-read.h libmarker/wire.h libmarker/rendezvous.h
allowed viewer/analysis trace base
allowed viewer/report viewer/analysis trace base
allowed cli viewer/report viewer/analysis trace base kernel-bridge consumerd/control.h libmarker/note-read.h libmarker/note.h libmarker/rendezvous.h

installed=$(find . -name '*.h' -path '*/include/*' -not -path './build*' | grep -v '^./libmarker/include/marker/' || true)
is "installed headers live in libmarker/include/marker only" "$installed" ""
missing=$(git ls-files '*.c' '*.h' '*.sh' 2>/dev/null | xargs -r grep -L 'SPDX-License-Identifier: MIT' || true)
is "every source file names its licence" "$missing" ""
done_testing
