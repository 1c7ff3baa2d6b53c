# SPDX-License-Identifier: Apache-2.0
"""How `probe report` grows with the number of ranks: time and memory, the exponent of a fit, and what it says of 100,000 ranks.

    scale.py [--build DIR] [--folder DIR] [--ranks 1000,4000,16000] [--calls 1000] [--repeat 3] [--to 100000] [--gen PATH]

The folders are made by tests/bench/gen_folder.c (8 calls a step, 2 rows a call) and removed again. Time is that of the processor, user and
system, which other load changes less than the clock's; memory is the largest resident set. The fit is a straight line through the
logarithms, by least squares; errors are those of a 95 % confidence interval (Student's t). Memory has a part that does not grow: a straight
line through the numbers themselves says how much a rank takes.
"""
import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}


def measured(command):
    """s of processor time, s by the clock, MiB: of that command alone."""
    begun = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"{command}: status {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - begun, used.ru_maxrss / 1024


def fitted(xs, ys):
    """Slope and intercept of the logarithms, half-width of the slope's interval, and a function: value and factor of error at x."""
    xs, ys = [math.log(x) for x in xs], [math.log(y) for y in ys]
    n, mx, my = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    sxx = sum((x - mx) ** 2 for x in xs)
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sxx
    cut = my - slope * mx
    left = n - 2
    s = math.sqrt(sum((y - cut - slope * x) ** 2 for x, y in zip(xs, ys)) / left)
    t = T95.get(left, 2.0)

    def at(x):
        lx = math.log(x)
        return math.exp(cut + slope * lx), math.exp(t * s * math.sqrt(1 + 1 / n + (lx - mx) ** 2 / sxx))
    return slope, t * s / math.sqrt(sxx), at


def straight(xs, ys):
    """Base, slope, and a function: value and half-width at x."""
    n, mx, my = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    sxx = sum((x - mx) ** 2 for x in xs)
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sxx
    base = my - slope * mx
    s = math.sqrt(sum((y - base - slope * x) ** 2 for x, y in zip(xs, ys)) / (n - 2))
    t = T95.get(n - 2, 2.0)
    return base, slope, lambda x: (base + slope * x, t * s * math.sqrt(1 + 1 / n + (x - mx) ** 2 / sxx))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--folder")
    p.add_argument("--ranks", default="1000,4000,16000")
    p.add_argument("--calls", type=int, default=1000)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--to", type=int, default=100000)
    a = p.parse_args()
    top = tempfile.mkdtemp(prefix="libprobe-scale.", dir=a.folder)
    sizes = [int(r) for r in a.ranks.split(",")]
    xs, cpu, memory = [], [], []
    try:
        gen = top + "/gen"
        subprocess.run(["cc", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Ipreload", "-o", gen, "tests/bench/gen_folder.c"], check=True)
        print(f" {'ranks':>7} {'calls':>7} {'rows':>12} {'CPU s':>8} {'clock s':>8} {'MiB':>8} {'rows/s':>10}", flush=True)
        for n in sizes:
            subprocess.run([gen, "-r", str(n), "-s", str(a.calls // 8), "-c", "8", top + "/run"], check=True)
            rows = 2 * n * (a.calls // 8) * 8
            for _ in range(a.repeat):
                s, clock, mib = measured([f"{a.build}/probe", "report", "--json", top + "/run"])
                print(f" {n:7} {a.calls:7} {rows:12} {s:8.2f} {clock:8.2f} {mib:8.0f} {rows / s:10.0f}", flush=True)
                xs.append(n)
                cpu.append(s)
                memory.append(mib)
            shutil.rmtree(top + "/run")
        for what, ys, unit in (("time", cpu, "s"), ("memory", memory, "MiB")) if len(set(xs)) > 2 else ():
            slope, error, at = fitted(xs, ys)
            value, factor = at(a.to)
            print(f" {what}: ranks^{slope:.3f} +- {error:.3f}; {a.to} ranks x {a.calls} calls: {value:.0f} {unit}, "
                  f"{value / factor:.0f} to {value * factor:.0f}")
        if len(set(xs)) > 2:
            base, slope, at = straight(xs, memory)
            value, half = at(a.to)
            print(f" memory: {base:.0f} MiB and {1024 * slope:.1f} KiB a rank; {a.to} ranks: {value:.0f} +- {half:.0f} MiB")
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
