#!/usr/bin/env bash
# Trainings that hang because one rank makes a backward pass, a micro batch or a call of its own: told as that, and not as the call in
# which the others wait.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/silent.sh
torch_python 'one rank makes a pass fewer'

fault_case skip_micro 3 A=
found 'a backward pass fewer: as that, by the line of backward(), and by that of the call that it came to' skip \
	'^step 9: rank 1 made one backward pass fewer than the others, .* called from skip_micro \(.* or one call too many: barrier #14 .* called from main'

fault_case micro_count 3 A=
found 'a micro batch fewer: the call of the forward pass, and how many passes there were' skip \
	'^step 5: rank 1 skipped all_gather .* rank 1 made 2 backward passes in this step, and the others began another'

fault_case save_rank0 3 A=
found 'a call that one rank makes alone: its line first, then the call that it has not come to' skip \
	'^step 6: rank 0 alone made all_gather #[0-9]+ .*save \(silent_faults\.py.* the others made barrier #[0-9]+ .* which it has not come to'

fault_case recompute 2 A=
found 'a mismatch has the line and phase of the one rank' mismatch 'rank 0 made it in phase forward, called from recompute '
found '... and of the other, which computes again in backward' mismatch \
	'rank 1 made it in phase backward, called from recompute\.<locals>\.layer'
finish
