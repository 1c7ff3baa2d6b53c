#!/usr/bin/env bash
# TensorBoard 2.21.0 and PyTorch 2.13.0: a curve of 20,000 points read back by EventAccumulator with its defaults.
#
# Question: how many of 20,000 points of add_scalar() does EventAccumulator(DIR).Reload() hand out, with new_style off and on?
# Guess:    all of them.
# Real:     10,000 chosen at random (new_style off), 10 (new_style on: the scalar is stored as a tensor, of which ten are kept). The
#           last point is always there. size_guidance={"scalars": 0, "tensors": 0} keeps all.
# Matters:  a spike of one step is gone with odds of 1 in 2, or of 1,999 in 2,000, and two reads of one file show the same gaps.
. "$(dirname "$0")/lib.sh"
environment torchboard torch==2.13.0 tensorboard==2.21.0 numpy
cat >"$work/program.py" <<'P'
import sys
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
for new_style in False, True:
    place = f"{sys.argv[1]}/{new_style}"
    with SummaryWriter(place) as writer:
        for step in range(20000):
            writer.add_scalar("loss", 1e6 if step == 12345 else 1., step, new_style=new_style)
    for guidance in None, {"scalars": 0, "tensors": 0}:
        reader = EventAccumulator(place, size_guidance=guidance).Reload()
        points = reader.Tensors("loss") if new_style else reader.Scalars("loss")
        print(f"new_style={new_style}, size_guidance={guidance}: {len(points)} points, last step {points[-1].step}")
P
"$python" -W ignore "$work/program.py" "$work" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
new_style=False, size_guidance=None: 10000 points, last step 19999
new_style=False, size_guidance={'scalars': 0, 'tensors': 0}: 20000 points, last step 19999
new_style=True, size_guidance=None: 10 points, last step 19999
new_style=True, size_guidance={'scalars': 0, 'tensors': 0}: 20000 points, last step 19999
S
