# SPDX-License-Identifier: Apache-2.0
"""
A training with MindSpore (PYNATIVE) that writes checkpoints, and knows itself which of them are healthy.

    ms_ckpts.py FOLDER NUMBERS [--ranks 2]     NUMBERS: `name step rank sum-of-squares` of each checkpoint, the sum of its embedding's
                                               gradient in that step on that rank; .<rank> is put after its name

In steps 9 to 11 the embedding's gradient of the last rank is large. Each rank prints its losses and weights with all digits.
"""
import os
import sys
import time

import numpy as np

import mindspore as ms
from mindspore import nn, ops

# Without init() msrun's scheduler runs the whole script, and would write the same files.
if os.environ.get("MS_ROLE") == "MS_SCHED" and "--ranks" not in sys.argv:
    sys.exit(0)
folder, numbers = sys.argv[1], sys.argv[2]
ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
rank, ranks = 0, 1
if "--ranks" in sys.argv:
    from mindspore.communication import get_group_size, get_rank, init

    init()
    rank, ranks = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=ranks)
os.makedirs(folder, exist_ok=True)
ms.set_seed(3)
random = np.random.default_rng(5 + rank)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(20, 8)
        self.head = nn.Dense(32, 4)

    def construct(self, x):
        return self.head(self.embed_tokens(x).reshape((16, 32)))


net = Net()
optimizer = nn.Momentum(net.trainable_params(), learning_rate=1e-6, momentum=0.9)
names = [p.name for p in optimizer.parameters]
reducer = nn.DistributedGradReducer(optimizer.parameters) if ranks > 1 else None


def forward(x, scale):
    return ops.square(net(x)).mean() * scale


grad = ms.value_and_grad(forward, None, optimizer.parameters)
with open(f"{numbers}.{rank}", "w") as say:
    for step in range(16):
        bad = 9 <= step <= 11 and rank == ranks - 1
        x = ms.Tensor(random.integers(0, 20, (16, 4)).astype(np.int32))
        loss, grads = grad(x, ms.Tensor(np.float32(5000 if bad else 0.1)))
        g = grads[[i for i, n in enumerate(names) if "embed" in n][0]].asnumpy().astype(np.float64)
        optimizer(reducer(grads) if reducer else grads)
        sys.stdout.write(f"step {step:2}  rank {rank}  loss {float(loss.asnumpy()):.17g}\n")
        weights = sum(float(np.abs(p.asnumpy().astype(np.float64)).sum()) for p in optimizer.parameters)
        time.sleep(0.1)  # a file's time is only good to some ms
        if step % 2 == 0 and step:
            if not rank:
                ms.save_checkpoint(net, f"{folder}/net-{step:02}.ckpt")
            say.write(f"net-{step:02}.ckpt {step} {rank} {float((g * g).sum()):.17g}\n")
            time.sleep(0.1)
        if ranks > 1:
            ops.AllReduce()(ms.Tensor(np.float32(step))).asnumpy()  # a checkpoint belongs to a step that all ranks have ended
    sys.stdout.write(f"rank {rank}  weights {weights:.17g}\n")
time.sleep(1.5)  # files are looked for once a second
