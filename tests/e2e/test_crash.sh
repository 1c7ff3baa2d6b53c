#!/usr/bin/env bash
# kill -9 at random moments, against the truth that the program itself kept (mpi_random_kill.c): after `probe recover`
# every call that had been left is there, and none that was not entered. Jobs that hang: what the report says of them,
# and the rows of what was open when they were killed. With each MPI.
# timeout: 600
# long: each way to be killed and to hang with each MPI
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'crashes' 'no MPI, or its programs are not built (make apps)'; finish; }
seed=${SEED:-$$}
RANDOM=$seed
echo "# SEED=$seed"

# The calls in each rank's folder are at least those that were left and at most those that were entered.
within_truth() {
	local r
	for r in 0 1; do
		[ ! -s "$tmp/truth.$r" ] || "$B/apps/$f/mpi_random_kill" --print "$tmp/truth.$r" >"$tmp/truth.$r.txt" || return 1
	done
	python3 - "$out" "$tmp" <<-'PY'
		import os, sys
		sys.path.insert(0, "tests/e2e")
		from rows import Counter, Output, calls, flags
		o = Output(sys.argv[1]) if os.path.isdir(sys.argv[1]) else None
		for rank in (0, 1):
		    try:
		        truth = {n: (int(e), int(l)) for n, e, l in map(str.split, open(f"{sys.argv[2]}/truth.{rank}.txt"))}
		    except FileNotFoundError:
		        continue
		    name = f"rank{rank}"
		    here = calls(o.on(name)) if o else []
		    all_, closed = Counter(r["api"] for r in here), Counter(r["api"] for r in here if "open" not in flags(r) or "async" in flags(r))
		    truth = {n: t for n, t in truth.items() if n not in ("MPI_Wait", "MPI_Waitall")}
		    dropped = sum(o.M[name]["calls"]["dropped"].values()) if o and name in o.M else 0
		    entered, left = (sum(t[i] for t in truth.values()) for i in (0, 1))
		    print(f"# rank {rank}: {left} calls left, {len(here)} recorded, {dropped} dropped")
		    assert left <= len(here) + dropped <= entered, (rank, left, len(here), dropped, entered)
		    for n, (e, l) in truth.items():
		        assert all_[n] <= e, (rank, n, all_[n], e)
		        assert closed[n] >= l or dropped, (rank, n, closed[n], l)
		    assert sum(all_.values()) - sum(closed.values()) <= 1, (rank, all_ - closed)
	PY
}

sums() {
	(cd "$out" && find . -type f | sort | xargs cksum)
}

# Both ranks have one that is ready: it comes a moment after meta.json.
has_journals() {
	[ "$(head -qc 8 "$out/rank0/journal.bin" "$out/rank1/journal.bin" 2>/dev/null | tr -d '\0')" = PROBEJNLPROBEJNL ]
}

