#!/usr/bin/env bash
# Trainings without a fault in which ranks differ on purpose (shards, experts, frozen layers, averaged copies, local SGD, uneven inputs
# ...): none is accused. The same with a silent fault: each is found, as what it is. All with preset `state`.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/silent.sh
torch_python 'silent faults and healthy trainings'

app=tests/apps/py/healthy_trainings.py
# The kind that each fault is found as.
declare -A kind=([bad_expert_gradients_unreduced]=unreduced [bad_scaler_of_each_rank]=unequal [bad_never_broadcast]=replicas
	[bad_other_rate_on_one_rank]=replicas [bad_checkpoint_on_one_rank]=replicas [bad_momentum_lost_on_one_rank]=replicas
	[bad_fsdp_of_one_seed]=same_data)

for case in no_sync_left reset_after scaler_apart clip_local tied_stage same_data scale_search scale_fits scale_metric; do
	new_out
	torchrun_with 2 PROBE_PRESET=state tests/apps/py/silent_faults.py $case --healthy
	is "$case without its fault: nothing is accused" "$(faults)" ''
done
while read -r case ranks; do
	new_out
	torchrun_with "$ranks" PROBE_PRESET=state $app "$case"
	is "$case: ends well" "$status" 0
	if [[ $case == bad_* ]]; then
		like "$case: is found" " $(faults) " " ${kind[$case]} "
	else
		is "$case: nothing is accused" "$(faults)" ''
	fi
done < <("$python" $app --list)
finish
