# SPDX-License-Identifier: Apache-2.0
"""
A small network in the hands of MindSpore Transformers: its cell for a training step and its callbacks say loss, learning rate,
norms of gradients, weights and moments, in its log and to TensorBoard. The step with a hundredfold input is skipped by it.

    ms_oracle.py FOLDER [--mode pynative|graph|jit] [--ranks 2] [--no-skip]

FOLDER gets rank<R>/tensorboard/ and rank<R>/local_norm.json (sums of squares of gradients before they are reduced, a list a step).
Each rank prints its losses and a sum over its weights with all digits.
"""
import argparse
import json
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--mode", choices=("pynative", "graph", "jit"), default="pynative")
parser.add_argument("--ranks", type=int, default=1)
parser.add_argument("--no-skip", action="store_true")
args = parser.parse_args()
args.folder = os.path.abspath(args.folder)
os.makedirs(args.folder, exist_ok=True)
os.chdir(args.folder)  # its logs go into the working directory
os.environ.setdefault("LOCAL_DEFAULT_PATH", os.path.join(args.folder, "mindformers"))

import numpy as np  # noqa: E402

import mindspore as ms  # noqa: E402
from mindspore import Tensor, dataset, nn  # noqa: E402

MODE = ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE
ms.set_context(mode=MODE, device_target="CPU")
rank = 0
if args.ranks > 1:
    from mindspore.communication import get_rank, init

    init()
    rank = get_rank()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=args.ranks)

from tensorboardX import SummaryWriter  # noqa: E402

from mindformers.core.callback.callback import MFLossMonitor, TrainingStateMonitor  # noqa: E402
from mindformers.utils import tensorboard  # noqa: E402
from mindformers.wrapper.wrapper import MFTrainOneStepCell  # noqa: E402

STEPS, SPIKE = 8, 5


class Step(MFTrainOneStepCell):
    """Registers that tell of an overflow are the NPU's."""

    def start_overflow_check(self, pre_cond, compute_input):
        return pre_cond, compute_input

    def get_overflow_status(self, status, compute_output):
        return Tensor(False)

    def process_loss_scale(self, overflow):
        return overflow


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Dense(8, 16)
        self.relu = nn.ReLU()
        self.out = nn.Dense(16, 4)
        self.loss = nn.CrossEntropyLoss()

    def construct(self, x, y):
        return self.loss(self.out(self.relu(self.embedding(x))), y)


def batches():
    rng = np.random.default_rng(100 + rank)
    for i in range(STEPS):
        x = rng.standard_normal((32, 8)).astype(np.float32)
        yield x * (300 if i + 1 == SPIKE else 1), rng.integers(0, 4, (32,)).astype(np.int32)


class Losses(ms.train.Callback):
    def on_train_step_begin(self, run_context):
        # The other callbacks compute their norms in PYNATIVE mode, and leave it on.
        ms.set_context(mode=MODE)

    def on_train_step_end(self, run_context):
        p = run_context.original_args()
        loss = p.net_outputs[0] if isinstance(p.net_outputs, (tuple, list)) else p.net_outputs
        sys.stdout.write(f"step {p.cur_step_num:3}  rank {rank}  loss {float(loss.asnumpy().reshape(-1)[0]):.17g}\n")
        sys.stdout.flush()
        norms.append(p.net_outputs[5].asnumpy().astype(np.float64).tolist())


norms = []
ms.set_seed(1)
np.random.seed(1)
here = os.path.join(args.folder, f"rank{rank}")
tensorboard._GLOBAL_TENSORBOARD_WRITER = SummaryWriter(os.path.join(here, "tensorboard"), max_queue=10)
tensorboard._GLOBAL_TENSORBOARD_WRITER_ARGS.update(log_loss_scale_to_tensorboard=True, log_timers_to_tensorboard=True)
net = Net()
skip = not args.no_skip
step = Step(net, nn.AdamWeightDecay(net.trainable_params(), 1e-2), use_clip_grad=True, max_grad_norm=0.3, scale_sense=1.0,
            local_norm=True, global_norm_spike_threshold=3.0, use_skip_data_by_global_norm=skip)
data = dataset.GeneratorDataset(batches, ["x", "y"], shuffle=False)
monitor = {"monitor_on": True, "target": [".*"], "optimizer_state_format": ["tensorboard"], "weight_state_format": ["tensorboard"],
           "global_norm_spike_threshold": 3.0, "global_norm_spike_count_threshold": 2, "throughput_baseline": None}
callbacks = [
    MFLossMonitor(learning_rate=0.01, per_print_times=1, origin_epochs=1, dataset_size=STEPS, global_batch_size=32 * args.ranks),
    TrainingStateMonitor(origin_epochs=1, config=monitor, dataset_size=STEPS, global_batch_size=32 * args.ranks,
                         use_skip_data_by_global_norm=skip, use_local_norm=True),
    Losses()]
if args.mode == "jit":
    step.construct = ms.jit(step.construct)
ms.Model(step).train(1, data, callbacks=callbacks, dataset_sink_mode=False)
tensorboard._GLOBAL_TENSORBOARD_WRITER.close()
with open(os.path.join(here, "local_norm.json"), "w") as f:
    json.dump({"names": [p.name for p in net.trainable_params()], "norms": norms}, f)
total = sum(float(np.abs(p.asnumpy().astype(np.float64)).sum()) for p in net.trainable_params())
sys.stdout.write(f"rank {rank}  weights {total:.17g}\n")
