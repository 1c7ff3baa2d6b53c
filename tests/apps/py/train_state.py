# SPDX-License-Identifier: Apache-2.0
"""
A training with DistributedDataParallel on the CPU whose parameters, gradients and optimizer state are known by other means: by
hooks and a wrapper around the optimizer's step of its own, computed by PyTorch and NumPy in double.

    torchrun --nproc_per_node=2 tests/apps/py/train_state.py [--truth DIR]

    --truth DIR         write DIR/rank<R>.json: a list of [kind, name, step, micro_step, {column: value}]
    --optimizer NAME    adam (default), adamw, amsgrad, sgd, lbfgs, gan
    --accumulate N      micro steps (default 1)
    --scaled            the loss is scaled, the gradients are unscaled and clipped before the step
    --steps N           (default 6)
    --gpt               GPT2LMHeadModel of Hugging Face's transformers, small, with random weights, instead of a network of its own

Prints losses, a digest of weights and gradients, and of random states: two runs can be compared bit by bit.
"""
import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import sys

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

EPS = 1e-8


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--truth")
    p.add_argument("--optimizer", default="adam")
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--scaled", action="store_true")
    p.add_argument("--steps", type=int, default=6)
    p.add_argument("--gpt", action="store_true")
    return p.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 32), nn.Linear(32, 32)])
        self.norm = nn.LayerNorm(32)
        self.frozen = nn.Linear(32, 32)
        self.head = nn.Linear(32, 1)
        self.frozen.requires_grad_(False)

    def forward(self, x):
        x = torch.relu(self.layers[0](x))
        x = torch.dropout(self.norm(self.layers[1](x)), 0.1, True)
        return self.head(x + self.frozen(x))


class Gpt(nn.Module):
    """Its words come from the numbers that Net is given; one number comes out for each row."""

    def __init__(self):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel
        self.gpt = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=50, n_positions=16))

    def forward(self, x):
        return self.gpt((x.abs() * 16).long() % 50).logits.mean(dim=(1, 2)).unsqueeze(1)


def statistics(t):
    a = t.detach().double().flatten().numpy()
    finite = a[~numpy.isnan(a)]
    return {"min": finite.min(), "max": finite.max(), "mean": finite.mean(), "norm": math.sqrt((finite * finite).sum()),
            "zeros": (abs(a) < EPS).mean(), "nans": int(numpy.isnan(a).sum()), "infs": int(numpy.isinf(a).sum())}


class Truth:
    """What each kind is, by its definition, independent of libprobe."""

    def __init__(self, model, prefix=""):
        self.model, self.prefix, self.rows, self.step, self.micro = model, prefix, [], 0, 0
        self.unreduced = {}
        self.nodes = []  # before 2.1: those that accumulate live as long as there is a reference
        for name, p in self.named():
            if hasattr(p, "register_post_accumulate_grad_hook"):
                p.register_post_accumulate_grad_hook(lambda p, name=name: self.accumulated(name, p))
                continue
            self.nodes.append(p.expand_as(p).grad_fn.next_functions[0][0])
            self.nodes[-1].register_hook(lambda *_, name=name, p=p: self.accumulated(name, p))

    def named(self):
        return [(self.prefix + n, p) for n, p in self.model.named_parameters() if p.requires_grad]

    def add(self, kind, name, values, micro=None):
        self.rows.append([kind, name, self.step, micro, {k: float(v) for k, v in values.items()}])

    def accumulated(self, name, p):
        self.unreduced[name] = statistics(p.grad)
        self.add("micro", name, self.unreduced[name], self.micro)

    def before(self, optimizer):
        for name, p in self.named():
            self.add("param_origin", name, statistics(p))

    def gradients(self, optimizer):
        names = {p: n for n, p in self.named()}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p not in names or p.grad is None:
                    continue
                name, state = names[p], optimizer.state.get(p, {})
                if name in self.unreduced:
                    self.add("grad_unreduced", name, self.unreduced[name])
                self.add("grad_reduced", name, statistics(p.grad))
                for key, t in state.items():
                    if torch.is_tensor(t) and t.dim():
                        self.add(key, name, statistics(t))
                if "betas" in group:
                    self.adam(name, p, group, state)
        self.unreduced = {}

    def adam(self, name, p, group, state):
        if "exp_avg" not in state:
            self.add("mg_direction", name, {"value": 1})
            return
        m, v, g = (t.detach().double() for t in (state["exp_avg"], state["exp_avg_sq"], p.grad))
        self.add("mg_direction", name, {"value": ((torch.sign(g) * torch.sign(m)).sum() / m.numel() + 1) / 2})
        beta1, beta2, t = *group["betas"], float(state["step"])
        m, v = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
        update, ratio = m / (v.sqrt() + group["eps"]), m / v.sqrt()
        bins = {}
        for what, x in (("update", update), ("ratio", ratio)):
            x = x[(x >= -1) & (x <= 1)]
            for i, n in enumerate(torch.histc(x, 30, -1, 1).tolist()):
                bins[f"{what}_{i}"] = n
        self.add("ur_distribution", name, bins)
        self.add("update_ratio", name, {"value": update.norm() / p.detach().double().norm()})

    def after(self, optimizer):
        for name, p in self.named():
            self.add("param_updated", name, statistics(p))
        self.step += 1