round() { # NAME all|one early|late [MICROSECONDS between calls]
	local name="$f: $1" pids
	[ -n "${LOOK:-}" ] || has_turn $f "$1" || return
	new_out
	rm -f "$tmp"/truth.*
	start_with $f 2 PROBE_STEP_MARKER=MPI_Bcast PROBE_JOURNAL_MIB=64 mpi_random_kill "$tmp/truth" $RANDOM 0 ${4:-0}
	if [ $3 = late ]; then
		wait_until 30 has_journals || fail "$name: starts" "$(cat "$tmp/started.err")"
	else
		wait_until 30 test -s "$tmp/truth.0" -a -s "$tmp/truth.1"
	fi
	if [ -n "${LOOK:-}" ]; then
		"$probe" recover "$out" >"$tmp/said" 2>&1
		is "$name: recover refuses while it runs" $? 2
		like "$name: and says why" "$(cat "$tmp/said")" 'left alone: its process .* is running'
		ok "$name: the files of a running job" python3 tests/e2e/check_output.py "$out" --running --partial --states running
	fi
	sleep "0.$((RANDOM % 2))$((RANDOM % 10))" # the moment
	pids=($(ranks_of "$out"))
	[ $2 = all ] || pids=(${pids[$((RANDOM % ${#pids[@]}))]})
	kill -9 "${pids[@]}"
	launcher_ends
	gone "$out" || fail "$name: all are gone" "$(ps -ef)"
	if [ ! -d "$out/rank0" ] && [ ! -d "$out/rank1" ]; then
		ok "$name: killed before its first call" within_truth
		return
	fi
	ok "$name: recover" "$probe" recover "$out"
	ok "$name: every call that was left, none that was not entered" within_truth
	contract "$name" "$out" --partial --states recovered $([ $3 = late ] || echo --killed)
	sums >"$tmp/sums"
	ok "$name: recover once more" "$probe" recover "$out"
	is "$name: changes nothing" "$(sums)" "$(cat "$tmp/sums")"
}

opens() { # PYTHON over o
	"$probe" report --json "$out" 2>/dev/null | python3 -c 'import json, sys; r = json.load(sys.stdin); print(sorted(('"$1"') for o in r["open"] if not o["waiting"]))' 2>/dev/null
}

# Earlier calls are in the files after a second at most.
hung() {
	[ "$(opens '(o["rank"], o["op"]) if o["age_s"] > 1.5 else ()')" == "$1" ] # a Wait is not an operation
}

waits() {
	"$probe" report --json "$out" | python3 -c 'import json, sys
print([(o["rank"], o["api"], o["op"], "main" in o["stack"]) for o in json.load(sys.stdin)["open"] if o["waiting"]])'
}

hang() { # HOW, (rank, op) of what is open, PATTERN in the report
	local name="$f: hang, $1"
	has_turn $f "$1" || return
	new_out
	start_with $f 2 mpi_hang $1 20
	if ! wait_until 30 hung "$2"; then
		fail "$name: what is open" "$("$probe" report "$out" 2>&1)"$'\n'"$(cat "$tmp/started.err")"
		return
	fi
	pass "$name: what is open"
	is "$name: with all that belongs to it" "$(opens 'isinstance(o["comm_seq"], int) and len(o["comm"]) == 16 and o["api"].startswith("MPI_") and "main" in o["stack"] and "mpi_hang!" in o["stack"]')" \
		"[$(tr -cd '(' <<<"$2" | sed 's/(/True, /g; s/, $//')]"
	# What a receive awaits is in the journal of a process that lives, too: of one that returned at once as of one that blocks.
	[[ $2 != *recv* ]] || is "$name: and what it awaits" "$("$probe" report --json "$out" | python3 -c 'import json, sys
print([(o["dtype"], o["count"]) for o in json.load(sys.stdin)["open"] if o["op"] == "recv"])')" "[('float32', 10)]"
	[ $1 != wait ] || is "$name: and where a thread waits" "$(waits)" "[(1, 'MPI_Wait', '', True)]"
	[ $1 != probe ] || is "$name: and where a thread waits" "$(waits)" "[(1, 'MPI_Probe', 'probe', True)]"
	like "$name: the report names the cause" "$("$probe" report "$out" 2>&1)" "$3"
	kill -9 $(ranks_of "$out")
	launcher_ends
	gone "$out"
	left=$(waits)
	ok "$name: recover" "$probe" recover "$out"
	is "$name: where threads waited is still known" "$(waits)" "$left"
	is "$name: rows of what was open" "$(rows "$out" 'sorted((int(r["folder"][4:]), r["op"]) for r in calls(R) if "open" in flags(r) and not r["dur_ns"])')" "$2"
	is "$name: and of all before" "$(rows "$out" 'Counter(r["folder"] for r in calls(R) if r["api"] == "MPI_Allreduce" and "open" not in flags(r)) == {"rank0": 20, "rank1": 20}')" True
	contract "$name" "$out" --partial --states recovered
}

# Killed in each of the first calls of libc by which libprobe takes its folder and makes its files (tests/fault/fault.c).
killed_in_calls() {
	local call n name
	cc -std=gnu11 -O1 -g -Wall -D_GNU_SOURCE -shared -fPIC -fno-builtin -o "$tmp/libfault.so" tests/fault/fault.c -lpthread || {
		fail 'tests/fault/fault.c compiles'
		return
	}
	for call in mkdirat openat linkat unlinkat write renameat posix_fallocate; do
		for n in {1..7}; do
			new_out
			name="$f: killed in $call $n"
			rm -f "$tmp/faults" "$tmp"/truth.*
			PRELOAD=$lib:$tmp/libfault.so run_with $f 1 FAULT=$call:kill:$n FAULT_LOG="$tmp/faults" PROBE_STEP_MARKER=MPI_Bcast mpi_random_kill "$tmp/truth" 7 200
			[ -s "$tmp/faults" ] || break # it made fewer of these calls
			gone "$out" || fail "$name: it is gone" "$(ps -ef)"
			[ -d "$out/rank0" ] || continue
			"$probe" recover "$out" >"$tmp/said" 2>&1
			is "$name: recover" $? 0
			unlike "$name: and it is not called complete" "$(cat "$tmp/said")" 'complete'
			contract "$name" "$out" --partial --states recovered --killed
		done
		[ -d "$out/rank0" ] && ok "$f: killed in $call: it happened" test $n -gt 1
	done
}
f=$(tail -1 <<<"$flavours") # each kill takes Open MPI's launcher a second longer
killed_in_calls

for f in $flavours; do
	run_plain $f 2 mpi_random_kill "$tmp/truth" 7 20000
	new_out
	run_with $f 2 PROBE_STEP_MARKER=MPI_Bcast mpi_random_kill "$tmp/truth" 7 20000
	same_result "$f: left alone"
	ok "$f: left alone: every call" within_truth

	LOOK=1 round 'all killed' all late 1000
	round 'all killed at full speed' all late
	round 'one killed' one late 200
	round 'killed at its first calls' all early

	hang missing "[(0, 'all_reduce')]" \
		'all_reduce #20 on .{,60} step 0 rank 0: inside for [0-9.]+ m?s main \(mpi_hang.c:[0-9]+\) rank 1: never entered it; last call all_reduce #19 [^:]*before main \(mpi_hang.c:[0-9]+\)'
	hang order "[(0, 'barrier'), (1, 'broadcast')]" \
		'agree on the operation of call #20 .{,60} rank 0 called MPI_Barrier, rank 1 called MPI_Bcast.* rank 0: inside for .* rank 1: in broadcast #20'
	hang groups "[(0, 'all_reduce'), (1, 'all_reduce')]" 'all_reduce #20 on .{,60} rank 0: inside .* rank 1: in all_reduce #0 on'
	hang recv "[(0, 'barrier'), (1, 'recv')]" 'barrier #20 .* rank 1: in recv #0 from 0 tag 99'
	hang probe "[(0, 'barrier')]" 'barrier #20 .* rank 1: in probe from 0 tag 99 on .{,60} .MPI_Probe. for '
	hang wait "[(0, 'barrier'), (1, 'recv')]" 'barrier #20 .* rank 1: in MPI_Wait for .* recv #0 from 0 tag 99 .{,80} rank 1: started and not completed'
	hang spin "[(0, 'barrier'), (1, 'recv')]" 'barrier #20 .* recv #0 from 0 tag 99 .{,80} rank 1: started and not completed'
done
# A process that has taken its folder and not made its journal yet is running, too.
new_out
mkdir -p "$out/rank0"
sleep 60 &
sleeper=$!
python3 - $sleeper "$out/rank0/meta.json" <<'PY'
import os, socket, sys
pid = sys.argv[1]
start = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19]
boot = open("/proc/sys/kernel/random/boot_id").read().strip()
open(sys.argv[2], "w").write('{\n "format": 1,\n "state": "running",\n "owner": {"host": "%s", "boot_id": "%s", "pid_ns": %d, '
                             '"pid": %s, "start_time": %s},\n "journal_path": ""\n}\n'
                             % (socket.gethostname(), boot, os.stat("/proc/self/ns/pid").st_ino, pid, start))
PY
"$probe" recover "$out" >"$tmp/said" 2>&1
is 'no journal yet: recover refuses' $? 2
like 'no journal yet: and says why' "$(cat "$tmp/said")" 'left alone: its process .* is running'
kill $sleeper
wait $sleeper 2>/dev/null
"$probe" recover "$out" >"$tmp/said" 2>&1
is 'no journal, and dead: nothing to do' $? 0
finish
