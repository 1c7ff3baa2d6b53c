# SPDX-License-Identifier: Apache-2.0
"""The numbers of the folders that fault_folders.py makes, and their statistics."""
import functools
import math
import os
import random

RANKS, STEPS, WHO, WHEN = int(os.environ.get("FAULT_RANKS", 4)), 16, int(os.environ.get("FAULT_WHO", 2)), 9


def stats(all_values):
    values = [v for v in all_values if v == v]
    if not values:
        return dict(count=len(all_values), bytes=4 * len(all_values), min="nan", max="nan", mean="nan", norm="nan", zeros=0,
                    nans=len(all_values), infs=0)
    return dict(count=len(all_values), bytes=4 * len(all_values), min=f"{min(values):.9g}", max=f"{max(values):.9g}",
                mean=f"{sum(values) / len(values):.9g}", norm=f"{math.sqrt(sum(v * v for v in values)):.9g}",
                zeros=sum(v == 0 for v in values) / len(values), nans=len(all_values) - len(values), infs=0)


@functools.lru_cache(maxsize=1 << 16)
def drawn(step, rank, place, n):
    r = random.Random(f"{step} {rank} {place}")
    return [r.uniform(-1, 1) for _ in range(n)]


def values(step, rank, place, n=64):
    return list(drawn(step, rank, place, n))
