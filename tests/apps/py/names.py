# SPDX-License-Identifier: Apache-2.0
"""Trainings whose parameters have names: names.py MODE... Prints what must be the same with and without libprobe.

ddp [nan]    two groups, tied weights, a frozen parameter, one that no module has; several buckets; a NaN in a gradient
strict       what a look at objects might disturb is counted: code of classes, audit hooks, finalizers, exceptions
trace        the same under sys.settrace and sys.setprofile; freeze: after gc.freeze()
counts       the collector's counters
trainer, gan, hidden
             where modules are found: attributes of self; two that have the same names inside; not in any frame
"""
import gc
import hashlib
import queue
import random
import sys
import threading

import torch
import torch.distributed as dist
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up_proj = nn.Linear(width, 2 * width)
        self.down_proj = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + self.down_proj(torch.relu(self.up_proj(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=64, layers=2):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.seq = nn.Sequential(nn.Linear(width, width))  # its attributes are in no dictionary of their own
        self.head = nn.Linear(width, 50, bias=False)
        self.head.weight = self.embed.weight
        self.scale = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.seq(x)) * self.scale


def digest(tensors):
    return hashlib.md5(b"".join(t.detach().contiguous().numpy().tobytes() for t in tensors)).hexdigest()


def groups(net, extra):
    return [
        {"params": [p for n, p in net.named_parameters() if "bias" in n], "weight_decay": 0.0},
        {"params": [p for n, p in net.named_parameters() if "bias" not in n and p.requires_grad] + extra},
    ]


def loss_of(net, batch):
    return nn.functional.cross_entropy(net(batch).flatten(0, 1), batch.flatten())


def ddp(steps=4):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = Net()
    model = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.05)
    extra = nn.Parameter(torch.ones(()))
    optimizer = torch.optim.AdamW(groups(net, [extra]), lr=1e-2)
    generator = torch.Generator().manual_seed(rank)
    poison = [False]

    def spoil(grad):
        if poison[0]:
            grad = grad.clone()
            grad[3, 5] = float("nan")
        return grad

    net.layers[1].up_proj.weight.register_hook(spoil)
    for step in range(steps):
        batch = torch.randint(0, 50, (4, 7), generator=generator)
        optimizer.zero_grad()
        loss = loss_of(model, batch) * extra
        poison[0] = "nan" in sys.argv and step == 2 and rank == 1
        loss.backward()
        dist.all_reduce(extra.grad)
        optimizer.step()
        print(f"rank {rank} step {step} loss {loss.item()!r}", flush=True)
    print(f"rank {rank} weights {digest(net.parameters())} random {torch.rand(1).item()!r}", flush=True)
    dist.barrier()  # else a rank that is done first may leave the other one waiting for ever
    dist.destroy_process_group()


class Meta(type):
    """A class whose objects of type `type` are hashed and compared by code of the program's."""

    calls = 0

    def __hash__(cls):
        Meta.calls += 1
        return 7

    def __eq__(cls, other):
        Meta.calls += 1
        return cls is other

    def __instancecheck__(cls, other):
        Meta.calls += 1
        return False


class Odd(metaclass=Meta):
    """Every way of getting at its attributes is code of the program's."""

    calls = 0

    def __init__(self, model):
        object.__setattr__(self, "model", model)

    def __getattribute__(self, name):
        Odd.calls += 1
        return object.__getattribute__(self, name)

    def __hash__(self):
        Odd.calls += 1
        return 1

    def __eq__(self, other):
        Odd.calls += 1
        return self is other

    def __bool__(self):
        Odd.calls += 1
        return True

    def __len__(self):
        Odd.calls += 1
        return 3


class Sub(torch.Tensor):
    """Attributes of its objects run code."""

    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Sub.calls += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class Watched(torch.optim.SGD):
    @property
    def param_groups(self):
        Watched.calls += 1
        return self.__dict__["groups_of_mine"]

    @param_groups.setter
    def param_groups(self, value):
        self.__dict__["groups_of_mine"] = value


Watched.calls = 0


class Finalized:
    gone = 0

    def __init__(self):
        self.me = self

    def __del__(self):
        Finalized.gone += 1


