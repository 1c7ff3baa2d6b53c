#!/usr/bin/env bash
# A new user's first hour with PyTorch: tests/apps/train_ddp.py under the preload, what `probe report` says of a NaN and of
# a slow rank, and the presets of `probe run`.
# timeout: 1500
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
REAL_COMPILER=1
torch_python 'PyTorch: the first hour'
app=tests/apps/train_ddp.py
line() { # of the program, by a pattern
	grep -n -- "$1" $app | head -1 | cut -d: -f1
}
report() {
	"$probe" report "$1" 2>&1
}

torchrun_plain 2 $app --steps 18 --nan-at 7:1
new_out
torchrun_with 2 $app --steps 18 --nan-at 7:1 --slow 2:1 --delay 0.2
is 'train_ddp: ends well without us' "$(cat "$tmp/plain.status")" 0
same_output 'train_ddp'
contract 'train_ddp' "$out"
like 'report: the first NaN, the rank, and the line of the program that sent it' "$(report "$out")" \
	"nan first in step 7, rank 1: [^:]* in the input of all_reduce #[0-9]+ .*called from train_step \(train_ddp.py:$(line 'loss.backward()')\) <- main \(train_ddp.py:$(line 'loss = train_step')\) <- <module> .*through Tensor.backward"
like 'report: the slow rank, and the line where the others stood' "$(report "$out")" \
	"straggler rank 1 .* were pending for the last rank took .* the longest was called from (train_step|main) \(train_ddp.py:($(line 'loss.backward()')|$(line '= DistributedDataParallel')|$(line 'dist.barrier()'))\)"
unlike 'report: and no other' "$(report "$out")" 'straggler rank 0'
like 'report: the line beside the slowest calls' "$(report "$out")" \
	" all_reduce #[0-9]+ .*\(c10d::[^)]*\) +[0-9.]+ k?B +rank 0 +rank 1 +[0-9.]+ ms +train_step \(train_ddp.py:$(line 'loss.backward()')\)"
"$probe" report --json "$out" >"$tmp/report.json"
ok 'report: its figures, computed again from the rows' sh -c "python3 tests/e2e/report_truth.py '$out' '$tmp/report.json' >'$tmp/truth' || { grep -v '^ok' '$tmp/truth'; false; }"
calls_of='"\n".join(sorted(" ".join([r["op"], r["folder"], r["comm"], r["comm_seq"]]) for r in calls(R) if r["lib"] != "aten"))'
rows "$out" "$calls_of" >"$tmp/default"

# preset NAME ARGS: of a run of one process, so that the launcher is not what costs the time
preset() {
	local name=$1
	shift
	new_out
	env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo timeout -k 5 120 "$probe" run -p "$name" -o "$out" -- \
		"$python" -m torch.distributed.run --standalone --nproc_per_node 2 $app "$@" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	echo $? >"$tmp/with.status"
	sort -o "$tmp/with" "$tmp/with"
}
preset nan --steps 18 --nan-at 7:1
same_output 'preset nan'
like 'preset nan: the operator that made it, and its line' "$(report "$out")" \
	"inf +first in step 7, rank 1: 1 Inf of 64 float32 elements in the result of log .*all inputs were finite, so the operation made it, called from features \(train_ddp.py:$(line 'far = ')\) <- Net.forward"
is 'preset nan: the collectives that are recorded by default' "$(rows "$out" "$calls_of" | diff "$tmp/default" -)" ''
is 'preset nan: no operators that only move values, or that fill memory' \
	"$(rows "$out" '{r["op"] for r in R} & {"view", "t", "detach", "empty.memory_format", "uniform_", "copy_", "zero_", "expand", "normal_", "clone"}')" 'set()'
is 'preset nan: those of the backward pass and of the optimizer' \
	"$(rows "$out" '{("backward", "mm"), ("optimizer", "addcdiv_")} <= {(r["phase"], r["op"]) for r in R} or sorted({(r["phase"], r["op"]) for r in R})')" True
preset dump --steps 2
is 'preset dump: a checksum of each tensor' "$(rows "$out" '{bool(r["crc32"]) for r in R if r["io"] and r["count"] != "0"}')" '{True}'
is 'preset dump: what operators call' "$(rows "$out" 'len([r for r in R if r["parent"]]) > 100')" True
preset ops --steps 2
is 'preset ops: operators that only move values too' "$(rows "$out" '{r["op"] for r in R} >= {"t", "detach", "linear"} or sorted({r["op"] for r in R})')" True
finish
