#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: uneven batches under Join, then steps that both ranks make.
#
# Question: rank 0 has 4 batches, rank 1 has 2. After `with Join([model])` the parameters are equal. Are they after 3 further steps?
# Guess:    yes: Join makes the replicas equal again, and from then on both have the same gradients.
# Real:     with SGD without momentum yes. With momentum or Adam no: Join sends the parameters of the rank that was last, not the state
#           of its optimizer. Rank 1's state lacks two steps, and each further step takes the replicas apart.
# Matters:  replicas differ from the second epoch on, silently; where the next Join ends they are equal again, and the difference of the
#           states stays.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from both_ranks import show
dist.init_process_group("gloo")
rank = dist.get_rank()
for name, make in ("SGD", lambda p: torch.optim.SGD(p, lr=0.125)), ("SGD with momentum", lambda p: torch.optim.SGD(p, lr=0.125, momentum=0.5)), \
        ("Adam", lambda p: torch.optim.Adam(p, lr=0.125)):
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    model = DistributedDataParallel(layer)
    optimizer = make(model.parameters())
    def step():
        optimizer.zero_grad()
        model(torch.full((1, 1), rank + 1.0)).sum().backward()
        optimizer.step()
    with Join([model]):
        for _ in range(2 if rank else 4):
            step()
    show(f"{name}, after Join", round(layer.weight.item(), 4))
    for _ in range(3):
        step()
    show(f"{name}, 3 steps later", round(layer.weight.item(), 4))
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
SGD, after Join: 0.5 and 0.5
SGD, 3 steps later: -0.0625 and -0.0625
SGD with momentum, after Join: 0.1641 and 0.1641
SGD with momentum, 3 steps later: -0.7764 and -0.8789
Adam, after Join: 0.5316 and 0.5316
Adam, 3 steps later: 0.1838 and 0.1566
S
