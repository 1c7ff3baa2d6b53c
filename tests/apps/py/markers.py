# SPDX-License-Identifier: Apache-2.0
"""
Programs without an optimizer of torch.optim. As in steps.py each call of here(n) makes a collective of n + 1 elements,
where n is the number of the step that it belongs to by the program's own count.

    markers.py SCENE COUNT
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
count = int(sys.argv[2])
digest = 0.0


def here(step):
    t = torch.zeros(step + 1, dtype=torch.float64)
    dist.all_reduce(t)


def said(t):
    global digest
    digest += float(t.double().sum())


# ---- a training with an optimizer of its own ----

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x = torch.randn(16, 4)


def sgd(parameters):
    with torch.no_grad():
        for p in parameters:
            p -= 0.1 * p.grad
            p.grad = None


def train_step(n):
    for layer in range(3):  # its collectives are made in a loop, from one line
        here(n)
    net(x).square().mean().backward()
    here(n)
    sgd(net.parameters())
    here(n)


def training():
    here(0)  # what comes before the first step belongs to it
    for n in range(count):
        train_step(n)
    said(net[0].weight)


def accumulation():
    """Two calls of the function make a step."""
    for n in range(count):
        train_step(n // 2)


def from_outside():
    """Nothing but the caller's place tells one call from the next."""
    def call(n):
        here(n)

    call(0)
    call(1)
    call(2)
    if count:
        call(3)


def recursive():
    def deep(n, level):
        here(n)
        if level:
            deep(n, level - 1)
        here(n)

    for n in range(count):
        deep(n, 3)
        torch.ones(3).add(1)


# ---- nothing may be guessed ----

def epoch(n):
    for _ in range(count):  # one call, however often its loop comes by
        here(n)
        if n >= 0:
            here(n)


def loop():
    epoch(0)


def numbers():
    for n in range(count):
        here(0)
        yield n


def generator():
    for n in numbers():
        torch.ones(3).add(1)


def blind():
    """Called again and again from one place, with one collective and nothing else: its activations cannot be distinguished."""
    def same():
        dist.all_reduce(t)

    t = torch.zeros(1, dtype=torch.float64)
    for n in range(count):
        same()


# ---- greedy generation of tokens ----

class Model(nn.Module):
    def __init__(self, vocabulary=37, width=16):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids, n):
        h = self.tokens(ids)
        for _ in range(2):  # as tensor parallel layers do
            here(n)
        return self.head(self.layers(h))[:, -1]


def generate(after):
    """The place after argmax belongs to this token, or (after = 1) to the next one."""
    model = Model().eval()
    ids = torch.zeros(1, 1, dtype=torch.int64)
    with torch.no_grad():
        for n in range(count):
            token = model(ids, n).argmax(-1, keepdim=True)
            here(n + after)
            ids = torch.cat([ids, token], 1)
    said(ids * torch.arange(ids.shape[1]))


def generation():
    generate(0)


def generation_argmax():
    generate(1)


def inference():
    """Nothing but forward passes, the same each time; tensor parallel, with a collective in the middle."""
    model = nn.Sequential(nn.Embedding(11, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 11)).eval()
    with torch.inference_mode():
        for n in range(count):
            y = model(torch.full((2, 5), n % 11))
            dist.all_reduce(y)
            said(y.softmax(-1).argmax(-1))


globals()[sys.argv[1]]()
dist.destroy_process_group()
sys.stdout.write(f"{sys.argv[1]}: {digest!r} ok\n")
sys.stdout.flush()
os._exit(0)  # as in steps.py
