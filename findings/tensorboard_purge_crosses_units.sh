#!/usr/bin/env bash
# TensorBoard 2.21.0, SummaryWriter of PyTorch 2.13.0: a training writes its loss over steps, and over samples, as MindSpore Transformers
# and others do, and restarts from a checkpoint with purge_step, as it should.
#
# Question: steps 1 to 8 of 4 samples each are written, then, after a restart, steps 6 to 10. Which points over samples are there?
# Guess:    those of steps 1 to 10, once each: the same ones as over steps.
# Real:     over steps each once. Over samples those of step 1 and of steps 6 to 10: the reader compares the x of each series with
#           purge_step, whatever it counts, and so removes steps 2 to 5 (x = 8 to 20), which are never written again. A series over seconds
#           keeps all of the first run, because its x are smaller: steps 6 to 8 are there twice.
# Matters:  over samples a restarted training has gaps, and over time double points, beside a right curve over steps.
. "$(dirname "$0")/lib.sh"
environment torchboard torch==2.13.0 tensorboard==2.21.0 numpy
cat >"$work/program.py" <<'P'
import tempfile, time
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
UNITS = {"steps": lambda n: n, "samples": lambda n: 4 * n, "seconds": lambda n: n // 2}
def write(folder, steps, more, **how):
    writer = SummaryWriter(folder, **how)
    for step in steps:
        for unit, x in UNITS.items():
            writer.add_scalar(f"loss over {unit}", step + more, x(step))
    writer.close()
with tempfile.TemporaryDirectory() as folder:
    write(folder, range(1, 9), 0)
    time.sleep(1.1)  # the next file has another name
    write(folder, range(6, 11), 0.5, purge_step=6)
    reader = EventAccumulator(folder)
    reader.Reload()
    for unit in UNITS:
        print(f"over {unit}:", *(f"{e.step}={e.value:g}" for e in reader.Scalars(f"loss over {unit}")))
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
over steps: 1=1 2=2 3=3 4=4 5=5 6=6.5 7=7.5 8=8.5 9=9.5 10=10.5
over samples: 4=1 24=6.5 28=7.5 32=8.5 36=9.5 40=10.5
over seconds: 0=1 1=2 1=3 2=4 2=5 3=6 3=7 4=8 3=6.5 3=7.5 4=8.5 4=9.5 5=10.5
S
