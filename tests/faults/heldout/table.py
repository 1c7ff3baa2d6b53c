# SPDX-License-Identifier: Apache-2.0
"""The table of a campaign. The unit is the program: intervals are bootstrapped over programs."""
import random

from sites import TIMING

VERDICTS = ["exact", "partly", "wrong", "silent"]


def interval(runs, is_hit):
    """95 %, in percent: resampled by program. If none or all are hits: the exact bound for as many programs."""
    groups = {}
    for run in runs:
        groups.setdefault(run["program"], []).append(is_hit(run))
    groups = list(groups.values())
    hits, n = sum(map(sum, groups)), sum(map(len, groups))
    if not n:
        return ""
    edge = 100 * (1 - 0.05 ** (1 / len(groups)))
    if hits in (0, n):
        return f"0-{edge:.0f}" if hits == 0 else f"{100 - edge:.0f}-100"
    if len(groups) < 3:
        return ""
    r, shares = random.Random(1), []
    for _ in range(2000):
        drawn = [r.choice(groups) for _ in groups]
        shares.append(100 * sum(map(sum, drawn)) / sum(map(len, drawn)))
    shares.sort()
    return f"{shares[50]:.0f}-{shares[1949]:.0f}"


def print_rows(title, runs, key):
    print(f"\n{title:14} {'runs':>5} " + " ".join(f"{v:>7}" for v in VERDICTS) + "   exact %")
    groups = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    for name, group in sorted(groups.items()):
        counts = [sum(run["verdict"] == v for run in group) for v in VERDICTS]
        print(f"{name:14} {len(group):5} " + " ".join(f"{c:7}" for c in counts) + f"   {100 * counts[0] / len(group):5.0f}")


def print_table(runs):
    faults = [run for run in runs if run["verdict"] in VERDICTS]
    judged = [run for run in faults if run["fault"] not in TIMING]
    if judged:
        print_rows("program", judged, lambda r: r["program"])
        print_rows("MPI", judged, lambda r: r["mpi"])
        print_rows("fault", judged, lambda r: r["fault"])
        print_rows("steps marked", judged, lambda r: r["marker"])
        print_rows("order", judged, lambda r: "by data" if r["data"] else "fixed")
        print_rows("timing", [r for r in faults if r["fault"] in TIMING], lambda r: r["fault"])
        print(f"\n{len(judged)} faults that took effect, {len({r['program'] for r in judged})} programs:")
        for v in VERDICTS:
            n = sum(r["verdict"] == v for r in judged)
            print(f"  {v:7} {n:4}  {100 * n / len(judged):5.1f} %  [{interval(judged, lambda r: r['verdict'] == v)}]")
        print(f"  ({sum(r['verdict'] == 'none' for r in runs)} more had no effect)")
    clean = [r for r in runs if r["fault"] == "clean" and r["verdict"] != "overtime"]
    if clean:
        accused = [r for r in clean if r["verdict"] == "accused"]
        variants = len({(r["program"], r["mpi"], r["ranks"], r["options"].get("size"), r["marker"], str(r["env"])) for r in clean})
        print(f"{len(clean)} clean runs, {variants} variants: {len(accused)} accused "
              f"[{interval(clean, lambda r: r['verdict'] == 'accused')} %], {sum(bool(r['timing']) for r in clean)} with a finding of timing")
        for run in accused:
            for f in run["accused"]:
                print(f"  {run['name']}: {f['severity']} {f['kind']} {f['ranks']} step {f['step']}: {f['text'][:160]!r}")
