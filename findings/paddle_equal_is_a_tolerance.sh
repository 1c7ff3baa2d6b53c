#!/usr/bin/env bash
# PaddlePaddle 3.3.1, CPU: comparisons of small floating-point numbers.
#
# Question: x is 1e-20, 2e-20 and -1e-20, y is 1e-20 in each place. Where are they equal, and where is x greater or less?
# Guess:    equal in the first place only. == compares exactly; isclose() is there for the rest.
# Real:     == is True everywhere, != False everywhere, equal_all() True, although x > y and x < y are True in one place each.
#           Numbers that differ by less than 1e-15 are equal, in float64 as well. So x == 0 for 1e-20, while x.astype("bool"), nonzero() and
#           count_nonzero() say that it is not 0.
# Matters:  Adam's squares of gradients are often of this size: (a == b).all() between replicas, before and after a step, or between
#           checkpoints says equal whatever they hold, and (x == 0) counts them as dead. Compare x - y with 0 by > and <, or the bytes.
. "$(dirname "$0")/lib.sh"
environment paddle paddlepaddle==3.3.1
cat >"$work/program.py" <<'P'
import paddle
for kind in "float32", "float64":
    x = paddle.to_tensor([1e-20, 2e-20, -1e-20], dtype=kind)
    y = paddle.full([3], 1e-20, dtype=kind)
    for name, result in [("x == y", x == y), ("x != y", x != y), ("x > y", x > y), ("x < y", x < y), ("equal_all", paddle.equal_all(x, y)),
                         ("x == 0", x == 0), ("x as bool", x.astype("bool")), ("count_nonzero", paddle.count_nonzero(x)),
                         ("1e15 x == 1e15 y", x * 1e15 == y * 1e15)]:
        print(f"{kind} {name}: {result.tolist()}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
float32 x == y: [True, True, True]
float32 x != y: [False, False, False]
float32 x > y: [False, True, False]
float32 x < y: [False, False, True]
float32 equal_all: True
float32 x == 0: [True, True, True]
float32 x as bool: [True, True, True]
float32 count_nonzero: 3
float32 1e15 x == 1e15 y: [True, False, False]
float64 x == y: [True, True, True]
float64 x != y: [False, False, False]
float64 x > y: [False, True, False]
float64 x < y: [False, False, True]
float64 equal_all: True
float64 x == 0: [True, True, True]
float64 x as bool: [True, True, True]
float64 count_nonzero: 3
float64 1e15 x == 1e15 y: [True, False, False]
S
