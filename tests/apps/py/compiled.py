# SPDX-License-Identifier: Apache-2.0
"""A function that torch.compile makes a graph of, or not (TORCH_COMPILE_DISABLE=1): compiled.py CALLS"""
import os
import sys

import torch
import torch.distributed as dist

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


@torch.compile
def f(x):
    return (x.sin() + 1).relu().sum()


x = torch.randn(100, requires_grad=True)
for n in range(int(sys.argv[1])):
    f(x).backward()
    dist.all_reduce(x.grad)
    print(f"call {n}: {float(x.grad.sum())!r}")
print("graph" if os.environ.get("TORCH_COMPILE_DISABLE") != "1" else "no graph")
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)  # as in steps.py
