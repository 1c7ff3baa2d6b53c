# SPDX-License-Identifier: Apache-2.0
"""Collectives of PaddlePaddle on the CPU, 2 processes, each result printed in hexadecimal: PADDLE_TRAINER_ID and its relatives."""
import os

import numpy as np
import paddle
import paddle.distributed as dist

paddle.set_device("cpu")
dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()


def show(what, *tensors):
    print(f"rank {rank} {what}:", *(x.hex() for t in tensors for x in t.numpy().astype(np.float64).ravel().tolist()), flush=True)


def numbers(n):
    return paddle.to_tensor(np.arange(1, n + 1, dtype=np.float32) * (rank + 1) / 3)


x = numbers(6)
dist.all_reduce(x)
show("all_reduce", x)
x = numbers(4)
dist.broadcast(x, src=1)
show("broadcast", x)
parts = []
dist.all_gather(parts, numbers(3))
show("all_gather", *parts)
x = numbers(5)
dist.reduce(x, dst=0)
if rank == 0:
    show("reduce", x)
x = paddle.zeros([2], dtype="float32")
dist.scatter(x, [numbers(2), numbers(2) * 2] if rank == 0 else None, src=0)
show("scatter", x)
dist.barrier()

# A training: the gradients of a linear layer, averaged by DataParallel.
paddle.seed(7)
layer = paddle.nn.Linear(8, 2)
model = paddle.DataParallel(layer)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for step in range(3):
    data = paddle.to_tensor(np.linspace(rank, rank + 1, 32, dtype=np.float32).reshape(4, 8))
    loss = (model(data) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    show(f"loss {step}", loss)
show("weights", layer.weight, layer.bias)
