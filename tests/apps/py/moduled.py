# A training with DDP whose modules are of all shapes that a dump of level L0 has to tell: arguments by name, lists, numbers, several
# results, a module that is called twice, one whose input goes elsewhere too, one that uses it three times.
# Arguments: `msprobe FILE`: under msprobe's PrecisionDebugger with that configuration; `nan`: rank 1 makes NaN in step 1;
# `garbage`: PyTorch fills memory that is not written yet with NaN; none: as it is.
import contextlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel


class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(n, n, bias=i > 0) for i in range(3))
        self.drop = nn.Dropout(0.0)

    def forward(self, x, mask=None, scale=1.0, causal=False):
        w = torch.matmul(self.q(x), self.k(x).transpose(-1, -2)) * scale
        w = torch.softmax(w if mask is None else w + mask, dim=-1)
        return torch.matmul(self.drop(w), self.v(x)), w


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(n), Attention(n)
        self.mlp = nn.Sequential(nn.Linear(n, 2 * n), nn.ReLU(), nn.Linear(2 * n, n))

    def forward(self, x, masks):
        y, w = self.attention(self.norm(x), mask=masks[0], scale=0.5, causal=True)
        return x + self.mlp(x) + y


class Both(nn.Module):
    spoilt = False

    def forward(self, pair, times):
        return (pair[0] + pair[1]) * (float("nan") if Both.spoilt else times)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.blocks = nn.ModuleList([Block(8) for _ in range(2)])
        self.both = Both()
        self.head = nn.Linear(8, 4)
        self.head.bias.requires_grad_(False)

    def forward(self, x):
        x = self.embed(x)
        masks = [torch.zeros(5, 5), None]
        for b in self.blocks:
            x = b(x, masks)
        x = self.both((x, x * 0.5), 2)
        return self.head(x) + self.head(x * 0.5)


def fill(model):
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            n = torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape)
            p.copy_(torch.sin(n * 0.7 + i) * 0.3 + (1 if p.dim() == 1 else 0))


dist.init_process_group("gloo")
if "garbage" in sys.argv:
    torch.use_deterministic_algorithms(True, warn_only=True)
rank = dist.get_rank()
model = Net()
fill(model)
ddp = DistributedDataParallel(model)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)
debugger = None
if "msprobe" in sys.argv:
    from msprobe.pytorch import PrecisionDebugger

    debugger = PrecisionDebugger(config_path=sys.argv[sys.argv.index("msprobe") + 1])
for step in range(2):
    if debugger:
        debugger.start(model=model)
    for micro in range(2):
        x = (torch.arange(3 * 5).reshape(3, 5) * (micro + 2) + rank + step) % 11
        Both.spoilt = "nan" in sys.argv and rank == 1 and step == 1
        with ddp.no_sync() if micro == 0 else contextlib.nullcontext():
            out = ddp(x)
            loss = F.cross_entropy(out.reshape(-1, 4), (x % 4).reshape(-1))
            loss.backward()
    told = loss.detach().clone()
    dist.all_reduce(told)
    optimizer.step()
    optimizer.zero_grad()
    if debugger:
        debugger.stop()
        debugger.step()
    print(rank, step, told.item())
dist.destroy_process_group()
