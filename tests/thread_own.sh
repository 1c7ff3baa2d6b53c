#!/usr/bin/env bash
# Uses of variables that are THREAD_OWN (preload/base/thread.h) without own(): they would reach the one that all threads share.
# Prints a line for each. Usage: tests/thread_own.sh [FILE...]
set -u
[ $# != 0 ] || set -- $(git grep -lE '^static THREAD_OWN' -- '*.c' '*.h')
[ $# != 0 ] || exit 0
awk '
	function blank_comments(s,    at, end) {
		while (1) {
			if (inside) {
				end = index(s, "*/")
				if (!end) return ""
				s = substr(s, end + 2)
				inside = 0
			}
			at = index(s, "/*")
			if (!at) return s
			end = index(substr(s, at + 2), "*/")
			if (!end) {
				inside = 1
				return substr(s, 1, at - 1)
			}
			s = substr(s, 1, at - 1) " " substr(s, at + 2 + end + 1)
		}
	}
	FNR == 1 {
		split("", names)
		inside = open = 0
	}
	{
		line = blank_comments($0)
		gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
		if (line ~ /^static THREAD_OWN/ && line ~ /\{ *$/) {
			open = 1
			next
		}
		if (open) {
			if (line !~ /^\}/) next
			open = 0
			name = line
			sub(/^\} */, "", name)
			sub(/[^A-Za-z0-9_].*/, "", name)
			names[name] = 1
			next
		}
		if (line ~ /^static THREAD_OWN/) {
			name = line
			sub(/[;=\[].*/, "", name)
			sub(/ *$/, "", name)
			sub(/.*[^A-Za-z0-9_]/, "", name)
			names[name] = 1
			next
		}
		for (name in names) {
			rest = line
			while (match(rest, "(^|[^A-Za-z0-9_])" name "([^A-Za-z0-9_]|$)")) {
				before = substr(rest, 1, RSTART + (substr(rest, RSTART, 1) ~ /[A-Za-z0-9_]/ ? -1 : 0))
				after = substr(rest, length(before) + length(name) + 1)
				if (before !~ /(\.|->|own\()$/ || after !~ /^\)/ && before ~ /own\($/)
					print FILENAME ":" FNR ": " name
				rest = after
			}
		}
	}' "$@"
