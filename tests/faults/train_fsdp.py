# SPDX-License-Identifier: Apache-2.0
"""
A training with sharded weights in PyTorch (FSDP2) with one fault in it (injected.py).

Each step: all_gathers of the weights and reduce_scatters of the gradients by fully_shard, an all_reduce of the loss, one of a count; every
fourth step an evaluation.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from injected import SEED, STEPS, average, due, hold_up


def count_samples(n):
    t = torch.tensor([n], dtype=torch.int64)
    dist.all_reduce(t)


def batch_of(step):
    g = torch.Generator().manual_seed(SEED * 7919 + step * 64 + dist.get_rank())
    return torch.randn(16, 8, generator=g)


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
    mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(STEPS):
        x = batch_of(step)
        hold_up(step)
        if due("nan", step):
            x[3, 2] = float("nan")
        if due("inf", step):
            x[3, 2] = float("inf")
        loss = model(x).square().mean()
        if due("spike", step):
            loss = loss * 1e7
        optimizer.zero_grad()
        loss.backward()
        if due("order", step):
            count_samples(len(x))
            average(loss, step)
        else:
            average(loss, step)
            count_samples(len(x))
        optimizer.step()
        if step % 4 == 3:
            with torch.no_grad():
                average(model(batch_of(1000 + step)).square().mean(), -1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
