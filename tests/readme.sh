#!/usr/bin/env bash
# Puts the table of `probe config --markdown` into README.md; with --check only compares. Usage: tests/readme.sh BUILD-DIR
set -eu
table=$("$1/probe" config --markdown)
new=$(mktemp)
trap 'rm -f "$new"' EXIT
awk -v begin='<!-- probe config --markdown -->' -v end='<!-- end -->' -v table="$table" '
	$0 == begin {print; print ""; print table; print ""; skip = 1; next}
	$0 == end {skip = 0}
	!skip' README.md >"$new"
if [ "${2:-}" = --check ]; then
	diff README.md "$new"
else
	cp "$new" README.md
fi
