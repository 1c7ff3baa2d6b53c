#!/usr/bin/env bash
# Losses and norms of each micro step, by rank, against what the script itself writes; a loss far from those of the other ranks is a
# finding, and noisy losses are none.
# beside: does not wait busily
# timeout: 400
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'losses of micro steps'

differing() { # rows of micro-loss and micro-norm that the script has otherwise
	python3 - "$out" "$tmp/truth" <<'PY'
import csv, glob, re, sys
out, truth = sys.argv[1:]
want, have = {}, {}
for rank in range(2):
    for line in open(f"{truth}.{rank}"):
        step, micro, loss, norm = line.split()
        want[rank, int(step), f"micro-loss/micro{micro}"] = float(loss)
        want[rank, int(step), f"micro-norm/micro{micro}"] = float(norm)
    for f in glob.glob(f"{out}/rank{rank}/scalars_*.csv"):
        have |= {(rank, int(r["step"]), r["name"]): float(r["value"]) for r in csv.DictReader(open(f)) if r["name"].startswith("micro-")}
print(len(want), sorted(have.keys() ^ want.keys())[:4], [(k, have[k], want[k]) for k in have.keys() & want.keys() if abs(have[k] / want[k] - 1) > 1e-6][:4])
PY
}
findings() { # KIND: texts
	"$probe" report --json "$out" | python3 -c 'import json, sys; print("\n".join(f["text"] + " ranks " + str(f["ranks"]) for f in json.load(sys.stdin)["findings"] if f["kind"] == sys.argv[1]))' "$1"
}

torchrun_plain 2 tests/apps/py/micro_losses.py "$tmp/truth" odd
new_out
torchrun_with 2 PROBE_SCALARS=true PROBE_METRICS=device_local_norm PROBE_MONITOR_MBS_GRAD=true tests/apps/py/micro_losses.py "$tmp/truth" odd
same_output 'micro steps'
is 'loss and norm of each micro step, as the script has them' "$(differing)" '80 [] []'
like 'one loss far from the other rank: step, micro step, both values, the rank' "$(findings odd_loss)" \
	'^step 5, micro step 1: the loss is [0-9]{4}[0-9.]* on rank 1 and [0-9.]+ on the other rank \(median\); none of the other 1[89] losses is further than [0-9.]+ from those around it ranks \[1\]'
torchrun_plain 2 tests/apps/py/micro_losses.py "$tmp/truth"
new_out
torchrun_with 2 PROBE_SCALARS=loss,micro-loss tests/apps/py/micro_losses.py "$tmp/truth"
same_output 'micro steps without a fault'
is 'without a fault no loss is odd' "$(findings odd_loss)" ''
finish
