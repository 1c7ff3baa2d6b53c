# SPDX-License-Identifier: Apache-2.0
"""
Modules whose names are long: six levels of 61 bytes, three leaves at the bottom. Prints a digest of the outputs and, with TRUTH
as its argument, writes each leaf's output of each step to TRUTH/<step>.<leaf>.npy, and its weight's gradient to
TRUTH/<step>.<leaf>.grad.npy.
"""
import os
import sys

import numpy
import torch
from torch import nn


class Deep(nn.Module):
    def __init__(self, depth):
        super().__init__()
        inner = Deep(depth - 1) if depth else nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.add_module("ä" * 30 + str(depth), inner)
        self.depth = depth

    def forward(self, x):
        inner = next(iter(self.children()))
        if self.depth:
            return inner(x)
        for n, leaf in enumerate(inner):
            x = leaf(x)
            if len(sys.argv) > 1:
                os.makedirs(sys.argv[1], exist_ok=True)
                numpy.save(f"{sys.argv[1]}/{step}.{n}.npy", x.detach().numpy())
        return x


torch.manual_seed(1)
net = Deep(6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    y = net(torch.ones(2, 4) + step)
    y.sum().backward()
    for name, p in net.named_parameters():
        if len(sys.argv) > 1 and name.endswith(".weight"):
            numpy.save(f"{sys.argv[1]}/{step}.{name.split('.')[-2]}.grad.npy", p.grad.numpy())
    optimizer.step()
    optimizer.zero_grad()
    print(step, y.tolist())
