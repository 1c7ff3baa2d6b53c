#!/usr/bin/env bash
# Trainings that stop because one rank made a call too many, skipped one after an error of its own, or came when the others had given up: that
# rank is named, with the line. tests/e2e/test_torch_fewer_passes.sh has the other ones that hang.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/silent.sh
torch_python 'one rank makes another call, or comes late'
line() { # the program's line with that mark
	grep -n "# $1\$" tests/apps/py/silent_faults.py | cut -d: -f1
}

fault_case log_keys 3 A=
found 'a metric that one rank alone logs: one call too many, and its line' skip \
	"^step 5: rank 1 made one call too many: all_reduce #[0-9]+ .* called from log_keys\.<locals>\.log \(silent_faults\.py:$(line LOG)\)"

fault_case object_fails 3 A=
found 'a gather that one rank skips because its object cannot be pickled, and its line' skip \
	"^step 5: rank 1 skipped all_gather .* called from object_fails \(silent_faults\.py:$(line GATHER)\)"

fault_case data_prep 3 A=
found 'a rank that comes when the others have given up is the one that is named' error \
	"^step 0: rank 0 entered barrier #0 .* s after 2 ranks had given up, after waiting for it for [0-9.]+ s, called from data_prep \(silent_faults\.py:$(line BARRIER)\)"
is '... and no other rank, as nothing else' "$(faults)" error
like '... and all ranks belong to the run' "$("$probe" report "$out")" 'ranks +3 \(0-2\) of 3'
finish
