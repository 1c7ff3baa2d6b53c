#!/usr/bin/env bash
# MLX 0.32.4 on Linux (CPU): means, norms and running sums.
#
# Question: what are the mean of 2^26 ones, the mean of 2^20 ones in float16, the norm of four 100 in int8, the running sum of four 100 in int8, and the
#           running maximum of 1, NaN, 2?
# Guess:    1, 1, 200, 100 to 400 (as sum() gives 400 in int32), and NaN from the second place on in each type.
# Real:     0.25, because the sum of ones stops at 2^24; the variance of equal numbers is 0.25 too. In float16 the mean is inf. The norm is 8:
#           squares are taken in int8. The running sum wraps at once, though sum() of the same array does not. The running maximum has the NaN in
#           float32, and 1, 0, 2 in float16 and bfloat16.
# Matters:  a loss averaged over 67 million tokens is a quarter of what it is; two functions of one library disagree about the same array.
. "$(dirname "$0")/lib.sh"
environment mlx 'mlx[cpu]==0.32.4'
cat >"$work/program.py" <<'P'
import mlx.core as mx
mx.set_default_device(mx.cpu)
for power in (24, 25, 26):
    ones = mx.ones(1 << power)
    print(f"2^{power} ones in float32: mean {ones.mean().item()}, variance {mx.var(ones).item()}")
print(f"2^20 ones in float16: mean {mx.ones(1 << 20, dtype=mx.float16).mean().item()}")
hundreds = mx.full((4,), 100, dtype=mx.int8)
print(f"four 100 in int8: sum {hundreds.sum().item()}, mean {hundreds.mean().item()}, norm {mx.linalg.norm(hundreds).item()}, "
      f"running sum {hundreds.cumsum().tolist()}")
for dtype in (mx.float32, mx.float16, mx.bfloat16):
    print(f"running maximum of 1, NaN, 2 in {str(dtype).split('.')[-1]}: {mx.cummax(mx.array([1, float('nan'), 2], dtype=dtype)).tolist()}")
P
"$python" "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
2^24 ones in float32: mean 1.0, variance 0.0
2^25 ones in float32: mean 0.5, variance 0.125
2^26 ones in float32: mean 0.25, variance 0.25
2^20 ones in float16: mean inf
four 100 in int8: sum 400, mean 100.0, norm 8.0, running sum [100, -56, 44, -112]
running maximum of 1, NaN, 2 in float32: [1.0, nan, nan]
running maximum of 1, NaN, 2 in float16: [1.0, 0.0, 2.0]
running maximum of 1, NaN, 2 in bfloat16: [1.0, 0.0, 2.0]
S
