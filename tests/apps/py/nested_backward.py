"""
Backward passes inside of one another, so deep that autograd's engine gives them threads of its own, as it does for devices.
The one forward operator of each step is a product.
"""
import os
import sys
import threading

import torch

sys.setrecursionlimit(100000)
threads = set()


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        threads.add(threading.get_native_id())
        x, = ctx.saved_tensors
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            z = torch.sin(y)
            if ctx.depth:
                z = Nested.apply(z, ctx.depth - 1)
            z.sum().backward()
        return g * y.grad, None


x = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    Nested.apply(x, 130).sum().backward()
    optimizer.step()
print(x.tolist(), len(threads), "threads")
sys.stdout.flush()
os._exit(0)  # see tests/apps/train_ddp.py
