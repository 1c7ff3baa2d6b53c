#!/usr/bin/env bash
# How a process ended, in meta.json and in the report: every way that a process can leave, against the status that the shell
# or waitpid sees; what an open receive was to get; which rank of a job left first.
# timeout: 900
. "$(dirname "$0")/lib.sh"

ending() { rows "$out" "[M[d].get('end', {}).get('$2') for d in ('$1',)][0]"; }
findings() { "$probe" report --json "$out" | python3 -c 'import json, sys; print([(f["kind"], f["ranks"]) for f in json.load(sys.stdin)["findings"] if f["severity"] in ("bad", "warn")])'; }

for f in $flavours; do
	# HOW, how it is called, code, signal
	while read -r how word code signal; do
		new_out
		run_with $f 2 mpi_exit $how 20 0
		gone "$out"
		"$probe" recover "$out" >"$tmp/recover" 2>&1
		is "$f: $how" "$(rows "$out" '[M["rank0"]["end"][k] for k in ("how", "code", "signal", "inside")]')" "['$word', $code, $signal, None]"
	done <<-'END'
		exit exit 3 None
		_exit exit 4 None
		mpi_abort abort 8 None
		abort abort None 6
		kill signal None None
	END
	is "$f: kill: the call that blocked the peer" "$(rows "$out" 'M["rank1"]["end"]["inside"] if M["rank1"]["state"] == "recovered" else "MPI_Allreduce"')" MPI_Allreduce
	new_out
	run_with $f 2 mpi_loop 10
	is "$f: a proper end" "$(rows "$out" '{(M[d]["end"]["how"], M[d]["end"]["code"], M[d]["end"]["signal"]) for d in dirs}')" "{('finalized', 0, None)}"
	break
done

if [ -n "$flavours" ]; then
	f=${flavours%%[[:space:]]*}
	for how in exit mpi_abort abort; do
		new_out
		run_with $f 3 mpi_exit $how 20 0
		gone "$out"
		is "$f: $how: who left" "$(findings)" "[('died', [0])]"
	done
	like "$f: report says how" "$("$probe" report "$out")" 'rank 0 left by abort\(\)'
else
	skip 'MPI' 'no MPI, or its programs are not built (make apps)'
fi

. tests/e2e/torch.sh
torch_python 'PyTorch: a rank that leaves'
app=tests/apps/py/leaves.py

# A process of PyTorch that leaves by an exception sometimes aborts while its libraries are taken down, with and without us
# (tests/long/torch_exit.sh counts how often): then once more, for that is not the end that is looked at here.
leaves() { # FILE HOW RANK [NAME=VALUE ...]
	local n
	for n in 1 2 3 4 5; do
		[ $n -eq 1 ] || rm -rf "${out:-}"
		leave_once "$@"
		grep -qs 'terminate called without an active exception' "$1.err.0" "$1.err.1" || return 0
	done
}

leave_once() { # ranks without a launcher, which would end the others
	local file=$1 how=$2 who=$3 r pids=() port in=()
	shift 3
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	for r in 0 1; do
		[ -z "${group:-}" ] || [ $r != "$who" ] || in=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
		env "$@" RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo \
			${in[@]+"${in[@]}"} timeout -k 5 280 "$python" $app "$how" "$who" 4 >"$file.$r" 2>"$file.err.$r" &
		pids+=($!)
	done
	for r in 0 1; do
		wait "${pids[r]}" 2>/dev/null
		echo "rank $r: status $?: $(cat "$file.$r"), $(grep -E '^(\[rank.\]: )?[A-Za-z_.]*Error' "$file.err.$r" | sed 's/\[rank.\]: //; s/^\([A-Za-z_.]*\): .*/\1/' | tail -1)"
	done >"$file"
}

