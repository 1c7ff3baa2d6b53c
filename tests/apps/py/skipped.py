"""Trainings whose global norm spikes in known steps. Usage: skipped.py CASE

WHO=script: the script itself leaves out the optimizer's step when the norm is 3 or more, or not finite; else it calls step()
always, and who withholds it is libprobe. Printed are weights, gradients, optimizer state and learning rates after each
training, as checksums: the same by either way.
"""
import os
import sys
import zlib

import torch

SCRIPT = os.environ.get("WHO") == "script"
LIMIT = 3.0


def checksum(value, h=0):
    if isinstance(value, torch.Tensor):
        if hasattr(value, "to_local"):
            value = value.to_local()
        if value.is_sparse:
            value = value.coalesce()
            return checksum(value.indices(), checksum(value.values(), h))
        return zlib.crc32(value.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes(), zlib.crc32(str(tuple(value.shape)).encode(), h))
    if isinstance(value, dict):
        for k in value:
            h = checksum(value[k], zlib.crc32(str(k).encode(), h))
        return h
    if isinstance(value, (list, tuple)):
        for v in value:
            h = checksum(v, h)
        return h
    return zlib.crc32(repr(value).encode(), h)


def params_of(opt):
    return [p for g in opt.param_groups for p in g["params"]]


def own_norm(params):
    total = 0.0
    for p in params:
        if p.grad is not None:
            total += float((p.grad.detach().double() ** 2).sum())
    return total ** 0.5


def is_spike(norm):
    return not norm < LIMIT


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(6, 5)
        self.b = torch.nn.Linear(5, 3, bias=False)
        self.unused = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


class Matrices(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(6, 5, bias=False)
        self.b = torch.nn.Linear(5, 3, bias=False)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Embedding(8, 3, sparse=True)

    def forward(self, x):
        return self.a((x[:, 0].abs() * 10).long() % 8)


class Counting(torch.optim.SGD):
    """Counts in its group: a number, one that it makes first, and a tensor."""

    def step(self, closure=None):
        for g in self.param_groups:
            g["step"] = g.get("step", 0) + 1
            g.setdefault("tick", torch.zeros(()))
            g["tick"] += 1
            g["lr"] = 0.1 / g["step"]
        return super().step(closure)


class Stubborn(torch.optim.SGD):
    """Decays weights that have no gradient, too."""

    @torch.no_grad()
    def step(self, closure=None):
        for p in params_of(self):
            p.mul_(0.99)
        return super().step(closure)


class Failing(torch.optim.SGD):
    fails = False

    def step(self, closure=None):
        if self.fails:
            self.param_groups[0]["lr"] = 7.0
            raise RuntimeError("the step fails")
        return super().step(closure)


def train(make, model=Net, clip=True, spikes=(1, 4, 5), steps=8, to_none=True, bad=(), scheduler=True, watch=None):
    torch.manual_seed(7)
    net = model()
    opt = make(net.parameters())
    params = params_of(opt)
    plan = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9) if scheduler else None
    for step in range(steps):
        opt.zero_grad(set_to_none=to_none)
        loss = net(torch.randn(4, 6)).pow(2).mean()
        if step in spikes:
            loss = loss * 1e4
        if step in bad:
            loss = loss * float(bad[step])
        loss.backward()
        if model is Words:
            norm = torch.nn.utils.get_total_norm([p.grad.coalesce().values() for p in params])
        elif clip:
            norm = torch.nn.utils.clip_grad_norm_(params, 1e6)
        else:
            norm = own_norm(params)
        before = [p.grad for p in params]
        if not (SCRIPT and is_spike(norm)):
            opt.step()
        if any(p.grad is not g for p, g in zip(params, before)):
            print("a gradient is another one after step", step)
        if plan and not isinstance(opt, Counting):
            plan.step()
        if watch:
            watch(step, opt)
    return net, opt


def say(name, net, opt):
    print(name, checksum(dict(net.state_dict())), checksum(opt.state_dict()["state"]), checksum([{k: v for k, v in g.items() if k != "params"} for g in opt.param_groups]),
          checksum([p.grad if p.grad is not None else "none" for p in params_of(opt)]), flush=True)


