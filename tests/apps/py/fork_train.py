# SPDX-License-Identifier: Apache-2.0
"""
A process trains a step, forks, and both train on. The child ends as an ordinary program does. Prints the losses of both
and how the child ended.
"""
import os
import sys

import torch

torch.set_num_threads(1)
torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(16, 4)


def train(steps):
    for _ in range(steps):
        loss = model(data).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print("before", train(1), flush=True)
pid = os.fork()
if pid == 0:
    print("child", train(3), flush=True)
    sys.exit(0)
_, status = os.waitpid(pid, 0)
print("status", status)
print("parent", train(3))
