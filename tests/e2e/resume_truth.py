# SPDX-License-Identifier: Apache-2.0
"""
resume_truth.py DIR RANK FIRST LAST [SUFFIX]: does rank<RANK><SUFFIX> hold steps FIRST to LAST of mpi_resume.c, each call once, with the values
that the program had? Its own words say what it calls. Prints `whole`, or what is wrong.
"""
import sys

from rows import Counter, Output, calls

path, rank, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
suffix = sys.argv[5] if len(sys.argv) > 5 else ""


def main():
    o = Output(f"{path}/rank{rank}{suffix}")
    have = Counter((int(r["step"]), r["api"], float(r["min"])) for r in o.R if r["io"] == "in")
    want = Counter()
    for s in range(first, last + 1):
        want.update((s, "MPI_Allreduce", float(100 * s + 10 * k)) for k in range(1 + s % 3))
        want[s, "MPI_Reduce", float(100 * s + 90)] += 1
    if have != want:
        return f"too many {sorted((have - want).items())[:5]}, missing {sorted((want - have).items())[:5]}"
    numbers = Counter(r["seq"] for r in calls(o.R))
    if max(numbers.values()) > 1:
        return f"numbers twice: {numbers.most_common(3)}"
    stacks = Counter(r["stack_id"] for r in o.S)
    if max(stacks.values()) > 1 or any(r["stack_id"] not in stacks for r in o.R):
        return f"stacks: {stacks.most_common(3)}"
    comms = Counter(r["comm"] for r in o.C)
    if max(comms.values()) > 1 or any(r["comm"] not in comms for r in o.R):
        return f"communicators: {comms.most_common(3)}"
    places = Counter((r["comm"], r["comm_seq"]) for r in calls(o.R))
    if max(places.values()) > 1:
        return f"collectives twice: {places.most_common(3)}"
    return "whole"


print(main())
