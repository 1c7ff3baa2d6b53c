#!/usr/bin/env bash
# Processes that PyTorch programs start: torch.multiprocessing.spawn with ranks by argument, and torchrun that starts all
# workers again after one failed.
# timeout: 1500
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
REAL_COMPILER=1
torch_python 'PyTorch: processes'
app=tests/apps/py/processes.py

spawned() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo "$@" timeout -k 5 100 "$python" $app spawn >"$file" 2>"$file.err" </dev/null
	status=$?
	sort -o "$file" "$file"
	echo $status >"$file.status"
}
spawned "$tmp/plain"
new_out
spawned "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
is 'spawn: ends well without us' "$(cat "$tmp/plain.status")" 0
same_output 'spawn'
contract 'spawn' "$out"
is 'spawn: a folder for each rank, none for the parent' "$(rows "$out" dirs)" "['rank0', 'rank1']"
is 'spawn: steps, on both' "$(rows "$out" '{(M[d]["steps"]["current"], M[d]["world_size"]) for d in dirs}')" '{(4, 2)}'
is 'spawn: rows say the rank that the program gave' "$(rows "$out" 'sorted({(r["folder"], r["rank"]) for r in R})')" "[('rank0', '0'), ('rank1', '1')]"

# A child of a process that records operators is not recorded, and its operators are not looked for again and again, which
# took 25 times as long as the step itself.
plain=$("$python" tests/apps/py/fork_ops.py "$tmp/plain.ms")
new_out
# CPython 3.12 warns where a process with threads forks, and the writer is a thread: limits.md.
said=$(LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$out PYTHONWARNINGS=ignore::DeprecationWarning "$probe" run --preset ops "$python" tests/apps/py/fork_ops.py "$tmp/with.ms" 2>"$tmp/err")
is 'forked worker: the same loss' "$said" "$plain"
is 'forked worker: nothing is complained about' "$(cat "$tmp/err")" ''
is 'forked worker: a step takes at most six times as long' \
	"$(awk 'NR == 1 {a = $1} NR == 2 {print $1 <= 6 * a ? "yes" : $1 " ms after " a}' "$tmp/plain.ms" "$tmp/with.ms")" yes

# A forked child that is followed has a folder of its own, with the names that its parent had found before.
"$python" tests/apps/py/fork_train.py >"$tmp/plain"
new_out
LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$out PROBE_FORK=follow PROBE_NAMES=true PROBE_KINDS='[param_updated]' PROBE_SCALARS=true timeout -k 5 100 \
	"$python" tests/apps/py/fork_train.py >"$tmp/with" 2>"$tmp/err"
is 'followed child: both print the same' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
is 'followed child: a folder for each' "$(ls "$out" | wc -l)" 2
is 'followed child: the names are in both' "$(for d in "$out"/*; do cut -d, -f1-3 "$d"/names.csv 2>&1 | sort | md5sum; done | uniq | wc -l), $(cat "$out"/*/names.csv | grep -c 'weight')" '1, 8'
is 'followed child: its statistics have the names' "$(for d in "$out"/*; do cut -d, -f2 "$d"/param_updated_*.csv | sort -u | paste -sd' '; done | uniq)" \
	'0.bias 0.weight 2.bias 2.weight name'

restarted() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	rm -rf "$tmp/save"
	mkdir "$tmp/save"
	# What rank 0 says in the step in which rank 1 fails depends on how soon it is ended.
	run_script "$file" 2 "$@" --max-restarts 1 --monitor-interval 0.2 $app restart "$tmp/save"
	sort -u -o "$file" "$file"
}
restarted "$tmp/plain"
new_out
restarted "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
is 'restart: ends well without us' "$(cat "$tmp/plain.status")" 0
same_output 'restart'
is 'restart: the attempts are kept apart' "$(ls "$out" | paste -sd' ')" 'rank0 rank0.1 rank1 rank1.1'
is 'restart: the second attempt' "$(rows "$out" '[M[d]["steps"]["current"] for d in ("rank0", "rank1")]')" '[2, 2]'
# Rank 1 leaves by an exception, and PyTorch now and then aborts in the interpreter's exit, with us or without: what it
# did last is then in its journals.
ok 'restart: the first can be completed from its journals' "$probe" recover "$out"
is 'restart: the first one holds what it did' "$(rows "$out/rank1.1" '{r["step"] for r in R if r["op"] == "all_reduce"} >= {"0", "1", "2"}')" True
like 'restart: report reads the second' "$("$probe" report "$out")" 'ranks 2 \(0,1\) of 2, all finished .*steps 0 to [12]'
# By the time of the exceptions: rank 1's process may be gone only after rank 0 has failed by it.
like 'restart: rank 1 failed, and rank 0 by it' "$("$probe" report "$out")" \
	'attempts 0: 2 of 2 ranks, to step 3; rank 1 ended( first,)? by .*ValueError: lost a disk'
finish
