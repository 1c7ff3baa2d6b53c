# SPDX-License-Identifier: Apache-2.0
"""
A step of a transformer, for tests/bench/torch_cost.sh: 4 layers, about 10 million parameters, batch 8 x 128 tokens, AdamW.
Prints the shortest and the median time of a step, and the least processor time of all its threads, in seconds; the first
steps are skipped.

    torch_cost.py STEPS [ddp] [msprobe FOLDER]    ddp: under torchrun, gloo
    torch_cost.py STEPS nodes                     instead the backward pass through a chain of nodes, of a node
"""
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F

WIDTH, LAYERS, HEADS, WORDS, BATCH, ROOM, WARM = 384, 4, 6, 4096, 8, 128, 2
NODES, PASSES = 1000, 20


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, w // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(WORDS, WIDTH), nn.Embedding(ROOM, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def nodes(steps):
    """Nodes that compute next to nothing, so that what is added to one shows. Of an element each: statistics cost nothing."""
    x = torch.ones(1, requires_grad=True)
    times = []
    for _ in range((steps + WARM) * PASSES):
        y = x
        for _ in range(NODES):
            y = y.neg()
        begin = time.perf_counter()
        y.backward()
        times.append((time.perf_counter() - begin) / NODES)
    times = sorted(times[WARM * PASSES:])
    sys.stdout.write(f"least {times[0]:.9f}\nmedian {times[len(times) // 2]:.9f}\n")
    sys.stdout.flush()


def main():
    if "nodes" in sys.argv:
        return nodes(int(sys.argv[1]))
    steps, ddp = int(sys.argv[1]), "ddp" in sys.argv
    torch.manual_seed(1)
    model = Model()
    if ddp:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    debugger = None
    if "msprobe" in sys.argv:
        import json
        import os
        from msprobe.pytorch import PrecisionDebugger
        folder = sys.argv[sys.argv.index("msprobe") + 1]
        config = os.path.join(folder, "config.json")
        with open(config, "w") as f:
            json.dump({"task": "statistics", "dump_path": os.path.join(folder, "dump"), "rank": [], "step": [], "level": "L1",
                       "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}, f)
        os.chmod(config, 0o640)
        debugger = PrecisionDebugger(config_path=config)
    times, cpu = [], []
    for _ in range(steps + WARM):
        ids = torch.randint(WORDS, (BATCH, ROOM + 1))
        begin, busy = time.perf_counter(), time.process_time()
        if debugger:
            debugger.start(model=model)
        optimizer.zero_grad()
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
        if debugger:
            debugger.stop()
            debugger.step()
        times.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - busy)
    times = sorted(times[WARM:])
    if not ddp or torch.distributed.get_rank() == 0:
        sys.stdout.write(f"least {times[0]:.6f}\nmedian {times[len(times) // 2]:.6f}\ncpu {min(cpu[WARM:]):.6f}\n")
        sys.stdout.flush()
    if ddp:
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
