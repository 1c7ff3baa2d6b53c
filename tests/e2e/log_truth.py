# SPDX-License-Identifier: Apache-2.0
"""
monitor.log of a rank against what MindSpore Transformers' own format strings make of the numbers in the same folder's CSV files.

    log_truth.py RANK_FOLDER EPOCHS STEPS_PER_EPOCH WORLD [mean] [every=N] METRIC...     prints the first difference; nothing: there is none
"""
import csv
import datetime
import glob
import sys

import numpy

folder, epochs, per_epoch, world = sys.argv[1], *map(int, sys.argv[2:5])
rest = sys.argv[5:]
mean = "mean" in rest
every = next((int(w[6:]) for w in rest if w.startswith("every=")), 1)
metrics = [w for w in rest if w != "mean" and not w.startswith("every=")]
steps = {}
for path in sorted(glob.glob(folder + "/scalars_*.csv")):
    for row in csv.DictReader(open(path)):
        steps.setdefault(int(row["step"]), {})[row["name"]] = float(row["value"])
for path in sorted(glob.glob(folder + "/*_norm_*.csv")):
    word = path.rsplit("/", 1)[1].rsplit("_", 1)[0]
    for row in csv.DictReader(open(path)):
        steps.setdefault(int(row["step"]), {})[f"{word}/{row['name']}"] = float(row["value"])
want, losses, last = [], [], 0
for step, of in sorted(steps.items()):
    n = step + 1
    epoch, at = (n - 1) // per_epoch + 1, (n - 1) % per_epoch + 1
    place = "Epoch:[%3d/%3d], step:[%5d/%5d]" % (epoch, epochs, at, per_epoch)
    if at == 1:
        losses = []
    losses.append(of["loss"])
    if n - last >= every:
        last = n
        ms = of.get("iteration-time") or sum(of.get(p, 0) for p in ("data-time", "forward-time", "backward-time", "optimizer-time"))
        line = "{ " + place + ", "
        line += "loss:[%5.6f/%5.6f], " % (losses[-1], sum(losses) / len(losses)) if mean else "loss: %5.6f, " % losses[-1]
        line += "per_step_time: %dms, " % int(ms)
        if "learning-rate" in of:
            line += "lr: %s, " % of["learning-rate"]
        line += "overflow cond: %s, " % ("loss-scale" in of and not numpy.isfinite(of.get("grad-norm", 0)))
        line += "loss_scale: %s, " % of.get("loss-scale", "unavailable")
        line += "global_norm: %s" % (numpy.array([of["grad-norm"]], numpy.float32) if "grad-norm" in of else None)
        if "model-flops-throughput-per-npu" in of:
            line += ", train_throughput_per_npu: %.3fT" % of["model-flops-throughput-per-npu"]
        want.append(line)
        share = n / (epochs * per_epoch)
        rate = of.get("throughput", of.get("batch-size", 0) / world / ms * 1e3)
        left = datetime.timedelta(seconds=int(ms * (epochs * per_epoch - n) / 1e3))
        want.append("  %4.1f%% |%s| %.5f samples/s/p  %s }" % (share * 100, ("█" * int(share * 50)).ljust(50), rate, left))
    # One line for each micro step; of a step without them its own loss.
    micro = {name: value for name, value in of.items() if name.startswith("micro-loss/")}
    for name, value in of.items():
        if name == "local_lm_loss" and micro:
            continue
        if name in micro and "local_lm_loss" in metrics:
            want.append(f"{place} micro_local_lm_loss: {value}")
        elif name.split("/")[0] in metrics:
            want.append(f"{place} {'micro_local_lm_loss' if name == 'local_lm_loss' else name}: {value}")


# The CSV files have metrics with nine or fifteen digits.
def alike(a, b):
    if a == b:
        return True
    head, _, x = a.rpartition(": ")
    other, _, y = b.rpartition(": ")
    return head == other and not a.startswith("{") and "%" not in a and abs(float(x) - float(y)) <= 1e-8 * abs(float(y))


have = open(folder + "/monitor.log", encoding="utf-8").read().splitlines()


def ordered(lines):
    """After each step's two lines its metrics, sorted."""
    out, part = [], []
    for line in lines + ["{"]:
        if line.startswith("{"):
            out += sorted(part, key=lambda m: m.rpartition(": ")[0])
            part = []
        if line.startswith("{") or line.startswith("  "):
            out.append(line)
        else:
            part.append(line)
    return out[:-1]


have, want = ordered(have), ordered(want)
for a, b in zip(have, want):
    if not alike(a, b):
        print(f"{a!r} instead of {b!r}")
        break
else:
    if len(have) != len(want) or not want:
        print(f"{len(have)} lines instead of {len(want)}: {(have + ['', ''])[len(want):][:2]} {want[len(have):][:2]}")
