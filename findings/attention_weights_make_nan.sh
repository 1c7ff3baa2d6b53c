#!/usr/bin/env bash
# PyTorch 2.13.0, CPU: MultiheadAttention on a sequence that is all padding.
#
# Question: the second of two sequences is padding only (key_padding_mask is True everywhere). What is its output, and what are the
#           gradients of the weights when the loss uses the first sequence alone?
# Guess:    one answer for one module, whether or not it also returns its attention weights: NaN, from the softmax of nothing.
# Real:     need_weights=True (the default): NaN in the output of that sequence and in the gradient of every parameter but the last
#           bias, although the loss does not use that sequence. need_weights=False: outputs and gradients are finite.
# Matters:  one empty sequence in one rank's batch makes NaN in all weights of the block, or nothing, by an argument that only
#           asks for one more result; an evaluation script that asks for the weights fails where the training did not.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
torch.manual_seed(0)
attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
x = torch.randn(2, 3, 4)
padding = torch.tensor([[False, False, False], [True, True, True]])
for weights in True, False:
    for mode in "train", "eval":
        attention.train(mode == "train")
        attention.zero_grad()
        y, _ = attention(x, x, x, key_padding_mask=padding, need_weights=weights)
        y[0].sum().backward()
        bad = [name for name, p in attention.named_parameters() if not p.grad.isfinite().all()]
        print(f"need_weights={weights}, {mode}: NaN in sequence {[i for i in range(2) if y[i].isnan().any()]}, "
              f"in the gradients of {bad}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
need_weights=True, train: NaN in sequence [1], in the gradients of ['in_proj_weight', 'in_proj_bias', 'out_proj.weight']
need_weights=True, eval: NaN in sequence [1], in the gradients of ['in_proj_weight', 'in_proj_bias', 'out_proj.weight']
need_weights=False, train: NaN in sequence [], in the gradients of []
need_weights=False, eval: NaN in sequence [], in the gradients of []
S
