# SPDX-License-Identifier: Apache-2.0
"""
Trainings whose floating-point operations PyTorch itself counts (torch.utils.flop_counter): `flops.py SCENES [FILE]` prints losses,
and with FILE, for a run without the preload, writes there of each step `step model all`: what the model's operations are, and
all that run. SCENES: `all`, `change`: one training whose batch changes, or `inside`: one whose first operator is used by another one, too.
"""
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

torch.manual_seed(0)
torch.set_num_threads(1)
aten = torch.ops.aten
# The processor's kernels have no formula there: those of the others.
own = {aten._scaled_dot_product_flash_attention_for_cpu: lambda *a, out_shape, **k: sdpa_flop_count(*a[:3]),
       aten._scaled_dot_product_flash_attention_for_cpu_backward: lambda *a, out_shape, **k: sdpa_backward_flop_count(*a[:4])}
if hasattr(torch, "_grouped_mm"):
    own[aten._grouped_mm] = lambda a, b, *r, out_shape, **k: 2 * a[0] * a[1] * a[2] * b[2]
truth = open(sys.argv[2], "w") if len(sys.argv) > 2 else None
steps = 0


def count(work):
    with FlopCounterMode(display=False, custom_mapping=own) as c:
        work()
    return c.get_total_flops()


def train(net, make, n=2, model=None, extra=0, optimizer=None):
    """n steps of make(net) -> loss. model: another form of the same, which computes what counts for the model."""
    global steps
    opt = optimizer or torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(n):
        if truth:
            state = torch.get_rng_state()
            parts = [count(lambda f=f: f(net).backward()) for f in (model or make, make)]
            torch.set_rng_state(state)
            print(steps, parts[0], parts[1] + extra, file=truth)
            opt.zero_grad()
        loss = make(net)
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(repr(loss.item()))
        steps += 1


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.kv = torch.nn.Linear(24, 24), torch.nn.Linear(24, 40)

    def forward(self, x):
        q = self.q(x).view(2, 6, 3, 8).transpose(1, 2)
        k, v = self.kv(x).view(2, 6, 5, 8)[:, :, :3].transpose(1, 2), self.kv(x).view(2, 6, 5, 8)[:, :, 2:].transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Products(torch.optim.SGD):
    """An optimizer that multiplies matrices itself."""

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                if p.ndim == 2:
                    p.sub_((p @ p.T) @ p, alpha=1e-3)
        return super().step()


def attention(backend):
    def loss(net):
        with sdpa_kernel(backend):
            return net(torch.ones(2, 6, 24)).square().mean()
    return loss


def penalty(net):
    x = torch.randn(4, 8, requires_grad=True)
    # The counter's hooks on modules do not bear autograd.grad().
    y = F.linear(torch.tanh(F.linear(x, net[0].weight, net[0].bias)), net[2].weight, net[2].bias)
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g.square().sum()


def micro(net):
    with torch.autocast("cpu", torch.bfloat16):
        first = net(torch.ones(3, 8)).float().mean()
    first.backward()
    return net(torch.ones(5, 8)).mean()


def inside(net):
    torch.bmm(torch.ones(2, 3, 8), torch.ones(2, 8, 4), out=torch.empty(2, 3, 4))
    groups = torch._grouped_mm(torch.ones(2, 8, 16, dtype=torch.bfloat16), torch.ones(2, 16, 8, dtype=torch.bfloat16))
    return net(groups[0].float()).square().mean()


def mlp(bias=True):
    return torch.nn.Sequential(torch.nn.Linear(8, 16, bias=bias), torch.nn.Tanh(), torch.nn.Linear(16, 4, bias=bias))


def main():
    if sys.argv[1] == "change":
        net = mlp()
        for n, size in ((6, 4), (4, 6), (1, 2), (3, 6)):
            train(net, lambda net, size=size: net(torch.ones(size, 8)).square().mean(), n)
        return
    if sys.argv[1] == "inside":
        train(mlp(), inside, 6)
        return
    plain = lambda net: net(torch.ones(4, 8)).square().mean()
    train(mlp(), plain)
    train(mlp(False), lambda net: torch.einsum("bij,bjk->bik", net(torch.ones(3, 5, 8)), torch.ones(3, 4, 2)).square().mean())
    train(torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3, padding=1, stride=2), torch.nn.ConvTranspose2d(6, 4, 2)),
          lambda net: net(torch.ones(2, 3, 9, 7)).square().mean())
    train(Attention(), attention(SDPBackend.FLASH_ATTENTION), model=attention(SDPBackend.MATH))
    train(Attention(), attention(SDPBackend.MATH))
    for reentrant in (False, True):
        train(mlp(), lambda net, r=reentrant: checkpoint(net, torch.ones(4, 8, requires_grad=True), use_reentrant=r).square().mean(),
              model=lambda net: net(torch.ones(4, 8, requires_grad=True)).square().mean())
    train(mlp(), penalty)
    train(mlp(), micro)
    net = mlp()
    train(net, plain, optimizer=Products(net.parameters(), lr=0.01), extra=4 * (16 * 8 * 16 + 4 * 16 * 4))


main()