def all_optimizers(clip):
    made = [n for n in ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adadelta", "Adagrad", "ASGD", "RMSprop", "Rprop", "Adafactor", "Muon", "SparseAdam")
            if hasattr(torch.optim, n)]
    for n in made:
        more = {"momentum": 0.9} if n in ("SGD", "RMSprop") else {}
        kind = {"SparseAdam": Words, "Muon": Matrices}.get(n, Net)
        for variant in ({}, {"foreach": True}, {"foreach": False}, {"fused": True}):
            key = next(iter(variant), None)
            cls = getattr(torch.optim, n)
            if key and key not in cls.__init__.__code__.co_varnames[:cls.__init__.__code__.co_argcount + cls.__init__.__code__.co_kwonlyargcount]:
                continue
            if kind is Words and not clip:
                continue
            try:
                net, opt = train(lambda p: cls(p, lr=0.01, **more, **variant), kind, clip, to_none=clip)
            except (RuntimeError, NotImplementedError) as e:
                if "fused" not in str(e) and "foreach" not in str(e):
                    raise
                continue
            say("%s %s" % (n, variant), net, opt)


def case(name):
    sgd = lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)
    if name in ("clipped", "unclipped"):
        all_optimizers(name == "clipped")
    elif name == "counting":
        say(name, *train(lambda p: Counting(p, lr=0.1, momentum=0.9)))
    elif name == "first":
        say(name, *train(lambda p: torch.optim.AdamW(p), spikes=(0, 1)))
    elif name == "not_finite":
        say(name, *train(sgd, spikes=(), bad={2: "nan", 3: "inf", 5: "-inf"}))
    elif name == "pre_hook":
        def make(p):
            opt = sgd(p)
            opt.register_step_pre_hook(lambda o, a, k: print("%.6f" % sum(float(q.grad.abs().sum()) for q in params_of(o) if q.grad is not None)) or None)
            return opt
        say(name, *train(make))
    elif name == "post_hook":
        def make(p):
            opt = sgd(p)
            opt.register_step_post_hook(lambda o, a, k: print("%.6f" % sum(float(q.grad.abs().sum()) for q in params_of(o) if q.grad is not None)))
            return opt
        say(name, *train(make))
    elif name == "late_hook":
        def watch(step, opt):
            if step == 2:
                opt.register_step_pre_hook(lambda o, a, k: print("%.6f" % sum(float(q.grad.abs().sum()) for q in params_of(o) if q.grad is not None)))
        say(name, *train(sgd, spikes=(1, 4), watch=watch))
    elif name == "global_hook":
        from torch.optim.optimizer import register_optimizer_step_pre_hook
        register_optimizer_step_pre_hook(lambda o, a, k: print(all(q.grad is not None for q in params_of(o)[:3])))
        say(name, *train(sgd))
    elif name == "closure":
        torch.manual_seed(7)
        net = Net()
        opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)
        for step in range(4):
            x = torch.randn(4, 6)

            def closure():
                opt.zero_grad()
                loss = net(x).pow(2).mean() * (1e4 if step == 2 else 1)
                loss.backward()
                return loss
            opt.step(closure)
        say(name, net, opt)
    elif name == "in_backward":
        torch.manual_seed(7)
        net = Matrices()
        opts = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

        def step_now(p):
            opts[p].step()
            opts[p].zero_grad()
        for p in net.parameters():
            p.register_post_accumulate_grad_hook(step_now)
        for step in range(4):
            (net(torch.randn(4, 6)).pow(2).mean() * (1e4 if step == 2 else 1)).backward()
        print(name, checksum(dict(net.state_dict())))
    elif name == "two":
        # One norm for two optimizers that step after each other.
        torch.manual_seed(7)
        net = Matrices()
        opts = [torch.optim.SGD(net.a.parameters(), lr=0.1), torch.optim.SGD(net.b.parameters(), lr=0.1)]
        for step in range(4):
            net.zero_grad()
            (net(torch.randn(4, 6)).pow(2).mean() * (1e4 if step == 2 else 1)).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            for o in opts:
                o.step()
        print(name, checksum(dict(net.state_dict())))
    elif name == "stubborn":
        say(name, *train(lambda p: Stubborn(p, lr=0.1)))
    elif name == "failing":
        torch.manual_seed(7)
        net = Matrices()
        opt = Failing(net.parameters(), lr=0.1)
        for step in range(4):
            opt.zero_grad()
            (net(torch.randn(4, 6)).pow(2).mean() * (1e4 if step == 2 else 1)).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1e6)
            before = [p.grad for p in net.parameters()]
            opt.fails = step == 2
            try:
                if not (SCRIPT and step == 2):
                    opt.step()
            except RuntimeError as e:
                assert str(e) == "the step fails"
            print([p.grad is g for p, g in zip(net.parameters(), before)], opt.param_groups[0]["lr"])
        print(name, checksum(dict(net.state_dict())))
    elif name == "limit":
        try:
            train(sgd, spikes=(1, 3, 4, 5, 6), steps=9)
            print("not ended")
        except ValueError as e:
            print(type(e).__name__, isinstance(e, ValueError), e, e.args)
    elif name == "limit_uncaught":
        train(sgd, spikes=(2, 3), steps=9)
    elif name in ("scaler", "scaler_fused", "scaler_no_unscale"):
        torch.manual_seed(7)
        net = Net()
        opt = torch.optim.AdamW(net.parameters(), fused=name != "scaler")
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        for step in range(8):
            opt.zero_grad()
            factor = {2: 1e4, 3: float("inf"), 4: 1e4, 6: 1e4}.get(step, 1)
            scaler.scale(net(torch.randn(4, 6)).pow(2).mean() * factor).backward()
            if name == "scaler_no_unscale":
                scaler.step(opt)
            else:
                scaler.unscale_(opt)
                norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1e6)
                if not (SCRIPT and is_spike(norm) and step != 3):
                    scaler.step(opt)
            scaler.update()
        say(name, net, opt)
        print(scaler.get_scale())
    elif name == "compiled":
        torch.manual_seed(7)
        net = Matrices()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        step_of = torch.compile(opt.step, backend="eager")
        for step in range(4):
            opt.zero_grad()
            (net(torch.randn(4, 6)).pow(2).mean() * (1e4 if step == 2 else 1)).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1e6)
            step_of()
        print(name, checksum(dict(net.state_dict())))
    elif name in ("ddp", "ddp_own", "ddp_alone", "fsdp2", "ddp_odd", "ddp_late", "ddp_first", "fsdp2_first", "ddp_odd_first"):
        parallel(name)
    else:
        sys.exit("unknown case " + name)


