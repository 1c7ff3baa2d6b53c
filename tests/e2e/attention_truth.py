"""Compares rows of attention's kinds with a program's own. attention_truth.py OUT TRUTH SKIPPED TOLERANCE: OUT, the output folder; TRUTH,
lines of step, kind, name and numbers; SKIPPED, a pattern of lines that TRUTH alone has. Prints how many numbers there are, the rows that
one side lacks, and those that differ by more than TOLERANCE of the number, or of 1 if it is smaller."""
import csv
import glob
import re
import sys

out, truth, skipped, tolerance = *sys.argv[1:4], float(sys.argv[4])
columns = {"max_attention_logit": ("upper", "lower")}
want, have = {}, {}
for line in open(truth):
    step, kind, name, *v = line.split()
    if not re.search(skipped, line):
        want[int(step), kind, name] = [float(x) for x in v]
for kind in {k for _, k, _ in want}:
    for f in glob.glob(f"{out}/[hr]*/{kind}_*.csv"):
        for r in csv.DictReader(open(f)):
            have[int(r["step"]), kind, r["name"]] = [float(r[c] or "-inf") for c in columns.get(kind, ("value", "rows", "rows_total"))]


def near(a, b):
    return a == b or abs(a - b) <= tolerance * max(abs(b), 1)


print(sum(map(len, want.values())), sorted(have.keys() ^ want.keys())[:4],
      [(k, have[k], want[k]) for k in sorted(have.keys() & want.keys()) if not all(map(near, have[k], want[k]))][:4])
