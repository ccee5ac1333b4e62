#!/bin/sh
# SPDX-License-Identifier: MIT
# autogen.sh - makes configure and the Makefile.in's from a fresh clone.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
autoreconf --force --install
