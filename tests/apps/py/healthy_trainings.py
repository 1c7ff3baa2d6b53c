# SPDX-License-Identifier: Apache-2.0
"""
Small trainings without a fault in which ranks differ on purpose, and some like them with one (their names begin with `bad_`).
Under torchrun: healthy_trainings.py NAME; healthy_trainings.py --list prints NAME RANKS of each.
"""
import contextlib
import copy
import datetime
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS = 12
CASES = {}

torch.set_num_threads(1)


def case(ranks):
    def add(f):
        CASES[f.__name__] = (ranks, f)
        return f

    return add


def seeded(seed, make):
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    made = make()
    torch.set_rng_state(state)
    return made


def mlp(seed=3, width=12, out=6, *extra):
    return seeded(seed, lambda: nn.Sequential(nn.Linear(width, 20), *extra, nn.GELU(), nn.Linear(20, out)))


def sgd(model, lr=0.1, **more):
    return torch.optim.SGD(model.parameters(), lr, **more)


def data(n=6, width=12):
    return torch.randn(n, width)


def advance(opt):
    opt.step()
    opt.zero_grad()


def average(values, group=None):
    for v in values:
        dist.all_reduce(v, group=group)
        v /= dist.get_world_size(group)


def average_gradients(model, group=None):
    average([p.grad for p in model.parameters() if p.grad is not None], group)


def plain_loop(model, opt, steps=STEPS, clip=False):
    for _ in range(steps):
        model(data()).square().mean().backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        advance(opt)


@case(2)
def fsdp_clipped(rank):
    from torch.distributed.fsdp import fully_shard

    model = mlp()
    for part in (model[0], model[2], model):
        fully_shard(part)
    plain_loop(model, torch.optim.AdamW(model.parameters(), 1e-3), clip=True)


