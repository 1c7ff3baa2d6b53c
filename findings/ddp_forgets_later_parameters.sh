#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: parameters that change after DistributedDataParallel was made.
#
# Question: after DDP(model) and before the optimizer the program unfreezes a layer, loads a checkpoint with assign=True, appends a
#           layer, or calls model.double(). Which parameters differ between the ranks after two steps?
# Guess:    none, or an error: the whole model is inside DDP, and double() alone changes no parameter object.
# Real:     no error, and each rank trains these parameters by itself: the unfrozen layer, the appended one, and after assign=True or
#           double() all of them. DDP's hooks are on the gradient accumulators that existed when it was made.
# Matters:  gradual unfreezing, a checkpoint that is loaded late, a change of type: replicas part within two
#           steps without an error.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
dist.init_process_group("gloo")
def differing_after(change, frozen=False):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    model[0].requires_grad_(not frozen)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    change(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(2):
        optimizer.zero_grad()
        parallel(torch.rand(3, 2, dtype=model[0].weight.dtype)).square().mean().backward()
        optimizer.step()
    names = []
    for name, parameter in model.named_parameters():
        of_rank_0 = parameter.detach().clone()
        dist.broadcast(of_rank_0, 0)
        if not torch.equal(of_rank_0, parameter):
            names.append(name)
    return names
def append(model):
    torch.manual_seed(3)
    model.append(torch.nn.Linear(1, 1))
show("nothing changed", differing_after(lambda model: None))
show("unfrozen", differing_after(lambda model: model[0].requires_grad_(True), frozen=True))
show("assigned", differing_after(lambda model: model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True)))
show("appended", differing_after(append))
show("double()", differing_after(lambda model: model.double()))
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
nothing changed: [] and []
unfrozen: [] and ['0.weight', '0.bias']
assigned: [] and ['0.weight', '0.bias', '1.weight', '1.bias']
appended: [] and ['2.weight', '2.bias']
double(): [] and ['0.weight', '0.bias', '1.weight', '1.bias']
S
