#!/usr/bin/env bash
# Names of functions: each says verb and object (more than one word), and occurs once in preload/, wrappers/ and tools/. The
# kernels of preload/stats exist once per instruction set and may share names. Functions of tests have names of their
# own, which may not be those of the product. Prints offending names, nothing if all is well. Needs universal-ctags.
set -u
cd "$(dirname "$0")/.." || exit 1

functions() { # file list on stdin: "name file:line" of each definition
	ctags -x --_xformat='%N %F:%n' --kinds-C=f --langmap=C:+.h.inc.def -L - | grep -vE '^(ElfW|main) '
}

product=$(git ls-files -co --exclude-standard 'preload/*.[ch]' 'wrappers/*.[ch]' 'tools/*.[ch]' \
	'preload/*.inc' 'preload/*.def' ':!preload/stats/*' | while read -r f; do [ -f "$f" ] && echo "$f"; done | functions)
tests=$(git ls-files -co --exclude-standard 'tests/*.[ch]' ':!tests/unit/gen/expect/*' | while read -r f; do [ -f "$f" ] && echo "$f"; done | functions)

awk '$1 !~ /_/ {print "one word: " $1 " " $2}' <<<"$product"
# The same name twice in a file is one function in two forms (#if).
awk '{f = $2; sub(/:[0-9]+$/, "", f)} !(($1, f) in seen) {seen[$1, f]; n[$1]++; at[$1] = at[$1] " " $2}
	END {for (s in n) if (n[s] > 1) print "twice: " s at[s]}' <<<"$product" | sort
# A test may put a double in the place of a function that other files of the product call.
declared=$(git ls-files -co --exclude-standard 'preload/*.h' 'wrappers/*.h' 'tools/*.h' | while read -r f; do [ -f "$f" ] && echo "$f"; done |
	ctags -x --_xformat='%N' --kinds-C=p -L - | sort -u)
tests=$(awk 'NR == FNR {own[$1]; next} !($1 in own)' <(printf '%s\n' "$declared") <(printf '%s\n' "$tests"))
awk 'NR == FNR {at[$1] = $2; next} $1 in at {print "product and test: " $1 " " at[$1] " " $2}' \
	<(printf '%s\n' "$product") <(printf '%s\n' "$tests")
