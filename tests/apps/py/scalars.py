# SPDX-License-Identifier: Apache-2.0
"""
Trainings that know their own numbers.

    scalars.py SCENE FILE      writes `step name value` of every step into FILE (.<rank> after it where there are several):
                               loss and the like as the script has them, times by time.perf_counter(). Prints a digest of
                               the weights, the random state and the losses: the same whatever watches.

Scenes: plain, inputs (no DataLoader), tokens (batches of 4 x 12 numbers of words in a dict, 3 micro steps), amp, closure, lbfgs, gan, groups, ddp; micro: 4
micro steps, each form of them two steps long: sum (each loss divided by 4), mean (not divided), factor (multiplied by 0.25), weighted
(by 7, then multiplied by 3, and never by the number of micro steps), megatron (as its schedules do it: by tokens, then by 4, in
place, then a loss scale), deepspeed (by 4, then a loss scale that becomes smaller), short (divided by 4, and only 3 of them)
"""
import ctypes
import hashlib
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

STEPS = 6
OVERFLOWS = (0, 1, 4)  # steps of amp that the scaler skips: as the scale is too high at first, and after it grew
PAUSE = 0.02
SLOW = ("plain", "ddp")
scene, path = sys.argv[1:3]
torch.manual_seed(int(os.environ.get("RANK", "0")))
torch.set_num_threads(1)
rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
clock = time.perf_counter
if world > 1:
    torch.distributed.init_process_group("gloo")
out = open(path + (f".{rank}" if world > 1 else ""), "w")


class Slow(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        if scene in SLOW and i % 8 == 0:
            time.sleep(PAUSE)
        g = torch.Generator().manual_seed(i + 1000 * rank)
        x = torch.randn(16, generator=g)
        return x, x.sum(0, keepdim=True).sin()


class Words(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return {"ids": torch.full((12,), i % 50), "weight": torch.tensor(float(i))}


class Slowly(torch.autograd.Function):
    """Takes its time in both directions."""

    @staticmethod
    def forward(ctx, x):
        time.sleep(PAUSE)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        time.sleep(PAUSE)
        return g


class SlowSGD(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(PAUSE)
        return super().step(closure)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 32), torch.nn.Linear(32, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(Slowly.apply(x) if scene in SLOW else x)))


def say(step, **numbers):
    for name, value in numbers.items():
        print(step, name.replace("_", "-"), repr(float(value)), file=out)


def mse(y, t):
    return torch.nn.functional.mse_loss(y, t)


net = Net()
if world > 1:
    net = torch.nn.parallel.DistributedDataParallel(net)
batches = iter(DataLoader(Slow(), batch_size=8))
losses = []


def plain():
    opt = SlowSGD(net.parameters(), lr=0.1, momentum=0.9)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
    before = None
    for step in range(STEPS):
        t = [clock()]
        x, y = next(batches)
        t.append(clock())
        loss = mse(net(x), y)
        if rank == 1:
            time.sleep(0.1)  # the others wait for its gradients
        t.append(clock())
        loss.backward()
        t.append(clock())
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        lr = opt.param_groups[0]["lr"]
        t.append(clock())
        opt.step()
        t.append(clock())
        plan.step()
        opt.zero_grad()
        losses.append(loss.item())
        say(step, loss=losses[-1], learning_rate=lr, grad_norm=norm, data_time=(t[1] - t[0]) * 1e3,
            forward_time=(t[2] - t[1]) * 1e3, backward_time=(t[3] - t[2]) * 1e3, optimizer_time=(t[5] - t[4]) * 1e3)
        if before is not None:
            say(step, iteration_time=(t[5] - before) * 1e3)
        before = t[5]


def backward(form, x, y, scale):
    """One micro step. Gives what a program prints the mean of."""
    loss = mse(net(x), y)
    if form in ("sum", "short"):
        (loss / 4).backward()
    elif form == "factor":
        (loss * 0.25).backward()
    elif form == "weighted":
        loss = loss / 7 * 3
        loss.backward()
    elif form == "megatron":
        loss = ((net(x) - y) ** 2).sum()
        loss /= torch.tensor(8)
        number = loss.item()
        loss /= 4
        loss = scale * loss
        # The engine by itself, as with deallocated outputs.
        torch.autograd.Variable._execution_engine.run_backward(
            (loss,), (torch.ones_like(loss, memory_format=torch.preserve_format),), False, False, (), allow_unreachable=True,
            accumulate_grad=True)
        return number
    elif form == "deepspeed":
        ((loss / 4).float() * scale).backward()
    else:
        loss.backward()
    return loss.item()


def micro():
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)
    forms = ("mean", "sum", "short", "factor", "weighted", "megatron", "deepspeed")
    for step in range(2 * len(forms)):
        form = forms[step // 2]
        scale = {"megatron": torch.tensor([65536.0]), "deepspeed": 4096.0 / 16 ** (step % 2)}.get(form)
        losses.append(sum(backward(form, *next(batches), scale) for _ in range(3 if form == "short" else 4)) / 4)
        if scale is not None:
            for p in net.parameters():
                p.grad.div_(scale)
        opt.step()
        opt.zero_grad()
        say(step, loss=losses[-1], learning_rate=0.01)
        if scale is not None:
            say(step, loss_scale=scale)


def amp():
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    for step in range(STEPS):
        total = 0.0
        for _ in range(2):
            x, y = next(batches)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = mse(net(x).float(), y) / 2
            scaler.scale(loss).backward()
            total += loss.item()
        if step in OVERFLOWS:
            net.a.weight.grad[0, 0] = float("inf")
        say(step, loss=total, loss_scale=scaler.get_scale())
        scaler.unscale_(opt)
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        say(step, grad_norm=norm)
        if step not in OVERFLOWS:
            say(step, learning_rate=0.05)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
        losses.append(total)


def closure():
    if scene == "lbfgs":
        opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)
    else:
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(STEPS):
        x, y = next(batches)

        def evaluate():
            opt.zero_grad()
            loss = mse(net(x), y)
            loss.backward()
            return loss

        losses.append(opt.step(evaluate).item())
        say(step, loss=losses[-1])