def parallel(name):
    import torch.distributed as dist

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    net = Matrices()
    if name in ("ddp", "ddp_own", "ddp_odd", "ddp_late", "ddp_first", "ddp_odd_first"):
        model = torch.nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
    elif name in ("fsdp2", "fsdp2_first"):
        from torch.distributed.fsdp import fully_shard
        model = net
        fully_shard(model)
    else:
        model = net
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    if name in ("ddp_odd", "ddp_odd_first") and rank == 1:
        # Only one rank cannot withhold: then none may.
        opt.register_step_post_hook(lambda o, a, k: None)
    torch.manual_seed(rank)
    spikes = (1, 2, 5) if name == "ddp_late" else (0, 1, 4) if name.endswith("_first") else (2, 3)
    for step in range(6):
        if name == "ddp_late" and rank == 1 and step == 3:
            opt.register_step_post_hook(lambda o, a, k: None)
        opt.zero_grad(set_to_none=step % 2 == 0)
        loss = model(torch.randn(4, 6)).pow(2).mean() * (1e4 if step in spikes else 1)
        loss.backward()
        if name != "ddp_own":
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e6)
            if hasattr(norm, "full_tensor"):
                norm = norm.full_tensor()
        else:
            norm = own_norm(model.parameters())
        if not (SCRIPT and is_spike(norm) and (step < 3 or name != "ddp_late")):
            opt.step()
    # One write: lines of two ranks must not mix.
    sys.stdout.write(f"{name} {rank} {checksum(dict(net.state_dict()))} {checksum(opt.state_dict()['state'])}\n")
    sys.stdout.flush()
    dist.barrier()  # no rank leaves while another one still needs it
    dist.destroy_process_group()
    os._exit(0)  # PyTorch 2.13 with gloo aborts or hangs now and then in what runs at exit



case(sys.argv[1])
