#!/usr/bin/env bash
# PyTorch 2.13.0, CPU, gloo, 2 ranks: FlopCounterMode, with which programs compute their FLOPs per step.
#
# Question: how many FLOPs does it count for the products of a training: a matrix with a matrix, with a vector, attention, a transformer
#           block, and the product of DTensors of which each rank computes half?
# Guess:    2mn for a matrix with a vector, 2mnk for each product of matrices, and attention as its two products. DTensors are counted once,
#           either the rank's own half or the whole product.
# Real:     a matrix with a vector, and its backward pass, is 0, but F.linear() of the same two is counted. Attention is 0 on CPUs, forward
#           and backward, and 196608 under the MATH backend. A TransformerEncoderLayer is 44160 in training and 0 in evaluation. Each rank
#           counts the whole product of sharded DTensors: a sum over ranks is twice as large.
# Matters:  the FLOPs, and with them the utilization, of the same model depend on the call that was chosen, on train() or eval(), and on
#           the number of ranks. Nothing tells that an operator was not counted.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist, torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from both_ranks import show
def count(work):
    with FlopCounterMode(display=False) as mode:
        work()
    return mode.get_total_flops()
def attend(*backends):
    with sdpa_kernel(list(backends)):
        F.scaled_dot_product_attention(query, query, query).sum().backward()
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
matrix, other, vector = torch.ones(8, 16), torch.ones(16, 4), torch.ones(16, requires_grad=True)
query = torch.ones(1, 2, 32, 8, requires_grad=True)
layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
batch = torch.ones(2, 5, 16)
show("matrix @ matrix (1024)", count(lambda: matrix @ other))
show("matrix @ vector (256)", count(lambda: matrix @ vector))
show("matrix @ vector and backward (512)", count(lambda: (matrix @ vector).sum().backward()))
show("linear(vector, matrix) (256)", count(lambda: F.linear(vector, matrix)))
show("attention and backward, default", count(lambda: attend(SDPBackend.FLASH_ATTENTION, SDPBackend.MATH)))
show("attention and backward, MATH", count(lambda: attend(SDPBackend.MATH)))
with torch.no_grad():
    show("TransformerEncoderLayer, train()", count(lambda: layer(batch)))
    show("TransformerEncoderLayer, eval()", count(lambda: layer.eval()(batch)))
for name, parts in ("rows", (Shard(0), Replicate())), ("inner dimension", (Shard(1), Shard(0))):
    one, two = (distribute_tensor(t, mesh, [part]) for t, part in zip((matrix, other), parts))
    show(f"DTensor @ DTensor, {name} sharded (512 per rank)", count(lambda: one @ two))
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
matrix @ matrix (1024): 1024 and 1024
matrix @ vector (256): 0 and 0
matrix @ vector and backward (512): 0 and 0
linear(vector, matrix) (256): 256 and 256
attention and backward, default: 0 and 0
attention and backward, MATH: 196608 and 196608
TransformerEncoderLayer, train(): 44160 and 44160
TransformerEncoderLayer, eval(): 0 and 0
DTensor @ DTensor, rows sharded (512 per rank): 1024 and 1024
DTensor @ DTensor, inner dimension sharded (512 per rank): 1024 and 1024
S
