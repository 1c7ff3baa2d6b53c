#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tools/probe/rules/measured.def of the results of fault campaigns: measured.py COUNTS.jsonl

COUNTS has a line for each run (faults.py --counts). Programs are split before any is looked at: those of shapes.c are held out: they were
written when the rules were finished, and rules that were changed later were only checked with them; the trainings are those that the rules were made with. A row is of one kind and severity.
"""
import collections
import json
import sys
import time

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a kind of finding is right. Made by `make measured` of the results of `make faults` (%s, commit %s); do not edit.
 * %s
 *
 *	MEASURED(kind, severity, set, right, wrong, runs, programs, clean_runs, clean_programs, clean_accused)
 *
 * kind, severity: of findings.def; the severity is what the evidence sufficed for. set: HELD_OUT: programs that the rules were only
 * checked with (tests/faults/shapes.c); CALIBRATION: the trainings of tests/faults, which they were made with. right: of `runs` injected faults
 * of this kind in `programs` programs, those that the first finding named by kind, rank and step, with this severity. wrong: runs
 * with any fault in which the first finding was of this kind and severity and named another rank or another kind of fault.
 * clean_accused: of `clean_programs` programs without a fault (`clean_runs` runs), those of which this was said.
 */
#ifndef MEASURED
#define MEASURED(kind, severity, set, right, wrong, runs, programs, clean_runs, clean_programs, clean_accused)
#endif
"""


def main():
    rows = [json.loads(line) for line in open(sys.argv[1])]
    table = collections.defaultdict(lambda: dict(right=0, wrong=0, runs=0, programs=set(), accused=set()))
    clean = {True: [], False: []}
    # A kind's faults count for the severity with which it is usually said.
    usual = collections.defaultdict(collections.Counter)
    for r in rows:
        for kind, severity in r["said"]:
            usual[kind][severity] += 1
    for r in rows:
        if r["verdict"] == "clean":
            clean[r["held_out"]].append(r)
            for kind, severity in {tuple(s) for s in r["said"]}:
                table[kind, severity, r["held_out"]]["accused"].add(r["program"])
            continue
        first = r["said"][0] if r["said"] else None
        # Exact by another of the kinds that name it: a fault of that one.
        kind = first[0] if r["verdict"] == "exact" and first and first[0] in r["kinds"] else r["kinds"][0]
        if not usual[kind]:
            severity = "note"
        else:
            severity = first[1] if first and first[0] == kind else usual[kind].most_common(1)[0][0]
        t = table[kind, severity, r["held_out"]]
        t["runs"] += 1
        t["programs"].add(r["program"])
        t["right"] += r["verdict"] == "exact"
        if first and r["verdict"] in ("wrong", "partly") and first[0] not in r["kinds"]:
            table[first[0], first[1], r["held_out"]]["wrong"] += 1
        elif first and r["verdict"] == "wrong":
            table[first[0], first[1], r["held_out"]]["wrong"] += 1
    n = sum(r["verdict"] != "clean" for r in rows)
    commits = sorted({r["commit"] for r in rows if r.get("commit")})
    print(HEAD % (time.strftime("%Y-%m-%d"), " ".join(commits), f"{n} runs with a fault, {len(rows) - n} without."))
    for (kind, severity, held_out), t in sorted(table.items()):
        if not t["runs"]:
            continue
        c = clean[held_out]
        print(f'MEASURED("{kind}", "{severity}", {"HELD_OUT" if held_out else "CALIBRATION"}, {t["right"]}, {t["wrong"]}, {t["runs"]}, '
              f'{len(t["programs"])}, {len(c)}, {len({r["program"] for r in c})}, {len(t["accused"])})')
    print("\n#undef MEASURED")


if __name__ == "__main__":
    main()