def gan():
    other = Net()
    d, g = torch.optim.Adam(net.parameters(), lr=0.01), torch.optim.Adam(other.parameters(), lr=0.02)
    last = None
    for step in range(STEPS):
        x, y = next(batches)
        d.zero_grad()
        loss = mse(net(x), y)
        loss.backward()
        d.step()
        losses.append(loss.item())
        say(step, loss=losses[-1], learning_rate=0.01)
        # A step ends with the first optimizer's: what the second one does is part of the next.
        if last is not None:
            print(step, "loss/opt1", repr(last), file=out)
            print(step, "learning-rate/opt1", 0.02, file=out)
        g.zero_grad()
        loss = mse(other(x), -y)
        loss.backward()
        g.step()
        last = loss.item()
        losses.append(last)


def device_memory():
    """PyTorch's account of a device's memory, as the device's allocator gives it."""
    f = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so"))._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
    f.argtypes, f.restype = [ctypes.c_void_p, ctypes.c_long, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ushort], None
    return lambda device, used: f(None, 512, used, 1 << 40, device)


def groups():
    report, cuda, cpu = device_memory(), 1, 0
    opt = torch.optim.SGD([{"params": net.a.parameters()}, {"params": net.b.parameters(), "lr": 0.5}], lr=0.1)
    plan = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)
    for step in range(STEPS):
        x, y = next(batches)
        loss = mse(net(x), y)
        loss.backward()
        for i, group in enumerate(opt.param_groups):
            print(step, f"learning-rate/group{i}", repr(group["lr"]), file=out)
        for device, used in (cuda, 1000 + 10 * (3, 1, 7, 2, 9, 4)[step]), (cuda, 500), (cpu, 10**9):
            report(device, used)
        opt.step()
        plan.step()
        opt.zero_grad()
        losses.append(loss.item())
        say(step, loss=losses[-1], memory_allocator_peak=1000 + 10 * (3, 3, 7, 7, 9, 9)[step])


def tokens():
    """What follows from what the DataLoader gives: the first tensor of a batch is a matrix of integers."""
    table = torch.nn.Embedding(50, 4)
    opt = torch.optim.SGD(table.parameters(), lr=0.1)
    words = iter(DataLoader(Words(), batch_size=4))
    for step in range(STEPS):
        total = 0.0
        for _ in range(3):
            loss = table(next(words)["ids"]).square().mean() / 3
            loss.backward()
            total += loss.item()
        for p in table.parameters():
            if world > 1:
                torch.distributed.all_reduce(p.grad)
        opt.step()
        opt.zero_grad()
        losses.append(total)
        say(step, loss=total, batch_size=4 * 3 * world)
    with open("/proc/self/status") as f:
        print(0, "hwm", 1024 * int([line.split()[1] for line in f if line.startswith("VmHWM")][0]), file=out)


def inputs():
    """No DataLoader: a batch is what the model is called with. Two micro steps, the second one of a larger loss."""
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    began = clock()
    for step in range(STEPS):
        own = []
        for micro in range(2):
            x = torch.randn(5, 16, generator=torch.Generator().manual_seed(10 * step + micro))
            loss = mse(net(x), x.sum(1, keepdim=True).sin() * (1 + micro))
            (loss / 2).backward()
            own.append(loss.item())
        opt.step()
        opt.zero_grad()
        losses.append(sum(own) / 2)
        say(step, loss=losses[-1], batch_size=5 * 2, **{f"micro-loss/micro{i}": v for i, v in enumerate(own)})
        if not step:
            print(0, "first-ms", 1000 * (clock() - began), file=out)


{"plain": plain, "ddp": plain, "inputs": inputs, "tokens": tokens, "micro": micro, "amp": amp, "closure": closure, "lbfgs": closure, "gan": gan,
 "groups": groups}[scene]()
digest = hashlib.sha256(repr(losses).encode() + torch.get_rng_state().numpy().tobytes())
for p in net.parameters():
    digest.update(p.detach().numpy().tobytes())
print(f"{scene} rank {rank}: {digest.hexdigest()}")
if world > 1:
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
