#!/usr/bin/env bash
# Things that the preload must not change: programs that have nothing to record, the answers of the dynamic linker, the state of
# process and thread around a call, other tools in the same chain, and all of it with a wrong configuration.
# timeout: 420
. "$(dirname "$0")/lib.sh"

empty=$tmp/empty
mkdir "$empty"
unset PROBE_OUTPUT_DIR

# The same output, messages and status in an empty folder, which stays empty.
inert() { # TEXT COMMAND...
	local text=$1 rc
	shift
	(cd "$empty" && "$@" >"$tmp/plain" 2>"$tmp/plain.err" </dev/null)
	rc=$?
	(cd "$empty" && LD_PRELOAD=$lib "$@" >"$tmp/with" 2>"$tmp/with.err" </dev/null)
	is "$text: status" $? $rc
	sed -i 's/: [^ ]*: undefined symbol/: undefined symbol/' "$tmp/plain" "$tmp/with" # it names who asks
	is "$text: the same lines" "$(diff "$tmp/plain" "$tmp/with")" ''
	is "$text: the same messages" "$(diff "$tmp/plain.err" "$tmp/with.err")" ''
	is "$text: no file" "$(ls -A "$empty")" ''
}

echo 'int main(void) { return 7; }' >"$tmp/c.c"
inert true true
inert false false
inert sh sh -c 'echo a; (echo b) | cat; exit 5'
inert 'killed' sh -c 'kill -9 $$'
inert bash bash -c 'for i in 1 2 3; do (exit $i) & done; wait; ulimit -n; trap; umask; echo "$(pwd)" <(:) >/dev/null'
inert python3 python3 -c 'import os, subprocess, sys, zlib, ctypes
print(sorted(os.listdir("/proc/self/fd"))[:4], len(os.listdir("/proc/self/task")), zlib.crc32(b"x"))
print(subprocess.run(["sh", "-c", "echo child; exit 4"], capture_output=True))
sys.exit(6)'
inert 'a compiler' cc -c -Wall -o /dev/null "$tmp/c.c"
inert 'a compiler that fails' cc -c "$tmp/none.c"
inert 'loader' ldd --version
inert 'not found' env nonexistent-command

program plain_state -lm
inert 'a program without MPI' "$tmp/plain_state"
inert 'the same, at its exit' "$tmp/plain_state" late
inert 'a program without MPI, switched off' env PROBE_DISABLE=1 "$tmp/plain_state"
names=$(nm -D --defined-only "$lib" | awk '{print $3}' | grep -v '^probe_')
like 'hooks of libraries are among the exported names' "$names" '(^|[[:space:]])MPI_Pcontrol([[:space:]]|$)'
# shellcheck disable=SC2086
inert 'every exported name' "$tmp/plain_state" names $names
inert 'with stdio closed' sh -c "exec '$tmp/plain_state' <&- 2>&-"
inert 'in a folder that is gone' sh -c "mkdir gone && cd gone && rmdir ../gone && exec '$tmp/plain_state'"
like 'MPI is not found where there is none' "$(cat "$tmp/with")" 'default MPI_Barrier: .*undefined symbol: MPI_Barrier.*next MPI_Barrier: .*undefined'

# One thread, no heap of ours: what a process maps is the library and nothing else.
mapped=$(LD_PRELOAD=$lib cat /proc/self/maps | awk '{print $6}' | sort -u)
is 'no library comes with it' "$(comm -13 <(cat /proc/self/maps | awk '{print $6}' | sort -u) <(echo "$mapped") | grep -v "^$lib\$")" ''

# Every shell and compiler of a job pays for the preload: pages that the loader writes for its tables, and our own start. Of what is only
# read the kernel maps 16 pages at a time: where these windows fall makes one or two faults more or less from build to build.
cc -O1 -D_GNU_SOURCE -I. -o "$tmp/start_cost" tests/bench/start_cost.c || fail 'start_cost.c compiles'
cc -shared -fPIC -x c -o "$tmp/libempty.so" /dev/null
t=$("$tmp/start_cost" 41 /bin/true "$tmp/libempty.so" "$lib")
faults=$(awk '{v[NR] = $3} END {print v[2] - v[1]}' <<<"$t")
most=20
# clang makes tables of addresses out of switches.
! readelf -p .comment "$lib" | grep -q clang || most=24
if readelf -d "$lib" | grep -q 'lib[a-z]*san'; then
	skip 'page faults of a process that records nothing' 'with a sanitizer'
elif [ -n "$faults" ] && [ "$faults" -le $most ]; then
	pass "page faults of a process that records nothing: at most $most beyond an empty library ($faults)"
else
	fail "page faults of a process that records nothing: at most $most beyond an empty library" "$t"
fi

# ---- programs that are recorded ----

[ -n "$flavours" ] || { skip 'recorded programs' 'no MPI, or its programs are not built (make apps)'; finish; }
mkdir "$tmp/empty_too"
cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$tmp/dummy.so" tests/apps/dummy_tool.c || fail 'dummy_tool.c compiles'

singleton() { # NAME=VALUE ... PROGRAM ARGUMENTS: without mpirun, into $out
	new_out
	timeout 60 env LD_PRELOAD="${PRELOAD:-$lib}" PROBE_OUTPUT_DIR="$out" "$@" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	echo $? >"$tmp/with.status"
}

singleton_plain() {
	timeout 60 env "$@" >"$tmp/plain" 2>"$tmp/plain.err" </dev/null
	echo $? >"$tmp/plain.status"
}

