# SPDX-License-Identifier: Apache-2.0
"""
Backward passes of many kinds: prints losses and gradients with all digits, and errors as they are. --truth FILE: hooks on
the nodes of autograd write what each receives and returns, and its number; the results stay the same.

    backward.py SCENE [--truth FILE]
"""
import json
import re
import sys
import threading
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.manual_seed(0)
truth = {"nodes": [], "made": []}
wanted = "--truth" in sys.argv
lock = threading.Lock()
watched = set()


def say(what, *values):
    def text(v):
        if isinstance(v, torch.Tensor):
            v = v.detach()
            v = v.to_dense() if v.layout != torch.strided else v
            return f"{v.dtype}{tuple(v.shape)}{v.tolist()}" if v.device.type != "meta" else f"meta{tuple(v.shape)}"
        return repr(v)
    sys.stdout.write(f"{what} {' '.join(map(text, values))}\n")
    sys.stdout.flush()


def numbers(t):
    """As the columns of the CSV; only the shape of what is no strided memory."""
    t = t.detach()
    if t.is_conj():
        t = t.conj()  # the memory, as it is
    if t.layout != torch.strided or t.device.type != "cpu" or not t.numel() or type(t) is not torch.Tensor:
        return [list(t.shape)]
    x = t.double().flatten() if not t.is_complex() else torch.view_as_real(t).double().flatten()
    fine = x[~x.isnan()]
    if not fine.numel():
        return [list(t.shape), t.numel(), int(x.isnan().sum())]
    return [list(t.shape), t.numel(), int(x.isnan().sum()), int(x.isinf().sum()), fine.min().item(), fine.max().item(),
            fine.mean().item(), fine.norm().item(), (x.abs() < 1e-8).double().mean().item()]


def watch(*roots):
    """A hook on each node below that the generator made. Nodes of leaves and of Python functions are none of these."""
    todo = [t.grad_fn for t in roots]
    while wanted and todo:
        n = todo.pop()
        if n is None or n in watched:
            continue
        watched.add(n)
        todo += [f for f, _ in n.next_functions]
        # Classes of checkpoint() and the like are Python's.
        if not re.fullmatch(r"[A-Z]\w*Backward(\d+|Autograd)\w*", n.name()) or not type(n).__module__.startswith(("torch", "builtins")) \
                or isinstance(n, torch.autograd.function.BackwardCFunction):
            continue

        def hook(returned, received, n=n):
            event = {"op": n.name(), "node": n._sequence_nr(), "in": [numbers(t) for t in received if t is not None],
                     "out": [numbers(t) for t in returned if t is not None]}
            with lock:
                truth["nodes"].append(event)
        n.register_hook(hook)


def made(op, t):
    """The operator made that node."""
    if wanted:
        truth["made"].append([op, t.grad_fn.name(), t.grad_fn._sequence_nr()])
    return t


def backward(loss, *a, **k):
    watch(loss)
    loss.backward(*a, **k)


def model():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 16),
                         nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 5))


def train():
    net = model()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    x, y = torch.randn(6, 1, 8, 8), torch.tensor([0, 1, 2, 3, 4, 0])
    for step in range(3):
        opt.zero_grad()
        loss = made("cross_entropy_loss", F.cross_entropy(net(x), y))
        backward(loss)
        opt.step()
        say("loss", loss)
    say("weights", *net.parameters())


def accumulate():
    """Two passes a step; a graph that is used twice."""
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        for micro in range(2):
            loss = net(torch.randn(5, 4)).pow(2).mean()
            watch(loss)
            loss.backward(retain_graph=True)
            loss.backward()
        opt.step()
        opt.zero_grad()
    say("weights", *net.parameters())


