#!/usr/bin/env bash
# PyTorch 2.13.0, CPU: torch.hash_tensor(), made to compare tensors without keeping them.
#
# Question: which of these pairs have one hash: the same numbers in another order, two tensors of equal elements (all 1, all 5), a tensor
#           with and without two more equal elements, one shape and another, float32 and bfloat16, one zero and three?
# Guess:    none but perhaps the last ones: that is what a hash is for.
# Real:     all. The hash is the exclusive or of the elements as 64-bit patterns, so order does not count, and two equal elements are
#           as good as none: the hash of any even number of equal elements is 0, that of a weight next to its copy too.
# Matters:  biases, norm weights and masks are tensors of equal elements, and replicated or interleaved rows are pairs: ranks
#           or runs that differ there have equal hashes. Only a difference in the hash means something.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
def hashed(*tensors):
    hashes = [torch.hash_tensor(t).item() for t in tensors]
    return ("equal" if len(set(hashes)) == 1 else "different") + (", 0" if not any(hashes) else "")
t = torch.tensor
ones = torch.ones(512)
row = torch.randn(64)
print("another order:", hashed(row, row.flip(0)))
print("512 ones, 512 fives:", hashed(ones, ones * 5))
print("ones, a NaN in each place:", hashed(ones, ones * float("nan")))
print("two elements more:", hashed(row, torch.cat([row, t([7.0, 7.0])])))
print("two equal rows, and two others:", hashed(torch.stack([row, row]), torch.stack([row + 1, row + 1])))
print("another shape:", hashed(row, row.view(8, 8)))
print("float32 and bfloat16:", hashed(t([1.0, 2.0]), t([1.0, 2.0], dtype=torch.bfloat16)))
print("one 0 and three:", hashed(t([0.0]), torch.zeros(3)))
print("one element, 1 and 5:", hashed(t([1.0]), t([5.0])))
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
another order: equal
512 ones, 512 fives: equal, 0
ones, a NaN in each place: equal, 0
two elements more: equal
two equal rows, and two others: equal, 0
another shape: equal
float32 and bfloat16: equal
one 0 and three: equal, 0
one element, 1 and 5: different
S
