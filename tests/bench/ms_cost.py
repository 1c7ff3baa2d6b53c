# SPDX-License-Identifier: Apache-2.0
"""
A step of a network of about 5 million parameters in MindSpore, for tests/bench/ms_cost.sh: 4 blocks, batch 128, Momentum, on the CPU
in PYNATIVE mode. Prints the shortest time of a step in seconds; the first steps are skipped.

    ms_cost.py STEPS [dp | graph]    dp: under msrun, gradients averaged over all ranks; graph: in GRAPH mode, a step is one graph
"""
import sys
import time

import numpy as np

import mindspore as ms
from mindspore import nn, ops
from mindspore.communication import get_group_size, init

WIDTH, LAYERS, BATCH, CLASSES, WARM = 384, 4, 128, 16, 3


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.relu, self.down = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Dense(4 * WIDTH, WIDTH)

    def construct(self, x):
        return x + self.down(self.relu(self.up(self.norm(x))))


def main():
    steps, parallel, graph = int(sys.argv[1]), "dp" in sys.argv, "graph" in sys.argv
    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE, device_target="CPU")
    if parallel:
        init()
    ms.set_seed(1)
    net = nn.SequentialCell(*[Block() for _ in range(LAYERS)], nn.Dense(WIDTH, CLASSES))
    loss = nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train() if graph else None
    gradients = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
    all_reduce = ops.AllReduce() if parallel else None
    size = float(get_group_size()) if parallel else 1.0
    rng = np.random.default_rng(1)
    x = ms.Tensor(rng.standard_normal((BATCH, WIDTH)).astype(np.float32))
    y = ms.Tensor(rng.integers(0, CLASSES, BATCH).astype(np.int32))
    times = []
    for _ in range(steps + WARM):
        begin = time.perf_counter()
        if graph:
            value = train(x, y)
        else:
            value, grads = gradients(x, y)
            if parallel:
                grads = tuple(all_reduce(g) / size for g in grads)
            optimizer(grads)
        value.asnumpy()
        net[0].up.weight.asnumpy()  # the update, too
        times.append(time.perf_counter() - begin)
    print("least", min(times[WARM:]), flush=True)


if __name__ == "__main__":
    main()
