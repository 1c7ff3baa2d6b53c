#!/usr/bin/env bash
# Kinds of a training with DDP, against what the training finds out about itself without libprobe; losses, weights, gradients and
# random states are bit for bit those of a run without the preload. tests/long/torch_kinds.sh has more optimizers.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/kinds.sh
torch_python 'kinds of a training'

kinds_case adam --steps 4 --accumulate 2 --scaled -- PROBE_MONITOR_MBS_GRAD=true -- \
	param_origin param_updated grad_reduced exp_avg exp_avg_sq mg_direction ur_distribution update_ratio
kinds_agree 'adam: grad_unreduced of each micro step' --micro grad_unreduced
ok 'own_time has what measuring took, once' python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))
lived = (m["clock"]["last"]["real_ns"] - m["clock"]["first"]["real_ns"]) * 1e-9
assert 0 < m["own_time"]["in_calls_s"] < lived, (m["own_time"], lived)' "$out/rank0/meta.json"

kinds_case sgd --steps 3 -- PROBE_KINDS= PROBE_PRESET=state -- \
	param_origin param_updated grad_unreduced grad_reduced momentum_buffer
is 'preset state: its kinds, and no other' "$(cd "$out/rank0" && echo -- *_0-99.csv)" \
	'-- calls_0-99.csv grad_reduced_0-99.csv grad_unreduced_0-99.csv momentum_buffer_0-99.csv param_origin_0-99.csv param_updated_0-99.csv scalars_0-99.csv'

finish
