#!/usr/bin/env bash
# mindstudio-probe 26.2.0, PyTorch 2.13.0, CPU: alerts of its training monitor after one bad step.
#
# Question: the rule AnomalyTurbulence (threshold 0.5) watches the gradient norm of one weight. It is 1 in each step; in step 3 it is NaN,
#           and from step 6 on 1000. Which steps does the monitor report? And which without the NaN?
# Guess:    6 and a few more in both cases; with the NaN perhaps 3 as well.
# Real:     none with the NaN, all from 6 on without. The running average takes the NaN in and stays NaN, and no number is greater
#           than NaN: the series is never judged again.
# Matters:  one step that a loss scaler skips switches the alert off for the rest of the training, without a word.
. "$(dirname "$0")/lib.sh"
environment msprobe mindstudio-probe==26.2.0 torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import contextlib, io, re, sys
import torch
from msprobe.core.monitor.anomaly_processor import AnomalyScanner
from msprobe.pytorch.monitor.data_writers import BaseWriterWithAD, WriterInput
rules = AnomalyScanner.load_rules([{"rule_name": "AnomalyTurbulence", "args": {"threshold": 0.5}}])
for bad in float("nan"), 1.0:
    monitor = BaseWriterWithAD(WriterInput(sys.argv[1], rules, "job"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for step in range(12):
            norm = torch.tensor(bad if step == 3 else 1000.0 if step >= 6 else 1.0)
            monitor.write_metrics(["norm"], {"0:layer.weight/rank0/post_grad": {"norm": norm}}, step)
    print(f"step 3 is {bad}: reported in steps", [int(s) for s in re.findall(r"at step (\d+)", printed.getvalue())])
P
"$python" -W ignore "$work/program.py" "$work" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
step 3 is nan: reported in steps []
step 3 is 1.0: reported in steps [6, 7, 8, 9, 10, 11]
S
