# SPDX-License-Identifier: Apache-2.0
"""A few modules, three steps. small_modules.py [killed]: ends by SIGKILL."""
import os
import signal
import sys

import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm = torch.nn.Linear(4, 5), torch.nn.LayerNorm(5)

    def forward(self, x):
        return self.norm(self.up(x))


model = torch.nn.Sequential(Block(), torch.nn.Linear(5, 1))
model[1].bias.requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
