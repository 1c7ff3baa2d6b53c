#!/usr/bin/env bash
# More of tests/e2e/test_torch_kinds.sh: optimizers with a closure and with other states, kinds by themselves.
. "$(dirname "$0")/../e2e/lib.sh"
# timeout: 3000
. tests/e2e/torch.sh
. tests/e2e/kinds.sh
torch_python 'kinds of a training'

kinds_case lbfgs --steps 4 -- -- param_origin param_updated grad_unreduced grad_reduced
kinds_case amsgrad --accumulate 3 -- -- param_origin param_updated grad_unreduced grad_reduced exp_avg exp_avg_sq max_exp_avg_sq \
	mg_direction ur_distribution update_ratio
kinds_case adamw -- PROBE_GRAD_ACC_STEPS=1 -- grad_unreduced grad_reduced
for kind in ${all_kinds//,/ }; do
	kinds_case adamw --steps 3 -- PROBE_KINDS="$kind" -- "$kind"
	is "$kind by itself: no other file" "$(cd "$out/rank1" && ls -- *_0-99.csv | grep -v calls_)" "${kind}_0-99.csv"
done

# A model of other people: GPT-2 as Hugging Face has it, with tied weights, dropout and micro steps.
. tests/e2e/trainers.sh
trainers_prepare
why=$(trainers_lack trainer)
if [ -n "$why" ]; then
	skip 'GPT-2 of transformers' "$why"
	finish
	exit
fi
kinds_case adamw --gpt --steps 4 --accumulate 2 --scaled -- PROBE_SCALARS=true PROBE_MONITOR_MBS_GRAD=true -- \
	param_origin param_updated grad_reduced exp_avg exp_avg_sq mg_direction ur_distribution update_ratio
kinds_agree 'GPT-2: grad_unreduced of each micro step' --micro grad_unreduced
is 'GPT-2: names of all parameters, the tied ones once' "$(rows "$out" 'len({n["name"] for n in N if n["what"] == "param"})')" 28
finish
