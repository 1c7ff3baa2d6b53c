#!/usr/bin/env bash
# Tools beside libprobe.so in the process or at it: LD_AUDIT, a seccomp filter, gdb that attaches, Python's faulthandler. A
# program starts, has the same results as with the tool alone, and every call is recorded. tests/long/beside_tools.sh has
# those that must be got from elsewhere. Prints TAP.
# timeout: 900
. "$(dirname "$0")/../e2e/lib.sh"
[ -n "$flavours" ] || { skip 'tools' 'no MPI, or its programs are not built (make apps)'; finish; }

export MPI_LIMIT=60 UCX_LOG_LEVEL=fatal
for what in audit:-shared:-fPIC sandbox; do
	name=${what%%:*}
	# shellcheck disable=SC2086  # flags are words
	cc -std=gnu11 -O1 -Wall $(tr ':' ' ' <<<"${what#"$name"}") -o "$tmp/$name" "tests/apps/beside/$name.c" || fail "$name.c compiles"
done

# Number of calls that each rank recorded, and the states of the ranks.
recorded() {
	rows "$out" '[len(calls(on(d))) for d in dirs], sorted({m["state"] for m in M.values()})'
}

# FLAVOUR TEXT [NAME=VALUE ...] COMMAND...: the same as without us, and as many calls as with us alone
tool() {
	local f=$1 text="$1: $2"
	shift 2
	run_plain $f 2 "$@"
	if [ $status != 0 ]; then
		skip "$text" "it does not run without us: $(tail -1 "$tmp/plain.err")"
		return
	fi
	new_out
	run_with $f 2 "$@"
	same_result "$text"
	is "$text: recorded" "$(recorded)" "$alone"
	contract "$text" "$out"
}

for f in $flavours; do
	app=$(realpath "$B/apps/$f/mpi_children")
	new_out
	run_with $f 2 "$app" alone
	alone=$(recorded)
	is "$f: recorded without a tool" "$alone" "([10, 10], ['finished'])"
	tool $f LD_AUDIT LD_AUDIT="$tmp/audit" "$app" alone
	like "$f: LD_AUDIT was there" "$(cat "$tmp/with.err")" audited
	# As in containers, and as on old kernels.
	tool $f 'seccomp, EPERM' "$tmp/sandbox" 1 "$app" alone
	tool $f 'seccomp, ENOSYS' "$tmp/sandbox" 38 "$app" alone
done

# The process in $out has its writer; its id in $pid.
writes() {
	pid=$(ranks_of "$out" | while read -r p; do
		grep -qs probe-writer "/proc/$p"/task/*/comm && echo "$p" && break
	done)
	[ -n "$pid" ]
}

# gdb stops it in the middle and lets it go on.
f=${flavours%%[[:space:]]*}
if command -v gdb >/dev/null; then
	new_out
	start_with "$f" 1 mpi_busy 6
	wait_until 30 writes || fail 'gdb: the program starts' "$(cat "$tmp/started.err")"
	timeout 60 gdb -nx -batch -p "$pid" -ex 'info threads' -ex 'bt' -ex 'detach' >"$tmp/gdb" 2>&1 </dev/null
	if grep -q 'ptrace: Operation not permitted\|Could not attach' "$tmp/gdb"; then
		skip 'gdb' 'nothing may be attached to here'
	else
		like 'gdb: sees the program and the writer' "$(cat "$tmp/gdb")" 'probe-writer.*main'
		wait "$launcher"
		is 'gdb: the program ends well' $? 0
		calls=$(grep -oE '^[0-9]+ calls' "$tmp/started")
		# While the writer is stopped the journal may become full: what was lost is counted.
		is 'gdb: every call is recorded, or counted as lost' \
			"$(rows "$out" 'len(calls(R)) + sum(sum(m["calls"]["dropped"].values()) for m in M.values()), [m["state"] for m in M.values()]')" \
			"(${calls% calls}, ['finished'])"
	fi
else
	skip 'gdb' 'it is not installed'
fi

# faulthandler: a dump while the program computes, and one of a crash.
if python=$(mpi_python "$f"); then
	for what in 'faulthandler.dump_traceback_later(0.2, repeat=True)' 'faulthandler.register(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)'; do
		cat >"$tmp/fh.py" <<-END2
			import faulthandler, os, runpy, signal, time
			$what
			runpy.run_path("tests/apps/mpi_py.py", run_name="__main__")
			time.sleep(0.5)
		END2
		run_plain "$f" 2 "$python" "$tmp/fh.py"
		new_out
		run_with "$f" 2 "$python" "$tmp/fh.py"
		same_result "faulthandler: ${what%%(*}"
		like "faulthandler: ${what%%(*}: dumps" "$(cat "$tmp/with.err")" 'fh.py", line [0-9]+ in <module>'
	done
	cat >"$tmp/crash.py" <<-'END2'
		import ctypes, faulthandler
		import numpy
		from mpi4py import MPI
		faulthandler.enable()
		MPI.COMM_WORLD.Allreduce(numpy.ones(4), numpy.zeros(4))
		def last():
		    ctypes.string_at(0)
		last()
	END2
	run_plain "$f" 1 "$python" "$tmp/crash.py"
	plain=$status
	new_out
	run_with "$f" 1 "$python" "$tmp/crash.py"
	is 'faulthandler, a crash: the same status' $status $plain
	like 'faulthandler, a crash: Python'"'"'s stack' "$(cat "$tmp/with.err")" 'Fatal Python error: Segmentation fault .*crash.py", line 7 in last'
	"$probe" recover "$out" >"$tmp/recover" 2>&1
	is 'faulthandler, a crash: the call is kept' "$(rows "$out" '[r["api"] for r in calls(R)]')" "['MPI_Allreduce']"
else
	skip 'faulthandler' 'no mpi4py'
fi
finish
