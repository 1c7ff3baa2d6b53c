#!/usr/bin/env bash
# Everything that docs/explanation/architecture.md names exists, and everything that it must name is in it: functions, files, rooms, locks. The steps of how-to/add-*.md are followed
# to the letter by tests/long/test_architecture.sh. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

page=docs/explanation/architecture.md
steps='docs/how-to/add-a-library.md docs/how-to/add-to-the-core.md'
# A name that the page gives as name() is a function, macro or table of the sources, or made by the page itself.
unknown() {
	local name
	for name in $(grep -ohE '`[a-z_0-9]+\(\)' $page $steps | tr -d '`()' | sort -u); do
		grep -rqw -- "$name" preload wrappers tools $page $steps --include=*.c --include=*.h --include=*.S --include=*.inc || echo "$name"
	done
	for name in $(grep -oE '\b[a-z_0-9]+\(\)' $page | tr -d '()' | sort -u); do
		grep -rqw -- "$name" preload wrappers tools --include=*.c --include=*.h --include=*.S --include=*.inc || echo "$name"
	done
}
is 'functions that the page names are there' "$(unknown)" ''
# A file alone in a column of its own or in the picture: "call.c".
is 'files that it names are there' \
	"$(grep -oE '\b[a-z_0-9]+\.(c|h|S|table)\b' $page | sort -u | while read -r f; do
		git ls-files -co --exclude-standard | grep -qE "(^|/)$f\$" || [[ $f == wrap_* || $f == *_gen.h ]] || echo "$f"
	done)" ''
is 'each room of the table is in the page' "$(sed -nE 's/^(preload\/)?([a-z][a-z_\/]*).*/\2/p' tests/layers.table | grep -vE '^(gen|table|foreign|knot)$' | while read -r r; do
	grep -qE "^\|[^|]*\`$r\`" $page || echo "$r"
done)" ''
locks() { # files of the library that define a lock
	grep -lE 'MUTEX_INITIALIZER|^static atomic_flag' -r preload wrappers --include=*.c | sort
}
is 'each file that defines a lock is in the page' "$(for f in $(locks); do
	grep -q "${f#preload/}" $page $steps || echo "$f"
done)" ''
finish
