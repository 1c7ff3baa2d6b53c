# SPDX-License-Identifier: Apache-2.0
"""
Trainings with two optimizers in one process: 5 rounds of a pair. Usage: pairs.py LOOP

gan: discriminator and generator, each with its own line; helper: critic and actor step in one function that gets the optimizer; list: a loop
over both; remade: one optimizer, which is made again each round, on one line.
"""
import sys

import torch

torch.manual_seed(1)
one, two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
first = torch.optim.Adam(one.parameters(), lr=0.005)
second = torch.optim.Adam(two.parameters(), lr=0.001)


def update(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def loss_of(model, x):
    return model(x).square().mean()


for number in range(5):
    x = torch.randn(8, 4)
    if sys.argv[1] == "gan":
        first.zero_grad()
        loss_of(one, x).backward()
        first.step()
        second.zero_grad()
        loss_of(two, one(x).detach()).backward()
        second.step()
    elif sys.argv[1] == "helper":
        update(loss_of(one, x), first)
        update(loss_of(two, x), second)
    elif sys.argv[1] == "list":
        for model, optimizer in ((one, first), (two, second)):
            update(loss_of(model, x), optimizer)
    else:
        first = torch.optim.Adam(one.parameters(), lr=0.005)
        update(loss_of(one, x), first)
print(sum(p.double().sum().item() for m in (one, two) for p in m.parameters()))
