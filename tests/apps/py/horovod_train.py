# SPDX-License-Identifier: Apache-2.0
"""A training by Horovod's PyTorch part on processors, then collectives on their own:  horovod_train.py FILE
FILE.RANK: loss and digest of the weights of each step, results of the collectives."""
import hashlib
import sys

import torch
from torch import nn
import horovod.torch as hvd

hvd.init()
rank = hvd.rank()
torch.set_num_threads(1)
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 4))
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1), named_parameters=net.named_parameters())
hvd.broadcast_parameters(net.state_dict(), root_rank=0)
draw = torch.Generator().manual_seed(7 + rank)
with open(f"{sys.argv[1]}.{rank}", "w") as out:
    for step in range(5):
        x, y = torch.randn(8, 32, generator=draw), torch.randn(8, 4, generator=draw)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        h = hashlib.sha256()
        for p in net.parameters():
            h.update(p.detach().numpy().tobytes())
        print(f"step {step} loss {loss.item():.17g} weights {h.hexdigest()[:16]}", file=out)
    t = torch.arange(6, dtype=torch.float64) + rank
    print(f"sum {hvd.allreduce(t, op=hvd.Sum, name='a').tolist()} all {hvd.allgather(t, name='g').tolist()} "
          f"from 1 {hvd.broadcast(t, 1, name='b').tolist()}", file=out)
hvd.shutdown()