def odd():
    """Gradients that are not defined, not finite, not dense, of no elements, many; nodes of odd operators."""
    a = torch.randn(4, 6, requires_grad=True)
    b, c = made("chunk", a.chunk(2, 1)[0]), None
    backward((b * 2).sum())
    u = made("unbind.int", a.unbind(0)[1])
    backward(u.exp().sum())
    backward(torch.cat([a * i for i in range(40)]).sum())
    backward(made("sqrt", torch.sqrt(a)).sum())
    backward((a[:0] * 3).sum())
    backward(made("mul.Tensor", a * torch.tensor(float("inf"))).sum())
    say("grad", a.grad)
    e = nn.Embedding(7, 3, sparse=True)
    backward(e(torch.tensor([1, 1, 2])).sum())
    say("sparse", e.weight.grad)
    z = torch.randn(3, dtype=torch.complex64, requires_grad=True)
    backward((z * z.conj()).real.sum())
    say("complex", torch.view_as_real(z.grad))
    h = torch.randn(3, 3, dtype=torch.bfloat16, requires_grad=True)
    backward((h @ h).sum())
    say("bfloat16", h.grad)
    v = torch.randn(4, requires_grad=True)
    w = v * 1
    w[:2].mul_(3)  # a view, written in place
    backward(w.sum())
    say("view", v.grad)
    m = torch.randn(3, device="meta", requires_grad=True)
    backward((m * 2).sum())
    say("meta", m.grad)
    say("func", torch.func.grad(lambda r: (r ** 3).sum())(torch.arange(4.0)))
    say("jacobian", torch.func.jacrev(torch.sin)(torch.arange(3.0)))
    say("autograd.grad", *torch.autograd.grad((a * a).sum(), a))
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], requires_grad=True)
    torch.nested.to_padded_tensor(n * 2, 0.0).sum().backward()
    say("nested", *n.grad.unbind())
    with torch._subclasses.FakeTensorMode():
        f = torch.ones(3, requires_grad=True)
        (f * 2).sum().backward()
    say("fake", tuple(f.grad.shape))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        lin = nn.Linear(4, 4)
        loss = lin(torch.ones(2, 4)).float().sum()
    backward(loss)
    say("autocast", lin.weight.grad)
    lstm = nn.LSTM(3, 4)
    backward(lstm(torch.ones(5, 2, 3))[0].sum())
    say("lstm", *[p.grad for p in lstm.parameters()])
    q = torch.randn(1, 2, 4, 8, requires_grad=True)
    backward(F.scaled_dot_product_attention(q, q, q).sum())
    say("attention", q.grad)
    del c


def twice():
    """The gradient of a gradient."""
    x = torch.randn(5, 3, requires_grad=True)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    for _ in range(2):
        y = net(x).sum()
        watch(y)
        g, = torch.autograd.grad(y, x, create_graph=True)
        penalty = (g.norm() - 1) ** 2
        backward(penalty)
    say("grads", *[p.grad for p in net.parameters() if p.grad is not None])


def checkpoints():
    block = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

    def run(x):
        y = block(x)
        if y.requires_grad:  # a graph that is made inside the backward pass
            watch(y)
        return y

    for reentrant in (True, False):
        x = torch.randn(3, 4, requires_grad=True)
        backward(checkpoint(run, x, use_reentrant=reentrant).sum())
        say("grads", x.grad, *[p.grad for p in block.parameters()])


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ValueError("from Python")


def errors():
    """Raised inside a node, after it, and by a hook; the passes after them are as any other."""
    def attempt(name, f):
        try:
            f()
            say(name, "no error")
        except (RuntimeError, ValueError) as e:
            say(name, type(e).__name__, str(e).splitlines()[0])

    def changed():
        a = torch.ones(3, requires_grad=True)
        b = a.exp()
        b.add_(1)
        b.sum().backward()

    def hook():
        a = torch.ones(3, requires_grad=True)
        b = a * 2

        def refuse(g):
            raise ValueError("from a hook")
        b.register_hook(refuse)
        b.sum().backward()

    def freed():
        a = torch.ones(3, requires_grad=True)
        b = (a * a).sum()
        b.backward()
        b.backward()

    def nan():
        with torch.autograd.set_detect_anomaly(True):
            a = torch.zeros(3, requires_grad=True)
            (torch.sqrt(a) * 0).sum().backward()

    for _ in range(2):
        attempt("changed in place", changed)
        attempt("function", lambda: Bad.apply(torch.ones(2, requires_grad=True)).sum().backward())
        attempt("hook", hook)
        attempt("freed", freed)
        attempt("nan", nan)
        with torch.autograd.set_detect_anomaly(True):
            attempt("changed in place, traced", changed)
    a = torch.ones(3, requires_grad=True)
    backward((a.sin() * 2).sum())
    say("afterwards", a.grad)


def threads():
    out = [None] * 4

    def work(i):
        g = torch.Generator().manual_seed(i)
        w = torch.randn(4, 4, generator=g).requires_grad_()
        for _ in range(20):
            loss = (torch.randn(3 + i, 4, generator=g) @ w).relu().sum()
            watch(loss)
            loss.backward()
        out[i] = w.grad
    each = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in each:
        t.start()
    for t in each:
        t.join()
    say("grads", *out)
    # Made by one thread, computed by another one.
    w = torch.ones(3, requires_grad=True)
    loss = (w * 5).sum()
    watch(loss)
    t = threading.Thread(target=loss.backward)
    t.start()
    t.join()
    say("other thread", w.grad)


if __name__ == "__main__":
    {f.__name__: f for f in (train, accumulate, odd, twice, checkpoints, errors, threads)}[sys.argv[1]]()
    if wanted:
        with open(sys.argv[sys.argv.index("--truth") + 1], "w") as out:
            json.dump(truth, out)
