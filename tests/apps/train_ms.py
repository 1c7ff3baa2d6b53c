# SPDX-License-Identifier: Apache-2.0
"""
A small data-parallel training with MindSpore on the CPU, for a first look at what libprobe records: a convolutional network
learns hand-written digits (tests/apps/data).

    LD_PRELOAD=/path/libprobe.so msrun --worker_num=2 --local_worker_num=2 --join=True tests/apps/train_ms.py

    --steps N          optimizer steps (default 20)
    --batch N          images of a rank in a step (default 32)
    --mode M           pynative (default), jit: the step is one graph, or graph: all is
    --nan-at STEP:RANK one pixel of that rank is -2 in that step, and its logarithm is taken: NaN
    --slow STEP:RANK   that rank is late by --delay from that step on
    --delay SECONDS    (default 0.2)

Rank 0 prints its loss of each step with all digits, and each rank a sum over its weights at the end, so that two runs can be compared.
"""
import argparse
import gzip
import os
import sys
import time

import numpy as np

import mindspore as ms
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "optdigits.csv.gz")


def place(text):
    step, rank = text.split(":")
    return int(step), int(rank)


def options():
    parser = argparse.ArgumentParser(description="A small data-parallel training with MindSpore on the CPU.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--mode", choices=("pynative", "jit", "graph"), default="pynative")
    parser.add_argument("--nan-at", type=place, metavar="STEP:RANK")
    parser.add_argument("--slow", type=place, metavar="STEP:RANK")
    parser.add_argument("--delay", type=float, default=0.2, metavar="SECONDS")
    return parser.parse_args()


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, has_bias=True)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.head = nn.Dense(8 * 8 * 8, 10)

    def construct(self, x):
        return self.head(self.flatten(self.relu(self.conv(features(x)))))


def features(x):
    """Ink on a logarithmic scale."""
    return ops.log(x + 1.0)


class TrainStep(nn.Cell):
    """Forward, backward, gradients averaged over all ranks, update."""

    def __init__(self, net, optimizer):
        super().__init__()
        self.net = net
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = optimizer
        self.all_reduce = ops.AllReduce()
        self.size = float(get_group_size())
        self.grad = ms.value_and_grad(self.forward, None, optimizer.parameters)

    def forward(self, x, y):
        return self.loss(self.net(x), y)

    def reduce(self, grads):
        reduced = ()
        for grad in grads:
            reduced += (self.all_reduce(grad) / self.size,)
        return reduced

    def construct(self, x, y):
        loss, grads = self.grad(x, y)
        self.optimizer(self.reduce(grads))
        return loss


def load_digits():
    with gzip.open(DATA, "rt") as f:
        table = np.loadtxt(f, delimiter=",", dtype=np.float32)
    return table[:, :64].reshape(-1, 1, 8, 8), table[:, 64].astype(np.int32)


def batch_of(data, step, rank, args):
    """The same in each run."""
    chosen = np.random.default_rng(1000 * step + rank).integers(0, len(data[0]), args.batch)
    x = data[0][chosen].copy()
    if args.nan_at == (step, rank):
        x[3, 0, 4, 4] = -2
    return ms.Tensor(x), ms.Tensor(data[1][chosen])


def same_weights(net):
    """Those of rank 0, on all ranks."""
    broadcast = ops.Broadcast(0)
    for parameter in net.trainable_params():
        parameter.set_data(broadcast((parameter.value(),))[0])


def main():
    args = options()
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE, device_target="CPU")
    init()
    rank = get_rank()
    ms.set_seed(1 + rank)
    data = load_digits()
    net = Net()
    same_weights(net)
    step_cell = TrainStep(net, nn.Momentum(net.trainable_params(), 0.01, 0.9))
    train_step = ms.jit(step_cell) if args.mode == "jit" else step_cell
    for step in range(args.steps):
        if args.slow and step >= args.slow[0] and rank == args.slow[1]:
            time.sleep(args.delay)  # what a slow disk or a hot processor does
        loss = train_step(*batch_of(data, step, rank, args))
        if rank == 0:
            sys.stdout.write(f"step {step:3}  loss {float(loss.asnumpy()):.17g}\n")
            sys.stdout.flush()
    total = sum(float(p.asnumpy().astype(np.float64).sum()) for p in net.trainable_params())
    sys.stdout.write(f"rank {rank}  weights {total:.17g}\n")


if __name__ == "__main__":
    main()
