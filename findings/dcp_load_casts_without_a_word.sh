#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU): torch.distributed.checkpoint.load into tensors of another type than the saved ones.
#
# Question: a float32 tensor was saved. What does load() into a float16, int64 or bool tensor of the same name and shape do?
# Guess:    it raises, as for another shape.
# Real:     it converts, as copy_() does, without a warning: 70000 becomes an infinity, 1e-8 becomes 0, 1.5 becomes 1.
#           Another shape raises a CheckpointException, which is no Exception: `except Exception` around load() does not catch it.
# Matters:  a model that was built in half precision resumes from its float32 master weights with infinities and zeros; so does an
#           optimizer whose exp_avg_sq (often below 1e-8) is float16.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import sys, torch, torch.distributed.checkpoint as checkpoint
place = sys.argv[1]
checkpoint.save({"weight": torch.tensor([1.5, 1e-8, 70000.])}, checkpoint_id=place)
for into in torch.float16, torch.int64, torch.bool:
    state = {"weight": torch.zeros(3, dtype=into)}
    checkpoint.load(state, checkpoint_id=place)
    print(into, state["weight"].tolist())
try:
    checkpoint.load({"weight": torch.zeros(4)}, checkpoint_id=place)
    print("another shape: no error")
except BaseException as error:
    print("another shape:", type(error).__name__, "- an Exception:", isinstance(error, Exception))
P
"$python" -W ignore "$work/program.py" "$work/checkpoint" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
torch.float16 [1.5, 0.0, inf]
torch.int64 [1, 0, 70000]
torch.bool [True, True, True]
another shape: CheckpointException - an Exception: False
S
