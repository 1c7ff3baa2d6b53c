# SPDX-License-Identifier: Apache-2.0
"""
Operators of MindSpore on the CPU, called one by one, in a compiled function and in a training, and what MindSpore itself says of their
tensors (asnumpy()).

    ms_kernels.py [--truth FILE] [--graph]

FILE: a list of kernels as tests/long/ms_truth.py reads it. Prints results with all digits, so that two runs can be compared.
"""
import json
import math
import sys

import numpy as np

import mindspore as ms
from mindspore import mint, nn, ops

graph = "--graph" in sys.argv
truth = sys.argv[sys.argv.index("--truth") + 1] if "--truth" in sys.argv else None
ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE, device_target="CPU")
ms.set_seed(3)
random = np.random.default_rng(5)
kernels = []


def measured(t):
    a = t.asnumpy() if isinstance(t, ms.Tensor) else np.asarray(t)
    shape = list(a.shape)
    name = str(a.dtype)
    a = a.astype(np.float64).ravel()
    good = a[np.isfinite(a)]
    whole = len(good) == len(a)
    some = [good.min(), good.max(), good.mean(), math.sqrt(float((good * good).sum()))] if whole and len(good) else [None] * 4
    return {"shape": shape, "dtype": name, "values": some, "nans": int(np.isnan(a).sum()), "infs": int(np.isinf(a).sum())}


def note(op, given, got, **more):
    kernels.append({"op": op, "in": [measured(t) for t in given], "out": [measured(t) for t in got], **more})


def say(text, *tensors):
    for t in tensors:
        sys.stdout.write(f"{text} {t.asnumpy().tobytes().hex()[:128]}\n")


def tensor(*shape, dtype=np.float32):
    return ms.Tensor((4 * random.standard_normal(shape)).astype(dtype))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(6, 5)
        self.second = nn.Dense(5, 3)

    def construct(self, x):
        return self.second(ops.relu(self.first(x)))


def one_by_one():
    x, w, v = tensor(4, 6), tensor(6, 3), tensor(3, 4)
    y = ops.matmul(x, w)
    note("MatMul", [x, w], [y])
    z = ops.exp(y)
    note("Exp", [y], [z])
    n = ops.log(y)  # of negative numbers, too
    note("Log", [y], [n])
    i = ms.Tensor(np.arange(-7, 9).reshape(2, 8).astype(np.int32))
    a = ops.abs(i)
    note("Abs", [i], [a])
    h = ops.cast(x, ms.float16)
    note("Cast", [x], [h])
    s = ops.neg(tensor(2, 3, 2, 1, 4))
    note("Neg", [], [s])
    t = ops.sigmoid(v.T)  # a view: its strides are not those of its shape
    note("Sigmoid", [v.T], [t])
    e = ops.tanh(ms.Tensor(np.float64(0.25)))
    note("Tanh", [ms.Tensor(np.float64(0.25))], [e])
    say("one by one", y, z, n, a, h, s, t, e)


@ms.jit
def compiled(x, w):
    return ops.sin(ops.matmul(x, w))


def in_a_graph():
    x, w = tensor(3, 7), tensor(7, 2)
    y = compiled(x, w)
    note("MatMul", [x, w], [])
    note("Sin", [], [y])
    say("in a graph", y)


def training():
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01)
    loss_of = nn.CrossEntropyLoss()

    def forward(x, y):
        return loss_of(net(x), y)

    grad = ms.value_and_grad(forward, None, optimizer.parameters)
    for step in range(3):
        x, y = tensor(8, 6), ms.Tensor(random.integers(0, 3, 8).astype(np.int32))
        before = [p.asnumpy().copy() for p in net.trainable_params()]
        loss, grads = grad(x, y)
        optimizer(grads)
        for p, b, g in zip(net.trainable_params(), before, grads):
            note("Adam", [b, g], [p], step=step, phase="optimizer")
        say(f"step {step}", loss, *net.trainable_params())


one_by_one()
in_a_graph()
training()
if truth:
    with open(truth, "w") as f:
        json.dump(kernels, f)
