#!/usr/bin/env bash
# MindSpore 2.10.0 (CPU): sum, mean and norm of small integers.
#
# Question: what are the sum, the mean and the norm of the two pixels 200 and 100 (uint8)?
# Guess:    300, 150 and 223.6, or a mean of type uint8 that is still 150.
# Real:     ops.sum and tensor.sum() widen and give 300, ops.ReduceSum and ops.reduce_sum give 44. The mean is 22 and the norm 8.9:
#           sum and squares wrap at 256 before they are divided or the root is taken. int8 gives a negative mean of positive numbers.
# Matters:  statistics of masks, token ids of small types and quantised weights are wrong without an error, and which of the two sums
#           is called is a matter of spelling.
. "$(dirname "$0")/lib.sh"
environment mindspore mindspore==2.10.0
cat >"$work/program.py" <<'P'
import mindspore, numpy
from mindspore import Tensor, ops
for values, kind in ([200, 100], numpy.uint8), ([100, 100], numpy.int8):
    t = Tensor(numpy.array(values, kind))
    print(f"{values} {t.dtype}:", ", ".join(f"{name} {float(value):.1f} ({value.dtype})" for name, value in {
        "tensor.sum()": t.sum(), "ops.sum": ops.sum(t), "ops.ReduceSum()": ops.ReduceSum()(t), "ops.reduce_sum": ops.reduce_sum(t),
        "ops.mean": ops.mean(t), "tensor.mean()": t.mean(), "ops.norm": ops.norm(t)}.items()))
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
[200, 100] UInt8: tensor.sum() 300.0 (Int64), ops.sum 300.0 (Int64), ops.ReduceSum() 44.0 (UInt8), ops.reduce_sum 44.0 (UInt8), ops.mean 22.0 (UInt8), tensor.mean() 22.0 (UInt8), ops.norm 8.9 (Float32)
[100, 100] Int8: tensor.sum() 200.0 (Int64), ops.sum 200.0 (Int64), ops.ReduceSum() -56.0 (Int8), ops.reduce_sum -56.0 (Int8), ops.mean -28.0 (Int8), tensor.mean() -28.0 (Int8), ops.norm 5.7 (Float32)
S
