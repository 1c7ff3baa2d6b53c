# SPDX-License-Identifier: Apache-2.0
"""
A training with pipeline stages in PyTorch with one fault in it (injected.py): each rank has some layers.

Each step: two micro-batches forward, their activations from stage to stage by send and recv, then backward, the gradients the other way
round; an all_reduce of the gradients' norm, a broadcast of the loss from the last stage.
"""
import torch
import torch.distributed as dist
from torch import nn

from injected import SEED, STEPS, due, hold_up, since

MICRO, ROWS, WIDTH = 2, 16, 32


def pass_on(t, to, tag, step, micro, was):
    """To another stage, and with the fault that this step is to have."""
    if micro == 0:
        t = t.clone()
        if due("nan", step):
            t[3, 2] = float("nan")
        if due("inf", step):
            t[3, 2] = float("inf")
        if due("spike", step):
            t[3, 2] = 1e7
        if since("zero", step):
            t.zero_()
        if was is not None and due("stale", step):
            t = was
        if due("tag", step):
            tag += 50
        if due("skip", step):
            return t
    dist.send(t, to, tag=tag)
    return t


def main():
    torch.manual_seed(SEED + 1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    stage = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh())
    optimizer = torch.optim.Adam(stage.parameters(), lr=0.003)
    first, last, was = rank == 0, rank == size - 1, None
    for step in range(STEPS):
        g = torch.Generator().manual_seed(SEED * 7919 + step)
        inputs, outputs = [], []
        hold_up(step)
        for m in range(MICRO):
            x = torch.randn(ROWS, WIDTH, generator=g) if first else torch.empty(ROWS, WIDTH)
            if not first:
                dist.recv(x, rank - 1, tag=m)
            inputs.append(x.requires_grad_())
            outputs.append(stage(x))
            if not last:
                sent = pass_on(outputs[m].detach(), rank + 1, m, step, m, was)
                was = sent if m == 0 else was
        optimizer.zero_grad()
        loss = torch.zeros(1)
        for m in range(MICRO):
            if last:
                one = (outputs[m] - 1).square().mean() / MICRO
                loss += one.detach()
                one.backward()
            else:
                back = torch.empty(ROWS, WIDTH)
                dist.recv(back, rank + 1, tag=100 + m)
                outputs[m].backward(back)
            if not first:
                # The last stage has nothing but gradients to pass on.
                sent = inputs[m].grad
                if last:
                    sent = pass_on(sent, rank - 1, 100 + m, step, m, was)
                    was = sent if m == 0 else was
                else:
                    dist.send(sent, rank - 1, tag=100 + m)
        norm = torch.stack([p.grad.square().sum() for p in stage.parameters()]).sum().double()
        dist.all_reduce(norm, op=dist.ReduceOp.MAX if due("redop", step) else dist.ReduceOp.SUM)
        dist.broadcast(loss, src=0 if due("root", step) else size - 1)
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
