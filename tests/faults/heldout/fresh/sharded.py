# SPDX-License-Identifier: Apache-2.0
"""A transformer whose weights are sharded by fully_shard. Sequences differ in length and are packed by tokens, so that ranks have
other numbers of micro batches each step; those with fewer add empty ones. Every sixth step all evaluate."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard

from planned import OPTIONS, Fault, check_fall, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
WIDTH, WORDS, BUDGET = 16 * size, 30, 48


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.out, self.wide, self.narrow = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.is_hooked = False

    def forward(self, x):
        if self.training and not self.is_hooked:
            self.wide.weight.register_hook(hook)
            self.is_hooked = True
        q, k, v = (part.unflatten(-1, (2, WIDTH // 2)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.blocks = nn.Embedding(WORDS, WIDTH), nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def hook(grad):
    """A whole weight's gradient of this rank's last micro batch, before it is reduced and scattered."""
    grad = grad.clone()
    if is_last and fault.pick % 2 == 0 and fault.name in ("nan", "inf", "big"):
        fault.change_values("grad", grad, backward_line)
    return grad


def read_batches():
    """Sequences of one length each, until the budget of tokens is used."""
    found, used = [], 0
    while used < BUDGET:
        length = int(torch.randint(5, 14, (1,), generator=data))
        tokens = torch.randint(0, WORDS, (3, length + 1), generator=data)
        # Each word follows from the last.
        for k in range(length):
            if torch.rand(1, generator=data) < 0.9:
                tokens[:, k + 1] = (tokens[:, k] * 3 + 1) % WORDS
        found.append(tokens)
        used += 3 * length
    return found


def find_loss(tokens):
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


data = torch.Generator().manual_seed(900 + 7 * rank + int(OPTIONS.get("seed", 1)))
model = Model()
mesh = dist.device_mesh.init_device_mesh("cpu", (world,))
for block in model.blocks:
    fully_shard(block, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for step in range(steps):
    fault.step = step
    fault.go(line())
    batches = read_batches()
    most = torch.tensor([len(batches)])
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    optimizer.zero_grad()
    seen = torch.zeros(5)
    for k in range(int(most)):
        is_last = k == int(most) - 1
        model.set_requires_gradient_sync(is_last)
        tokens = batches[min(k, len(batches) - 1)]
        share = 1 / len(batches) if k < len(batches) else 0.0
        loss = find_loss(tokens) * share
        if share:
            loss = fault.change_loss(loss, line())
        backward_line = line() + 1
        loss.backward()
        seen += torch.tensor([float(loss.detach()), share, tokens.numel() * (share > 0), float(loss.detach()) ** 2, 1.0])
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
    optimizer.step()
    seen[4] = norm
    fault.step = step + 1
    if fault.pick % 2 or fault.name in ("zero", "stale"):
        fault.change_values("seen", seen, line() + 3)
    call = fault.change_call(seen, line() + 2)
    for _ in range(call.times):
        dist.all_reduce(call.data, op=call.op)
    losses.append(float(seen[0]) / world)
    if step % 6 == 5:
        model.eval()
        with torch.no_grad():
            held = find_loss(torch.arange(24).view(2, 12)).view(1)
        dist.all_reduce(held)
        model.train()
        if held / world > 6:
            optimizer.param_groups[0]["lr"] *= 0.5
check_fall(rank, losses)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {float(norm):.9g}")
dist.destroy_process_group()
