#!/usr/bin/env bash
# PyTorch 2.13.0, CPU: backward through a graph whose weight an optimizer has changed since.
#
# Question: y = (x w) w is built with w = 1, then the optimizer takes a step, then y.sum().backward(). autograd needs the w of the
#           forward pass. What is the gradient of x, which is 4 with that w?
# Guess:    with every optimizer the error "modified by an inplace operation": a step is a write in place.
# Real:     the error with foreach=True and without it; with fused=True none: the step leaves the tensor's version as it was, and the
#           gradient is computed with the new weights.
# Matters:  two losses over one forward pass with a step between them (GANs, actor and critic, pipelines): fused=True, set for speed,
#           turns an error into wrong gradients. A version counter is no evidence that a parameter was not written.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
for name in "SGD", "Adagrad", "Adam", "AdamW":
    for mode in {}, {"foreach": True}, {"fused": True}:
        w = torch.nn.Parameter(torch.ones(2, 2))
        optimizer = getattr(torch.optim, name)([w], lr=0.5, **mode)
        x = torch.ones(1, 2, requires_grad=True)
        y = (x @ w) @ w
        w.grad = torch.ones(2, 2)
        before = w._version
        optimizer.step()
        try:
            y.sum().backward()
            said = f"gradient {x.grad[0, 0]:.3f}"
        except RuntimeError as error:
            said = "error" if "modified by an inplace operation" in str(error) else str(error)
        print(f"{name}({', '.join(mode)}): version {'kept' if w._version == before else 'raised'}, w {w[0, 0]:.1f}, {said}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
SGD(): version raised, w 0.5, error
SGD(foreach): version raised, w 0.5, error
SGD(fused): version kept, w 0.5, gradient 1.000
Adagrad(): version raised, w 0.5, error
Adagrad(foreach): version raised, w 0.5, error
Adagrad(fused): version kept, w 0.5, gradient 1.000
Adam(): version raised, w 0.5, error
Adam(foreach): version raised, w 0.5, error
Adam(fused): version kept, w 0.5, gradient 1.000
AdamW(): version raised, w 0.5, error
AdamW(foreach): version raised, w 0.5, error
AdamW(fused): version kept, w 0.5, gradient 0.980
S
