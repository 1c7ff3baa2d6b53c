# SPDX-License-Identifier: Apache-2.0
"""
Two layers of attention in MindSpore on the CPU, four steps. `ms_attention.py TRUTH ROWS [--mode pynative|graph|jit]` writes lines
`step kind name values`: each head's largest logit, the mean entropy of the first head's rows and the mean of their largest probability,
by NumPy in float64 from the same weights; ROWS: most rows of those two, evenly spaced, 0: all. Prints losses with all digits.
"""
import sys

import numpy as np

import mindspore as ms
from mindspore import nn, ops

ROWS = int(sys.argv[2])
mode = sys.argv[sys.argv.index("--mode") + 1] if "--mode" in sys.argv else "pynative"
B, H, S, D, V = 2, 3, 10, 4, 11
ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE, device_target="CPU")
ms.set_seed(3)
random = np.random.default_rng(5)
MASK = np.where(np.triu(np.ones((S, S)), 1) > 0, -1e9, 0).astype(np.float32)


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Dense(H * D, 3 * H * D), nn.Dense(H * D, H * D)
        self.mask = ms.Tensor(MASK)

    def construct(self, x):
        q, k, v = ops.split(self.qkv(x), H * D, 2)
        q, k, v = [t.reshape((B, S, H, D)).transpose((0, 2, 1, 3)) for t in (q, k, v)]
        p = ops.softmax(ops.matmul(q, k.transpose((0, 1, 3, 2))) * (D**-0.5) + self.mask, -1)
        return x + self.out(ops.matmul(p, v).transpose((0, 2, 1, 3)).reshape((B, S, H * D)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(V, H * D), nn.Dense(H * D, V)
        self.first, self.second = Attention(), Attention()

    def construct(self, t):
        return self.head(self.second(self.first(self.embedding(t))))


net = Net()
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01)


class Step(nn.Cell):
    def __init__(self):
        super().__init__(auto_prefix=False)
        self.net, self.optimizer, self.loss = net, optimizer, nn.CrossEntropyLoss()
        self.grad = ms.value_and_grad(self.forward, None, optimizer.parameters)

    def forward(self, x, y):
        return self.loss(self.net(x).reshape((-1, V)), y)

    def construct(self, x, y):
        loss, g = self.grad(x, y)
        self.optimizer(g)
        return loss


step_of = Step()


@ms.jit
def compiled(x, y):
    return step_of(x, y)


run = compiled if mode == "jit" else step_of


def attend(layer, x, step, number):
    w = {n: p.asnumpy().astype(np.float64) for n, p in layer.parameters_and_names()}
    q, k, v = np.split(x @ w["qkv.weight"].T + w["qkv.bias"], 3, 2)
    q, k, v = [t.reshape(B, S, H, D).transpose(0, 2, 1, 3) for t in (q, k, v)]
    z = q @ k.transpose(0, 1, 3, 2) / np.sqrt(D) + MASK
    for h in range(H):
        print(step, "max_attention_logit", f"softmax_{number}/head_{h}", repr(z[:, h].max()), repr(z[:, h].max()), file=truth)
    p = np.exp(z - z.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    rows = range(S) if not ROWS or ROWS >= S else [(2 * i + 1) * S // (2 * ROWS) for i in range(ROWS)]
    one = p[0, 0][list(rows)]
    entropy = -(one * np.log(np.where(one > 0, one, 1))).sum(-1).mean()
    print(step, "attention_entropy", f"softmax_{number}", repr(entropy), len(rows), S, file=truth)
    print(step, "softmax_max", f"softmax_{number}", repr(one.max(-1).mean()), len(rows), S, file=truth)
    return x + (p @ v).transpose(0, 2, 1, 3).reshape(B, S, H * D) @ w["out.weight"].T + w["out.bias"]


truth = open(sys.argv[1], "w")
for step in range(4):
    tokens = random.integers(0, V, (B, S))
    x = net.embedding.embedding_table.asnumpy().astype(np.float64)[tokens]
    attend(net.second, attend(net.first, x, step, 0), step, 1)
    loss = run(ms.Tensor(tokens.astype(np.int32)), ms.Tensor(random.integers(0, V, B * S).astype(np.int32)))
    sys.stdout.write(f"step {step} {loss.asnumpy()!r}\n")
truth.close()
