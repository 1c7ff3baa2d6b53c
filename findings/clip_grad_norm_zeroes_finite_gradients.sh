#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU): torch.nn.utils.clip_grad_norm_ and torch.linalg.vector_norm near the ends of float32.
#
# Question: all gradients are finite, the largest is 1e30. What does clip_grad_norm_(parameters, 1.0) leave?
# Guess:    gradients of norm 1.
# Real:     zeros. The norm is computed in float32, the square of 1e30 is an infinity, and the factor 1 / inf is 0.
#           error_if_nonfinite=True says so, but is off by default. At the other end the norm of gradients of 1e-30 is 0.
#           The norm of order infinity has neither fault.
# Matters:  a step that was lost looks like a step with a zero gradient; the logged norm is inf though no gradient is.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
def clip(value, **options):
    parameter = torch.nn.Parameter(torch.zeros(3))
    parameter.grad = torch.full((3,), value)
    norm = torch.nn.utils.clip_grad_norm_([parameter], 1.0, **options).item()
    print(f"gradients {value:g}, options {options}: norm {norm:g}, left {[f'{x:g}' for x in parameter.grad.tolist()]}")
clip(1e30)
clip(1e30, norm_type=float("inf"))
clip(1e-30)
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
gradients 1e+30, options {}: norm inf, left ['0', '0', '0']
gradients 1e+30, options {'norm_type': inf}: norm 1e+30, left ['1', '1', '1']
gradients 1e-30, options {}: norm 0, left ['1e-30', '1e-30', '1e-30']
S
