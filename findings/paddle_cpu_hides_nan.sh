#!/usr/bin/env bash
# PaddlePaddle 3.3.1 (CPU): where a NaN disappears, and means of integers.
#
# Question: what do max, argmax, relu, relu6, clip, max_pool1d and the conversion to float8_e4m3fn make of a NaN? What is the mean of 1 and 2?
# Guess:    NaN, its index, NaN in relu and clip, NaN in the pool, NaN in float8 (the type has one). 1.5, as a float.
# Real:     max is NaN, argmax is the place of the largest number. relu gives 0, relu6 and clip NaN. The pool has the NaN only if it is the last element.
#           In float8_e4m3fn it becomes 448, the largest number, as Inf does; float8_e5m2 keeps NaN and makes 57344 of Inf.
#           The mean of integers is an integer: 1. That of True and False is a bool.
# Matters:  with relu in it a network computes on; the weights of an 8-bit checkpoint are all finite.
. "$(dirname "$0")/lib.sh"
environment paddle paddlepaddle==3.3.1
cat >"$work/program.py" <<'P'
import paddle
paddle.set_device("cpu")
f = paddle.nn.functional
nan, inf = float("nan"), float("inf")
for values in ([nan, 1, 2], [1, nan, 2], [1, 2, nan]):
    t = paddle.to_tensor(values, dtype="float32")
    print(f"{values}: max {t.max().item()}, argmax {t.argmax().item()}, relu {f.relu(t).tolist()}, relu6 {f.relu6(t).tolist()}, "
          f"clip to 0..5 {t.clip(0, 5).tolist()}, pool {f.max_pool1d(t.reshape([1, 1, 3]), 3).item()}")
for name in ("float8_e4m3fn", "float8_e5m2"):
    print(f"NaN, inf, -inf in {name}:", paddle.to_tensor([nan, inf, -inf]).astype(name).astype("float32").tolist())
for dtype in ("int32", "int64", "bool"):
    t = paddle.to_tensor([1, 0] if dtype == "bool" else [1, 2]).astype(dtype).mean()
    print(f"mean of {'True, False' if dtype == 'bool' else '1, 2'} in {dtype}: {t.item()} ({str(t.dtype).split('.')[-1]})")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -3 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
[nan, 1, 2]: max nan, argmax 2, relu [0.0, 1.0, 2.0], relu6 [nan, 1.0, 2.0], clip to 0..5 [nan, 1.0, 2.0], pool 2.0
[1, nan, 2]: max nan, argmax 2, relu [1.0, 0.0, 2.0], relu6 [1.0, nan, 2.0], clip to 0..5 [1.0, nan, 2.0], pool 2.0
[1, 2, nan]: max nan, argmax 1, relu [1.0, 2.0, 0.0], relu6 [1.0, 2.0, nan], clip to 0..5 [1.0, 2.0, nan], pool nan
NaN, inf, -inf in float8_e4m3fn: [448.0, 448.0, -448.0]
NaN, inf, -inf in float8_e5m2: [nan, 57344.0, -57344.0]
mean of 1, 2 in int32: 1 (int32)
mean of 1, 2 in int64: 1 (int64)
mean of True, False in bool: True (bool)
S
