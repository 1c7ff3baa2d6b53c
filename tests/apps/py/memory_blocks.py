# SPDX-License-Identifier: Apache-2.0
"""
Some steps of a training under torch.profiler, which records each block of memory that is given out and taken back; of one step they are
written as `address bytes` lines (negative: taken back), the truth for kind operator_memory.

    memory_blocks.py TRUTH [DEVICE]
"""
import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

device = sys.argv[2] if sys.argv[2:] else "cpu"
torch.manual_seed(1)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
batches = [(torch.randn(16, 32, device=device), torch.randint(8, (16,), device=device)) for _ in range(4)]


def train(x, y):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


train(*batches[0])
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
    train(*batches[1])
path = os.path.join(tempfile.mkdtemp(), "trace.json")
p.export_chrome_trace(path)
with open(path) as f:
    events = [e for e in json.load(f)["traceEvents"] if e["name"] == "[memory]"]
events.sort(key=lambda e: e["ts"])
with open(sys.argv[1], "w") as f:
    for e in events:
        f.write("%d %d\n" % (e["args"]["Addr"], e["args"]["Bytes"]))
train(*batches[2])
