# SPDX-License-Identifier: Apache-2.0
"""
A training with MindSpore whose step is a cell of one's own, which has network and optimizer as members and so gives their parameters
names of its own ("opt.fc1.weight", "opt.moment1.fc1.weight").

    ms_train_cell.py FOLDER [--mode pynative|graph|jit] [--members opt|net|plain] [--optimizer adam|momentum|sgd|two]
                     [--clip global|each|none] [--ranks N] [--steps N] [--late SECONDS]

--members   which of both the cell gets last, whose name is in front then; plain: it gives them no names
--optimizer two: one of the body and one of the head
--late      rank 1 sleeps in front of each step but the first

FOLDER gets truth_<rank>.json: of each step loss, norms of each gradient before it is reduced and of all of them before they are clipped,
norms of weights and moments, all by numpy; in PYNATIVE mode also the ms that the optimizer's call took. Each rank prints losses and a sum
over its weights with all digits.
"""
import argparse
import json
import os
import sys
import time

import numpy as np

import mindspore as ms
from mindspore import Tensor, nn, ops

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--mode", choices=("pynative", "graph", "jit"), default="pynative")
parser.add_argument("--members", choices=("opt", "net", "plain"), default="opt")
parser.add_argument("--optimizer", choices=("adam", "momentum", "sgd", "two"), default="adam")
parser.add_argument("--clip", choices=("global", "each", "none"), default="global")
parser.add_argument("--ranks", type=int, default=1)
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--late", type=float, default=0)
args = parser.parse_args()
ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE, device_target="CPU")
rank = 0
if args.ranks > 1:
    from mindspore.communication import get_rank, init

    init()
    if os.environ.get("MS_ROLE") == "MS_SCHED":
        sys.exit(0)
    rank = get_rank()
ms.set_seed(1)
np.random.seed(1)
took = []


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(32, 16)
        self.norm = nn.LayerNorm((16,))
        self.fc1 = nn.Dense(16, 24)
        self.head = nn.Dense(24, 32)

    def construct(self, tokens):
        return self.head(ops.tanh(self.fc1(self.norm(self.embedding(tokens)))))


class Both(nn.Cell):
    def __init__(self, one, other):
        super().__init__(auto_prefix=False)
        self.one, self.other, self.n = one, other, len(one.parameters)
        self.parameters = ms.ParameterTuple(list(one.parameters) + list(other.parameters))

    def construct(self, grads):
        return ops.depend(self.other(grads[self.n :]), self.one(grads[: self.n]))


class Step(nn.Cell):
    def __init__(self, net, opt):
        super().__init__(auto_prefix=args.members != "plain")
        if args.members == "net":
            self.opt = opt
            self.net = net
        else:
            self.net = net
            self.opt = opt
        self.loss = nn.CrossEntropyLoss()
        self.reduce = ops.AllReduce() if args.ranks > 1 else None
        self.clip = args.clip
        self.gradients = ms.value_and_grad(self.forward, None, opt.parameters)

    def forward(self, tokens, labels):
        return self.loss(self.net(tokens).reshape((-1, 32)), labels.reshape((-1,)))

    def reduced(self, grads):
        if self.reduce is None:
            return grads
        out = ()
        for grad in grads:
            out += (self.reduce(grad) / float(args.ranks),)
        return out

    def clipped(self, grads):
        if self.clip == "global":
            return ops.clip_by_global_norm(grads, 1.0)
        if self.clip == "each":
            out = ()
            for grad in grads:
                norm = ops.sqrt(ops.reduce_sum(ops.square(grad)))
                out += (grad * (0.1 / ops.maximum(norm, Tensor(0.1, ms.float32))),)
            return out
        return grads

    def update(self, grads):
        return self.opt(grads)

    def construct(self, tokens, labels):
        loss, grads = self.gradients(tokens, labels)
        reduced = self.reduced(grads)
        return ops.depend(loss, self.update(self.clipped(reduced))), grads, reduced


class TimedStep(Step):
    def update(self, grads):
        [g.asnumpy() for g in grads]
        began = time.perf_counter()
        done = self.opt(grads)
        [p.asnumpy() for p in self.opt.parameters]
        took.append((time.perf_counter() - began) * 1e3)
        return done


def norm(t):
    return float(np.linalg.norm(t.asnumpy().astype(np.float64)))


def optimizer_of(parameters, kind):
    if kind == "adam":
        return nn.Adam(parameters, learning_rate=1e-2)
    if kind == "sgd":
        return nn.SGD(parameters, learning_rate=1e-2)
    return nn.Momentum(parameters, 1e-2, 0.9)


net = Net()
if args.optimizer == "two":
    body = [p for p in net.trainable_params() if not p.name.startswith("head")]
    head = [p for p in net.trainable_params() if p.name.startswith("head")]
    opt = Both(optimizer_of(body, "adam"), optimizer_of(head, "momentum"))
    adams = [opt.one]
else:
    opt = optimizer_of(net.trainable_params(), args.optimizer)
    adams = [opt] if args.optimizer == "adam" else []
step = (TimedStep if args.mode == "pynative" else Step)(net, opt)
if args.mode == "jit":
    step = ms.jit(step)
random = np.random.RandomState(10 + rank)
truth = []
for s in range(args.steps):
    tokens = random.randint(0, 32, (4, 8)).astype(np.int32)
    labels = random.randint(0, 32, (4, 8)).astype(np.int32)
    if s and rank == 1:
        time.sleep(args.late)
    loss, grads, reduced = step(Tensor(tokens), Tensor(labels))
    truth.append({
        "loss": float(loss.asnumpy()),
        "local_norm": {p.name: norm(g) for p, g in zip(opt.parameters, grads)},
        "grad-norm": float(np.sqrt(sum(norm(g) ** 2 for g in reduced))),
        "weights": {p.name: norm(p) for p in opt.parameters},
        "adam_m_norm": {p.name: norm(m) for a in adams for p, m in zip(a.parameters, a.moment1)},
        "adam_v_norm": {p.name: norm(v) for a in adams for p, v in zip(a.parameters, a.moment2)},
        "optimizer-time": took[-1] if took else None,
    })
    sys.stdout.write(f"step {s:3}  rank {rank}  loss {truth[-1]['loss']:.17g}\n")
with open(os.path.join(args.folder, f"truth_{rank}.json"), "w") as f:
    json.dump(truth, f)
total = sum(float(p.asnumpy().astype(np.float64).sum()) for p in net.trainable_params())
sys.stdout.write(f"rank {rank}  weights {total:.17g}\n")
