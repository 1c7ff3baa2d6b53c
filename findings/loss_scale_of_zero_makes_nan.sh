#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU): GradScaler after many steps with an infinity, then a step without.
#
# Question: a loss is infinite for 200 steps, then healthy again. What do the scale and the weight look like?
# Guess:    the scale stops at a small number, each infinite step is skipped, and the first healthy step is an ordinary one.
# Real:     the scale is halved down to 0 in 166 steps; nothing stops it. The healthy loss times 0 gives a gradient of 0, which has no Inf, so
#           the step is taken, but with 0 / 0: the weight becomes NaN. The scale stays 0.
# Matters:  what keeps NaN out of the weights puts one there; all gradients were finite when it happened.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], 0.1)
scaler = torch.amp.GradScaler("cpu")
def step(factor):
    optimizer.zero_grad()
    scaler.scale((weight * factor).sum()).backward()
    scaled = weight.grad.item()
    scaler.step(optimizer)
    scaler.update()
    return scaled
zero_after = None
for n in range(1, 201):
    step(float("inf"))
    if zero_after is None and scaler.get_scale() == 0:
        zero_after = n
print(f"scale 0 after {zero_after} infinite steps, weight {weight.item()}")
print(f"a healthy step: scaled gradient {step(1.)}, weight {weight.item()}, scale {scaler.get_scale()}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
scale 0 after 166 infinite steps, weight 1.0
a healthy step: scaled gradient 0.0, weight nan, scale 0.0
S
