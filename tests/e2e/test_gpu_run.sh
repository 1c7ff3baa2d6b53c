#!/usr/bin/env bash
# tests/gpu/run.sh can be run: on a stand-in for the driver, the parts that need nothing else. A real GPU is rare: its time is not for
# repairing the script.
# timeout: 300
. "$(dirname "$0")/lib.sh"
[ -e "$B/doubles/libcuda.so.1" ] && [ -e "$B/libcore.a" ] || {
	skip 'the checks for a real GPU' 'the stand-ins are not built (make apps)'
	finish
}
mkdir "$tmp/bin"
printf '#!/bin/sh\n[ "$1" = -L ] && echo "GPU 0: a stand-in (UUID: 0)" || echo 1.0\n' >"$tmp/bin/nvidia-smi"
chmod +x "$tmp/bin/nvidia-smi"

run_part() { # PART
	PATH="$tmp/bin:$PATH" KERNEL_MIB=8 KERNEL_TIMES=1 LD_LIBRARY_PATH="$B/doubles" timeout 200 bash tests/gpu/run.sh "$tmp/gpu" "$1" >"$tmp/$1" 2>"$tmp/$1.err"
}

for script in tests/gpu/*.sh; do ok "$script is a script" bash -n "$script"; done
for script in tests/gpu/*.py; do
	ok "$script is a program" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script"
done
run_part kernel
like 'kernel: the program is built, and has the figures of the reference' "$(grep '^ok' "$tmp/kernel")" 'kernel: every type has the reference' 
like 'kernel: a rate for each type' "$(grep -c 'GB/s, .* of the copy' "$tmp/kernel")" '^1[0-9]'
like 'kernel: a rate that is too low fails' "$(grep '^not ok' "$tmp/kernel")" 'slower: .*float32 [0-9]+%'
is 'kernel: the shell has nothing to say' "$(cat "$tmp/kernel.err")" ''
like 'without the real libraries the other parts say so' "$(run_part nccl; cat "$tmp/nccl")" 'ok [0-9]+ - nccl # SKIP'
for part in $(sed -n "s/^all='\(.*\)'/\1/p" tests/gpu/run.sh); do
	like "part $part is explained" "$(sed -n '2,/^set -u/p' tests/gpu/run.sh)" "# .*\b$part\b"
done

# The library that counts the driver's calls.
ok 'a counting library of the driver' python3 tests/gpu/driver_counts.py make "$B/doubles/libcuda.so.1" "$tmp/counts"
LD_LIBRARY_PATH="$tmp/counts" DRIVER_COUNTS="$tmp/few" timeout 100 "$tmp/gpu/kernel_gpu" 8 1 >"$tmp/counted" 2>&1
like 'it passes calls on' "$(cat "$tmp/counted")" "ok 17 - complex128.*copy"
like 'it counts them' "$(cat "$tmp/few")" 'cuLaunchKernel [0-9]{3}'
awk '{ print $1, $2 + ($1 == "cuLaunchKernel" ? 2000 : 0) }' "$tmp/few" >"$tmp/launches"
awk '{ print $1, $2 + 1 }' "$tmp/few" >"$tmp/waits"
ok 'more launches alone are right' python3 tests/gpu/driver_counts.py compare "$tmp/few" "$tmp/launches"
ok 'a wait more is not' sh -c "! python3 tests/gpu/driver_counts.py compare '$tmp/few' '$tmp/waits'"
ok 'nor is no launch' sh -c "! python3 tests/gpu/driver_counts.py compare '$tmp/few' '$tmp/few'"
finish
