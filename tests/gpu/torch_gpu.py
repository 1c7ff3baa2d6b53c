# SPDX-License-Identifier: Apache-2.0
"""PyTorch with the nccl backend at world size 1: a small training. Prints its losses, and figures as nccl_gpu.c does."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(1)
torch.backends.cudnn.deterministic = True
dist.init_process_group("nccl")
torch.cuda.set_device(0)
n = 0


def figure(io, t):
    global n
    print("figure", n, io, "%.9g" % t.min().item(), "%.9g" % t.max().item())
    n += 1


x = torch.arange(4096, dtype=torch.float32, device="cuda") / 7 - 100
for i in range(10):
    torch.cuda.synchronize()
    figure("in", x)
    dist.all_reduce(x)
    torch.cuda.synchronize()
    figure("out", x)
    x = x * 0.5
print("---")
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(20):
    loss = model(torch.randn(32, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
torch.cuda.synchronize()
dist.barrier()
torch.cuda.synchronize()
dist.destroy_process_group()
