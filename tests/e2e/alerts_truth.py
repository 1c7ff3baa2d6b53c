# SPDX-License-Identifier: Apache-2.0
"""
alerts.jsonl against what the rules say of the script's own numbers.

    alerts_truth.py RANK-FOLDER NUMBERS WARMUP      exit 1 and lines that say what differs
"""
import json
import math
import sys

folder, numbers, warmup = sys.argv[1], sys.argv[2], int(sys.argv[3])
series = {}
for line in open(numbers):
    what, name, step, value = line.split()
    series.setdefault((what, name), []).append((int(step), float(value)))


def turbulence(values, threshold):
    """Steps at which |x| > (1 + threshold) * average of those before; 0.99 of the average goes on; NaN and Inf do not enter."""
    average, seen, steps = None, 0, []
    for step, x in values:
        if math.isnan(x):
            continue
        x = abs(x)
        before = x if average is None else average
        if seen >= warmup and before > 0 and x > before * (1 + threshold):
            steps.append(step)
        if math.isfinite(x):
            average, seen = 0.99 * before + 0.01 * x, seen + 1
    return steps


def first_of(values, is_bad):
    return [step for step, x in values if is_bad(x)]


want = {}


def expect(rule, kind, name, op, steps):
    if steps:
        want[rule, kind, name, op] = [steps[0], steps[-1], len(steps)]


for (what, name), values in series.items():
    kind = "loss" if what == "loss" else "grad_reduced"
    op = "" if what == "loss" else what
    expect("AnomalyTurbulence", kind, name, op, turbulence(values, 0.5))
    if what == "norm":
        expect("AnomalyNan", kind, name, "nans", first_of(values, math.isnan))
        expect("inf", kind, name, "infs", first_of(values, math.isinf))
        became = [i for i, (_, x) in enumerate(values) if x == 0 and any(y for _, y in values[:i])]
        expect("zero", kind, name, "", [values[i][0] for i in became])
    if what == "loss":
        same = [values[i][0] for i in range(2, len(values)) if values[i][1] == values[i - 1][1] == values[i - 2][1]]
        expect("stuck", kind, name, "", same)
        expect("spike", kind, name, "", first_of(values, lambda x: not x < 3))
have = {}
for line in open(folder + "/alerts.jsonl"):
    a = json.loads(line)
    key = a["rule"], a["kind"], a["name"], a.get("op", "")
    if a["rule"] == "slow":
        continue
    if key in have:
        print("twice:", key)
        sys.exit(1)
    have[key] = [a["first_step"], a["last_step"], a["count"]]
    for member in "rank step micro_step value threshold stack_id action text".split():
        assert member in a, member
bad = [f"{k}: {have.get(k)}, want {want.get(k)}" for k in sorted(set(have) | set(want)) if have.get(k) != want.get(k)]
print("\n".join(bad) if bad else f"{len(have)} alerts")
sys.exit(bool(bad))
