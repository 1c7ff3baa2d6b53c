#!/usr/bin/env bash
# Keys slice and request_id beside msprobe 26.2.0 itself: the batches of tests/apps/py/serving.py, with that tool's lines in the script and
# under libprobe without them. Each tensor that both dump has the same shape and numbers, for the batches that both dump. In a virtual
# environment of its own in $B/long, or with PROBE_TEST_MSPROBE, a Python that has mindstudio-probe 26.2.0 and torch.
# timeout: 1200
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/msprobe.sh
msprobe_python
. tests/e2e/torch.sh
test_python=$python REAL_COMPILER=1
torch_python msprobe
app=tests/apps/py/serving.py

both() { # NAME TASK SECTION KEYS-OF-OURS
	local who keys
	for who in peer ours; do
		keys=$3
		[ $who = peer ] || keys=$3${4:-}
		mkdir -p "$tmp/$1.$who"
		echo "{\"task\": \"$2\", \"dump_path\": \"$tmp/$1.$who\", \"level\": \"L1\", \"$2\": {$keys}}" >"$tmp/$1.$who.json"
	done
	TORCH_LIMIT=600 run_script "$tmp/plain" 0 $app "$tmp/truth" msprobe "$tmp/$1.peer.json"
	new_out
	TORCH_LIMIT=600 run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_CONFIG="$tmp/$1.ours.json" \
		PROBE_STEP_MARKER=python:serving.py:Runner.execute_model $app "$tmp/truth"
	is "$1: equal numbers" "$("$python" - "$tmp/$1" <<'PY'
import glob
import json
import math
import os
import sys

import torch

top, wrong, tensors, files = sys.argv[1], [], 0, 0
steps = {who: sorted(os.path.basename(os.path.dirname(os.path.dirname(f))) for f in glob.glob(f"{top}.{who}/step*/*/dump.json")
                     if json.load(open(f))["data"]) for who in ("peer", "ours")}


def same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and (math.isclose(a, b, rel_tol=2e-6, abs_tol=1e-7) or a != a and b != b))


for step in steps["peer"]:
    peer, ours = (glob.glob(f"{top}.{who}/{step}/*")[0] for who in ("peer", "ours"))
    a, b = (json.load(open(f"{f}/dump.json"))["data"] for f in (peer, ours))
    # msprobe begins with the batch; what the program made before it has other numbers of the same names.
    for name in a:
        if not name.startswith(("Functional.linear", "Torch.tanh", "Torch.sin", "Tensor.sin")) or name not in b:
            continue
        for side in "input_args", "output":
            for i, (x, y) in enumerate(zip(a[name].get(side, []), b[name].get(side, []))):
                if not x or x.get("type") != "torch.Tensor":
                    continue
                tensors += 1
                if any(not same(x[k], y[k]) for k in ("shape", "Max", "Min", "Mean", "Norm")):
                    wrong.append((step, name, side, i, x, y))
                pair = [f"{f}/dump_tensor_data/{name}.{side.split('_')[0]}.{i}.pt" for f in (peer, ours)]
                if os.path.exists(pair[0]):
                    files += 1
                    if not torch.equal(*(torch.load(f) for f in pair)):
                        wrong.append(pair)
print(steps["peer"] == steps["ours"], tensors, files, wrong[:2])
PY
)" "$5"
}
tokens=', "request_tokens": "python:serving.py:Runner.execute_model:batch.tokens"'
four='{"dim": 0, "begin": 1, "end": 3, "size": 8}, {"dim": 1, "begin": -2}, {}, {"dim": 9, "end": 1}'
both request statistics '"request_id": "r7"' "$tokens" "True 36 0 []"
both slices statistics "\"slice\": [$four]" '' "True 48 0 []"
both several statistics '"slice": [{"dim": 1, "begin": -9, "end": -3}, {"dim": 1, "begin": 1, "size": 16}]' '' "True 48 0 []"
both both statistics "\"slice\": [$four], \"request_id\": \"r7\"" "$tokens" "True 36 0 []"
both tensors tensor "\"slice\": [$four], \"request_id\": \"r7\"" "$tokens" "True 36 36 []"
finish
