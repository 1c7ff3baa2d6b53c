#!/usr/bin/env bash
# Faults of a training that raise no error, from what preset `state` writes: replicas that diverge, gradients that are no longer reduced,
# norms that clip. tests/long/torch_silent.sh has each of these programs without its fault.
# timeout: 400
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/silent.sh
torch_python 'silent faults of a training'

fault_case reset_after 2 PROBE_PRESET=state
found 'replicas that never were equal: step, parameters, ranks, the broadcast before' replicas \
	'^step 0: 0\.weight, 0\.bias, 2\.weight and 1 more parameter are not the same on ranks 0,1, .* after it, or were not in it'
found '... by the line that made the replicas' replicas 'called from replicated \(silent_faults\.py:[0-9]+\)'

fault_case no_sync_left 2 PROBE_PRESET=state
found 'gradients that are no longer reduced: the first step, and the second module alone' unreduced \
	'^step 5: second\.0\.weight, second\.0\.bias, second\.2\.weight and 1 more parameter are not the same on ranks 0,1'
is '... it is one fault' "$(faults)" unreduced
rm "$out"/rank*/{param,grad}_*.csv
found 'the same by the calls alone: a note with the step and the line' unreduced \
	'^from step 5 to 9 no rank has reduced the 416 float32 elements .* called from no_sync_left \(silent_faults\.py:'
is '... and no fault: a frozen layer looks the same' "$(faults)" ''

fault_case clip_local 2 PROBE_PRESET=state
found 'norms that clip are not the same: both, with their ranks' unequal \
	'^step 0: grad-norm is [0-9.]+ on rank [01] and [0-9.]+ on rank [01] .* must agree on it: each clips by the norm of its own part'
# A loss scale that begins too high: a scaler skips these steps.
for setting in PROBE_PRESET= PROBE_PRESET=state; do
	fault_case scale_metric 2 $setting
	found "${setting#*=} a NaN that no scaler skipped is named, not the Inf of the search for the scale" nan '^first in step 12, rank 1: 1 NaN of 1 float32'
	is '... it is one fault' "$(faults)" nan
done
fault_case scale_search 2 PROBE_PRESET=state
found 'a NaN of one rank alone at a scale that was finite before: a note with the rank' nan \
	'^first in step 11, rank 1: NaN in gradient of 0\.weight, .* the gradient scaler skipped the optimizer in steps 0-[0-9],11:'
is '... and no fault, for the parameters did not take it' "$(faults)" ''
rm "$out"/rank*/scalars_*.csv
found 'without scalars the scale is not known, but a NaN without an Inf is no overflow' nan '^first in step 11, rank 1: '
fault_case scale_fits 2
found '... also if no scale was searched for before' nan '^first in step 11, rank 1: .* skipped the optimizer in step 11:'
is '... the note names the rank' "$("$B/probe" report --json "$out" | python3 -c 'import json, sys; print([f["ranks"] for f in json.load(sys.stdin)["findings"] if f["kind"] == "nan"])')" '[[1]]'
new_out
torchrun_with 2 tests/apps/py/silent_faults.py scale_search --healthy
found 'a healthy search for the scale: a note' nan '^first in step 0, ranks 0,1: .* the gradient scaler skipped the optimizer in steps 0-[0-9]:'
is '... and no fault' "$(faults)" ''
is '... names no rank' "$("$B/probe" report --json "$out" | python3 -c 'import json, sys; print([f["ranks"] for f in json.load(sys.stdin)["findings"] if f["kind"] == "nan"])')" '[[]]'
# DDP reduces the parameters that require a gradient when it is made, and only these objects.
fault_case unfrozen_after 2 PROBE_PRESET=state
is 'a parameter has rows from the step on in which it was unfrozen' \
	"$(awk -F, '$2 == "0.weight" {print $3}' "$out"/rank0/param_updated_*.csv | sort -nu | tr '\n' ' ')" '5 6 7 8 9 '
is '... and names.csv has the step' "$(rows "$out" "[(n['step'], n['requires_grad']) for n in N if n['name'] == '0.weight' and n['folder'] == 'rank0'][-1]")" \
	"('5', 'true')"
found 'a layer that was unfrozen after DDP was made: step, parameters, ranks' replicas \
	'^step 5: 0\.weight, 0\.bias are not the same on ranks 0,1, where they were equal until they joined the training'
is '... a note: a part that each rank trains by itself looks the same' "$(faults)" ''
fault_case parameters_replaced 2 PROBE_PRESET=state
found 'parameters that replaced those of DDP' replicas '^step 0: 0\.weight, 0\.bias, 2\.weight and 1 more parameter are not the same on ranks 0,1'

# A parameter that takes no part in the forward pass: DDP of that one step reduces nothing, and does not report it (pytorch/pytorch#128949).
cat >"$tmp/unused.py" <<'PY'
import contextlib, sys
import torch, torch.nn as nn, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(0)
how = sys.argv[1]
class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return self.a(x)
model = nn.parallel.DistributedDataParallel(Toy(), find_unused_parameters=how == "found")
teacher = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
if how == "teacher":
    teacher(torch.ones(2, 4))  # its gradients are awaited, and there is no backward pass
with model.no_sync() if how in ("no_sync", "teacher") else contextlib.nullcontext():
    (model.module if how == "inner" else model)(torch.randn(2, 4)).mean().backward()
optimizer.step()
dist.destroy_process_group()
PY
unused() { # HOW
	new_out
	torchrun_with 2 PROBE_PRESET=state "$tmp/unused.py" "$1"
}
unused silently
found 'a step whose gradients DDP awaited and did not reduce: the parameter that differs, and that a broadcast had made it equal' unreduced \
	'^step 0: a\.weight is not the same on ranks 0,1, where a broadcast made them equal and no gradients were reduced, from the first step on; .*DistributedDataParallel awaited'
is '... one fault' "$(faults)" unreduced
for how in no_sync inner teacher; do
	unused $how
	found "$how: a note, for ranks that train by themselves between averages do this" replicas \
		'^step 0: a\.weight is not the same on ranks 0,1, where a broadcast made them equal and no gradients were reduced'
	is '... and no fault' "$(faults)" ''
done
unused found
is 'unused parameters that DDP looks for: no fault' "$status $(faults)" '0 '
is '... nor a finding' "$(texts_of unreduced)$(texts_of replicas)" ''
finish
