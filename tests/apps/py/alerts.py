# SPDX-License-Identifier: Apache-2.0
"""
A training in which things go wrong in steps that are known.

    alerts.py FILE      writes `what name step value` of what it has itself: loss, and norm and mean of each gradient
                        as the optimizer finds it. Prints a digest of weights and losses: the same whatever watches.

Step 20: the loss times 1000. 25, 26: a NaN in 0.weight's gradient, and the weights made whole again. From 30 on the gradient
of 2.bias is 0. Step 35: an Inf in 2.weight's. The data of step 40 to 44 is the same, with learning rate 0. STEP_PAUSE seconds in
each step, and SLOW_PAUSE in step 38.
"""
import hashlib
import os
import sys
import time

import torch

STEPS = int(os.environ.get("STEPS", "48"))
torch.manual_seed(0)
torch.set_num_threads(1)
m = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
o = torch.optim.SGD(m.parameters(), lr=1e-3)
digest = hashlib.sha256()
out = open(sys.argv[1], "w")


def say(what, name, step, value):
    print(what, name, step, repr(float(value)), file=out, flush=True)


for step in range(STEPS):
    time.sleep(float(os.environ.get("STEP_PAUSE", "0.01")))
    if step == 38:
        time.sleep(float(os.environ.get("SLOW_PAUSE", "0.2")))
    if step <= 40 or step > 44:
        x = torch.randn(32, 8)
    o.param_groups[0]["lr"] = 0.0 if 39 <= step <= 44 else 1e-3
    loss = m(x).square().mean() * (1000 if step == 20 else 1)
    o.zero_grad()
    loss.backward()
    g = {n: p.grad for n, p in m.named_parameters()}
    if step in (25, 26):
        g["0.weight"][3, 2] = float("nan")
    if step >= 30:
        g["2.bias"].zero_()
    if step == 35:
        g["2.weight"][0, 1] = float("inf")
    say("loss", "loss", step, loss)
    for n, p in g.items():
        d = p.double()
        say("norm", n, step, d.norm())
        say("mean", n, step, d.mean())
    o.step()
    with torch.no_grad():
        for p in m.parameters():
            p.nan_to_num_(0.125, 0.125, 0.125)
            digest.update(p.numpy().tobytes())
    digest.update(loss.detach().numpy().tobytes())
print("digest", digest.hexdigest())
