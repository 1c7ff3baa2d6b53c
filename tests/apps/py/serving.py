# SPDX-License-Identifier: Apache-2.0
"""
An inference server's batches: execute_model(batch) gets the number of tokens of each request, and runs their tokens in one tensor.
`serving.py FILE` writes [shape, max, min, norm] of what the request r7 has of each linear layer's input and result, a JSON list for
each batch, null for a batch without it. `serving.py FILE msprobe CONFIG` has the lines of that tool.
"""
import dataclasses
import functools
import json
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_num_threads(1)
BATCHES = [{"r1": 3, "r7": 4, "r9": 1}, {"r7": 1, "r9": 1, "r2": 1}, {"r1": 2, "r9": 6}, {"r9": 2, "r7": 6}]
debugger = None


@dataclasses.dataclass
class Scheduled:
    tokens: dict


def describe(t):
    return [list(t.shape), t.max().item(), t.min().item(), t.double().norm().item()]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(8, 16)
        self.b = torch.nn.Linear(16, 8)

    def forward(self, x):
        h = self.a(x)
        self.seen = [x, h]
        return self.b(torch.tanh(h))


class Runner:
    def __init__(self):
        self.model = Model().eval()

    def decorated(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with torch.no_grad():
                return function(*args, **kwargs)
        return wrapper

    @decorated
    def execute_model(self, batch):
        total = sum(batch.tokens.values())
        x = torch.arange(total * 8, dtype=torch.float32).reshape(total, 8).sin()
        out = self.model(x)
        begin = 0
        for request, n in batch.tokens.items():
            if request == "r7":
                return out, [t[begin:begin + n].clone() for t in self.model.seen + [out]]
            begin += n
        return out, None


runner = Runner()
if len(sys.argv) > 2:
    from msprobe.pytorch import PrecisionDebugger
    debugger = PrecisionDebugger(config_path=sys.argv[3])
truth, printed = [], []
for tokens in BATCHES:
    if debugger:
        debugger.start(runner.model, scheduled_tokens=tokens)
    out, part = runner.execute_model(Scheduled(dict(tokens)))
    if debugger:
        debugger.stop()
        debugger.step()
    truth.append(part)
    printed.append(out)
for out in printed:
    print(out.double().sum().item())
json.dump([part and [describe(t) for t in part] for part in truth], open(sys.argv[1], "w"))
