# SPDX-License-Identifier: Apache-2.0
"""
Compares what libprobe wrote of a training (scalars_*.csv, local_norm_*.csv, adam_m_norm_*.csv ...) with what MindSpore Transformers'
callbacks say of it: each value of theirs that ours have a name for must be there, to 6 digits.

    ms_oracle_truth.py OURS THEIRS [--skipped STEP]     folders of one rank; THEIRS by tests/apps/py/ms_oracle.py
"""
import csv
import glob
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import tfevents  # noqa: E402

out, folder = sys.argv[1], sys.argv[2]
options = dict(zip(sys.argv[3::2], sys.argv[4::2]))
skipped = int(options.get("--skipped", -1))
ours = {}


def read(pattern, tag):
    for path in sorted(glob.glob(os.path.join(out, pattern))):
        with open(path, newline="") as f:
            for row in csv.DictReader(f):
                ours[tag(row), int(row["step"]) + 1] = float(row["value"])


read("scalars_*.csv", lambda r: r["name"])
for kind in ("local_norm", "adam_m_norm", "adam_v_norm"):
    read(f"{kind}_*.csv", lambda r, k=kind: k + "/" + r["name"])

theirs = {}
for tag, values in tfevents.Events(os.path.join(folder, "tensorboard")).S.items():
    name, slash, of = tag.partition("/")
    if name in ("adam_m_norm", "adam_v_norm"):
        tag = name + "/" + of.split(".", 1)[1]  # adam_m.embedding.weight
    elif tag not in ("loss", "learning-rate", "grad-norm", "weight_norm"):
        continue
    for step, value in values:
        theirs[tag, step] = value
with open(os.path.join(folder, "local_norm.json")) as f:
    local = json.load(f)
for i, norms in enumerate(local["norms"]):
    for name, squares in zip(local["names"], norms):
        theirs["local_norm/" + name, i + 1] = math.sqrt(squares)
        if name == "embedding.weight":
            theirs["embedding_local_norm", i + 1] = squares

bad = compared = 0
for (tag, step), want in sorted(theirs.items()):
    # No update in that step: they show what there was before.
    if step == skipped and tag.split("/")[0] in ("adam_m_norm", "adam_v_norm", "weight_norm", "learning-rate"):
        continue
    compared += 1
    got = ours.get((tag, step))
    if got is None or not math.isclose(got, want, rel_tol=2e-6, abs_tol=1e-12):
        bad += 1
        print(f"{tag} of step {step}: {got}, not {want}")
kinds = sorted({tag.split("/")[0] for tag, _ in theirs})
print(f"{compared} values of {', '.join(kinds)} compared, {bad} wrong")
sys.exit(bad > 0 or compared < 20 or not {"loss", "grad-norm"} <= set(kinds))
