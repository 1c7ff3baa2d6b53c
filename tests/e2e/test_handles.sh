#!/usr/bin/env bash
# Handles that the library gives to another thread before the call that freed them has come back (late_return.c is after us and
# sees to it): each thread's rows are of its own requests, communicators, windows, files (handle_rows.py). With each MPI.
# timeout: 300
# long: every kind with every MPI
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || skip 'handles of MPI' 'no MPI, or its programs are not built (make apps)'
turns=40

# FLAVOUR RANKS KIND [NAME=VALUE ...]
reuse() {
	local f=$1 n=$2 kind=$3 refused=0 at=$PWD
	shift 3
	[[ " $* " != *LATE_REFUSE* ]] || refused=1
	new_out
	mkdir -p "$out.cwd"
	cd "$out.cwd" || return
	B=$(dirname "$lib") mpi_run "$f" "$n" LD_PRELOAD="$lib:$(dirname "$lib")/apps/$f/libmpilate.so" PROBE_OUTPUT_DIR="$out" PROBE_STACK=false \
		"$@" "$(dirname "$lib")/apps/$f/mpi_reuse" "$kind" $turns >"$tmp/said" 2>&1 </dev/null
	status=$?
	cd "$at" || return
	if [ $status != 0 ]; then
		fail "$f: $kind, $n ranks $*: the program ends well" "$(tail -5 "$tmp/said")"
		return
	fi
	is "$f: $kind, $n ranks $*: every row is of its thread's own handles" "$(python3 tests/e2e/handle_rows.py "$out" "$kind" $turns $refused)" right
	rm -rf "$out" "$out.cwd"
}

for f in $flavours; do
	for kind in persistent wait test waitall testall waitany testany waitsome testsome collective cancel comm group type op; do
		case $kind in
		persistent | wait | test) ;;
		*) has_turn $f "handles $kind" || continue ;;
		esac
		reuse $f 2 $kind
	done
	# Handles of requests that are not recorded are given out, too.
	reuse $f 2 mixed PROBE_MIN_BYTES=1000
	# A handle that could not be freed is unchanged.
	reuse $f 1 persistent LATE_REFUSE=3
	reuse $f 1 wait LATE_REFUSE=3
	reuse $f 1 comm LATE_REFUSE=3
	reuse $f 1 file LATE_REFUSE=3
	run_plain $f 1 mpi_reuse window 20
	if [ $status = 0 ]; then
		reuse $f 1 window LATE_REFUSE=3
	else
		skip "$f: windows" "this MPI has none on one rank for several threads (status $status without us)"
	fi
done

# The same of libraries that need hardware, whose stand-in has few handles.
handles=tests/doubles/ccl
cc -std=gnu11 -O1 -g -Wall -D_GNU_SOURCE -shared -fPIC -o "$tmp/libreuse.so" $handles/reuse.c || fail 'reuse.c compiles'
program ccl_reuse -L"$tmp" -lreuse -Wl,-rpath,"$tmp" -lpthread
for kind in nccl nccl_window hccl ucc; do
	# Any thread's progress ends any thread's request of UCC: more turns, for that must be met.
	n=$turns
	[ $kind != ucc ] || n=$((5 * turns))
	for refuse in 0 3; do
		new_out
		said=$(env RANK=0 WORLD_SIZE=1 LATE_REFUSE=$refuse PROBE_STACK=false PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" \
			timeout -k 5 60 "$tmp/ccl_reuse" $kind $n 2>&1)
		is "$kind, refuses $refuse: every row is of its thread's own handles" \
			"$(python3 tests/e2e/handle_rows.py "$out" $kind $n $((refuse > 0)) "$said")" right
	done
done
finish
