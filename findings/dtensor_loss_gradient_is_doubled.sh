#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: mean losses of a DTensor whose rows are sharded.
#
# Question: prediction and target, 4 or 5 numbers, are sharded over two ranks. What are the loss and its gradient, beside those of the same
#           function of the plain tensors?
# Guess:    the same, or an error, as cross_entropy() raises for 5.
# Real:     mse_loss, smooth_l1_loss, huber_loss, binary_cross_entropy and soft_margin_loss: the gradient is twice as large on 2 ranks,
#           while the loss is right. It is divided by the number of elements on the rank. With 5 numbers the loss is wrong too, the mean of
#           the two ranks' means, and the factor differs between ranks. binary_cross_entropy_with_logits has the wrong loss only.
#           l1_loss, reduction="sum" and ((x - t) ** 2).mean() are right.
# Matters:  a step of SGD is twice as long, which looks like a higher learning rate, and clipping by norm sets in too early. The loss and a
#           comparison of ranks show nothing.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist, torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
x = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.1])
t = torch.tensor([1.0, 0.5, 1.0, 0.5, 1.0])
def squares(x, t):
    return ((x - t) ** 2).mean()
for loss in [F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy, F.soft_margin_loss,
             F.binary_cross_entropy_with_logits, F.l1_loss, squares]:
    for n in 4, 5:
        plain = x[:n].clone().requires_grad_()
        one = loss(plain, t[:n])
        one.backward()
        sharded = distribute_tensor(x[:n], mesh, [Shard(0)]).requires_grad_()
        two = loss(sharded, distribute_tensor(t[:n], mesh, [Shard(0)]))
        two.backward()
        ratio = (sharded.grad.full_tensor() / plain.grad).tolist()
        value = two.full_tensor().item()
        if dist.get_rank() == 0:
            print(f"{loss.__name__}, {n}: loss {value:.3f} for {one.item():.3f}, gradients times {[round(r, 2) for r in ratio]}", flush=True)
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
mse_loss, 4: loss 0.050 for 0.050, gradients times [2.0, 2.0, 2.0, 2.0]
mse_loss, 5: loss 0.237 for 0.202, gradients times [1.67, 1.67, 1.67, 2.5, 2.5]
smooth_l1_loss, 4: loss 0.025 for 0.025, gradients times [2.0, 2.0, 2.0, 2.0]
smooth_l1_loss, 5: loss 0.118 for 0.101, gradients times [1.67, 1.67, 1.67, 2.5, 2.5]
huber_loss, 4: loss 0.025 for 0.025, gradients times [2.0, 2.0, 2.0, 2.0]
huber_loss, 5: loss 0.118 for 0.101, gradients times [1.67, 1.67, 1.67, 2.5, 2.5]
binary_cross_entropy, 4: loss 0.523 for 0.523, gradients times [2.0, 2.0, 2.0, 2.0]
binary_cross_entropy, 5: loss 0.984 for 0.879, gradients times [1.67, 1.67, 1.67, 2.5, 2.5]
soft_margin_loss, 4: loss 0.453 for 0.453, gradients times [2.0, 2.0, 2.0, 2.0]
soft_margin_loss, 5: loss 0.509 for 0.491, gradients times [1.67, 1.67, 1.67, 2.5, 2.5]
binary_cross_entropy_with_logits, 4: loss 0.563 for 0.563, gradients times [1.0, 1.0, 1.0, 1.0]
binary_cross_entropy_with_logits, 5: loss 0.598 for 0.579, gradients times [1.0, 1.0, 1.0, 1.0, 1.0]
l1_loss, 4: loss 0.200 for 0.200, gradients times [1.0, 1.0, 1.0, 1.0]
l1_loss, 5: loss 0.340 for 0.340, gradients times [1.0, 1.0, 1.0, 1.0, 1.0]
squares, 4: loss 0.050 for 0.050, gradients times [1.0, 1.0, 1.0, 1.0]
squares, 5: loss 0.202 for 0.202, gradients times [1.0, 1.0, 1.0, 1.0, 1.0]
S
