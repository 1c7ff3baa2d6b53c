#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
PyTorch's own statistics beside ours, in one process, on one core and the same memory.

  stats_torch.py LIBRARY [MIB [DTYPE ...]]

LIBRARY: a shared object that holds preload/stats (built by stats_torch.sh, which runs this). Columns: dtype, what is
computed, GB/s of both, and how many times faster ours is. "four": max, min, mean and norm; "seven": zeros, nans and infs
as well, which here are always computed. Norm and mean in float32 is what torch does by default; ours is exact to 1e-12.
Medians of the rounds, in CPU time of the thread; a round takes both, one after the other.
"""
import ctypes
import statistics
import sys
import time

import torch

FOUR = {
    "max": torch.max,
    "min": torch.min,
    "mean": lambda t: torch.mean(t),
    "norm": lambda t: torch.linalg.vector_norm(t),
}
SEVEN = dict(
    FOUR,
    zeros=lambda t: (t.abs() < 1e-8).sum(),
    nans=lambda t: torch.isnan(t).sum(),
    infs=lambda t: torch.isinf(t).sum(),
)


class Figures(ctypes.Structure):
    _fields_ = [
        ("n", ctypes.c_uint64),
        ("zeros", ctypes.c_uint64),
        ("nans", ctypes.c_uint64),
        ("infs", ctypes.c_uint64),
        ("min", ctypes.c_double),
        ("max", ctypes.c_double),
        ("mean", ctypes.c_double),
        ("norm", ctypes.c_double),
    ]


def seconds(function):
    start = time.thread_time()
    function()
    return time.thread_time() - start


def main():
    lib = ctypes.CDLL(sys.argv[1])
    mib = int(sys.argv[2]) if len(sys.argv) > 2 else 512
    lib.bench_measure.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(Figures)]
    lib.bench_isa.restype = ctypes.c_char_p
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {mib} MiB, one thread; ours: {lib.bench_isa().decode()}")
    print("dtype    figures torch_GBps ours_GBps times")
    names = sys.argv[3:] or ["float32", "float64", "bfloat16", "float16"]
    for dtype in (getattr(torch, name) for name in names):
        size = torch.empty(0, dtype=dtype).element_size()
        n = mib * 2**20 // size
        t = torch.empty(n, dtype=dtype)
        for at in range(0, n, 2**22):  # in pieces, so that little memory is needed beside it
            piece = t[at : at + 2**22]
            piece.copy_(torch.randn(piece.shape, dtype=torch.float32))
        name = str(dtype).removeprefix("torch.")
        got = Figures()

        def ours():
            lib.bench_measure(name.encode(), t.data_ptr(), n, ctypes.byref(got))

        ours()
        assert got.n == n and got.max == t.max().item() and got.min == t.min().item()
        assert abs(got.mean - t[: 2**24].double().mean().item()) < 1e-2
        for figures, functions in (("four", FOUR), ("seven", SEVEN)):
            theirs, mine, ratio = [], [], []
            for _ in range(5):
                a = sum(seconds(lambda f=f: f(t)) for f in functions.values())
                b = seconds(ours)
                theirs.append(a)
                mine.append(b)
                ratio.append(a / b)
            rate = [n * size / statistics.median(x) / 1e9 for x in (theirs, mine)]
            print(f"{name:8} {figures:7} {rate[0]:10.2f} {rate[1]:9.2f} {statistics.median(ratio):5.1f}")


main()
