#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: cross_entropy() of a DTensor whose rows are sharded, with ignored labels.
#
# Question: 4 rows are sharded over two ranks. None, one, or both rows of rank 1 are ignored (label -100), as padding is. What are the loss and
#           its gradient, beside those of the plain tensors?
# Guess:    the same: the mean over the rows with a label. Rows that cannot be sharded evenly raise an error, so weights were thought of.
# Real:     the gradients are the same. The loss is not: it is the mean of the ranks' means, 0.862 for 0.711. If both rows of rank 1 are
#           ignored it is NaN, on both ranks, beside right gradients.
# Matters:  with padding of different lengths the curve of the loss differs from that of one device while the weights agree. A guard that
#           skips steps with a loss of NaN skips good steps.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist, torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
logits = torch.tensor([[2.0, 0.0], [0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
for labels in [0, 1, 1, 1], [0, 1, 1, -100], [0, 1, -100, -100]:
    labels = torch.tensor(labels)
    plain = logits.clone().requires_grad_()
    one = F.cross_entropy(plain, labels)
    one.backward()
    sharded = distribute_tensor(logits, mesh, [Shard(0)]).requires_grad_()
    two = F.cross_entropy(sharded, distribute_tensor(labels, mesh, [Shard(0)]))
    two.backward()
    ratio = (sharded.grad.full_tensor() / plain.grad)[labels >= 0, 0]
    value = two.full_tensor().item()
    if dist.get_rank() == 0:
        print(f"labels {labels.tolist()}: loss {value:.3f} for {one.item():.3f}, gradients of the labelled rows times "
              f"{[round(r, 2) for r in ratio.tolist()]}", flush=True)
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
labels [0, 1, 1, 1]: loss 1.295 for 1.295, gradients of the labelled rows times [1.0, 1.0, 1.0, 1.0]
labels [0, 1, 1, -100]: loss 0.862 for 0.711, gradients of the labelled rows times [1.0, 1.0, 1.0]
labels [0, 1, -100, -100]: loss nan for 0.410, gradients of the labelled rows times [1.0, 1.0]
S