leaves "$tmp/plain" exception 1
new_out
leaves "$tmp/with" exception 1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
is 'exception: the program does as without us, and its __str__ runs as often' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
is 'exception: how, code' "$(rows "$out" '[(M[d]["end"]["how"], M[d]["end"]["code"]) for d in ("rank0", "rank1")]')" "[('exception', 1), ('exception', 1)]"
# The innermost frame and the line are those of Python's own traceback.
line=$(grep -o 'line [0-9]*, in work' "$tmp/with.err.1" | head -1 | tr -dc 0-9)
like 'exception: type, message, line' "$(ending rank1 text)" "^OwnError: batch 4 is bad; at .*leaves\.py:$line work <- .*leaves\.py:[0-9]+ <module>"
is 'exception: the first that left is named, the others are not' "$(findings)" "[('died', [1])]"
like 'exception: report' "$("$probe" report "$out")" "rank 1 left by an uncaught exception: OwnError: batch 4 is bad; .*then rank 0 left, .*Connection"

new_out
leaves "$tmp/with" kill 0 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
is 'killed: named, though all others left by exceptions' "$(findings)" "[('died', [0])]"

# The kernel's account of the end. Processes that may not read its log read the counter of their control group.
if [ "$(id -u)" = 0 ] && dd if=/dev/kmsg bs=8192 count=1 >"$tmp/kmsg" 2>&1; then
	new_out
	leaves "$tmp/with" crash 1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
	like 'a crash: the signal, and what the kernel says' "$("$probe" report "$out")" 'rank 1 left by SIGSEGV .the kernel: "[^"]*segfault at 8 '
	is 'a crash: named' "$(findings)" "[('died', [1])]"
else
	skip 'a crash: what the kernel says' 'its log may not be read here'
fi
group=/sys/fs/cgroup/memory/libprobe-$$ limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/libprobe-$$ limit=memory.max
if mkdir $group 2>"$tmp/group" && echo 700M >$group/$limit && { : >$group/memory.swap.max || :; } 2>"$tmp/group"; then
	new_out
	leaves "$tmp/with" memory 1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
	is 'memory that ran out: named' "$(findings)" "[('died', [1])]"
	if dd if=/dev/kmsg bs=8192 count=1 >"$tmp/kmsg" 2>&1; then
		like 'memory that ran out: what the kernel says' "$("$probe" report "$out")" \
			'rank 1 left by SIGKILL: memory ran out, and the kernel ended it ."[^"]*ut of memory: Killed process'
	fi
	chmod -R a+rX "$tmp"
	# Without temporary files the journal's rows are not shown; what it says of its process is.
	like 'memory that ran out: the count of its control group' \
		"$(TMPDIR=/nowhere setpriv --reuid=65534 --regid=65534 --clear-groups "$(copy_in_reach "$probe")" report "$out")" \
		'rank 1 left by a signal: SIGKILL, most likely, because memory ran out: since it started the kernel has ended 1 process of its control group'
	rmdir $group
else
	skip 'memory that runs out' 'no control group can be made here'
fi
group=''

# A rank comes when the other one has given up and is gone: both processes were there at once, with and without a job id.
for id in none job7; do
	new_out
	leaves "$tmp/with" late 1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" TORCHELASTIC_RUN_ID=$id TORCHELASTIC_RESTART_COUNT=1
	is "late, run id $id: no rank is skipped" "$("$probe" report --json "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin); print(d["ranks_seen"], [(f["kind"], f["ranks"]) for f in d["findings"] if f["severity"] == "bad"])')" "2 [('error', [1])]"
	is "late, run id $id: the process, and the attempt" "$(rows "$out" '[(M[d]["attempt"], 0 < M[d]["clock"]["first"]["real_ns"] - M[d]["process_start_ns"] < 600e9) for d in ("rank0", "rank1")]')" \
		"[('1', True), ('1', True)]"
done

# A launcher ends it with a signal before it is gone.
new_out
leaves "$tmp/with" last_exception 1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
"$probe" recover "$out" >"$tmp/recover" 2>&1
is 'exception, then killed: how' "$(ending rank1 how)" exception
is 'exception, then killed: named' "$(findings)" "[('died', [1])]"
finish
