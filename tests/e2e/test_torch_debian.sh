#!/usr/bin/env bash
# Debian's PyTorch, 1.13, the one that a bare machine has: process groups, DDP, trainings, steps, stacks and operators. What
# the newer one has in addition is in the other test_torch_*.sh; optimizers' steps in test_torch_steps.sh, with both.
# timeout: 1500
# long: four trainings more
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/kinds.sh
python=/usr/bin/python3
torch_version=$("$python" -c 'import torch; print(torch.__version__)' 2>/dev/null)
case $torch_version in
1.*) ;;
*)
	skip 'the PyTorch 1.13 of Debian 12' "${torch_version:+/usr/bin/python3 has $torch_version: }python3-torch 1.13 is not installed"
	finish
	exit
	;;
esac
echo "# PyTorch $torch_version"

# SCRIPT [ARGS]: on 2 ranks without us and with us
both() {
	torchrun_plain 2 "$@"
	new_out
	torchrun_with 2 "$@"
}
both tests/apps/train_ddp.py --steps 12 --nan-at 7:1 --slow 2:1 --delay 0.15
is 'train_ddp: ends well without us' "$(cat "$tmp/plain.status")" 0
same_output 'train_ddp'
contract 'train_ddp' "$out"
"$probe" report "$out" | tr -s '\n ' ' ' >"$tmp/report"
is 'the group of all ranks: its members' "$(rows "$out" '{(c["size"], c["world_ranks"]) for c in C}')" "{('2', '0-1')}"
like 'report: the first NaN, its rank and line' "$(cat "$tmp/report")" 'nan first in step 7, rank 1: .* in the input of all_reduce .* called from train_step \(train_ddp.py:'
like 'report: the slow rank' "$(cat "$tmp/report")" '(straggler rank 1 arrives last|slow rank 1 computes longer)'

both tests/apps/py/ddp_gloo.py
is 'all collectives: ends well without us' "$(cat "$tmp/plain.status")" 0
same_output 'all collectives'
contract 'all collectives' "$out"
is 'all collectives: found by the optimizer' "$(rows "$out" '{(M[d]["steps"]["current"], M[d]["steps"]["source"]) for d in dirs}')" "{(5, 'optimizer')}"
is 'all collectives: all completed but the one that failed' \
	"$(rows "$out" 'sorted({(r["op"], r["flags"]) for r in R if "open" in flags(r) or "unwound" in flags(r) or "untracked" in flags(r)})')" "[('all_reduce', 'inplace;nostats;unwound')]"
new_out
torchrun_with 2 tests/apps/py/ddp_gloo.py --truth "$tmp/truth"
ok 'all collectives: with the statistics that Python measures' python3 tests/e2e/torch_truth.py "$out" "$tmp/truth"
scenes=('no_sync 3' 'checkpoint 3')
[ -z "${LONG:-}" ] || scenes+=('amp 4' 'gan 4' 'jit 4' 'loaders 4')
for scene in "${scenes[@]}"; do
	both tests/apps/py/trainings.py "${scene% *}"
	is "${scene% *}: ends well without us" "$(cat "$tmp/plain.status")" 0
	same_output "${scene% *}"
	is "${scene% *}: steps of each rank, found by the optimizer" \
		"$(rows "$out" '{(M[d]["steps"]["current"], M[d]["steps"]["source"]) for d in dirs}, len(dirs)')" "({(${scene#* }, 'optimizer')}, 2)"
done

# Activations, against what a wrapped forward() sees in a run of its own.
calls=(timeout -k 5 120 env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo)
"${calls[@]}" VALUES_TRUTH="$tmp/actv" "$python" tests/apps/py/module_calls.py values >"$tmp/plain" 2>"$tmp/plain.err"
new_out
"${calls[@]}" PROBE_KINDS='[actv]' PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" "$python" tests/apps/py/module_calls.py values >"$tmp/with" 2>"$tmp/with.err"
is 'activations: the program computes the same' "$(diff "$tmp/plain" "$tmp/with")" ''
is 'activations: rows are those that forward() saw, to 6 digits' "$(python3 tests/e2e/actv_truth.py "$tmp/actv" "$out/rank0" actv)" 'the same'

# Names, kinds and scalars, against what the training finds out about itself.
kinds_case adam --steps 4 -- PROBE_MONITOR_MBS_GRAD=true PROBE_SCALARS=true -- \
	param_origin param_updated grad_reduced exp_avg exp_avg_sq mg_direction ur_distribution update_ratio
kinds_agree 'adam: grad_unreduced of each micro step' --micro grad_unreduced
is 'names of parameters' "$(rows "$out" 'sorted({n["name"] for n in N if n["what"] == "param" and "weight" in n["name"]})')" \
	"['frozen.weight', 'head.weight', 'layers.0.weight', 'layers.1.weight', 'norm.weight']"

ok 'scalars: the loss that the program prints, and the learning rate' python3 -c '
import csv, sys
s = {(r["name"], int(r["step"])): float(r["value"]) for r in csv.DictReader(open(sys.argv[1]))}
said = [l.split() for l in open(sys.argv[2]) if l.startswith("rank 0 step")]
assert len(said) == 4, said
for w in said:
    assert abs(s["loss", int(w[3])] / float(w[5]) - 1) < 1e-6, (w, s)
    assert s["learning-rate", int(w[3])] == 0.01' "$out/rank0/scalars_0-99.csv" "$tmp/plain"

# Operators. Optional arguments are laid out otherwise in 1.13, and some schemas lie in the end of others.
alone() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	env OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore "$@" timeout -k 5 100 "$python" tests/apps/py/ops.py --truth "$tmp/ops" >"$file" 2>"$file.err" </dev/null
	echo $? >"$file.status"
}
alone "$tmp/plain"
printf '%s\n' 'aten:' '  - "*"' >"$tmp/list.yaml"
new_out
alone "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" PROBE_JOURNAL_MIB=64
is 'operators: end well without us' "$(cat "$tmp/plain.status")" 0
same_output 'all operators'
contract 'all operators' "$out"
is 'all operators: phases' "$(rows "$out" 'sorted({r["phase"] for r in R})')" "['backward', 'forward', 'optimizer']"
ok 'all operators: shapes and statistics as Python measures them' python3 tests/e2e/ops_truth.py "$out" "$tmp/ops"
is 'operators whose schema lies in the end of another one' \
	"$(rows "$out" 'sorted({"dropout", "logit", "sqrt", "tanh"} & {r["op"] for r in R})')" "['dropout', 'logit', 'sqrt', 'tanh']"
printf '%s\n' 'aten:' '  - aten::addmm' >"$tmp/list.yaml"
new_out
alone "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" PROBE_BACKWARD=true PROBE_NESTED=true
same_output 'an operator and its nodes'
is 'an operator and its nodes' "$(rows "$out" 'sorted({r["op"] for r in R})')" "['AddmmBackward0', 'addmm']"
finish
