# SPDX-License-Identifier: Apache-2.0
"""
A mixture of experts in MindSpore on the CPU, four steps, with routers of several forms. `ms_experts.py TRUTH [--mode pynative|graph|jit]
[--recompute]` writes lines `step kind name value` by msprobe's and MindSpore Transformers' formulas, with NumPy in float64, from the logits
and chosen experts that the network returns and the weights before the step. Prints losses with all digits and a checksum of the weights.
Forms: a Dense cell, softmax and top-k; a parameter, cast, sigmoid and a bias before top-k (MindSpore Transformers' TopKRouter); groups
of experts chosen first, the others masked, by a transposed weight; one expert a token.
"""
import math
import sys
import zlib

import numpy as np

import mindspore as ms
from mindspore import nn, ops

mode = sys.argv[sys.argv.index("--mode") + 1] if "--mode" in sys.argv else "pynative"
TOKENS, WIDTH, EXPERTS, TOP, CAPACITY = 40, 16, 6, 2, 1.1
ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE, device_target="CPU")
ms.set_seed(3)
random = np.random.default_rng(5)


def normal(*shape):
    return ms.Tensor(random.normal(0, 1, shape).astype(np.float32))


class Router(nn.Cell):
    """Gives logits [tokens, experts] and the chosen experts [tokens, top]."""

    def __init__(self, form):
        super().__init__()
        self.form, self.topk = form, ops.TopK(sorted=True)
        self.weight = ms.Parameter(normal(EXPERTS, WIDTH), name="weight")
        self.bias = ms.Parameter(normal(EXPERTS) / 4, name="bias", requires_grad=False)
        self.one = ms.Tensor(1.0, ms.float32)

    def construct(self, x):
        if self.form == "biased":
            logits = ops.dense(x, self.weight.astype(ms.float16).astype(ms.float32))
            return logits, self.topk(ops.sigmoid(logits) + self.bias, TOP)[1]
        logits = ops.matmul(x, self.weight.T)
        if self.form == "single":
            return logits, ops.argmax(logits, -1).reshape((TOKENS, 1))
        scores = ops.softmax(logits, -1)
        groups = scores.reshape((TOKENS, 2, EXPERTS // 2))
        best = self.topk(self.topk(groups, 2)[0].sum(-1), 1)[1]
        chosen = ops.one_hot(best.reshape((TOKENS,)), 2, self.one, self.one * 0)
        mask = ops.broadcast_to(chosen.reshape((TOKENS, 2, 1)), (TOKENS, 2, EXPERTS // 2)).reshape((TOKENS, EXPERTS))
        return logits, self.topk(ops.masked_fill(scores, mask < 0.5, 0.0), TOP)[1]


class Block(nn.Cell):
    def __init__(self, form):
        super().__init__()
        self.dense, self.topk = form == "dense", ops.TopK(sorted=True)
        if self.dense:
            self.gate = nn.Dense(WIDTH, EXPERTS, has_bias=False)
        else:
            self.router = Router(form)
        self.up = ms.Parameter(normal(EXPERTS, WIDTH, WIDTH) / WIDTH, name="up")
        self.down = nn.Dense(2 * WIDTH, WIDTH)  # looks like a router with 16 experts, and is none

    def construct(self, x):
        if self.dense:
            logits = self.gate(x)
            index = self.topk(ops.softmax(logits, -1), TOP)[1]
        else:
            logits, index = self.router(x)
        weight = ops.gather_elements(ops.softmax(logits, -1), 1, index.astype(ms.int32))
        experts = ops.gather(self.up, index.astype(ms.int32), 0)
        y = ops.matmul(experts, x.reshape((TOKENS, 1, WIDTH, 1))).reshape((TOKENS, -1, WIDTH))
        x = x + (weight.expand_dims(-1) * y).sum(1)
        return x + self.down(ops.concat((x, x * x), 1)), logits, index


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Block(f) for f in ("dense", "biased", "grouped", "single")])

    def construct(self, x):
        told = ()
        for layer in self.layers:
            x, logits, index = layer(x)
            told += (logits, index)
        return (x * x).mean(), told


net = Net()
if "--recompute" in sys.argv:
    net.layers[0].recompute()
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01)


class Step(nn.Cell):
    def __init__(self):
        super().__init__(auto_prefix=False)
        self.net, self.optimizer = net, optimizer
        self.grad = ms.value_and_grad(net, None, optimizer.parameters, has_aux=True)

    def construct(self, x):
        (loss, told), g = self.grad(x)
        self.optimizer(g)
        return loss, told


step_of = Step()


@ms.jit
def compiled(x):
    return step_of(x)


run = compiled if mode == "jit" else step_of
truth = open(sys.argv[1], "w")
step = 0


def note(kind, name, value):
    print(step, kind, name, repr(float(value)), file=truth)


def note_router(name, weight, logits, index):
    w = weight.astype(np.float64)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    pairs = [w[i] @ w[j] for i in range(EXPERTS) for j in range(i + 1, EXPERTS)]
    note("router_similarity", name, sum(pairs) / len(pairs))
    z = logits.astype(np.float64)
    p = np.exp(z - z.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    note("expert_entropy", name, -(p * np.log(p)).sum(-1).mean())
    counts = np.bincount(index.flatten().astype(int), minlength=EXPERTS)
    for i, n in enumerate(counts):
        note("tokens_per_expert", f"{name}/expert_{i}", n)
    f = counts / counts.sum()
    note("expert_balance", f"{name}/drop_rate", np.maximum(f - CAPACITY / EXPERTS, 0).sum())
    note("expert_balance", f"{name}/utilization_min", f.min() * EXPERTS)
    note("expert_balance", f"{name}/utilization_max", f.max() * EXPERTS)
    note("expert_balance", f"{name}/cv", f.std(ddof=1) / f.mean())
    note("expert_balance", f"{name}/dead_share", (counts == 0).mean())
    note("expert_balance", f"{name}/diversity", math.exp(-sum(x * math.log(x) for x in f if x)) / EXPERTS)


for step in range(4):
    routers = [layer.gate if layer.dense else layer.router for layer in net.layers]
    weights = [r.weight.asnumpy().copy() for r in routers]
    loss, told = run(normal(TOKENS, WIDTH))
    for i, w in enumerate(weights):
        note_router(f"layers.{i}.{'router' if i else 'gate'}", w, told[2 * i].asnumpy(), told[2 * i + 1].asnumpy())
    sys.stdout.write(f"step {step} {loss.asnumpy()!r}\n")
truth.close()
print("weights", zlib.crc32(b"".join(p.asnumpy().tobytes() for p in net.trainable_params())))
