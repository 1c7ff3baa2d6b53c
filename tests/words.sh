#!/usr/bin/env bash
# Plain English, counted: words that stand for something else (tests/words.table says what to write), names of functions that begin with
# no verb, and first lines of commits. Usage: tests/words.sh [-v] [TABLE]. A limit of the table only falls. Prints what is over its
# limit, with -v all counts. Exit 1 if something is over it.
set -u
cd "$(dirname "$0")/.." || exit 1
verbose=
[ "${1:-}" != -v ] || { verbose=1; shift; }
table=${1:-tests/words.table}
bad=0

lines_of() { # KEY: the words of its lines
	sed -n "s/^$1 *//p" "$table"
}
over() { # WHAT COUNT LIMIT
	[ -z "$verbose" ] || echo "$1: $2 (limit $3)"
	[ "$2" -le "$3" ] || { echo "$1: $2; the limit is $3"; bad=1; }
}

words=$(lines_of word | sed 's/ *->.*//' | paste -sd '|' -)
# "AREA LIMIT": uses of these words below that path, in code, messages and pages.
while read -r area limit; do
	n=$(git grep -owiE "$words" -- "$area" ':!tests/words.*' ':!tests/e2e/test_words.sh' ':!*/gen/expect/*' | wc -l)
	over "words of the list in $area" "$n" "$limit"
done < <(lines_of area)

# Functions: a static one begins with a verb; others have one after the name of what they belong to. Predicates say is, has, can, or a
# verb in the past. probe_*, MPI_* and the like are names of others.
if command -v ctags >/dev/null; then
	verbs=$(lines_of verb | tr ' ' '\n' | grep . | sort -u)
	n=$(git ls-files 'preload/*.[ch]' 'wrappers/*.[ch]' 'tools/*.[ch]' | while read -r f; do [ -f "$f" ] && echo "$f"; done |
		ctags -x --_xformat='%N' --kinds-C=f --langmap=C:+.h -L - | sort -u | grep -vE '^(probe_|main$|[A-Z])' |
		awk 'NR == FNR {verb[$1]; next} {
			m = split($1, w, "_")
			for (i = 1; i <= m; i++)
				if (w[i] in verb || w[i] ~ /..ed$/)
					next
			print
		}' <(printf '%s\n' "$verbs") - | wc -l)
	over 'functions without a verb of the list' "$n" "$(lines_of functions)"
fi

# Since the rule is there.
while read -r subject; do
	[ ${#subject} -le 72 ] || { echo "a commit's first line has ${#subject} letters, 72 are allowed: $subject"; bad=1; }
done < <(git log --no-merges --since="$(lines_of commits)" --format=%s 2>/dev/null)
exit $bad
