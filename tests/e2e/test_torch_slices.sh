#!/usr/bin/env bash
# Keys slice, request_id and request_tokens: rows and dumps of the part of a batch that belongs to one request, and of given parts,
# against what the script cuts out itself. tests/long/slices_msprobe.sh compares the same with msprobe's own.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'parts of tensors'
app=tests/apps/py/serving.py
python_plain "$tmp/plain" $app "$tmp/truth"
serve() { # TEXT SECTION [NAME=VALUE ...]
	local text=$1
	echo "{\"task\": \"${task:-statistics}\", \"dump_path\": \"$tmp/$text\", \"level\": \"L1\", \"${task:-statistics}\": $2}" >"$tmp/$text.json"
	shift 2
	new_out
	run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CONFIG="$tmp/$text.json" PROBE_STEP_MARKER=python:serving.py:Runner.execute_model "$@" $app "$tmp/truth2"
	same_output "$text"
}
shapes() { # TEXT: of the inputs of the first linear of step 0
	"$python" -c 'import json, sys
print([t["shape"] for t in json.load(open(sys.argv[1]))["data"]["Functional.linear.0.forward"]["input_args"]])' "$tmp/$1"/step0/*/dump.json
}
tokens='"request_id": "r7", "request_tokens": "python:serving.py:Runner.execute_model:batch.tokens"'
serve request "{$tokens}" PROBE_FORMAT=csv,dump
is 'the request has its tokens, and a batch without it nothing' "$("$python" - "$tmp" <<'PY'
import glob
import json
import math
import sys

top = sys.argv[1]
for step, want in enumerate(json.load(open(f"{top}/truth"))):
    paths = glob.glob(f"{top}/request/step{step}/*/dump.json")
    if not want:
        print(step, [json.load(open(p)) for p in paths])
        continue
    file = json.load(open(paths[0]))
    data = file["data"]
    have = data["Functional.linear.0.forward"]["input_args"][:1] + data["Functional.linear.0.forward"]["output"] + \
        data["Functional.linear.1.forward"]["output"]
    print(step, file["request_id"], [t["shape"] == w[0] and all(math.isclose(t[k], v, rel_tol=1e-6) for k, v in zip(("Max", "Min", "Norm"), w[1:]))
                                     for t, w in zip(have, want)])
PY
)" "$(printf '%s\n' '0 r7 [True, True, True]' '1 r7 [True, True, True]' '2 []' '3 r7 [True, True, True]')"
is 'rows of the CSV files: the part, with its flag' "$("$python" - "$out" <<'PY'
import csv, glob, sys
rows = [r for f in sorted(glob.glob(f"{sys.argv[1]}/*/calls_*.csv")) for r in csv.DictReader(open(f))]
print([(r["shape"], r["count"], r["bytes"]) for r in rows if r["op"] == "linear" and r["io"] == "in" and r["index"] == "0"][::2],
      all("sliced" in r["flags"].split(";") for r in rows if r["op"] == "linear"),
      sorted({r["step"] for r in rows if r["op"] == "reshape"}))
PY
)" "[('4x8', '32', '128'), ('1x8', '8', '32'), ('6x8', '48', '192')] True ['0', '1', '3']"
serve slices '{"slice": [{"dim": 0, "begin": 1, "end": 3, "size": 8}, {"dim": 1, "begin": -2}, {}, {"dim": 9, "end": 1}]}'
is 'slices: by dimension and size, as in Python' "$("$python" -c 'import json, sys
d = json.load(open(sys.argv[1]))["data"]
print([t["shape"] for t in d["Functional.linear.0.forward"]["input_args"]], [t["shape"] for t in d["Functional.linear.0.forward"]["output"]])' \
	"$tmp"/slices/step0/*/dump.json)" '[[2, 2], [16, 2], [16]] [[2, 2]]'
task=tensor serve tensors '{"slice": [{"dim": 0, "begin": 1, "end": 3, "size": 8}]}'
is 'tensors: the file has the part' "$("$python" -c 'import glob, sys, torch
f = glob.glob(sys.argv[1] + "/step0/*/dump_tensor_data/Functional.linear.0.forward.input.0.pt")
want = torch.arange(64, dtype=torch.float32).reshape(8, 8).sin()[1:3]
print(torch.equal(torch.load(f[0]), want))' "$tmp/tensors")" True
serve unknown '{"request_id": "r7"}'
is 'a request without a place where it is found: whole tensors, and a note' \
	"$(shapes unknown) $("$probe" config -c "$tmp/unknown.json" 2>&1 >/dev/null | grep -c 'request_tokens says where')" '[[8, 8], [16, 8], [16]] 1'
serve elsewhere "{\"request_id\": \"r7\", \"request_tokens\": \"python:serving.py:Runner.execute_model:batch.nothing\"}"
is 'no dict there: one line, whole tensors' "$(grep -c 'request_tokens: the argument has no dict' "$tmp/with.err") $(shapes elsewhere)" '1 [[8, 8], [16, 8], [16]]'
PROBE_SLICE=0:x:1 "$probe" config >"$tmp/said" 2>&1
is 'a wrong part is named with its form' "$(grep -c 'not of the form DIMENSION:BEGIN:END' "$tmp/said")" 1
finish
