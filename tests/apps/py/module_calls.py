# SPDX-License-Identifier: Apache-2.0
"""
Calls of modules, and everything in which a program could notice that they are watched. Scenes:

    same        prints what Python and PyTorch show of modules and their calls, once a backward pass has been seen
    phases      a collective within each forward pass: of 1 element in training, 2 in an evaluation, 3 in a backward pass
    iteration, functions   collectives of n + 1 elements, where n is the step with `step_boundary: iteration`
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn


def say(*what):
    print(*what, flush=True)


class Sum(nn.Module):
    """Sums over the ranks within a forward pass."""

    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        dist.all_reduce(torch.zeros(self.n if self.n else (1 if self.training else 2), dtype=torch.float64))
        return x


class Tail(nn.Module):
    """Raises, catches, calls its children by keyword and more than once."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x, *, twice=False, fail=False):
        if fail:
            raise KeyError("fail")
        x = self.a(input=x)
        return self.b(self.a(x) if twice else x)


class Deep(nn.Module):
    def forward(self, n):
        return 0 if not n else 1 + self(n - 1)


x = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(m, n=1, show=None):
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for k in range(n):
        o.zero_grad()
        m(x).square().mean().backward()
        o.step()
        if show:
            show(k)
    return o


def same():
    import copy
    import gc
    import inspect
    import pickle
    import threading
    import traceback
    call = nn.Module.__dict__["__call__"]
    dist.all_reduce(torch.zeros(1))
    gc.collect()
    gc.disable()
    before = sys.getrefcount(call), sys.getrefcount(nn.Module), sys.getrefcount(None) >> 20
    train(Tail())
    say("references", before, sys.getrefcount(call), sys.getrefcount(nn.Module))
    gc.enable()
    say("identity", call is nn.Module._wrapped_call_impl, call is nn.Module.__dict__["_wrapped_call_impl"], call.__code__.co_name,
        call.__closure__, call.__dict__, inspect.signature(call), vars(nn.Module)["__call__"] is call)
    say("pickled", pickle.loads(pickle.dumps(call)) is call, len(pickle.dumps(nn.ReLU().train())), copy.deepcopy(call) is call)
    torch.manual_seed(5)
    m = Tail()
    say("values", m(x).sum().item().hex(), m(x, twice=True).sum().item().hex(), copy.deepcopy(m)(x).sum().item().hex())
    hooks = []
    m.register_forward_pre_hook(lambda mod, a: hooks.append(("pre", len(a))))
    m.register_forward_hook(lambda mod, a, out: hooks.append(("post", tuple(out.shape))))
    m(x)
    say("hooks", hooks)
    for f in (lambda: m(x, fail=True), lambda: nn.Linear(2, 2)(x), lambda: nn.Module()(), lambda: nn.Module.__call__()):
        try:
            f()
        except Exception as e:
            say("raised", type(e).__name__, e.__context__ is None, [t.name for t in traceback.extract_tb(e.__traceback__)])
    for how in ("settrace", "setprofile"):
        seen = []

        def note(frame, event, arg):
            seen.append((frame.f_code.co_name, event))
            return note
        getattr(sys, how)(note)
        m(x)
        getattr(sys, how)(None)
        say(how, len(seen), hash(tuple(map(str, seen))) if os.environ.get("PYTHONHASHSEED") == "0" else "")
    try:
        Deep()(10 ** 6)
    except RecursionError:
        say("recursion", Deep()(50))
    say("traced", torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU())).code.strip(),
        torch.jit.trace(m.a, x)(x).sum().item().hex())
    torch._dynamo.reset()
    fast = torch.compile(Tail(), backend="eager")
    for k in range(3):
        fast(x).sum().backward()
    say("compiled", torch._dynamo.utils.counters["stats"]["unique_graphs"], dict(torch._dynamo.utils.counters["graph_break"]),
        torch._dynamo.explain(Tail())(x).graph_break_count)
    out = []
    threads = [threading.Thread(target=lambda k=k: out.append((k, Tail()(x).shape, Deep()(20)))) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say("threads", sorted(out))
    say("collector", gc.isenabled(), gc.get_threshold(), len([o for o in gc.get_objects() if type(o) is nn.Module]))


def phases():
    from torch.utils.checkpoint import checkpoint
    inner = nn.Sequential(nn.Linear(4, 4), Sum(0))
    m = nn.Sequential(inner, nn.Linear(4, 1))
    frozen = nn.Sequential(Sum(0)).eval()
    o = train(m)
    for k in range(3):
        m(x)
        m.eval()
        with torch.no_grad():
            m(x)
        inner.train()
        m(x)  # the whole is in evaluation, a part is not: the whole counts; the part sums one element
        m.train()
        inner.eval()
        m(x)
        inner.train()
        frozen(x)
        again = nn.Sequential(nn.Linear(4, 4), Sum(3), nn.Linear(4, 4), nn.Tanh())
        y = checkpoint(again, x, use_reentrant=False)
        y.sum().backward()
        o.step()


def iteration():
    """Each number is reported before the collective that has it."""
    def here(n):
        dist.all_reduce(torch.zeros(n + 1, dtype=torch.float64))

    d, g = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)), nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 4))
    od, og = torch.optim.SGD(d.parameters(), lr=0.1), torch.optim.Adam(g.parameters())
    noise = torch.randn(8, 2)
    here(0)
    for n in range(3):
        loss = (d(x) - d(g(noise).detach())).square().mean()
        here(n)
        od.zero_grad()
        loss.backward()
        od.step()
        here(n)
        og.zero_grad()
        loss = d(g(noise)).square().mean()  # the other half of the pair
        here(n)
        loss.backward()
        og.step()
        here(n)
        g.eval()
        with torch.no_grad():
            g(noise)
        here(n)
        g.train()


