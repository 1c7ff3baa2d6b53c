# SPDX-License-Identifier: Apache-2.0
"""
Trainings of the kinds that people run, under torchrun with gloo on the CPU. Each prints its losses with all digits, and
the sum of its weights at the end. With --truth FILE what a tool inside Python sees of torch.distributed is written to
FILE.<rank>: functions are replaced, so collectives that C++ issues are not in it.

    trainings.py SCENE [--truth FILE]
"""
import argparse
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
truth = []


def say(text):
    sys.stdout.write(f"[{rank}] {text}\n")
    sys.stdout.flush()


def measure(t):
    """As the columns of the CSV say, computed in double by PyTorch itself."""
    x = t.detach().double().flatten()
    if not x.numel():
        return [0]
    fine = x[~x.isnan()]
    return [x.numel(), fine.min().item(), fine.max().item(), fine.mean().item(), fine.norm().item(),
            int(x.isnan().sum()), int(x.isinf().sum())]


def hook(name, op, ins, outs, waits=True):
    """Replaces a function of torch.distributed by one that notes what goes in and comes out."""
    real = getattr(dist, name)

    def noted(*a, **k):
        before = [measure(t) for t in ins(*a)]
        result = real(*a, **k)
        if result is not None and hasattr(result, "wait") and waits:
            result.wait()
        truth.append({"op": op, "in": before, "out": [measure(t) for t in outs(*a)]})
        return result

    setattr(dist, name, noted)


def hook_all():
    hook("all_reduce", "all_reduce", lambda t, *a: [t], lambda t, *a: [t])
    hook("broadcast", "broadcast", lambda t, src, *a: [t] if src == rank else [], lambda t, *a: [t])
    hook("all_gather", "all_gather", lambda o, t, *a: [t], lambda o, t, *a: o)
    hook("all_gather_into_tensor", "all_gather", lambda o, t, *a: [t], lambda o, t, *a: [o])
    hook("all_to_all_single", "all_to_all", lambda o, t, *a: [t], lambda o, t, *a: [o])


def loss_of(model, x):
    return (model(x) - x.sum(1, keepdim=True).sin()).square().mean()


def batch(n, rows=16, width=8):
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(100 * n + rank))


def net(width=8):
    return nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 1))


def average(loss):
    t = loss.detach().clone()
    dist.all_reduce(t)
    return t / size


def weights(model):
    return sum(p.detach().double().sum().item() for p in model.parameters())


def ddp():
    m = DDP(net(), bucket_cap_mb=0.0005)
    o = torch.optim.AdamW(m.parameters(), lr=1e-2)
    for n in range(5):
        o.zero_grad()
        loss = loss_of(m, batch(n))
        loss.backward()
        o.step()
        say(f"loss {n} {average(loss).item():.17g}")
    return m


def no_sync():
    m = DDP(net())
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for n in range(3):
        o.zero_grad()
        with m.no_sync():
            for k in range(3):
                loss_of(m, batch(10 * n + k)).backward()
        loss = loss_of(m, batch(10 * n + 3))
        loss.backward()
        o.step()
        say(f"loss {n} {loss.item():.17g}")
    return m


def amp():
    m = DDP(net())
    o = torch.optim.AdamW(m.parameters(), lr=1e-2)
    for n in range(4):
        o.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(m, batch(n))
        loss.backward()
        o.step()
        say(f"loss {n} {loss.item():.17g} {m(batch(n)).dtype}")
    return m


def gan():
    d, g = DDP(net(4)), DDP(nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 4)))
    od, og = torch.optim.Adam(d.parameters(), lr=1e-2), torch.optim.Adam(g.parameters(), lr=1e-2)
    for n in range(4):
        real, noise = batch(n, width=4), batch(n + 50, width=2)
        od.zero_grad()
        ld = nn.functional.softplus(-d(real)).mean() + nn.functional.softplus(d(g(noise).detach())).mean()
        ld.backward()
        od.step()
        og.zero_grad()
        for p in d.parameters():
            p.requires_grad_(False)
        lg = nn.functional.softplus(-d.module(g(noise))).mean()
        lg.backward()
        og.step()
        for p in d.parameters():
            p.requires_grad_(True)
        say(f"loss {n} {ld.item():.17g} {lg.item():.17g}")
        average(ld)
    return g


def fsdp():
    from torch.distributed.fsdp import fully_shard
    m = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    mesh = dist.device_mesh.init_device_mesh("cpu", (size,))
    for layer in m:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(m, mesh=mesh)
    o = torch.optim.AdamW(m.parameters(), lr=1e-2)
    for n in range(3):
        o.zero_grad()
        loss = loss_of(m, batch(n))
        loss.backward()
        o.step()
        say(f"loss {n} {loss.item():.17g}")
    say(f"weights {sum(p.to_local().double().sum().item() for p in m.parameters()):.17g}")


def checkpoint():
    from torch.utils.checkpoint import checkpoint as again
    m = net()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for n in range(3):
        o.zero_grad()
        x = batch(n).requires_grad_()
        loss = again(loss_of, m, x, use_reentrant=False) + again(loss_of, m, x, use_reentrant=True)
        loss.backward()
        for p in m.parameters():
            dist.all_reduce(p.grad)
        o.step()
        say(f"loss {n} {loss.item():.17g}")
    return m