def strict(frozen, traced):
    events = {"trace": 0, "profile": 0, "audit": 0}
    watching = [False]

    def trace(frame, event, arg):
        if watching[0]:
            events["trace"] += 1
        return trace

    def profile(frame, event, arg):
        if watching[0]:
            events["profile"] += 1

    def audit(name, args):
        if watching[0]:
            events["audit"] += 1

    torch.manual_seed(0)
    random.seed(0)
    torch.set_default_device("cpu")
    net = Net(16, 3)
    odd = Odd(net)  # a local variable that must be left alone
    weight = nn.Parameter(torch.ones(3).as_subclass(Sub))
    optimizer = torch.optim.AdamW(groups(net, [weight]), lr=1e-2)
    watched = Watched([nn.Parameter(torch.ones(2))], lr=0.1)
    sys.addaudithook(audit)
    if frozen:
        gc.freeze()
    stop = []
    dropped = [0]

    def drop():
        kept = []
        while not stop:
            kept.append([Finalized.__name__, {}])
            if len(kept) == 20000:
                dropped[0] += len(kept)
                kept.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    for i in range(50):
        Finalized()  # garbage in rings, which the collector would find
    gc.disable()
    losses = []
    for step in range(3):
        batch = torch.randint(0, 50, (4, 7))
        loss = loss_of(net, batch) + weight.sum().as_subclass(torch.Tensor)
        optimizer.zero_grad()
        before = Odd.calls, Meta.calls, Finalized.gone, Watched.calls
        if traced:
            sys.settrace(trace)
            sys.setprofile(profile)
        watching[0] = True
        loss.backward()
        watching[0] = False
        watching[0] = True
        optimizer.step()
        watching[0] = False
        sys.settrace(None)
        sys.setprofile(None)
        after = Odd.calls, Meta.calls, Finalized.gone, Watched.calls
        losses.append(loss.item())
        print("step", step, "asked by others", [b - a for a, b in zip(before, after)], "events", events)
    stop.append(1)
    thread.join()
    watched.step()
    print("losses", losses)
    print("weights", digest(list(net.parameters()) + [weight.detach().as_subclass(torch.Tensor)]))
    print("random", torch.rand(1).item(), random.random(), "subclass", Sub.calls)
    print("exception", sys.exc_info(), "threads", threading.active_count())
    del odd, dropped


def counts():
    """The collector's counters across a backward pass and a step, in which nothing of the program's is made."""
    net = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = gc.get_stats()[2]["collections"]  # imports make it as many as hashes have it
    for step in range(3):
        loss = net(torch.ones(2, 3)).sum()
        gc.collect()
        first = gc.get_count()
        loss.backward()
        second = gc.get_count()
        optimizer.step()
        third = gc.get_count()
        print("counts", step, first, second, third, gc.get_stats()[2]["collections"] - before)


class Trainer:
    """The model is an attribute of an attribute of the frames' self."""

    def __init__(self):
        self.parts = {"engine": [Holder(Net(8, 1))]}

    def fit(self):
        model = None
        engine = self.parts["engine"][0]
        optimizer = torch.optim.SGD(engine.inner.parameters(), lr=0.1)
        for _ in range(2):
            loss = engine.loss()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print("trainer", loss.item(), model)


class Holder:
    """What has the model as an attribute."""

    def __init__(self, inner):
        self.inner = inner

    def loss(self):
        return loss_of(self.inner, torch.arange(14).reshape(2, 7))


def gan():
    """Two networks with the same names inside, and one that only the collector finds."""
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    discriminator = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    first = torch.optim.SGD(generator.parameters(), lr=0.1)
    second = torch.optim.Adam(discriminator.parameters(), lr=0.1)
    for _ in range(2):
        fake = generator(torch.ones(2, 4))
        first.zero_grad()
        discriminator(fake).sum().backward()
        first.step()
        second.zero_grad()
        discriminator(fake.detach()).sum().backward()
        second.step()
    print("gan", digest(list(generator.parameters()) + list(discriminator.parameters())))


def hidden():
    """No frame of the thread that trains leads to the model, for it gives the loss to another one."""
    torch.manual_seed(0)
    asked, done = queue.Queue(), queue.Queue()
    optimizers = {}

    def work():
        while True:
            loss = asked.get()
            if loss is None:
                return
            loss.backward()
            optimizers["only"].step()
            done.put(loss.item())

    thread = threading.Thread(target=work)
    thread.start()
    net = Net(8, 1)
    optimizers["only"] = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        asked.put(loss_of(net, torch.arange(14).reshape(2, 7)))
        print("hidden", step, done.get())
        net.zero_grad()
    asked.put(None)
    thread.join()


if __name__ == "__main__":
    if sys.argv[1] == "ddp":
        ddp()
        sys.exit()
    for mode in sys.argv[1:]:
        if mode in ("strict", "freeze", "trace"):
            strict(mode == "freeze", mode == "trace")
        elif mode == "trainer":
            torch.manual_seed(0)
            Trainer().fit()
        else:
            {"counts": counts, "gan": gan, "hidden": hidden}[mode]()