def functions():
    """As iteration, with a function for each iteration, and at last forward passes that cannot be seen."""
    def here(n):
        dist.all_reduce(torch.zeros(n + 1, dtype=torch.float64))

    m = nn.Sequential(nn.Sequential(nn.Linear(4, 1)))
    o = torch.optim.SGD(m.parameters(), lr=0.1)

    def one(n, seen):
        loss = (m(x) if seen else x @ m[0][0].weight.t()).square().mean()
        here(n if seen or not n else n - 1)
        loss.backward()
        here(n)
        o.step()
        here(n)

    for n in range(6):
        one(n, n < 4)
        here(n)


class Layer(nn.Module):
    """A residual block whose forward gives back more than one tensor, and takes one by keyword."""

    def __init__(self, again=None):
        super().__init__()
        self.norm, self.up, self.act, self.down = nn.LayerNorm(6), nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6)
        self.again = again

    def body(self, x):
        return self.down(self.act(self.up(self.norm(x))))

    def forward(self, x, *, scale):
        from torch.utils.checkpoint import checkpoint
        y = self.body(x) if self.again is None else checkpoint(self.body, x, use_reentrant=self.again)
        return x + y * scale, y.mean()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.layers = nn.ModuleList([Layer(), Layer(False), Layer(True)])
        self.out = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 3), nn.Dropout(0.2))

    def forward(self, ids):
        x, extra = self.embed(ids), 0
        scale = torch.tensor(0.5)
        for layer in self.layers:
            x, more = layer(x, scale=scale)
            extra = extra + more
        return {"logits": self.out(x), "extra": extra}


def flatten(o, levels=2):
    if isinstance(o, torch.Tensor):
        return [o]
    if levels and isinstance(o, (tuple, list, dict)):
        return [t for i in (o.values() if isinstance(o, dict) else o) for t in flatten(i, levels - 1)]
    return []


def measures(t):
    """Of elements that are not NaN, as docs/reference/output-format.md says."""
    t = t.detach().double().flatten()
    fine = t[~t.isnan()]
    return [fine.min().item(), fine.max().item(), fine.mean().item(), fine.norm().item(), (t.abs() < 1e-8).double().mean().item(),
            int(t.isnan().sum()), int(t.isinf().sum())]


def values():
    """
    With VALUES_TRUTH=FILE hooks of Python write what they see, one JSON list a line: kind, name, step, micro step, measures.
    With STALE_WRAPPER DDP itself stays in evaluation mode, as Lightning leaves it.
    """
    import json
    from torch.nn.parallel import DistributedDataParallel as DDP
    m, truth, now, again, seen = DDP(Model()), [], [0, 0], [False], set()

    def watch(name, side, tensors, training):
        if not training:
            return
        # The second, with gradients, of a module in a reentrant checkpoint; its values are those of the first.
        for i, t in enumerate(tensors):
            full = f"{name}.{side}" + (f".{i}" if len(tensors) > 1 else "")
            step, micro = now
            if not again[0] and (full, step, micro) not in seen:
                seen.add((full, step, micro))
                truth.append(["actv", full, step, micro, measures(t)])
            if t.requires_grad and t.grad_fn:
                t.register_hook(lambda g, full=full: truth.append(["actv_grad", full, step, micro, measures(g)]))

    # Names of parameters leave DDP out.
    def watch_forward(name, mod, forward):  # PyTorch 1.13: hooks do not get keyword arguments
        def run(*a, **k):
            watch(name, "input", flatten(list(a) + list(k.values())), mod.training)
            out = forward(*a, **k)
            watch(name, "output", flatten(out), mod.training)
            return out
        mod.forward = run

    for name, mod in m.module.named_modules() if "VALUES_TRUTH" in os.environ else ():
        if torch.__version__.startswith("1."):
            watch_forward(name, mod, mod.forward)
            continue
        mod.register_forward_pre_hook(
            lambda mod, a, k, name=name: watch(name, "input", flatten(list(a) + list(k.values())), mod.training), with_kwargs=True)
        mod.register_forward_hook(lambda mod, a, out, name=name: watch(name, "output", flatten(out), mod.training))
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for n in range(4):
        now[0] = n
        m.train()
        m.training = "STALE_WRAPPER" not in os.environ
        o.zero_grad()
        for k in range(2):
            now[1] = k
            ids = torch.randint(0, 11, (4, 5), generator=torch.Generator().manual_seed(10 * n + k))
            out = m(ids)
            loss = out["logits"].square().mean() + out["extra"]
            again[0] = True
            loss.backward()
            again[0] = False
        o.step()
        m.eval()
        m(ids)
        say(f"{loss.item():.17g} {m.module.embed.weight.sum().item():.17g}")
    if "VALUES_TRUTH" in os.environ:
        with open(os.environ["VALUES_TRUTH"], "w") as f:
            for t in truth:
                f.write(json.dumps(t) + "\n")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    globals()[sys.argv[1]]()
    dist.destroy_process_group()
    say(f"{sys.argv[1]}: ok")
    os._exit(0)


main()
