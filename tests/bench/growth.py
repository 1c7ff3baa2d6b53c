# SPDX-License-Identifier: Apache-2.0
"""How the cost of a call and memory grow with call sites, communicators, requests under way, threads and calls: exponents of fits.

    growth.py [--build DIR] [--kinds sites,comms,requests,threads,calls] [--repeat 3]

Runs growth.c under the preload. Columns: `first` and `again` are us of processor time of a call, the writer's too, the least of the repeats:
when the item is used for the first time, and later; `bytes` of memory an item. The fit is a straight line through the logarithms of the
number of items and of the time that one use of each takes: 1 means that a call costs the same however many items there are. Sizes after the
bar are beyond a documented limit of libprobe: there the further items are not recorded by name, so they are not in the fit.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

from scale import fitted

SIZES = {
    "sites": ([10, 100, 1000, 10000, 40000], [100000]),
    "comms": ([10, 100, 1000, 6000], [100000]),
    "requests": ([1, 10, 100, 1000, 10000, 100000], []),
    "threads": ([1, 4, 16, 64], []),
    "calls": ([1000, 10000, 100000, 1000000], []),
}
CALLS = {"requests": 2, "threads": 20000}  # of one use of an item, as in growth.c


def measured(build, top, kind, n):
    shutil.rmtree(top + "/out", ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROBE_")}
    env.update(LD_PRELOAD=f"{build}/libprobe.so", PROBE_OUTPUT_DIR=top + "/out")
    p = subprocess.run([f"{build}/bench/growth", kind, str(n)], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if p.returncode:
        sys.exit(f"growth {kind} {n}: status {p.returncode}")
    return {k: float(v) for k, v in (line.split() for line in p.stdout.splitlines())}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--kinds", default=",".join(SIZES))
    p.add_argument("--repeat", type=int, default=3)
    a = p.parse_args()
    build = os.path.abspath(a.build)
    top = tempfile.mkdtemp(prefix="libprobe-growth.")
    try:
        print(f" {'':10} {'items':>8} {'first us':>9} {'again us':>9} {'bytes':>8} {'end ms':>7}")
        for kind in a.kinds.split(","):
            inside, beyond = SIZES[kind]
            xs, ys = [], []
            for n in inside + beyond:
                got = [measured(build, top, kind, n) for _ in range(a.repeat)]
                calls = n * CALLS.get(kind, 1)
                first, again, kib, end = (min(g[name] for g in got) for name in ("first", "again", "kib", "end"))
                print(f" {kind:10} {'|' if n in beyond else ' '}{n:7} {first / calls / 1e3:9.2f} {again / calls / 1e3:9.2f} "
                      f"{kib * 1024 / n:8.0f} {end / 1e6:7.1f}", flush=True)
                if n in inside:
                    xs.append(n)
                    ys.append(again)
            slope, error, _ = fitted(xs, ys)
            print(f" {kind}: items^{slope:.3f} +- {error:.3f}", flush=True)
    finally:
        shutil.rmtree(top, ignore_errors=True)


main()