def make_optimizer(name, parameters):
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    if name == "amsgrad":
        return torch.optim.Adam(parameters, lr=1e-2, amsgrad=True)
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-2)
    if name == "lbfgs":
        return torch.optim.LBFGS(parameters, lr=0.5, max_iter=3, history_size=4)
    return torch.optim.Adam(parameters, lr=1e-2, foreach=name == "foreach")


def batch_of(step, micro, rank):
    g = torch.Generator().manual_seed(10000 * step + 100 * micro + rank)
    x = torch.randn(16, 4, generator=g)
    return x, (x.norm(dim=1) > 1.8).float().unsqueeze(1)


def digest(tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(t.detach().contiguous().numpy().tobytes())
    return h.hexdigest()[:16]


def print_states(rank, model):
    python = hashlib.sha256(repr(random.getstate()).encode()).hexdigest()[:16]
    ours = hashlib.sha256(numpy.random.get_state()[1].tobytes()).hexdigest()[:16]
    sys.stdout.write(f"rank {rank} weights {digest(model.parameters())} "
                     f"gradients {digest(p.grad for p in model.parameters() if p.grad is not None)} "
                     f"random {digest([torch.get_rng_state()])} {python} {ours}\n")


def backward(model, loss, args, micro):
    last = micro == args.accumulate - 1
    with contextlib.nullcontext() if last else model.no_sync():
        (loss * (1024 if args.scaled else 1) / args.accumulate).backward()


def one_step(model, optimizer, truth, step, rank, args):
    optimizer.zero_grad()
    for micro in range(args.accumulate):
        x, y = batch_of(step, micro, rank)
        with contextlib.nullcontext() if micro == args.accumulate - 1 else model.no_sync():
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
            if truth:
                truth.micro = micro
            backward(model, loss, args, micro)
    if args.scaled:
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= 1024
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    if truth:
        truth.before(optimizer)
        truth.gradients(optimizer)
    optimizer.step()
    if truth:
        truth.after(optimizer)
    return loss


def closure_step(model, optimizer, truth, step, rank, args):
    x, y = batch_of(step, 0, rank)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        if truth:
            # The last one counts.
            truth.rows = [r for r in truth.rows if r[2] != truth.step or r[0] == "param_origin"]
            truth.gradients(optimizer)
        return loss

    if truth:
        truth.before(optimizer)
    loss = optimizer.step(closure)
    if truth:
        truth.after(optimizer)
    return loss


def main():
    args = options()
    torch.manual_seed(1)
    random.seed(1)
    numpy.random.seed(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(Gpt() if args.gpt else Net())
    optimizer = make_optimizer(args.optimizer, [p for p in model.parameters() if p.requires_grad])
    truth = Truth(model) if args.truth else None
    step_of = closure_step if args.optimizer == "lbfgs" else one_step
    for step in range(args.steps):
        loss = step_of(model, optimizer, truth, step, rank, args)
        sys.stdout.write(f"rank {rank} step {step:3} loss {loss.item():.17g}\n")
        print_states(rank, model)
    if truth:
        with open(f"{args.truth}/rank{rank}.json", "w") as f:
            json.dump(truth.rows, f)
    sys.stdout.flush()
    dist.barrier()
    dist.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    main()
