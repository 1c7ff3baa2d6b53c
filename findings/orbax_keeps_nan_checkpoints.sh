#!/usr/bin/env bash
# orbax-checkpoint 0.12.8 with JAX 0.10.2: CheckpointManager(best_fn, best_mode="min", max_to_keep=2) when one loss is NaN.
#
# Question: five checkpoints are saved with their losses, and the two with the smallest loss are to be kept. One or three of the losses
#           are NaN, as after an overflow in the evaluation. Which steps are kept, and what is best_step()?
# Guess:    NaN is the worst loss: the two smallest finite losses stay.
# Real:     the checkpoints are sorted by a comparison that is false for NaN. Of 1, NaN, 3, 4, 5 it keeps 3 and 4. The checkpoint of loss 1 is
#           deleted. If the last loss is NaN, that step is kept and best_step() names it. With a preservation_policy of BestN it is the same.
# Matters:  one NaN in an evaluation deletes the best checkpoint of a training for good, without an error. A restart from best_step()
#           continues with the weights that gave NaN.
. "$(dirname "$0")/lib.sh"
environment orbax orbax-checkpoint==0.12.8 jax==0.10.2 numpy==2.4.6
cat >"$work/program.py" <<'P'
import tempfile
import numpy as np, orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import BestN
nan = float("nan")
def loss(metrics):
    return metrics["loss"]
def keep(losses, **options):
    options = ocp.CheckpointManagerOptions(best_fn=loss, best_mode="min", enable_async_checkpointing=False, **options)
    with tempfile.TemporaryDirectory() as directory, ocp.CheckpointManager(directory, options=options) as manager:
        for step, value in enumerate(losses):
            manager.save(step, args=ocp.args.StandardSave({"weight": np.ones(1)}), metrics={"loss": value})
        return f"keeps {[losses[step] for step in sorted(manager.all_steps())]}, best is {losses[manager.best_step()]}"
for losses in [1, 2, 3, 4, 5], [1, nan, 3, 4, 5], [1, 2, 3, nan, 5], [1, 2, 3, 4, nan], [1, 2, nan, nan, nan]:
    first = keep(losses, max_to_keep=2)
    second = keep(losses, preservation_policy=BestN(get_metric_fn=loss, reverse=True, n=2))
    print(f"losses {losses}: {first}; BestN: {'the same' if second == first else second}")
P
JAX_PLATFORMS=cpu "$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
losses [1, 2, 3, 4, 5]: keeps [1, 2], best is 1; BestN: the same
losses [1, nan, 3, 4, 5]: keeps [3, 4], best is 3; BestN: the same
losses [1, 2, 3, nan, 5]: keeps [nan, 5], best is 5; BestN: the same
losses [1, 2, 3, 4, nan]: keeps [1, nan], best is nan; BestN: the same
losses [1, 2, nan, nan, nan]: keeps [nan, nan], best is nan; BestN: the same
S
