# SPDX-License-Identifier: Apache-2.0
"""
Two steps of a training with MindSpore (PYNATIVE, CPU) and three operators by their functions; prints losses and a sum.
`ms_guide.py CONFIG`: with the lines of msprobe's guide, for its configuration file CONFIG.
"""
import sys

import numpy as np

import mindspore as ms
from mindspore import mint, nn, ops

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
ms.set_seed(1234)
random = np.random.default_rng(5)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(6, 5), nn.Dense(5, 3)

    def construct(self, x):
        return self.second(ops.relu(self.first(x)))


net = Net()
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01)
loss_of = nn.CrossEntropyLoss()
grad = ms.value_and_grad(lambda x, y: loss_of(net(x), y), None, optimizer.parameters)
debugger = None
if sys.argv[1:]:
    # Its statistics call a kernel (LinalgVectorNorm) that MindSpore does not have on a CPU.
    mint.norm = lambda t: ms.Tensor(np.linalg.norm(t.asnumpy().astype(np.float64)).astype(np.float32))
    from msprobe.mindspore import PrecisionDebugger

    debugger = PrecisionDebugger(config_path=sys.argv[1])
for step in range(2):
    x = ms.Tensor(random.standard_normal((8, 6)).astype(np.float32))
    y = ms.Tensor(random.integers(0, 3, 8).astype(np.int32))
    if debugger:
        debugger.start(net)
    a = ops.sigmoid(ops.matmul(x, ms.Tensor(np.ones((6, 2), np.float32))))
    loss, gradients = grad(x, y)
    if debugger:
        debugger.stop()
    optimizer(gradients)
    if debugger:
        debugger.step()
    sys.stdout.write(f"step {step} {loss.asnumpy()!r} {a.asnumpy().sum()!r}\n")
