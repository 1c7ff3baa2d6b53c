#!/usr/bin/env bash
# Puts the tables that `probe` prints into the documents; with --check only compares. A table stands between a line
# <!-- probe ARGUMENTS --> and <!-- end -->, in manual pages between .\" probe ARGUMENTS and .\" end.
# Usage: tests/readme.sh BUILD-DIR [--check]
set -eu
cd "$(dirname "$0")/.."
new=$(mktemp)
trap 'rm -f "$new"' EXIT
rc=0
for file in $(grep -lE '^(<!--|\.\\") probe ' README.md CONTRIBUTING.md man/*.? docs/*/*.md); do
	skip=
	while IFS= read -r line; do
		case $line in
		'<!-- probe '*' -->' | '.\" probe '*)
			words=${line#*probe }
			words=${words% -->}
			printf '%s\n' "$line"
			[[ $line == .* ]] || echo
			# shellcheck disable=SC2086
			"$1/probe" $words
			[[ $line == .* ]] || echo
			skip=1
			;;
		'<!-- end -->' | '.\" end') skip= ;;
		esac
		[ -n "$skip" ] || printf '%s\n' "$line"
	done <"$file" >"$new"
	if [ -n "$skip" ]; then
		echo "$file: a table without its end"
		rc=1
	elif [ "${2:-}" = --check ]; then
		diff "$file" "$new" || rc=1
	elif ! cmp -s "$file" "$new"; then
		cp "$new" "$file"
	fi
done
exit $rc
