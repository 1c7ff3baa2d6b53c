# SPDX-License-Identifier: Apache-2.0
"""
Trainings whose parameters lie in parts over the ranks, known by other means: gradients before the reduction come from a copy of
the model that is not sharded, what a rank has of a parameter from arithmetic on the order and sizes of the parameters.

    torchrun --nproc_per_node=2 tests/apps/py/shard_state.py [--truth DIR] [--steps N] [--nan STEP] fsdp1|fsdp1_orig|fsdp2|megatron

    --truth DIR     write DIR/rank<R>.json as train_state.py does
    --clip          the gradients are clipped, each step says their norm
    --nan STEP      rank 1's gradient of layers.1.down.weight has a NaN there

`megatron`: the layout of Megatron's DistributedOptimizer: gradients are added up in one buffer (main_grad), which is
reduce-scattered; the optimizer has this rank's part of each parameter.
Prints losses, digests of weights and gradients, and of random states: two runs can be compared bit by bit.
"""
import argparse
import copy
import json
import math
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from train_state import Truth, digest, statistics


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=7, layers=3):
        super().__init__()
        self.inp = nn.Linear(5, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def loss_of(model, step, rank):
    g = torch.Generator().manual_seed(100 * step + rank)
    x = torch.randn(6, 5, generator=g)
    return nn.functional.mse_loss(model(x), x.sum(1, keepdim=True).sin())


class Sharded:
    """What this rank has: parts() gives name, and a function from a tensor like the optimizer's to the part of that name."""

    def __init__(self, how, plain, rank, size):
        self.how, self.rank, self.size = how, rank, size
        self.shapes = {n: p.shape for n, p in plain.named_parameters()}

    def units(self):
        """Names of the parameters that lie in one flat parameter, in their order."""
        names = list(self.shapes)
        block = [[n for n in names if n.startswith(f"layers.{i}.")] for i in range(3)]
        return [[n for n in names if not n.startswith("layers.")], *block]

    def place(self, unit):
        """Of each name the elements of the flat parameter, and those of them that lie on this rank, from its first on."""
        total = sum(self.shapes[n].numel() for n in unit)
        each = -(-total // self.size)
        lo, hi, at, out = self.rank * each, (self.rank + 1) * each, 0, {}
        for n in unit:
            end = at + self.shapes[n].numel()
            a, b = max(at, lo), min(end, hi)
            out[n] = (a - lo, b - lo) if a < b else None
            at = end
        return out


def local(t):
    return t.to_local() if hasattr(t, "to_local") else t


class ShardTruth(Truth):
    """As for DDP, of the parts. parts: for each tensor of the optimizer a list of names and slices (None: all of it)."""

    def __init__(self, optimizer, parts):
        self.rows, self.step, self.unreduced, self.parts, self.optimizer = [], 0, {}, parts, optimizer

    def each(self, t):
        for p, named in self.parts:
            if p is t:
                for name, where in named:
                    yield name, (lambda x, w=where: local(x.detach()) if w is None else local(x.detach()).flatten()[w[0]:w[1]])

    def all(self):
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                for name, part in self.each(p):
                    yield group, p, name, part

    def before(self, optimizer):
        for name, g in self.unreduced.items():
            self.add("grad_unreduced", name, statistics(g))
        for group, p, name, part in self.all():
            if not part(p).numel():
                continue
            self.add("param_origin", name, statistics(part(p)))
            if p.grad is None:
                continue
            self.add("grad_reduced", name, statistics(part(p.grad)))
            state = self.optimizer.state.get(p, {})
            for key, t in state.items():
                if torch.is_tensor(t) and t.dim():
                    self.add(key, name, statistics(part(t)))
            if "betas" in group:
                one = nn.Parameter(part(p).clone())
                one.grad = part(p.grad).clone()
                self.adam(name, one, group, {k: part(t) if t.dim() else t for k, t in state.items()})

    def after(self, optimizer):
        for group, p, name, part in self.all():
            if part(p).numel():
                self.add("param_updated", name, statistics(part(p)))
        self.step += 1


def fsdp1(plain, use_orig_params=False):
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    return FSDP(plain, auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu"), use_orig_params=use_orig_params)


def fsdp2(plain):
    from torch.distributed.fsdp import fully_shard
    mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    for layer in plain.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(plain, mesh=mesh)
    return plain


class Buffers:
    """One buffer of parameters and one of gradients, cut into as many parts as there are ranks."""

    def __init__(self, model, rank, size):
        params = list(model.named_parameters())
        total = sum(p.numel() for _, p in params)
        each = -(-total // size)
        self.weights, self.grads = torch.zeros(each * size), torch.zeros(each * size)
        self.mine = self.grads[rank * each:(rank + 1) * each]
        self.all, self.shards, self.size, at = self.weights[rank * each:(rank + 1) * each], [], size, 0
        for name, p in params:
            end = at + p.numel()
            self.weights[at:end] = p.data.flatten()
            p.data = self.weights[at:end].view(p.shape)
            p.main_grad = self.grads[at:end].view(p.shape)
            p.register_post_accumulate_grad_hook(self.add)
            a, b = max(at, rank * each), min(end, (rank + 1) * each)
            if a < b:
                self.shards.append((name, p.detach().view(-1)[a - at:b - at], a - rank * each, b - rank * each))
            at = end

    def add(self, p):
        p.main_grad.add_(p.grad)
        p.grad = None

    def reduce(self):
        part = torch.empty_like(self.mine)
        dist.reduce_scatter_tensor(part, self.grads)
        self.mine.copy_(part / self.size)
        for _, shard, a, b in self.shards:
            shard.grad = self.mine[a:b]

    def gather(self):
        dist.all_gather_into_tensor(self.weights, self.all.clone())
        self.grads.zero_()


def copy_gradients(plain, step, rank, names):
    """Before the reduction: of a model that is whole."""
    loss_of(plain, step, rank).backward()
    out = {n: p.grad.clone() for n, p in plain.named_parameters() if n in names}
    plain.zero_grad()
    return out


def full_weights(how, model, plain):
    if how == "megatron":
        return {n: p.detach().clone() for n, p in model.named_parameters()}
    if how == "fsdp2":
        return {n: p.detach().full_tensor() for n, p in model.named_parameters()}
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    with FSDP.summon_full_params(model, writeback=False):
        return {n.replace("_fsdp_wrapped_module.", ""): p.detach().clone() for n, p in model.named_parameters()}


def summed(number, op=dist.ReduceOp.SUM):
    dist.all_reduce(number, op=op)
    return number.item()


def clip(model, buffers, truth, rank, step):
    # Numbers that are no norms: tokens, a loss, and whether there is an Inf.
    summed(torch.tensor([16.0]))
    summed(torch.tensor([0.25 + rank]))
    summed(torch.zeros(1), dist.ReduceOp.MAX)
    if buffers:
        # As Megatron does it: the sum becomes a number, and the root of that is taken.
        norm = summed(torch.stack([s.grad.norm() for _, s, _, _ in buffers.shards]).square().sum()) ** 0.5
        for _, s, _, _ in buffers.shards:
            s.grad.mul_(min(1.0, 0.1 / (norm + 1e-6)))
    elif hasattr(model, "clip_grad_norm_"):
        norm = model.clip_grad_norm_(0.1)
    else:
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        norm = norm.full_tensor()
    # A sum of one number that is no norm.
    dist.all_reduce(torch.ones(1))
    if not truth:
        return
    mean = [g.clone() for g in truth.unreduced.values()]
    for g in mean:
        dist.all_reduce(g)
        g /= dist.get_world_size()
    exact = math.sqrt(sum(float(g.double().square().sum()) for g in mean))
    assert abs(float(norm) / exact - 1) < 1e-5, (float(norm), exact)
    truth.rows.append(["norm", "", step, None, {"value": exact}])


def parts_of(how, model, sharded, buffers):
    if how == "megatron":
        return [(s, [(n, None)]) for n, s, _, _ in buffers.shards]
    if how == "fsdp1":
        flat = [p for _, p in model.named_parameters()]
        return [(p, [(n, w) for n, w in sharded.place(u).items() if w]) for p, u in zip(flat, sharded.units())]
    return [(p, [(n.replace("_fsdp_wrapped_module.", ""), None)]) for n, p in model.named_parameters()]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--truth")
    a.add_argument("--steps", type=int, default=4)
    a.add_argument("--nan", type=int, default=-1)
    a.add_argument("--clip", action="store_true")
    a.add_argument("how")
    args = a.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    model = Net()
    plain = copy.deepcopy(model) if args.truth else None
    sharded = Sharded(args.how, model, rank, size)
    buffers = Buffers(model, rank, size) if args.how == "megatron" else None
    poison = [False]

    def spoil(g):
        if poison[0]:
            g = g.clone()
            g.view(-1)[4] = float("nan")
        return g

    if not buffers:
        model = {"fsdp1": fsdp1, "fsdp1_orig": lambda m: fsdp1(m, True), "fsdp2": fsdp2}[args.how](model)
    if args.nan >= 0 and buffers:
        dict(model.named_parameters())["layers.1.down.weight"].register_hook(spoil)
    optimizer = torch.optim.Adam([s for _, s, _, _ in buffers.shards] if buffers else model.parameters(), lr=1e-2)
    parts = parts_of(args.how, model, sharded, buffers)
    truth = ShardTruth(optimizer, parts) if args.truth else None
    # In runs of both kinds the same is computed: the copy is what the truth needs alone.
    for step in range(args.steps):
        if not buffers:
            optimizer.zero_grad()
        if truth:
            plain.load_state_dict(full_weights(args.how, model, plain))
            truth.unreduced = copy_gradients(plain, step, rank, sharded.shapes)
        poison[0] = step == args.nan and rank == 1
        loss = loss_of(model, step, rank)
        loss.backward()
        if buffers:
            buffers.reduce()
        if args.clip:
            clip(model, buffers, truth, rank, step)
        if truth:
            truth.before(optimizer)
        optimizer.step()
        if truth:
            truth.after(optimizer)
        params = [p for g in optimizer.param_groups for p in g["params"]]
        print(f"rank {rank} step {step} loss {loss.item():.17g} weights {digest(local(p) for p in params)} "
              f"gradients {digest(local(p.grad) for p in params if p.grad is not None)} random {digest([torch.get_rng_state()])}",
              flush=True)
        if buffers:
            buffers.gather()
    if truth:
        with open(f"{args.truth}/rank{rank}.json", "w") as f:
            json.dump(truth.rows, f)
    dist.barrier()
    dist.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    main()
