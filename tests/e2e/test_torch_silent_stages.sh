#!/usr/bin/env bash
# Faults of a training that raise no error: loss scales of two stages, a tied matrix, the same data on all ranks.
# timeout: 400
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/silent.sh
torch_python 'silent faults of stages'

fault_case scaler_apart 2 PROBE_PRESET=state
found 'loss scales that part: step, both values, ranks' unequal \
	'^step 6: loss-scale is 512 on rank 0 and 1024 on rank 1 \(equal in 6 steps before\)'

fault_case tied_stage 2 PROBE_PRESET=state
found 'a tied matrix parts: both names, both ranks' tied '^step 0: weight of rank 0 and weight of rank 1 began as one matrix \(\[30, 16\]\)'

fault_case same_data 2 A=
found 'the same data on all ranks, with default settings' same_data \
	'^all ranks of data-parallel group of ranks 0-1 contribute the same bits to each of 10 reductions of gradients in 10 steps'
finish
