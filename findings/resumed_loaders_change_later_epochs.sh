#!/usr/bin/env bash
# torchdata 0.11.0 and Accelerate 1.15.0 with PyTorch 2.13.0: the order of data after a restart in the middle of an epoch.
#
# Question: 12 samples, batches of 3, shuffled. A run is stopped after 2 batches of the first epoch and resumed, by the state_dict() of
#           StatefulDataLoader or by Accelerator.skip_first_batches(). Are the rest of that epoch and the second epoch the ones of the run
#           that was not stopped?
# Guess:    yes, both: that is what they are for.
# Real:     the rest of the epoch is. The second epoch is not: StatefulDataLoader with a generator of its own and no worker process draws
#           another order (with a worker, or with the global generator, the same one). Accelerate with use_seedable_sampler repeats the
#           order of the first epoch; without it (the default) it has the right one.
# Matters:  two runs that should be equal part one epoch after the restart, and a comparison step by step blames the step where the
#           epoch began; with Accelerate the samples of the first epoch come in the same batches twice.
. "$(dirname "$0")/lib.sh"
environment loaders torch==2.13.0 numpy torchdata==0.11.0 accelerate==1.15.0
cat >"$work/program.py" <<'P'
import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torchdata.stateful_dataloader import StatefulDataLoader
def epoch(loader):
    return [batch.tolist() for batch in loader]
def judge(name, first, second, rest, after):
    again = "the first one's again" if after == first else "another"
    print(f"{name}: the rest is {'the same' if rest == first[2:] else 'another'}, "
          f"the second epoch is {'the same' if after == second else again}")
def stateful(workers, generator):
    torch.manual_seed(7)
    return StatefulDataLoader(list(range(12)), batch_size=3, shuffle=True, num_workers=workers,
                              generator=torch.Generator().manual_seed(3) if generator else None)
for workers in 0, 1:
    for generator in False, True:
        whole = stateful(workers, generator)
        first, second = epoch(whole), epoch(whole)
        stopped = stateful(workers, generator)
        batches = iter(stopped)
        next(batches), next(batches)
        state = stopped.state_dict()
        del batches
        resumed = stateful(workers, generator)
        resumed.load_state_dict(state)
        judge(f"StatefulDataLoader, {workers} workers, {'own' if generator else 'global'} generator",
              first, second, epoch(resumed), epoch(resumed))
def accelerated(seedable):
    torch.manual_seed(7)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=seedable))
    return accelerator, accelerator.prepare(torch.utils.data.DataLoader(list(range(12)), batch_size=3, shuffle=True))
for seedable in False, True:
    _, whole = accelerated(seedable)
    first, second = epoch(whole), epoch(whole)
    accelerator, loader = accelerated(seedable)
    judge(f"Accelerate, use_seedable_sampler={seedable}", first, second,
          epoch(accelerator.skip_first_batches(loader, 2)), epoch(loader))
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
StatefulDataLoader, 0 workers, global generator: the rest is the same, the second epoch is the same
StatefulDataLoader, 0 workers, own generator: the rest is the same, the second epoch is another
StatefulDataLoader, 1 workers, global generator: the rest is the same, the second epoch is the same
StatefulDataLoader, 1 workers, own generator: the rest is the same, the second epoch is the same
Accelerate, use_seedable_sampler=False: the rest is the same, the second epoch is the same
Accelerate, use_seedable_sampler=True: the rest is the same, the second epoch is the first one's again
S
