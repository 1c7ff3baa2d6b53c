#!/usr/bin/env bash
# TensorBoard's event files of a training: frames, CRCs, tags and values, read by their definition (tests/e2e/tfevents.py), against
# the numbers that the script itself has; after kill -9 as well. tests/long/tensorboard.sh reads them by TensorBoard.
# timeout: 400
# beside: does not wait busily
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'TensorBoard: event files'

train() { # FILE SCENE [NAME=VALUE ...]
	local file=$1 scene=$2
	shift 2
	env OMP_NUM_THREADS=1 "$@" timeout -k 5 150 "$python" tests/apps/py/scalars.py "$scene" "$tmp/numbers" >"$file" 2>"$file.err" </dev/null
	status=$?
	echo $status >"$file.status"
}

events() {
	python3 tests/e2e/tfevents.py "$@"
}

new_out
python_plain "$tmp/plain" tests/apps/py/scalars.py groups "$tmp/numbers"
mine=(LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_FORMAT=csv,tensorboard PROBE_SCALARS=true PROBE_MICRO_BATCH_SIZE=8
	PROBE_KINDS=grad_reduced,ur_distribution,param_updated)
train "$tmp/with" groups "${mine[@]}"
same_output 'one process'
tb=$out/tensorboard/rank_0
is 'one file of events, named as TensorBoard wants it' "$(events "$tb" 'len(F)'; ls "$tb")" "1
$(cd "$tb" && echo events.out.tfevents.[0-9]*."$(uname -n)")"
is 'it begins with a version and a session at step 1' "$(events "$tb" 'E[:2]')" "[('version', 0), ('start', 1)]"
is 'loss and rates are those of the script, x = step + 1' "$(events "$tb" "D('$tmp/numbers')")" '[]'
is 'against samples: x = step * batch' "$(events "$tb" "[x for x, _ in S['loss_vs_samples']], [v for _, v in S['loss_vs_samples']] == [v for _, v in S['loss']]")" \
	'([8, 16, 24, 32, 40, 48], True)'
is 'times are whole milliseconds, of each step' "$(events "$tb" "all(v == int(v) for _, v in S['iteration-time']), len(S['iteration-time'])")" '(True, 6)'
is 'kinds: norm of each parameter in each step, nothing else' \
	"$(events "$tb" "sorted(t for t in S if t.startswith('grad_reduced')), {tuple(x for x, _ in p) for t, p in S.items() if t.startswith('grad_reduced')}")" \
	"(['grad_reduced/a.bias/norm', 'grad_reduced/a.weight/norm', 'grad_reduced/b.bias/norm', 'grad_reduced/b.weight/norm'], {(0, 1, 2, 3, 4, 5)})"
like 'TEXT: the command line' "$(events "$tb" "T['argv/text_summary']")" 'scalars.py.*groups'
like 'TEXT: our variables, and no secrets' "$(events "$tb" "T['environment/text_summary']")" 'PROBE_FORMAT.*csv,tensorboard'
like 'TEXT: the configuration' "$(events "$tb" "T['probe/text_summary']")" '\| tensorboard_tags \|'
is 'a layout of charts' "$(events "$tb" "[c for c, _ in L], all(t for _, k in L for _, t in k)")" "(['training', 'speed', 'parameters'], True)"
ok 'export of the CSV files' "$probe" export --format tensorboard -o "$tmp/again" "$out"
events "$tb" 'sorted(S.items())' >"$tmp/live"
events "$tmp/again/rank_0" 'sorted(S.items())' >"$tmp/later"
# CSV files have nine digits of what was measured in double precision: the last bit of a float may differ.
is 'export: the same tags, steps and values as live' "$(python3 - "$tmp/live" "$tmp/later" <<'PY'
import sys
from math import nan
a, b = (eval(open(f).read()) for f in sys.argv[1:])
print([t for t, _ in a] == [t for t, _ in b], len(a) > 20,
      [(t, p, q) for (t, p), (_, q) in zip(a, b) if [x for x, _ in p] != [x for x, _ in q] or any(abs(v - w) > 1.2e-7 * abs(v) for (_, v), (_, w) in zip(p, q))])
