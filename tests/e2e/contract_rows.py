#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares recorded rows with rows written by hand:  contract_rows.py OUTPUT EXPECTED STDERR [TIMES]

EXPECTED: see contract.expected. STDERR: what the program said there: "error RANK CODE" is the code that its failing
call returned. TIMES: TIMES.<rank> holds Unix times before and after each of the last barriers.
"""
import glob
import re
import sys

from rows import Output, calls, flags

EMPTY = ("micro_step", "shape", "parent", "phase", "name", "dev_ns", "crc32")
NAMES = {"MPI_COMM_WORLD": "world", "MPI_COMM_SELF": "self"}
wrong = []


def numbers(text):
    lo, _, hi = text.partition("-")
    return list(range(int(lo), int(hi or lo) + 1))


def expected(path):
    """{rank: [{column: text}]}"""
    out, head = {}, None
    with open(path) as f:
        for line in f:
            cells = line.split()
            if not cells or cells[0] == "#" or line.startswith("#"):
                continue
            if head is None:
                head = cells[1:]
                continue
            if len(cells) != len(head) + 1:
                sys.exit(f"{path}: {len(cells)} cells, not {len(head) + 1}: {line}")
            ranks = numbers(cells[0])
            for i, rank in enumerate(ranks):
                row = {}
                for column, cell in zip(head, cells[1:]):
                    choice = cell.split("|")
                    cell = choice[i] if len(choice) == len(ranks) and len(choice) > 1 else cell
                    row[column] = "" if cell == "." else str(rank) if cell == "=" else cell
                out.setdefault(rank, []).append(row)
    return out


def compare(rank, i, want, have, codes):
    for column, text in want.items():
        mine = have[column]
        if column == "comm":
            mine = NAMES.get(have["comm_name"], have["comm_name"]).replace(" ", "_")
        elif column == "flags" and text == "error:*":
            text = f"error:{codes.get(rank)}"
        elif column in ("mean", "norm") and mine not in ("", "nan", "inf", "-inf") and text not in ("", "nan", "inf"):
            # In 9 digits, or 17; between what is printed and the exact value there is less than that.
            a, b = float(mine), float(text)
            digits = len(re.sub(r"e.*|\D", "", mine).lstrip("0"))
            if abs(a - b) <= max(abs(b), 1e-300) * 2e-9 and digits <= 17:
                continue
        if mine != text:
            wrong.append(f"rank {rank} row {i} {want['api']}: {column} is {mine!r}, not {text!r}")
    for column in EMPTY:
        if have[column]:
            wrong.append(f"rank {rank} row {i} {want['api']}: {column} is {have[column]!r}, not empty")
    asynchronous = "async" in flags(have)
    if not asynchronous and have["wait_ns"]:
        wrong.append(f"rank {rank} row {i} {want['api']}: wait_ns of a blocking call")
    # Only requests are waited for.
    if any(int(have[column] or 0) > 600e9 for column in ("dur_ns", "wait_ns")):
        wrong.append(f"rank {rank} row {i} {want['api']}: longer than the test")
    if asynchronous and have["lib"] == "mpi" and "freed" not in flags(have) and not have["wait_ns"]:
        wrong.append(f"rank {rank} row {i} {want['api']}: no wait_ns")


def compare_times(o, rank, path):
    with open(path) as f:
        pairs = [tuple(map(int, line.split())) for line in f]
    last = calls(o.on(f"rank{rank}"))[-len(pairs):]
    for (before, after), row in zip(pairs, last):
        start, end = int(row["start_ns"]), int(row["start_ns"]) + int(row["dur_ns"])
        # Clocks are read one after the other, and another process may run in between; more than that is a wrong clock.
        if start < before - 20000 or end > after + 20000:
            wrong.append(f"rank {rank} seq {row['seq']}: from {start - before} ns after it was called to {after - end} ns "
                         "before it came back")


def main():
    o = Output(sys.argv[1])
    want = expected(sys.argv[2])
    codes = {}
    with open(sys.argv[3]) as f:
        for line in f:
            m = re.fullmatch(r"error (\d+) (-?\d+)\n", line)
            if m:
                codes[int(m[1])] = int(m[2])
    names = {(c["folder"], c["comm"]): c["name"] or c["kind"] for c in o.C}
    for rank, rows in want.items():
        have = o.on(f"rank{rank}")
        for r in have:
            r["comm_name"] = names.get((r["folder"], r["comm"]), "")
        have.sort(key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0)))
        if len(have) != len(rows):
            wrong.append(f"rank {rank}: {len(have)} rows, not {len(rows)}")
        for i, (w, h) in enumerate(zip(rows, have)):
            compare(rank, i, w, h, codes)
        for path in glob.glob(f"{sys.argv[4]}.{rank}") if len(sys.argv) > 4 else ():
            compare_times(o, rank, path)
    for line in wrong[:15]:
        print(line)
    print(f"# {sum(map(len, want.values()))} rows, {len(wrong)} wrong")
    sys.exit(1 if wrong or not want else 0)


if __name__ == "__main__":
    main()
