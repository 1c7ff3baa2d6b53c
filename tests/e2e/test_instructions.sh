#!/usr/bin/env bash
# Instruction counts of the hot paths against the recorded ones (tests/bench/callgrind.sh, which says how to record).
# timeout: 420
# beside: does not wait busily
# root: writes the build folder
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
[ -n "$(command -v valgrind)" ] || { printf 'ok 1 - instructions # SKIP valgrind is not installed\n1..1\n' && exit 0; }
if ! said=$(make --no-print-directory B="$B" bench-bins 2>&1); then
	echo "not ok 1 - the programs of tests/bench build"
	sed 's/^/#   /' <<<"$said"
	exit 1
fi
exec tests/bench/callgrind.sh "$B"