@case(4)
def hsdp(rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = mlp()
    for part in (model[0], model[2], model):
        fully_shard(part, mesh=mesh)
    plain_loop(model, torch.optim.AdamW(model.parameters(), 1e-3))


class Exchange(torch.autograd.Function):
    """All-to-all of equal parts, forward and backward."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        y = torch.empty_like(x)
        dist.all_to_all_single(y, x.contiguous(), group=group)
        return y

    @staticmethod
    def backward(ctx, g):
        y = torch.empty_like(g)
        dist.all_to_all_single(y, g.contiguous(), group=ctx.group)
        return y, None


def experts(rank, world, groups, expert_data, skip_from=STEPS):
    router, expert = mlp(3, 12, 12), mlp(50 + rank % groups, 12, 12)
    group = dist.group.WORLD
    pairs = [dist.new_group([i, i + groups]) for i in range(groups)] if expert_data else None
    opt = torch.optim.SGD([*router.parameters(), *expert.parameters()], 0.05)
    for step in range(STEPS):
        y = Exchange.apply(router(data(4 * world)), group)
        Exchange.apply(expert(y), group).square().mean().backward()
        average_gradients(router)
        if pairs and step < skip_from:
            average_gradients(expert, pairs[rank % groups])
        advance(opt)


@case(2)
def expert_parallel(rank):
    experts(rank, 2, 2, False)


@case(4)
def expert_data_parallel(rank):
    experts(rank, 4, 2, True)


@case(4)
def bad_expert_gradients_unreduced(rank):
    experts(rank, 4, 2, True, 6)


class Tied(nn.Module):
    def __init__(self, tie=True):
        super().__init__()
        self.table = nn.Embedding(40, 12)
        self.body = nn.Linear(12, 12)
        self.head = nn.Linear(12, 40, bias=False)
        if tie:
            self.head.weight = self.table.weight
        else:
            with torch.no_grad():
                self.head.weight.copy_(self.table.weight)

    def forward(self, i):
        return self.head(torch.tanh(self.body(self.table(i))))


def language(model):
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(STEPS):
        i = torch.randint(0, 40, (8,))
        nn.functional.cross_entropy(model(i), i.roll(1)).backward()
        advance(opt)


@case(2)
def tied(rank):
    language(DDP(seeded(3, Tied)))


@case(2)
def head_begins_as_a_copy(rank):
    language(DDP(seeded(3, lambda: Tied(False))))


@case(2)
def frozen_from_the_start(rank):
    model = mlp()
    for p in model[0].parameters():
        p.requires_grad_(False)
    model = DDP(model)
    plain_loop(model, torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1))


@case(2)
def frozen_later(rank):
    first, second = DDP(mlp(3, 12, 12)), DDP(mlp(4))
    a, b = sgd(first), sgd(second)
    for step in range(STEPS):
        with torch.no_grad() if step >= 5 else contextlib.nullcontext():
            y = first(data())
        second(y).square().mean().backward()
        if step < 5:
            advance(a)
        advance(b)


@case(2)
def averaged_copy(rank):
    model = mlp()
    shadow = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    model = DDP(model)
    opt = sgd(model, momentum=0.9)
    for _ in range(STEPS):
        model(data()).square().mean().backward()
        advance(opt)
        shadow.update_parameters(model.module)


@case(2)
def running_statistics(rank):
    model = DDP(mlp(3, 12, 6, nn.BatchNorm1d(20)))
    plain_loop(model, sgd(model))


@case(2)
def running_statistics_of_each_rank(rank):
    model = DDP(mlp(3, 12, 6, nn.BatchNorm1d(20)), broadcast_buffers=False)
    plain_loop(model, sgd(model))


@case(2)
def generator_and_critic(rank):
    make, judge = DDP(mlp(3, 6, 12)), DDP(mlp(4, 12, 1))
    a, b = torch.optim.Adam(make.parameters(), 1e-3), torch.optim.Adam(judge.parameters(), 2e-3)
    for _ in range(STEPS):
        (judge(make(data(6, 6)).detach()).mean() - judge(data()).mean()).backward()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        advance(b)
        (-judge(make(data(6, 6))).mean()).backward()
        advance(a)
        b.zero_grad()


@case(2)
def accumulation(rank):
    model = DDP(mlp())
    opt = sgd(model)
    for step in range(STEPS):
        for micro in range(3):
            with model.no_sync() if micro < 2 else contextlib.nullcontext():
                (model(data()).square().mean() / 3).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        advance(opt)


@case(3)
def local_sgd(rank):
    model = mlp()
    opt = sgd(model)
    for step in range(STEPS):
        model(data()).square().mean().backward()
        advance(opt)
        if step % 4 == 3:
            average([p.data for p in model.parameters()])


@case(3)
def local_sgd_after_warmup(rank):
    model = mlp()
    opt = sgd(model)
    for step in range(15):
        model(data()).square().mean().backward()
        if step < 4:
            average_gradients(model)
        advance(opt)
        if step % 3 == 2:
            average([p.data for p in model.parameters()])


@case(2)
def federated_with_own_rates(rank):
    model = mlp()
    opt = sgd(model, 0.05 * (1 + rank))
    for step in range(STEPS):
        model(data()).square().mean().backward()
        advance(opt)
        if step % 4 == 3:
            average([p.data for p in model.parameters()])


@case(2)
def uneven_inputs(rank):
    from torch.distributed.algorithms.join import Join

    model = DDP(mlp())
    opt = sgd(model)
    with Join([model]):
        for _ in range(STEPS - 3 * rank):
            model(data()).square().mean().backward()
            advance(opt)


@case(2)
def scaled_with_overflow(rank):
    model = DDP(mlp())
    opt = sgd(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
    for step in range(STEPS):
        x = data()
        if step == 5 and rank == 0:
            x[0] = float("inf")
        scaler.scale(model(x).square().mean()).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


@case(2)
def bad_scaler_of_each_rank(rank):
    model = mlp()
    opt = sgd(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0 if rank == 0 else 512.0)
    for _ in range(STEPS):
        scaler.scale(model(data()).square().mean()).backward()
        scaler.unscale_(opt)
        average_gradients(model)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


@case(2)
def pipeline_of_one_seed(rank):
    torch.manual_seed(5)
    part = nn.Linear(12, 12)
    opt = sgd(part, 0.1 / (1 + rank))
    for _ in range(STEPS):
        if rank == 0:
            y = part(data())
            dist.send(y.detach(), 1)
            g = torch.empty(6, 12)
            dist.recv(g, 1)
            y.backward(g)
        else:
            x = torch.empty(6, 12)
            dist.recv(x, 0)
            x.requires_grad_()
            part(x).square().mean().backward()
            dist.send(x.grad, 0)
        torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0)
        advance(opt)


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class SumBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


@case(2)
def tensor_parallel(rank):
    front, norm, bias = seeded(2, lambda: (nn.Linear(12, 12), nn.LayerNorm(12), nn.Parameter(torch.zeros(12))))
    column, row = seeded(10 + rank, lambda: (nn.Linear(12, 8), nn.Linear(8, 12, bias=False)))
    opt = torch.optim.AdamW([*front.parameters(), *norm.parameters(), bias, *column.parameters(), *row.parameters()], 1e-3)
    for step in range(STEPS):
        torch.manual_seed(step)  # all ranks of the group see the same batch
        x = SumBackward.apply(norm(front(data())))
        (Sum.apply(row(torch.tanh(column(x)))) + bias).square().mean().backward()
        advance(opt)


@case(2)
def zero_redundancy(rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DDP(mlp())
    plain_loop(model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=1e-3))


@case(2)
def compressed_gradients(rank):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = DDP(mlp())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    plain_loop(model, sgd(model), clip=True)


def by_hand(seed=3, opt=None, between=None, steps=STEPS):
    model = mlp(seed)
    opt = (opt or sgd)(model)
    for step in range(steps):
        model(data()).square().mean().backward()
        average_gradients(model)
        advance(opt)
        if between:
            between(step, model, opt)
    return model


@case(3)
def reduced_by_hand(rank):
    by_hand()


@case(3)
def bad_never_broadcast(rank):
    by_hand(3 + rank)


@case(3)
def bad_other_rate_on_one_rank(rank):
    def decay(step, model, opt):
        if step == 5 and rank == 2:
            opt.param_groups[0]["lr"] *= 0.5

    by_hand(between=decay)


@case(3)
def bad_checkpoint_on_one_rank(rank):
    kept = []

    def load(step, model, opt):
        if step == 2:
            kept.append(copy.deepcopy(model.state_dict()))
        if step == 6 and rank == 0:
            model.load_state_dict(kept[0])

    by_hand(between=load)


@case(3)
def bad_momentum_lost_on_one_rank(rank):
    def forget(step, model, opt):
        if step == 4 and rank == 1:
            opt.state.clear()

    by_hand(opt=lambda m: sgd(m, momentum=0.9), between=forget)


@case(2)
def bad_fsdp_of_one_seed(rank):
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(1)
    model = mlp()
    for part in (model[0], model[2], model):
        fully_shard(part)
    plain_loop(model, torch.optim.AdamW(model.parameters(), 1e-3))


@case(2)
def sequence_exchange(rank):
    model = mlp(3, 12, 12)
    opt = sgd(model)
    for _ in range(STEPS):
        Exchange.apply(torch.tanh(Exchange.apply(model(data(8)), dist.group.WORLD)), dist.group.WORLD).square().mean().backward()
        average_gradients(model)
        advance(opt)


@case(2)
def experts_of_one_seed(rank):
    """Each rank trains an expert of its own, and gets no values for some inputs on rank 0: its gradient has columns of zeros."""
    model = mlp(3, 12, 12)
    opt = sgd(model)
    for _ in range(STEPS):
        x = data(8)
        x[:, :9 * (rank == 0)] = 0
        Exchange.apply(model(x), dist.group.WORLD).square().mean().backward()
        advance(opt)


@case(3)
def ensemble(rank):
    model = mlp(3)
    opt = sgd(model, 0.02 * (1 + rank))
    for step in range(STEPS):
        loss = model(data()).square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        advance(opt)
        average([loss.detach()])


@case(2)
def schedule(rank):
    model = DDP(mlp())
    opt = sgd(model, momentum=0.9)
    rates = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=6)
    for _ in range(STEPS):
        model(data(4 + 2 * rank)).square().mean().backward()
        advance(opt)
        rates.step()


@case(3)
def one_rank_optimizes(rank):
    model = mlp()
    opt = sgd(model)
    for _ in range(STEPS):
        model(data()).square().mean().backward()
        for p in model.parameters():
            dist.reduce(p.grad, 0)
        if rank == 0:
            opt.step()
        opt.zero_grad()
        for p in model.parameters():
            dist.broadcast(p.data, 0)


@case(2)
def all_optimize_and_broadcast(rank):
    """Each step ends with rank 0's parameters on all ranks, whatever the others have made."""
    model = mlp()
    opt = sgd(model)
    for _ in range(STEPS):
        model(data()).square().mean().backward()
        advance(opt)
        for p in model.parameters():
            dist.broadcast(p.data, 0)


def main():
    if sys.argv[1] == "--list":
        for name, (ranks, _) in CASES.items():
            print(name, ranks)
        return
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=300))
    torch.manual_seed(1000 + dist.get_rank())
    CASES[sys.argv[1]][1](dist.get_rank())
    dist.barrier()
    dist.destroy_process_group()


main()
