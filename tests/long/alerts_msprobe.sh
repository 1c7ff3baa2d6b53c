#!/usr/bin/env bash
# msprobe's own anomaly_processor on our anomaly.json, and its rules on our values. MSPROBE_PYTHON: a Python that has mindstudio-probe
# 8.1.0. Usage: MSPROBE_PYTHON=... tests/long/alerts_msprobe.sh. Prints TAP.
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'msprobe: alerts'
msprobe=${MSPROBE_PYTHON:-}
if [ -z "$msprobe" ] || ! "$msprobe" -c 'import msprobe' 2>/dev/null; then
	skip 'msprobe reads our anomalies' 'MSPROBE_PYTHON names no Python with mindstudio-probe'
	finish
fi

new_out
PROBE_ALERTS='[{rule: AnomalyTurbulence, kind: grad_reduced, threshold: 0.5, warmup: 0}, {rule: AnomalyNan, kind: grad_reduced}]'
env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_ALERTS="$PROBE_ALERTS" PROBE_ANOMALY_JSON=true RANK=0 WORLD_SIZE=1 \
	"$python" tests/apps/py/alerts.py "$tmp/numbers" >"$tmp/o" 2>"$tmp/e"
is 'ends well' $? 0
umask 022
mkdir "$tmp/theirs"
"$msprobe" -m msprobe.core.monitor.anomaly_processor -d "$out/anomaly_detected" -o "$tmp/theirs" -k 8 >"$tmp/o" 2>&1
is 'anomaly_processor: status' $? 0
"$probe" analyze --anomalies -k 8 -o "$tmp/ours" "$out" >"$tmp/o" 2>&1
ok 'anomaly_analyse.json: the same bytes' cmp "$tmp/theirs/anomaly_analyse.json" "$tmp/ours/anomaly_analyse.json"
"$msprobe" -m msprobe.core.monitor.anomaly_processor -d "$out/anomaly_detected" -o "$tmp/theirs" -k 3 -s '[20,25]' >"$tmp/o" 2>&1
"$probe" analyze --anomalies -k 3 -s '[20,25]' -o "$tmp/ours" "$out" >"$tmp/o" 2>&1
ok '-k 3 -s [20,25]: the same bytes' cmp "$tmp/theirs/anomaly_analyse.json" "$tmp/ours/anomaly_analyse.json"

# Its rule classes, with the average of its writer, on the values of our files: the same steps.
cat >"$tmp/rules.py" <<'PY'
import csv, glob, json, sys
from msprobe.core.monitor.anomaly_processor import AnomalyScanner
rules = AnomalyScanner.load_rules([{"rule_name": "AnomalyTurbulence", "args": {"threshold": 0.5}}, {"rule_name": "AnomalyNan"}])
average, want = {}, set()
for row in csv.DictReader(open(glob.glob(sys.argv[1] + "/rank0/grad_reduced_*.csv")[0])):
    for op in ("norm", "mean"):
        x = float("nan") if int(row["nans"]) else float(row[op])
        key = row["name"], op
        if x != x:  # there a NaN silences the series for good: not ours
            before = average.get(key, 1.0)
        else:
            before = average.setdefault(key, abs(x))
            if abs(x) != float("inf"):
                average[key] = 0.99 * before + 0.01 * abs(x)
        hit, name = AnomalyScanner.scan(rules, before, x)
        if hit and before:
            want.add((row["name"], int(row["step"]), name))
have = {(v["tag_name"].split("/")[0][2:], v["step"], v["message"].split()[1])
        for v in json.load(open(sys.argv[1] + "/anomaly_detected/rank0/anomaly.json")).values()}
print(sorted(want ^ have) or "same", len(have) > 10)
PY
is 'the steps and rules that its classes find' "$("$msprobe" "$tmp/rules.py" "$out" 2>/dev/null | tail -1)" 'same True'
finish
