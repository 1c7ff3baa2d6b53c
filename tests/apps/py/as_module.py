"""Two models, an optimizer and an all_reduce at the top of a file, the third with a NaN: run as a script and with python -m."""

import os

import torch
import torch.distributed as dist
from torch import nn

for name, value in (("MASTER_ADDR", "127.0.0.1"), ("RANK", "0"), ("WORLD_SIZE", "1")):
    os.environ.setdefault(name, value)
torch.manual_seed(0)
dist.init_process_group("gloo", init_method="file://" + os.environ["STORE"], rank=0, world_size=1)
encoder = nn.Linear(4, 3)
decoder = nn.Linear(3, 2)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = decoder(encoder(torch.ones(2, 4))).sum()
    loss.backward()
    optimizer.step()
    value = torch.tensor([float("nan") if step == 2 else 1.0])
    dist.all_reduce(value)
print("loss", loss.item())
dist.destroy_process_group()
