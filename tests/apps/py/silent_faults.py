# SPDX-License-Identifier: Apache-2.0
"""
Small trainings with a fault that raises no error, or that shows far from its cause; each after a report of PyTorch's users.
Under torchrun: silent_faults.py CASE [--healthy]; with --healthy the same training without its fault.
"""
import datetime
import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

FAULTY = "--healthy" not in sys.argv
STEPS = 10
AT = 5  # the step of faults that begin later

torch.set_num_threads(1)


def mlp(seed, width=16, out=8):
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    m = nn.Sequential(nn.Linear(width, 24), nn.Tanh(), nn.Linear(24, out))
    torch.set_rng_state(state)
    return m


def batch(width=16):
    return torch.randn(6, width)


turns = 0  # steps that this rank has made


def update(opt):
    global turns
    opt.step()
    opt.zero_grad()
    turns += 1


def end_when_stuck(seconds=8):
    """A watchdog: a job that hangs makes no steps, and does not compute."""
    def watch():
        state, used = None, -1.0
        while turns != state or time.process_time() > used + 0.1:
            state, used = turns, time.process_time()
            time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def sharded(seed):
    from torch.distributed.fsdp import fully_shard

    model = mlp(seed)
    for part in (model[0], model[2], model):
        fully_shard(part)
    return model, torch.optim.AdamW(model.parameters(), 1e-3)


def replicated(seed=3):
    model = DDP(mlp(seed))
    return model, torch.optim.SGD(model.parameters(), 0.1)


def reset_after(rank):
    model, opt = replicated()
    if FAULTY:
        for part in model.module:
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()
    for _ in range(STEPS):
        model(batch()).square().mean().backward()
        update(opt)


def no_sync_left(rank):
    first, second = DDP(mlp(3)), DDP(mlp(4, 8))
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
    for step in range(STEPS):
        if step == AT and FAULTY:
            second.require_backward_grad_sync = False
        second(first(batch())).square().mean().backward()
        update(opt)


def unfrozen_after(rank):
    """DDP reduces what requires a gradient when it is made; a layer that is unfrozen later is trained by each rank alone."""
    model = mlp(3)
    if FAULTY:
        model[0].requires_grad_(False)
    model = DDP(model)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(STEPS):
        if step == AT:
            model.module[0].requires_grad_(True)
        model(batch()).square().mean().backward()
        update(opt)


def parameters_replaced(rank):
    """load_state_dict(assign=True) replaces the parameters that DDP's hooks are on."""
    model = DDP(mlp(3))
    if FAULTY:
        model.module.load_state_dict({k: v.clone() for k, v in model.module.state_dict().items()}, assign=True)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(STEPS):
        model(batch()).square().mean().backward()
        update(opt)


