#!/usr/bin/env bash
# Key watch_functions: the numbers that Python functions are called with and give back, against what the script itself writes.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'functions that are watched'
new_out
python_plain "$tmp/plain" tests/apps/py/watched.py "$tmp/truth"
train() { # [NAME=VALUE ...]
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@" timeout -k 5 150 "$python" tests/apps/py/watched.py "$tmp/truth" \
		>"$tmp/with" 2>"$tmp/with.err" </dev/null
	status=$?
	echo $status >"$tmp/with.status"
}
functions=python:watched.py:save_to_aux_losses_tracker,python:py/watched.py:MTPLossLoggingHelper.save_loss_to_tracker,python:watched.py:Net.forward,python:watched.py:plain
train PROBE_WATCH_FUNCTIONS=$functions,python:watched.py:no_such,nonsense
same_output 'functions that are watched'
differing() { # rows that the script has and no file, or the other way; the direct calls of `plain` apart
	python3 - "$out" "$tmp/truth" "${1:-.}" <<'PY'
import collections, csv, glob, re, sys
out, truth, names = sys.argv[1:]
want = collections.defaultdict(list)
for line in open(truth):
    step, name, value = line.split()
    if re.search(names, name):
        want[int(step), name].append(float(value))
have = collections.defaultdict(list)
for f in glob.glob(f"{out}/[hr]*/watched_*.csv"):
    for r in csv.DictReader(open(f)):
        if not (r["name"].startswith("plain/") and float(r["value"]) >= 100):
            have[int(r["step"]), r["name"]].append(float(r["value"]))
wrong = [(k, want.get(k), have.get(k)) for k in sorted(want.keys() | have.keys())
         if len(want.get(k, [])) != len(have.get(k, [])) or any(abs(a - b) > 1e-8 * abs(b) for a, b in zip(want[k], have[k]))]
print(sum(map(len, want.values())), wrong[:4])
PY
}
is 'each number of each call: texts and layers name the series, tensors and floats are values, results of all forms' "$(differing)" '48 []'
direct=$("$python" -c 'import sys; print(int(sys.version_info[:2] != (3, 11)))')
is 'direct calls too, but with CPython 3.11, and that is recorded' "$(python3 - "$out" <<'PY'
import csv, glob, sys
rows = [r for f in glob.glob(f"{sys.argv[1]}/[hr]*/watched_*.csv") for r in csv.DictReader(open(f))]
print(int(any(r["name"] == "plain/value" and float(r["value"]) >= 100 for r in rows)),
      sum("CPython 3.11 runs plain calls" in open(f).read() for f in glob.glob(f"{sys.argv[1]}/[hr]*/meta.json")))
PY
)" "$direct $((1 - direct))"
is 'a line for what is no function' "$(grep -c 'watch_functions: nonsense: not of the form python:FILE:FUNCTION' "$tmp/with.err")" 1
new_out
train PROBE_WATCH_FUNCTIONS=python:watched.py:Net.forward PROBE_STEP=1,3 PROBE_FORMAT=tensorboard
same_output 'one function, two steps, event files'
is 'events of it' "$(python3 tests/e2e/tfevents.py "$out/tensorboard/rank_0" "sorted((t, len(p)) for t, p in S.items() if 'forward' in t)")" \
	"[('watched/Net.forward/result.1', 2), ('watched/Net.forward/weight', 2)]"
new_out
train
same_output 'without the key'
is 'without the key there is no such file' "$(find "$tmp" -path '*out3*' -name 'watched*' | wc -l)" 0
finish
