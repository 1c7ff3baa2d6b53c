# SPDX-License-Identifier: Apache-2.0
"""
A DDP training of 2 ranks as MindSpore Transformers' manual has one in mind: an embedding, layers, a data loader, clipping by the global
norm, a loss scale, checkpoints. It knows of no monitor.

    manual.py FOLDER [TRUTH] [spike|first|nan]    checkpoints into FOLDER; TRUTH: what rank 0 knows itself, `step name value`

spike: steps 2 and 3 (from 0) have far too large a norm; first: steps 0 and 1. nan: steps 2 and 3 have NaN, and there is no loss scale, which
would skip them by itself. SKIP=1: the script skips these two updates itself.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 6, 4
folder = sys.argv[1]
mode = sys.argv[3] if sys.argv[3:] else ""
spikes = {"spike": (2, 3), "first": (0, 1), "nan": (2, 3)}.get(mode, ())


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.head = nn.Linear(8, 20)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        ids = torch.randint(20, (6,), generator=torch.Generator().manual_seed(100 * i + rank))
        return ids, ids.roll(-1)


def know(step, name, value):
    truth.write(f"{step} {name} {value.item() if torch.is_tensor(value) else value!r}\n")


def main():
    torch.manual_seed(1)
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1000, enabled=mode != "nan")
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (n + 1))
    for step, (ids, target) in enumerate(torch.utils.data.DataLoader(Texts(), batch_size=BATCH)):
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), target.flatten())
        if step in spikes:
            loss = loss * (float("nan") if mode == "nan" else 1000)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        know(step, "loss", loss)
        know(step, "grad-norm", total)
        know(step, "learning-rate", optimizer.param_groups[0]["lr"])
        know(step, "loss-scale", scaler.get_scale())
        if total < 3 or "SKIP" not in os.environ:
            scaler.step(optimizer)
        scaler.update()
        schedule.step()
        know(step, "weight_norm", torch.cat([p.detach().flatten() for p in model.parameters()]).norm())
        for name, p in model.module.named_parameters():
            for kind, tag in (("exp_avg", "adam_m_norm"), ("exp_avg_sq", "adam_v_norm")):
                if p in optimizer.state and name.startswith(("layers.0", "layers.1")):
                    know(step, f"{tag}/{name}", optimizer.state[p][kind].norm())
        dist.barrier()
        if rank == 0:
            print(f"step {step} loss {loss.item():.17g} weights {sum(p.double().sum().item() for p in model.parameters()):.17g}", flush=True)
            torch.save(model.module.state_dict(), f"{folder}/tiny_rank_0-1_{step + 1}.ckpt")
            time.sleep(0.01)  # times of files come in ticks of 4 ms, and no real step is shorter
        dist.barrier()


dist.init_process_group("gloo")
rank = dist.get_rank()
truth = open(sys.argv[2] if len(sys.argv) > 2 and rank == 0 else os.devnull, "w")
os.makedirs(folder, exist_ok=True)
try:
    main()
    dist.barrier()
    code = 0
except ValueError as e:
    sys.stdout.write(f"[{rank}] ValueError: {e}\n")  # one write: lines of two ranks must not mix
    sys.stdout.flush()
    code = 1
truth.close()
os._exit(code)
