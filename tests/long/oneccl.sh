#!/usr/bin/env bash
# oneCCL's C++ interface, the real library on processors: tests/apps/oneccl_cxx.cpp, over libfabric and over Intel MPI, in the program's
# threads and in the library's own: results unchanged, rows as written by hand, and what the library calls of MPI not a second
# time. It comes from PyPI (oneccl, oneccl-devel; 2 GB installed) into a virtual environment in $B/long, or lies in
# ONECCL=FOLDER; ONECCL_RELEASE: which one, without which 2022.2.0 is taken (2022.1.2 has neither messages nor gather for
# processors). Prints TAP.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
release=${ONECCL_RELEASE:-2022.2.0}
at=${ONECCL:-$(realpath -m "$B")/long/oneccl-$release}
if [ ! -e "$at/include/oneapi/ccl.hpp" ]; then
	# 2022.2 wants a package libfabric that PyPI does not have; Intel MPI brings one.
	mkdir -p "$B/long" && python3 -m venv "$at" >"$tmp/venv" 2>&1 &&
		"$at/bin/pip" install --quiet --no-deps oneccl=="$release" oneccl-devel=="$release" impi-rt==2021.18.1 >>"$tmp/venv" 2>&1 &&
		"$at/bin/pip" install --quiet intel-sycl-rt >>"$tmp/venv" 2>&1
fi
[ -e "$at/include/oneapi/ccl.hpp" ] || { skip 'oneCCL' "it cannot be installed: $(tail -1 "$tmp/venv")"; finish; }
version=$(sed -nE 's/^#define +CCL_(MAJOR|MINOR)_VERSION +([0-9]+).*/\2/p' "$at/include/oneapi/ccl/config.h" 2>/dev/null | tr '\n' ' ')
newer=$(awk '{ print ($1 * 100 + $2 >= 202202) }' <<<"$version")
libs=$at/lib
archive=$at/lib/ccl/cpu/lib/libccl.a
if [ "$newer" = 1 ] && [ -e "$archive" ]; then
	# Its libccl.so.1 wants a GPU. The one for processors is an archive; hooks for Intel's profiler, which are in another library
	# of theirs, are empty.
	libs=$tmp/lib
	mkdir "$libs"
	nm --undefined-only "$archive" 2>/dev/null | awk '$2 ~ /^__itt_.*_ptr__/ && !seen[$2]++ { print "void *" $2 ";" }' >"$tmp/hooks.c"
	cc -c -fPIC -o "$tmp/hooks.o" "$tmp/hooks.c" && g++ -shared -o "$libs/libccl.so.1" -Wl,-soname,libccl.so.1 -Wl,--whole-archive \
		"$archive" -Wl,--no-whole-archive "$tmp/hooks.o" "$at"/lib/{libhwloc.so.15,libintlc.so.5,libsvml.so,libirng.so,libimf.so} \
		>"$tmp/made" 2>&1 || { skip 'oneCCL' "a shared library cannot be made of its archive: $(tail -1 "$tmp/made")"; finish; }
fi
app=$tmp/oneccl_cxx
${CXX:-g++} -std=gnu++17 -O2 -g -I"$at/include" -o "$app" tests/apps/oneccl_cxx.cpp -L"$libs" -l:libccl.so.1 \
	-Wl,-rpath,"$libs" -Wl,--allow-shlib-undefined >"$tmp/made" 2>&1 || {
	fail 'the program is built with the real header' "$(grep -m3 error "$tmp/made")"
	finish
}
# Before 2022.2 it ends in its own messages on a processor; gather comes after them.
if [ "$newer" = 1 ]; then
	messages=messages
	cp tests/e2e/oneccl_cxx.expected "$tmp/expected"
else
	messages=''
	grep -v '^[01-]* *ccl::v1::\(send\|recv\|gather\) ' tests/e2e/oneccl_cxx.expected >"$tmp/expected"
fi
export FI_PROVIDER=tcp FI_PROVIDER_PATH=$at/lib FI_TCP_IFACE=lo CCL_KVS_IFACE=lo I_MPI_ROOT=$at I_MPI_FABRICS=shm PATH=$at/bin:$PATH
export LD_LIBRARY_PATH=$libs:$at/lib:$at/lib/mpi:$at/lib/release${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

cat >"$tmp/rank" <<'END'
#!/bin/bash
export RANK=${RANK:-$PMI_RANK} WORLD_SIZE=2
exec timeout -k 5 120 "$APP" $APP_MESSAGES >"$APP_FILE.$RANK" 2>"$APP_FILE.err.$RANK"
END
chmod +x "$tmp/rank"

ranks_of_ccl() { # FILE HOW [NAME=VALUE ...]
	local file=$1 how=$2 pids=() r
	shift 2
	set -- "$@" APP="$app" APP_FILE="$file" APP_ID="$tmp/id" APP_MESSAGES=$messages
	rm -f "$tmp/id" "$file".*
	status=0
	if [ "$how" = ofi ]; then
		for r in 0 1; do
			env RANK=$r CCL_LOCAL_RANK=$r CCL_LOCAL_SIZE=2 CCL_PROCESS_LAUNCHER=none CCL_ATL_TRANSPORT=ofi "$@" "$tmp/rank" &
			pids+=($!)
		done
		for r in "${pids[@]}"; do
			wait "$r" || status=$?
		done
	else
		"$at/bin/mpirun" -n 2 env CCL_ATL_TRANSPORT=mpi CCL_WORKER_OFFLOAD=$([ "$how" = mpi ] && echo 0 || echo 1) "$@" "$tmp/rank" \
			>"$tmp/mpirun" 2>&1 </dev/null || status=$?
	fi
	cat "$file".[01] | grep -v 'CCL_WARN' >"$file"
	cat "$file".err.[01] | grep -v 'CCL_WARN' >"$file.err"
	echo $status >"$file.status"
}

for how in ofi mpi mpi-workers; do
	ranks_of_ccl "$tmp/plain" $how
	if [ $status != 0 ]; then
		skip "$how" "the program fails without us: $(cat "$tmp/plain.err" "$tmp/mpirun" 2>/dev/null | tail -1)"
		continue
	fi
	new_out
	ranks_of_ccl "$tmp/with" $how LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
	same_result "$how"
	ok "$how: every row is the one written by hand, and no other" python3 tests/e2e/contract_rows.py "$out" "$tmp/expected" "$tmp/with.err"
	contract "$how" "$out" --partial
	is "$how: nothing is reported" "$(libprobe_lines "$tmp/with.err")" ''
	ranks_of_ccl "$tmp/plain" $how APP_LISTS=allgatherv
	if [ $status != 0 ]; then
		skip "$how: lists of buffers" "the program fails without us: $(grep -v '^ *$' "$tmp/plain.err" "$tmp/mpirun" 2>/dev/null | tail -1)"
		continue
	fi
	new_out
	ranks_of_ccl "$tmp/with" $how LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" APP_LISTS=allgatherv
	same_result "$how: lists of buffers"
	{
		cat "$tmp/expected"
		sed '/^# not in/,$d' tests/e2e/oneccl_lists.expected
	} >"$tmp/both"
	ok "$how: lists of buffers: every row is the one written by hand" python3 tests/e2e/contract_rows.py "$out" "$tmp/both" "$tmp/with.err"
done
finish
