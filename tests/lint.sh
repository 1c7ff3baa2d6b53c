#!/usr/bin/env bash
# What must hold of libprobe.so whatever is changed, and of the sources. Usage: tests/lint.sh BUILD-DIR. Prints TAP.
set -u
B=${1:-build}
lib=$B/libprobe.so
n=0
bad=0
check() { # description, offending lines (none = good)
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | head -20 | sed 's/^/#   /'
		bad=1
	fi
}

# Exactly what the specs say, the hooks and probe_*: nothing of ours or of a linked library shows.
exported=$(nm -D --defined-only "$lib" | awk '{print $3}' | sort)
wanted=$(sed -n 's/^[[:space:]]*\([A-Za-z_][A-Za-z0-9_]*\);.*/\1/p' "$B/gen/probe.map" | grep -v '^local' | sort)
check "exports are wrappers, hooks and probe_* only" \
	"$(comm -23 <(echo "$exported") <(echo "$wanted") | grep -v '^probe_')"
check "everything that should be is exported" "$(comm -13 <(echo "$exported") <(echo "$wanted"))"
check "needs libc and the dynamic loader only" \
	"$(readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux.*)$')"
check "neither the library nor the tool needs a glibc above 2.34 (tests/symbols.sh)" "$(tests/symbols.sh "$lib" "$B/probe")"
tls=$(readelf -lW "$lib" | awk '$1 == "TLS" {print $6}')
check "static TLS has at most 64 bytes" "$([ $((tls)) -le 64 ] || echo "$((tls)) bytes; variables of threads are THREAD_OWN (preload/base/thread.h)")"
check "each state that a fork can meet is in a table of handlers (tests/fork_states.sh)" "$(tests/fork_states.sh 2>&1)"
check "THREAD_OWN variables are used through own() only" "$(tests/thread_own.sh)"
check "no segment is writable and executable" "$(readelf -lW "$lib" | grep -E ' RWE ')"
check "the stack is not executable" "$(readelf -lW "$lib" | awk '/GNU_STACK/ && $7 ~ /E/')"
check "no text relocations" "$(readelf -d "$lib" | grep -E 'TEXTREL')"
if [ "$(uname -m)" = x86_64 ]; then
	check "statistics leave the x87 unit alone" "$(objdump -d --no-show-raw-insn "$B"/obj/preload/stats/*.o \
		"$B"/obj/preload/call/data/view.o | grep -P '%st|%mm|\t(f[a-z0-9]+|emms)\b' | head -5)"
fi
# What runs before the constructor: the hooks, and every object of ours that they need in front of what lies after their
# gate (hook_*, preload/entry/early.h). A sanitizer in the program has no function of libc ready then.
before_constructor() {
	local todo=("$B/obj/preload/entry/hooks.o") seen=' ' o s by
	while [ ${#todo[@]} -gt 0 ]; do
		o=${todo[0]} todo=("${todo[@]:1}")
		[[ $seen != *" $o "* ]] || continue
		seen+="$o "
		for s in $(nm -u "$o" | awk '$1 == "U" {print $2}' | grep -vE '^(hook_.*|_DYNAMIC|_GLOBAL_OFFSET_TABLE_)$'); do
			by=$(awk -v s="$s" '$3 == s {print $1; exit}' <<<"$defined")
			if [ -n "$by" ]; then todo+=("$by"); else echo "${o##*/} needs $s"; fi
		done
	done
}
defined=$(find "$B/obj/preload" -name '*.o' -exec nm -A --defined-only {} + |
	sed -nE 's/^([^:]*):[0-9a-f]+ ([TDBR]) (.*)$/\1 \2 \3/p')
check "the hooks need nothing of libc before the constructor has run" "$(before_constructor)"
check "every hook has a gate" "$(nm -u "$B/obj/preload/entry/hooks.o" | awk '{print $2}' | grep -vE '^gate_')"
check "nothing in the job's process ends it" \
	"$(grep -nE '(^|[^_a-zA-Z.>])(exit|abort|assert|_exit|quick_exit) *\(' -r preload wrappers --include='*.c' |
		grep -vE '^\S+: *(/?\*|//)' | grep -vE 'HOOK|//.*exit')"
check "core code names no library" \
	"$(grep -nE '\b(P?MPI|nccl|Hccl|torch|PyTorch|at::|c10d)_?[A-Z]' -r preload --include='*.c' --include='*.h' |
		grep -vE ': *(/?\*|//)|/\*' | grep -v 'preload/probe.h')"
check "rooms use those below them only (tests/layers.table)" "$(tests/layers.sh "$B" 2>&1)"
check "no circle of calls has more than 4 objects, and none leads through several rooms (tests/circles.sh)" "$(tests/circles.sh "$B" 2>&1)"
check "a change compiles what it concerns (tests/rebuilds.sh, tests/rebuilds.table)" "$(tests/rebuilds.sh "$B" 2>&1)"
check "each key of the configuration is read by some code (tests/keys.sh)" "$(tests/keys.sh 2>&1)"
check "a room has at most 25 files that are compiled" "$(git ls-files 'preload/*.[cS]' 'wrappers/*.[cS]' 'tools/*.[cS]' |
	sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 25 {print $2 " has " $1}')"
check "files that comments and pages name are in the tree (tests/citations.sh)" "$(tests/citations.sh 2>&1)"
check "files over 800 lines" "$(git ls-files '*.c' '*.h' '*.S' '*.sh' '*.py' ':!tests/unit/gen/expect' | xargs wc -l | awk '$2 != "total" && $1 > 800 {print $2, $1}')"
check "plain English: no more uses of listed words, functions without a verb, long first lines of commits (tests/words.sh)" "$(tests/words.sh 2>&1)"
if command -v ctags >/dev/null; then
	check "functions say verb and object, and each name occurs once" "$(tests/names.sh)"
else
	n=$((n + 1))
	echo "ok $n - names of functions # SKIP universal-ctags is not installed"
fi
if command -v clang-format >/dev/null; then
	check "clang-format has nothing to change" \
		"$(git ls-files '*.c' '*.h' ':!tests/unit/gen/expect' | xargs clang-format --dry-run 2>&1 | grep -oE '^[^:]+' | sort -u)"
else
	n=$((n + 1))
	echo "ok $n - clang-format # SKIP clang-format is not installed"
fi
check 'io_error_text() is given -errno' "$(git grep -nE 'io_error_text\((errno|-(err|first|rc|n)\))' -- '*.c')"
check "SPDX line in every source" "$(git ls-files '*.c' '*.h' '*.S' ':!tests/unit/gen/expect' | xargs grep -L 'SPDX-License-Identifier: Apache-2.0')"
check "README, manual page and docs have the tables of \`probe config\` and \`probe columns\`" "$(tests/readme.sh "$B" --check 2>&1)"
echo "1..$n"
exit $bad