def jit():
    m = torch.jit.script(net())
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for n in range(4):
        o.zero_grad()
        loss = loss_of(m, batch(n))
        loss.backward()
        for p in m.parameters():
            dist.all_reduce(p.grad)
        o.step()
        say(f"loss {n} {loss.item():.17g}")
    return m


def compiled():
    inner = net()
    m = DDP(torch.compile(inner))
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for n in range(3):
        o.zero_grad()
        loss = loss_of(m, batch(n))
        loss.backward()
        o.step()
        say(f"loss {n} {loss.item():.17g}")
    return m


class Through(torch.autograd.Function):
    """Something is communicated in the forward and in the backward pass."""

    @staticmethod
    def forward(ctx, x, through):
        ctx.through = through
        return through(x.clone())

    @staticmethod
    def backward(ctx, g):
        return ctx.through(g.clone()), None


def roles():
    """Groups 1, 2 and 3 are those of tensor, pipeline and expert parallelism, and the first one that of data."""
    # As a DeviceMesh makes the group of its dimension "tp".
    tensor = dist.new_group(list(range(size)), group_desc="mesh_tp")
    pipeline, expert = (dist.new_group(list(range(size))) for _ in range(2))

    def reduced(x):
        dist.all_reduce(x, group=tensor)
        return x

    def passed_on(x):
        y = torch.empty_like(x)
        for r in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, (rank + 1) % size, pipeline),
                                         dist.P2POp(dist.irecv, y, (rank - 1) % size, pipeline)]):
            r.wait()
        return y

    def exchanged(x):
        y = torch.empty_like(x)
        dist.all_to_all_single(y, x, group=expert)
        return y

    class Parts(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            x = Through.apply(self.a(x), reduced)
            x = Through.apply(self.b(x), reduced)
            x = Through.apply(x, exchanged)
            return self.c(Through.apply(x, passed_on))

    m = DDP(Parts())
    o = torch.optim.SGD(m.parameters(), lr=0.01)
    for n in range(4):
        o.zero_grad()
        loss = loss_of(m, batch(n))
        loss.backward()
        o.step()
        say(f"loss {n} {average(loss).item():.17g}")
    return m


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 16 * size

    def __getitem__(self, i):
        return torch.full((8,), float(i)) / 16


def loaders():
    """Workers by fork and by spawn, that use operators themselves."""
    m = net()
    o = torch.optim.SGD(m.parameters(), lr=0.01)
    for how in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(
            Squares(), batch_size=8, num_workers=2, multiprocessing_context=how,
            sampler=torch.utils.data.distributed.DistributedSampler(Squares(), shuffle=False))
        for n, x in enumerate(loader):
            o.zero_grad()
            loss = loss_of(m, x)
            loss.backward()
            for p in m.parameters():
                dist.all_reduce(p.grad)
            o.step()
            say(f"{how} {n} {loss.item():.17g}")
    return m


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))


class Language(nn.Module):
    """Guesses the next byte."""

    def __init__(self, width=64, layers=2, heads=4, room=64):
        super().__init__()
        self.token, self.place = nn.Embedding(256, width), nn.Embedding(room, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def next_token(model, ids):
    with torch.no_grad():
        logits = model(ids[:, -48:])[:, -1]
    best = logits.argmax(-1)
    dist.broadcast(best, 0)  # all ranks go on with the same text
    return torch.cat([ids, best[:, None]], 1)


def language():
    """A small transformer on a text that is on every Debian, then greedy generation."""
    path = os.environ.get("PROBE_TEST_TEXT", "/usr/share/common-licenses/GPL-3")
    with open(path, "rb") as f:
        text = torch.tensor(list(f.read()), dtype=torch.int64)
    m = DDP(Language())
    o = torch.optim.AdamW(m.parameters(), lr=3e-3)
    for n in range(8):
        g = torch.Generator().manual_seed(100 * n + rank)
        at = torch.randint(len(text) - 65, (8,), generator=g)
        rows = torch.stack([text[i:i + 49] for i in at])
        o.zero_grad()
        loss = nn.functional.cross_entropy(m(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        o.step()
        say(f"loss {n} {average(loss).item():.17g}")
    ids = text[None, 300:320]
    for _ in range(6):
        ids = next_token(m.module, ids)
    say(f"text {ids[0, 20:].tolist()}")
    return m


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scene")
    parser.add_argument("--truth")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    if args.truth:
        hook_all()
    model = globals()[args.scene]()
    if model is not None:
        say(f"weights {weights(model):.17g}")
    if args.truth:
        with open(f"{args.truth}.{rank}", "w") as f:
            json.dump(truth, f)
    dist.barrier()  # no rank leaves while another one still needs it
    dist.destroy_process_group()
    say(f"{args.scene}: ok")
    # PyTorch 2.13 with gloo ends now and then with "terminate called without an active exception", in destructors that run
    # at exit, on a machine with more to do than it has cores.
    os._exit(0)


if __name__ == "__main__":  # workers that are spawned read this file, too
    main()
