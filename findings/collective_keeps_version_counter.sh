#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU), process group gloo, 2 ranks: the version counter of tensors that collectives write.
#
# Question: autograd and caches tell by tensor._version whether a tensor was changed in place. Do collectives count?
# Guess:    yes: each operation that writes into a tensor adds one.
# Real:     all_gather and reduce_scatter do. all_reduce, broadcast, all_to_all_single and recv do not.
#           So autograd does not notice that a tensor saved for the backward pass was overwritten: the gradient of exp(2 x)
#           at 1 is 2 e^2 = 14.78, and after an all_reduce over 2 ranks twice that, with a warning about another matter.
# Matters:  "same storage, same version" does not mean "same values" around a collective.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def show(name, written):
    if rank == 1:
        print(name, written._version, flush=True)
tensor = torch.ones(4); dist.all_reduce(tensor); show("all_reduce", tensor)
tensor = torch.ones(4); dist.broadcast(tensor, 0); show("broadcast", tensor)
tensor = torch.zeros(4); dist.all_to_all_single(tensor, torch.ones(4)); show("all_to_all_single", tensor)
tensor = torch.zeros(4); dist.recv(tensor, 0) if rank else dist.send(tensor, 1); show("recv", tensor)
parts = [torch.zeros(4), torch.zeros(4)]; dist.all_gather(parts, torch.ones(4)); show("all_gather", parts[0])
tensor = torch.zeros(2); dist.reduce_scatter_single(tensor, torch.ones(4)); show("reduce_scatter", tensor)
x = torch.ones(1, requires_grad=True)
y = (2 * x).exp()
dist.all_reduce(y)
y.sum().backward()
if rank == 1:
    print(f"gradient {x.grad.item():.2f}", flush=True)
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
all_reduce 0
broadcast 0
all_to_all_single 0
recv 0
all_gather 1
reduce_scatter 1
gradient 29.56
S