def scaler_apart(rank):
    """Two stages, each with a loss scale of its own."""
    torch.manual_seed(5 + rank)
    part = nn.Linear(16, 16)
    opt = torch.optim.SGD(part.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(STEPS):
        if rank == 0:
            x = batch()
            if step == AT and FAULTY:
                x[0] *= 1e38
            y = part(x)
            dist.send(y.detach().clamp(-10, 10), 1)
            grad = torch.empty(6, 16)
            dist.recv(grad, 1)
            y.backward(grad)
            scaler.scale(torch.ones(()))
        else:
            x = torch.empty(6, 16)
            dist.recv(x, 0)
            x.requires_grad_()
            scaler.scale(part(x).square().mean()).backward()
            dist.send(x.grad, 0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


def train_scaled(rank, spoil_batch, spoil_metric, scale=2.0**126):
    """By default the loss scale begins too high, so a scaler skips the first steps. Then a batch of rank 1, or a metric, has an Inf or NaN."""
    model = DDP(mlp(0))
    opt = torch.optim.SGD(model.parameters(), 0.002)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    for step in range(16):
        x = batch()
        if step == 11 and rank == 1 and spoil_batch:
            x[2, 3] = float("inf")
        loss = model(x).square().mean() * 64
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
        metric = loss.detach().reshape(1)
        if step == 11 and rank == 1 and spoil_metric:
            metric *= float("nan")
        dist.all_reduce(metric)  # METRIC


def scale_search(rank):
    train_scaled(rank, FAULTY, False)


def scale_fits(rank):
    train_scaled(rank, FAULTY, False, 2.0**10)


def scale_metric(rank):
    train_scaled(rank, False, FAULTY)


def clip_local(rank):
    model, opt = sharded(3)
    for _ in range(STEPS):
        (100 * model(batch()).square().mean()).backward()
        if FAULTY:
            local = [nn.Parameter(p.to_local().detach()) for p in model.parameters()]
            for part, p in zip(local, model.parameters()):
                part.grad = p.grad.to_local()
            torch.nn.utils.clip_grad_norm_(local, 1.0)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update(opt)


def tied_stage(rank):
    """One matrix, a copy on the first stage (embedding) and on the last one (head)."""
    torch.manual_seed(5)
    table = torch.randn(30, 16)
    part = nn.Embedding(30, 16) if rank == 0 else nn.Linear(16, 30, bias=False)
    with torch.no_grad():
        part.weight.copy_(table)
    opt = torch.optim.SGD(part.parameters(), 0.1)
    for _ in range(STEPS):
        if rank == 0:
            y = part(torch.randint(0, 30, (6,)))
            dist.send(y.detach(), 1)
            grad = torch.empty(6, 16)
            dist.recv(grad, 1)
            y.backward(grad)
        else:
            x = torch.empty(6, 16)
            dist.recv(x, 0)
            x.requires_grad_()
            nn.functional.cross_entropy(part(x), torch.randint(0, 30, (6,))).backward()
            dist.send(x.grad, 0)
        if not FAULTY:
            dist.all_reduce(part.weight.grad)
        update(opt)


def same_data(rank):
    if FAULTY:
        torch.manual_seed(1)
    model, opt = replicated()
    for _ in range(STEPS):
        model(batch()).square().mean().backward()
        update(opt)


def skip_micro(rank):
    model, opt = replicated()
    for step in range(STEPS):
        loss = model(batch()).square().mean()
        if step == AT and rank == 1 and FAULTY:
            continue
        loss.backward()
        update(opt)


def micro_count(rank):
    model, opt = sharded(3)
    for step in range(STEPS):
        for _ in range(2 if step == AT and rank == 1 and FAULTY else 3):
            loss = model(batch()).square().mean()
            loss.backward()
        update(opt)
        mean = loss.detach().clone()
        dist.all_reduce(mean)


def save_rank0(rank):
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    def save():
        if rank == 0 or not FAULTY:
            get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))  # SAVE
        dist.barrier()

    model, opt = sharded(3)
    for step in range(STEPS):
        model(batch()).square().mean().backward()
        update(opt)
        if step == AT:
            save()


def log_keys(rank):
    def log(values):
        for name in sorted(values):
            dist.all_reduce(torch.tensor(values[name], dtype=torch.float64))  # LOG

    model, opt = replicated()
    for step in range(STEPS):
        loss = model(batch()).square().mean()
        loss.backward()
        values = {"loss": float(loss), "accuracy": 0.5 + 0.01 * step}
        if step == AT and rank == 1 and FAULTY:
            values["rare"] = 3.5
        log(values)
        update(opt)


def object_fails(rank):
    model, opt = replicated()
    for step in range(STEPS):
        loss = model(batch()).square().mean()
        loss.backward()
        told = {"loss": float(loss)}
        if step == AT and rank == 1 and FAULTY:
            told["lock"] = threading.Lock()
        try:
            dist.all_gather_object([None] * dist.get_world_size(), told)  # GATHER
        except TypeError:
            pass
        update(opt)


def data_prep(rank):
    if rank == 0 and FAULTY:
        until = time.monotonic() + 8
        while time.monotonic() < until:
            sum(range(10000))
    dist.barrier()  # BARRIER
    model, opt = replicated()
    for _ in range(4):
        model(batch()).square().mean().backward()
        update(opt)


def recompute(rank):
    """One rank computes a layer with a collective in it once more in backward."""
    from torch.utils.checkpoint import checkpoint

    def layer(x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.detach())  # AGAIN
        return torch.tanh(weight * x + sum(parts).mean())

    weight = nn.Parameter(torch.ones(16))
    x = batch()
    checkpoint(torch.tanh, weight * x, use_reentrant=False).sum().backward()  # it imports much more
    dist.barrier()
    end_when_stuck(12)
    if rank == 1 and FAULTY:
        checkpoint(layer, x, use_reentrant=False).sum().backward()
    else:
        layer(x).sum().backward()
    dist.all_reduce(weight.grad)  # REDUCE


CASES = [reset_after, no_sync_left, scaler_apart, scale_search, scale_fits, scale_metric, clip_local, tied_stage, same_data, skip_micro, micro_count, save_rank0, log_keys,
         object_fails, data_prep, recompute, unfrozen_after, parameters_replaced]

HANGING = [skip_micro, micro_count, save_rank0, log_keys, object_fails]


def main():
    case = {f.__name__: f for f in CASES}[sys.argv[1]]
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=4 if case is data_prep else 1800))
    torch.manual_seed(1000 + dist.get_rank())
    if case in HANGING:
        end_when_stuck()
    case(dist.get_rank())
    dist.barrier()
    dist.destroy_process_group()


main()
