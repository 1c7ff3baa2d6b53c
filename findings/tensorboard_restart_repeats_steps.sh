#!/usr/bin/env bash
# TensorBoard 2.21.0, SummaryWriter of PyTorch 2.13.0: a training that restarts from a checkpoint writes into the same folder.
#
# Question: steps 0 to 7 are written, then, after a restart, steps 5 to 9. Which values do steps 5 to 7 have when the folder is read?
# Guess:    those of the restarted run: the reader has purge_orphaned_data, on by default, for just this.
# Real:     both, one series with steps 0..7 and then 5..9. The reader purges only where the writer was given purge_step; a step that
#           goes back purges nothing, with purge_orphaned_data on or off.
# Matters:  a curve runs back, and means or spike rules over the points count steps twice, with the values that were thrown away.
. "$(dirname "$0")/lib.sh"
environment torchboard torch==2.13.0 tensorboard==2.21.0 numpy
cat >"$work/program.py" <<'P'
import tempfile, time
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
def write(folder, steps, more, **how):
    writer = SummaryWriter(folder, **how)
    for step in steps:
        writer.add_scalar("loss", step + more, step)
    writer.close()
for how in {}, {"purge_step": 5}:
    with tempfile.TemporaryDirectory() as folder:
        write(folder, range(8), 0)
        time.sleep(1.1)  # the next file has another name
        write(folder, range(5, 10), 0.5, **how)
        for purge in True, False:
            reader = EventAccumulator(folder, purge_orphaned_data=purge)
            reader.Reload()
            print(f"writer {how}, purge_orphaned_data {purge}:", *(f"{e.step}={e.value:g}" for e in reader.Scalars("loss")))
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
writer {}, purge_orphaned_data True: 0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7 5=5.5 6=6.5 7=7.5 8=8.5 9=9.5
writer {}, purge_orphaned_data False: 0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7 5=5.5 6=6.5 7=7.5 8=8.5 9=9.5
writer {'purge_step': 5}, purge_orphaned_data True: 0=0 1=1 2=2 3=3 4=4 5=5.5 6=6.5 7=7.5 8=8.5 9=9.5
writer {'purge_step': 5}, purge_orphaned_data False: 0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7 5=5.5 6=6.5 7=7.5 8=8.5 9=9.5
S
