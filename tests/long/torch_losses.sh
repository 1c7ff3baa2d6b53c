#!/usr/bin/env bash
# The loss of each step is the one that the program prints, in the trainers that are used most, with 4 micro steps
# (tests/apps/py/trainer_losses.py). SCENES='accelerate zero': only these.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: losses of trainers'
. tests/e2e/trainers.sh
trainers_prepare

# Over the ranks, as probe report has it; what trainers print is often rounded to 4 digits after the point.
same_mean() {
	"$probe" report --json --step 0-99 "$out" >"$tmp/report.json" 2>"$tmp/report.err"
	python3 -c '
import json, sys
have = {s["step"]: s["mean"] for s in json.load(open(sys.argv[1]))["scalars"] if s["name"] == "loss"}
want = {int(a[0]): float(a[2]) for a in map(str.split, open(sys.argv[2]))}
wrong = [(k, have.get(k), v) for k, v in want.items() if k not in have or abs(have[k] - v) > 6e-5 * max(1, abs(v))]
print(wrong or len(want))
sys.exit(bool(wrong) or not want)' "$tmp/report.json" "$tmp/losses.mean"
}

for s in ${SCENES:-accelerate trainer trainer_plain lightning deepspeed zero megatron}; do
	why=$(trainers_lack "$s")
	if [ -n "$why" ]; then
		skip "$s" "$why"
		continue
	fi
	rm -f "$tmp"/losses.*
	new_out
	torchrun_plain 2 tests/apps/py/trainer_losses.py "$s" "$tmp/losses"
	if [ "$status" != 0 ]; then
		skip "$s" "it does not run here: $(grep -E 'Error|error' "$tmp/plain.err" | tail -1 | cut -c1-150)"
		continue
	fi
	torchrun_with 2 PROBE_SCALARS=loss,grad-norm,loss-scale tests/apps/py/trainer_losses.py "$s" "$tmp/losses"
	same_output "$s"
	if [ -e "$tmp/losses.mean" ]; then
		ok "$s: loss/mean as the trainer prints it" same_mean
		continue
	fi
	for r in 0 1; do
		ok "$s: loss of rank $r as the program prints it" python3 tests/e2e/scalars_truth.py "$out/rank$r" "$tmp/losses.$r"
	done
done
finish