PY
)" 'True True []'
"$probe" export --format tensorboard "$out" >/dev/null 2>"$tmp/err"
is 'export: nothing is added to what the job has written' "$? $(events "$tb" "D('$tmp/numbers')")" '2 []'
rm -rf "$out"
train "$tmp/with" groups "${mine[@]}" PROBE_TENSORBOARD_TAGS=mindformers PROBE_TENSORBOARD_DIR="$tmp/mf" PROBE_FORMAT=tensorboard \
	PROBE_TENSORBOARD_SCALARS=learning-rate,loss PROBE_START_ITERATION=10
same_output 'as MindSpore Transformers'
is 'of several groups the last one'"'"'s rate; no other tags' \
	"$(events "$tmp/mf/rank_0" "sorted(S), [v for _, v in S['learning-rate']][:3], T, L")" \
	"(['learning-rate', 'learning-rate_vs_samples', 'loss', 'loss_vs_samples'], [0.5, 0.5, 0.25], {}, [])"
is 'a resumed run: its session begins at its first step, x goes on' \
	"$(events "$tmp/mf/rank_0" "E[1], [x for x, _ in S['loss']], D('$tmp/numbers', ['loss'], 11)")" "(('start', 11), [11, 12, 13, 14, 15, 16], [])"
is 'format: [tensorboard] writes no CSV files' "$(find "$out" -name '*.csv' | grep -vE 'stack_info|names')" ''

new_out
train "$tmp/with" groups "${mine[@]}" PROBE_OUTPUT_DIR="$out" PROBE_TENSORBOARD_TAGS=msprobe PROBE_OPS=min,max,nans
same_output "with msprobe's tags"
is "msprobe's tags: all columns, no scalars" "$(events "$out/tensorboard" "sorted(t for t in S if t.startswith('0:a.bias'))")" \
	"['0:a.bias/rank0/param_updated_max', '0:a.bias/rank0/param_updated_min', '0:a.bias/rank0/param_updated_nans', '0:a.bias/rank0/post_grad_max', '0:a.bias/rank0/post_grad_min', '0:a.bias/rank0/post_grad_nans']"

# A folder that cannot be: the run and its other files go on.
new_out
train "$tmp/with" groups "${mine[@]}" PROBE_OUTPUT_DIR="$out" PROBE_TENSORBOARD_DIR=/dev/null/tb
same_output 'a folder that cannot be made'
is 'a folder that cannot be made: said once, the CSV files are there' \
	"$(grep -c 'libprobe: .*no events for TensorBoard' "$tmp/with.err"), $(ls "$out"/*/scalars_0-99.csv | wc -l)" '1, 1'

# Killed: what was drained is there, whole; recovered, everything, once.
cat >"$tmp/killed.py" <<'PY'
import os, signal, sys, time, torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
with open(sys.argv[1], "w") as f:
    for step in range(40):
        loss = net(torch.randn(2, 8)).square().sum()
        loss.backward()
        f.write(f"{step} loss {loss.item()!r}\n")
        f.flush()
        opt.step()
        opt.zero_grad()
        if step == 20:
            time.sleep(1.5)
    os.kill(os.getpid(), signal.SIGKILL)
PY
new_out
env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_FORMAT=csv,tensorboard PROBE_SCALARS=true PROBE_KINDS=grad_reduced \
	timeout -k 5 150 "$python" "$tmp/killed.py" "$tmp/lost" >"$tmp/killed" 2>&1 </dev/null
is 'killed: the status is that of the signal' $? 137
tb=$out/tensorboard/rank_0
is 'killed: whole frames, with the steps before the pause' "$(python3 tests/e2e/tfevents.py "$tb" "len(S['loss']) >= 20" --torn)" True
ok 'killed: recovered' "$probe" recover "$out"
is 'recovered: every step once' "$(events "$tb" "D('$tmp/lost'), [x for x, _ in S['grad_reduced/weight/norm']] == list(range(40))")" '([], True)'

new_out
torchrun_plain 2 tests/apps/py/scalars.py ddp "$tmp/numbers"
torchrun_with 2 PROBE_FORMAT=csv,tensorboard PROBE_SCALARS=true tests/apps/py/scalars.py ddp "$tmp/numbers"
same_output ddp
is 'ddp: rank 0, and the last one as it has the loss' "$(cd "$out/tensorboard" && echo *)" 'rank_0 rank_1'
for r in 0 1; do
	is "ddp: numbers of rank $r" "$(events "$out/tensorboard/rank_$r" "D('$tmp/numbers.$r')")" '[]'
done
finish
