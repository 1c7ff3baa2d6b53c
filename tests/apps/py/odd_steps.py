# SPDX-License-Identifier: Apache-2.0
"""
Steps that are not like others.

    odd_steps.py SCENE FILE      writes `step parameter norm nans infs` of the gradients as each backward pass has left them into FILE

Scenes: skipped (a gradient scaler leaves out steps 2 and 3, of 2 micro steps each), compiled (the backward passes of steps 2 to 7 are run by
compiled autograd). Prints a digest of weights, gradients and random state.
"""
import hashlib
import sys

import torch

scene, path = sys.argv[1:3]
torch.manual_seed(1)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=100, enabled=scene == "skipped")
digest = hashlib.sha256()
out = open(path, "w")
for step in range(8):
    for micro in range(2):
        loss = net(torch.randn(5, 6)).square().mean() / 2
        if scene == "skipped" and step in (2, 3) and micro == 1:
            loss = loss * 1e38
        if scene == "compiled" and step >= 2:
            with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
                loss.backward()
        else:
            scaler.scale(loss).backward()
    for name, p in net.named_parameters():
        print(step, name, repr(float(p.grad.double().norm())), int(p.grad.isnan().sum()), int(p.grad.isinf().sum()), file=out)
        digest.update(p.grad.numpy().tobytes())
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
for p in net.parameters():
    digest.update(p.detach().numpy().tobytes())
digest.update(torch.get_rng_state().numpy().tobytes())
print(f"{scene}: {digest.hexdigest()}")