for f in $flavours; do
	apps=$(realpath "$B/apps/$f")

	singleton_plain "$apps/mpi_state"
	singleton "$apps/mpi_state"
	same_result "$f: errno, dlerror, signal mask, handlers, folder, umask, open files"
	is "$f: and it was recorded" "$(rows "$out" 'len(calls(R))')" 3000
	run_plain $f 2 mpi_fenv
	new_out
	run_with $f 2 mpi_fenv
	same_result "$f: floating-point exceptions, FTZ, rounding"

	# Closed by the program, numbers given to its own files.
	for n in 1 2 3; do echo "precious line $n"; done >"$tmp/own"
	cp "$tmp/own" "$tmp/own.was"
	new_out
	timeout 60 env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$apps/mpi_state" steal "$out" "$tmp/own" "$tmp/empty_too" >"$tmp/with" 2>&1
	is "$f: our files closed: the program's own that got their numbers are whole" "$(cmp "$tmp/own" "$tmp/own.was" 2>&1)$(ls -A "$tmp/empty_too")" ''
	is "$f: our files closed: nothing is lost" "$(rows "$out" 'len(calls(R))')" 40
	contract "$f: our files closed" "$out"

	# Other tools.
	for order in "$lib:$tmp/dummy.so" "$tmp/dummy.so:$lib"; do
		rm -f "$tmp/dummy"
		singleton_plain LD_PRELOAD="$tmp/dummy.so" DUMMY_TOOL="$tmp/dummy" "$apps/mpi_children" alone
		PRELOAD=$order singleton DUMMY_TOOL="$tmp/dummy" "$apps/mpi_children" alone
		same_result "$f: with another tool ${order##*/}"
		is "$f: with another tool ${order##*/}: it counts as without us" "$(grep -v '^0$' "$tmp/dummy" | tr '\n' ' ')" '10 10 '
		is "$f: with another tool ${order##*/}: so do we" "$(rows "$out" 'len(calls(R))')" 10
	done

	# Wrong configurations: the job goes on, and one line says where the mistake is.
	singleton_plain "$apps/mpi_children" alone
	wrong() { # TEXT CONTENT PATTERN of the only message [nothing: no call is recorded]
		printf '%b' "$2" >"$tmp/wrong.yaml"
		singleton PROBE_CONFIG="$tmp/wrong.yaml" "$apps/mpi_children" alone
		same_result "$f: configuration: $1"
		is "$f: configuration: $1: is told once" "$(libprobe_lines "$tmp/with.err" | wc -l)" 1
		like "$f: configuration: $1: where it is" "$(cat "$tmp/with.err")" "$3"
		if [ "${4:-}" = nothing ]; then
			# Who wrote `rank: [0` does not get all ranks.
			is "$f: configuration: $1: nothing is recorded" "$(find "$out" -name 'calls_*' 2>/dev/null | wc -l)" 0
		else
			is "$f: configuration: $1: recorded all the same" "$(rows "$out" 'len(calls(R))')" 10
		fi
	}
	wrong 'an unknown key' 'eps: 1.0e-6\nstepp_marker: x\n' '^libprobe: (rank 0: )?[^ ]*/wrong.yaml:2:1: .?stepp_marker.?: .*did you mean .?step_marker'
	wrong 'a wrong type' 'journal_mib: many\n' 'wrong.yaml:1:14: journal_mib: .*accepted: an integer'
	wrong 'a bad value' '\n\nfork: sideways\n' 'wrong.yaml:3:7: fork: .*accepted: .*off.*follow'
	wrong 'no YAML' 'step: [1,\n' 'wrong.yaml:[0-9]+:[0-9]+: ' nothing
	wrong 'binary' '\x7fELF\x00\x01\x02' 'wrong.yaml' nothing
	[ $f = "${flavours%%[[:space:]]*}" ] || continue

	python3 - "$tmp/huge.yaml" <<-'PY'
		import sys
		with open(sys.argv[1], "w") as f:
		    f.write("eps: 1.0e-6\n")
		    f.write("".join(f"key{i}: [{i}, {i}]\n" for i in range(400000)))
	PY
	singleton PROBE_CONFIG="$tmp/huge.yaml" "$apps/mpi_children" alone
	same_result "$f: configuration: 10 MB"
	is "$f: configuration: 10 MB: no flood" "$(($(libprobe_lines "$tmp/with.err" | wc -l) <= 20))" 1
	is "$f: configuration: 10 MB: recorded" "$(rows "$out" 'len(calls(R))')" 10
	python3 -c 'print("eps: " + "[" * 100000)' >"$tmp/deep.yaml"
	singleton PROBE_CONFIG="$tmp/deep.yaml" "$apps/mpi_children" alone
	same_result "$f: configuration: 100000 levels"
	singleton PROBE_CONFIG="$tmp/none.yaml" "$apps/mpi_children" alone
	same_result "$f: configuration: missing"
	like "$f: configuration: missing: one line" "$(libprobe_lines "$tmp/with.err")" '^libprobe: [^ ]*none.yaml: cannot be read: No such file or directory; all defaults are used ?$'
	printf 'mpi:\n  - MPI_Allredcue\n  - MPI_Allreduce\n' >"$tmp/ops.yaml"
	singleton PROBE_WRAP_OPS="$tmp/ops.yaml" "$apps/mpi_children" alone
	same_result "$f: a list with an unknown function"
	like "$f: a list with an unknown function: one line" "$(libprobe_lines "$tmp/with.err")" '^libprobe: [^ ]*ops.yaml:2:5: mpi: "MPI_Allredcue": unknown name[^:]*$'
	singleton PROBE_DISABLE=1 "$apps/mpi_children" alone
	same_result "$f: PROBE_DISABLE=1"
	is "$f: PROBE_DISABLE=1: no folder" "$(ls "$out" 2>&1 | grep -c 'No such file')" 1
done
finish
