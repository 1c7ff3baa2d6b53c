# SPDX-License-Identifier: Apache-2.0
"""
A mixture of experts with routers of several forms: `experts.py FILE` has lines `step kind name value`, by msprobe's formulas written
down in float64; prints its losses and a checksum. Forms: a Linear that gives logits to a block with top_k; a router that gives
(logits, indices); one that gives (probabilities, mask); one with a counter tokens_per_expert.
`experts.py FILE msprobe`: similarity and entropy alone, by msprobe's own functions.
"""
import math
import sys
import zlib

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
truth = open(sys.argv[1], "w")
WIDTH, EXPERTS, TOP, CAPACITY = 16, 6, 2, 1.1
step = 0


def note(kind, name, value):
    print(step, kind, name, repr(float(value)), file=truth)


def note_router(name, weight, logits, counts):
    w = weight.detach().double()
    w = w / w.norm(dim=1, keepdim=True)
    if "msprobe" in sys.argv:
        from msprobe.pytorch.monitor import features
        note("router_similarity", name, features.cal_router_weight_similarity(weight.detach()))
        note("expert_entropy", name, features.cal_per_token_expert_entropy(logits.detach()))
        return
    pairs = [(w[i] @ w[j]).item() for i in range(EXPERTS) for j in range(i + 1, EXPERTS)]
    note("router_similarity", name, sum(pairs) / len(pairs))
    p = logits.detach().double().reshape(-1, EXPERTS).softmax(-1)
    note("expert_entropy", name, -torch.nansum(p * p.log(), -1).mean())
    for i, n in enumerate(counts):
        note("tokens_per_expert", f"{name}/expert_{i}", n)
    f = torch.tensor(counts, dtype=torch.float64) / sum(counts)
    note("expert_balance", f"{name}/drop_rate", (f - CAPACITY / EXPERTS).clamp(min=0).sum())
    note("expert_balance", f"{name}/utilization_min", f.min() * EXPERTS)
    note("expert_balance", f"{name}/utilization_max", f.max() * EXPERTS)
    note("expert_balance", f"{name}/cv", f.std() / f.mean())
    note("expert_balance", f"{name}/dead_share", sum(n == 0 for n in counts) / EXPERTS)
    note("expert_balance", f"{name}/diversity", math.exp(-sum(x * math.log(x) for x in f.tolist() if x)) / EXPERTS)


def bincount(indices):
    return torch.bincount(indices.flatten(), minlength=EXPERTS).tolist()


class Router(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.weight = nn.Parameter(torch.randn(EXPERTS, WIDTH))
        if form == "counter":
            self.register_buffer("tokens_per_expert", torch.zeros(EXPERTS))

    def forward(self, x):
        logits = x @ self.weight.t()
        if self.form == "masked":  # an expert that no token may have
            logits = logits.masked_fill(torch.arange(EXPERTS) == 3, float("-inf"))
        value, index = logits.topk(TOP)
        self.last = logits, bincount(index)
        if self.form == "indices" or self.form == "counter":
            if self.form == "counter":
                self.tokens_per_expert += torch.tensor(self.last[1])
                return logits, value
            return logits, value.softmax(-1), index
        return logits, torch.zeros_like(logits, dtype=torch.bool).scatter(1, index, True)


class Block(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.top_k = TOP
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False) if form == "logits" else None
        self.router = None if form == "logits" else Router(form)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH) / WIDTH)

    def forward(self, x):
        if self.gate is not None:
            logits = self.gate(x)
            self.last = logits, bincount(logits.topk(TOP)[1])
        else:
            logits = self.router(x)[0]
        w, i = logits.softmax(-1).topk(TOP)
        return x + sum(w[:, k, None] * torch.einsum("tc,tcd->td", x, self.up[i[:, k]]) for k in range(TOP))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block(f) for f in ("logits", "indices", "masked", "counter"))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
for step in range(4):
    x = torch.randn(40, WIDTH)
    loss = net(x).square().mean()
    for n, b in enumerate(net.layers):
        r = b.gate if b.gate is not None else b.router
        logits, counts = (b if b.gate is not None else r).last
        note_router(f"layers.{n}.{'gate' if b.gate is not None else 'router'}", r.weight, logits, counts)
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(repr(loss.item()))
truth.close()
print(zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in net.parameters())))
