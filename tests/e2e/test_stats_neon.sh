#!/usr/bin/env bash
# The NEON kernels of the statistics, cross-compiled and run in qemu: the unit tests that the other variants pass, with
# tests/unit/cross/cmocka.h in cmocka's place. Prints TAP.
# timeout: 400
# beside: does not wait busily
# long: every length at every offset
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C
unset LD_PRELOAD
cc=aarch64-linux-gnu-gcc
run=qemu-aarch64
if [ "$(uname -m)" = aarch64 ]; then
	echo '1..1'
	echo 'ok 1 - neon # SKIP the unit tests ran it on this CPU'
	exit 0
fi
for tool in $cc $run; do
	if ! command -v $tool >/dev/null; then
		echo '1..1'
		echo "ok 1 - neon # SKIP $tool is not installed (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
		exit 0
	fi
done
tmp=$(mktemp -d "${TMPDIR:-/tmp}/libprobe-neon.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
bad=0
shopt -s extglob
sources=(preload/stats/!(checksum|threads).c preload/terms/dtype.c) # there is no zlib for that CPU
for t in test_stats_simd test_stats_fenv; do
	if ! $cc -O2 -static -std=gnu11 -D_GNU_SOURCE -DSLOW_CPU ${LONG:+-DSTRIDE=1} -fno-strict-aliasing -ffp-contract=off -Ipreload \
		-Itests/unit/cross -Itests/unit "${sources[@]}" "tests/unit/$t.c" -o "$tmp/$t" \
		-lm -lpthread >"$tmp/log" 2>&1; then
		echo "not ok - $t: does not compile for aarch64"
		sed 's/^/#   /' "$tmp/log" | head -20
		bad=1
		continue
	fi
	# The plan of each program is dropped: together they are one TAP stream, whose plan is the last line.
	$run "$tmp/$t" >"$tmp/log" 2>&1
	rc=$?
	grep -v '^1\.\.' "$tmp/log"
	if [ $rc -ne 0 ]; then
		echo "not ok - $t: exit status $rc"
		bad=1
	elif ! grep -q '^ok .*neon: every length' "$tmp/log" && [ $t = test_stats_simd ]; then
		echo 'not ok - the NEON variant did not run'
		bad=1
	fi
done
exit $bad
