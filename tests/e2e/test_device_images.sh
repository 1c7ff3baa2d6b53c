#!/usr/bin/env bash
# The statistics kernel for GPUs as it is kept in the tree: what its compiler writes, and what NVIDIA's assembler takes.
# beside: compilers only
. "$(dirname "$0")/lib.sh"
built=preload/device/built
clang=${KERNEL_CLANG:-clang-19}

if [ "$("$clang" --version 2>/dev/null | head -1)" = "$(cat $built/COMPILER)" ]; then
	for file in $built/stats.*; do
		cp "$file" "$tmp/kept"
		command=$(make -n -W preload/device/stats.cl "$file" V=1 2>/dev/null | grep -F -- "-o $file")
		sh -c "${command//-o $file/-o $tmp/new}" 2>"$tmp/said"
		ok "$file is what its compiler writes, without a warning" cmp "$tmp/new" "$tmp/kept"
		is "$file: the compiler is silent" "$(cat "$tmp/said")" ''
	done
else
	skip 'the kept files are what the compiler writes' "$clang is not $(cat $built/COMPILER)"
fi

unlike 'no mathematics that takes denormals for zero, no call of a function that is not there' \
	"$(grep -E '\.ftz|call|\.extern|\.local' $built/stats.ptx)x" 'ftz|call|extern|local'
like "loads are of 16 bytes" "$(grep -c "ld.global.v4.u32" $built/stats.ptx)" "^[1-9][0-9]"

# TEST_PTXAS: further assemblers; that of CUDA 13 begins at sm_75, sm_70 needs 12.9's.
assembled=''
for ptxas in $(command -v ptxas) ${TEST_PTXAS:-}; do
	release=$("$ptxas" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
	for chip in 70 75 80 86 89 90 100 103 110 120; do
		"$ptxas" -v -arch=sm_$chip -o "$tmp/cubin" $built/stats.ptx >"$tmp/said" 2>&1 || {
			grep -qE "not defined for option|Unsupported|not supported" "$tmp/said" && continue
			fail "sm_$chip, assembler $release" "$(cat "$tmp/said")"
			continue
		}
		registers=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$tmp/said")
		like "sm_$chip, assembler $release: nothing is spilled" "$(cat "$tmp/said")" ' 0 bytes spill stores, 0 bytes spill loads'
		# Two blocks of 256 threads share the 65,536 registers of a multiprocessor.
		is "sm_$chip: two blocks fit at once" "$((registers <= 128))" 1
		assembled="$assembled sm_$chip:$registers"
	done
done
if [ "$assembled" ]; then echo "# registers:$assembled"; else skip 'NVIDIA assembles it' 'no ptxas'; fi
finish
