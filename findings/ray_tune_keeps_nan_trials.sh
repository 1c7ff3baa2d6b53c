#!/usr/bin/env bash
# Ray Tune 2.60.0: early stopping by ASHA, with trials whose loss is NaN.
#
# Question: nine trials report their losses one after another; ASHA stops each trial after its first iteration of ten
#           that is not in the best quarter so far. Two have NaN from the first iteration on. Which trials go on?
# Guess:    those with NaN are stopped first: NaN is no loss.
# Real:     those with NaN run all iterations, as the best one does. Trials with finite losses of 2 and 3 are stopped, and so is one with
#           an infinite loss: a comparison with NaN is false, and "not worse than the limit" means that a trial goes on.
# Matters:  a search on a cluster spends its time on the trials that have diverged. A function as Tuner's `stop`, or an
#           exception of the trainable, ends them.
. "$(dirname "$0")/lib.sh"
environment ray 'ray[tune]==2.60.0'
cat >"$work/program.py" <<'P'
import logging
import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
losses = [1.0, 0.9, 0.8, 0.7, float("nan"), 2.0, 3.0, float("nan"), float("inf")]
def train(config):
    for _ in range(10):
        tune.report({"loss": losses[config["trial"]]})
ray.init(num_cpus=1, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
results = tune.Tuner(
    train, param_space={"trial": tune.grid_search(list(range(len(losses))))},
    tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=ASHAScheduler(max_t=10, grace_period=1, reduction_factor=4),
                                max_concurrent_trials=1),
    run_config=tune.RunConfig(verbose=0)).fit()
for r in results:
    print(f"loss {r.metrics['loss']}: {r.metrics['training_iteration']} iterations")
P
(cd "$work" && HOME=$work RAY_AIR_NEW_OUTPUT=0 timeout 280 "$python" -W ignore program.py 2>"$work/errors" | grep '^loss' >"$work/seen") || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
loss 1.0: 10 iterations
loss 0.9: 10 iterations
loss 0.8: 10 iterations
loss 0.7: 10 iterations
loss nan: 10 iterations
loss 2.0: 1 iterations
loss 3.0: 1 iterations
loss nan: 10 iterations
loss inf: 1 iterations
S
