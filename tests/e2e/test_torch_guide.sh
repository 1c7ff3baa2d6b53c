#!/usr/bin/env bash
# The program and the configuration of msprobe's guide for dumps: the gradients in a dump are those that autograd hands on, as hooks
# of PyTorch see them: of an argument that was broadcast their sum, of one without a gradient an empty place.
# tests/long/dump_msprobe.sh compares the same with msprobe's own tools.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'the guide for dumps'
app=tests/apps/py/guide.py

guide() { # FOLDER SUMMARY_MODE
	cat >"$tmp/config.json" <<JSON
{ "task": "statistics", "dump_path": "$1", "rank": [], "step": [], "level": "L1", "seed": 1234, "is_deterministic": false,
  "statistics": { "scope": [], "list": [], "data_mode": ["all"], "summary_mode": "$2" } }
JSON
}

guide "$tmp/dump" statistics
python_plain "$tmp/plain" $app "$tmp/truth"
is 'without a tool' "$status" 0
new_out
run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_CONFIG="$tmp/config.json" $app
same_output 'the guide'
"$python" - "$tmp"/dump/step0/*/dump.json "$tmp/truth" >"$tmp/said" 2>&1 <<'PY'
import json
import math
import sys

data, truth = json.load(open(sys.argv[1]))["data"], json.load(open(sys.argv[2]))
for name, want in sorted(truth.items()):
    have = data[name]["output"]
    print(name, [t and t["shape"] for t in have] == [t and t[0] for t in want],
          all(math.isclose(h[k], w[i], rel_tol=1e-6, abs_tol=1e-7)
              for h, w in zip(have, want) if h and w for i, k in ((1, "Max"), (2, "Min"), (3, "Norm"))),
          [t and t["shape"] for t in have])
PY
is 'gradients of linear are those that autograd hands on' "$(cat "$tmp/said")" \
	"$(printf '%s\n' 'Functional.linear.0.backward True True [[4], None, [8, 4]]' 'Functional.linear.1.backward True True [[2], [10, 4], [4, 2]]')"

# Their checksums, and tensors: the same places.
guide "$tmp/sums" md5
new_out
run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_CONFIG="$tmp/config.json" $app
is 'checksums stand in the same places' "$("$python" -c 'import json, sys
print([t and len(t["md5"]) for t in json.load(open(sys.argv[1]))["data"]["Functional.linear.0.backward"]["output"]])' "$tmp"/sums/step0/*/dump.json)" '[8, None, 8]'
finish
