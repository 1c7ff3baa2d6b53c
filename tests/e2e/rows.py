#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Evaluates an expression over an output folder and prints its value.

    rows.py DIR EXPRESSION        DIR: an output folder, or one rank's

Names in it: R the rows of calls_*.csv, C of comms.csv, S of stack_info.csv, V of scalars_*.csv, N of names.csv, each a dict with the columns and `folder`;
M the meta.json of each folder by its name; dirs, the names; files(folder), its files; calls(rows), the first row of each
call; on(folder, rows=R), those of one folder; flags(row); Counter.

What holds for all rows holds where there are none: an expression about R, C, S or M of a folder that has none is not
evaluated; "no rows in DIR" is printed and the status is 1.
"""
import collections
import csv
import glob
import json
import os
import re
import sys

Counter = collections.Counter


def table(folder, pattern):
    def place(path):
        return [int(n) for n in re.findall(r"\d+", os.path.basename(path))]

    out = []
    for path in sorted(glob.glob(glob.escape(folder) + "/" + pattern), key=place):
        with open(path, newline="") as f:
            for row in csv.DictReader(f):
                row["folder"] = os.path.basename(folder)
                row["file"] = os.path.basename(path)
                out.append(row)
    return out


FILES = {"R": "calls_*.csv", "C": "comms.csv", "S": "stack_info.csv", "V": "scalars_*.csv", "N": "names.csv"}
# Folders beside those of the ranks.
BESIDE = ("anomaly_detected", "health", "tensorboard")


class Output:
    def __init__(self, top, wanted=tuple("RCSVN")):
        """wanted: the letters of the tables that are read."""
        self.top = top
        if os.path.exists(top + "/meta.json") or glob.glob(glob.escape(top) + "/calls_*.csv"):
            paths = [os.path.normpath(top)]
        else:
            paths = sorted(p for p in glob.glob(glob.escape(top) + "/*") if os.path.isdir(p) and os.path.basename(p) not in BESIDE)
        self.paths = {os.path.basename(p): p for p in paths}
        self.dirs = list(self.paths)
        self.R, self.C, self.S, self.V, self.N, self.M = [], [], [], [], [], {}
        for name, path in self.paths.items():
            for letter, pattern in FILES.items():
                if letter in wanted:
                    getattr(self, letter).extend(table(path, pattern))
            if os.path.exists(path + "/meta.json"):
                with open(path + "/meta.json") as f:
                    self.M[name] = json.load(f)

    def files(self, folder):
        return sorted(os.listdir(self.paths[folder]))

    def on(self, folder, rows=None):
        return [r for r in (self.R if rows is None else rows) if r["folder"] == folder]


def calls(rows):
    """The first row of each call."""
    seen, out = set(), []
    for r in rows:
        key = r["folder"], r["seq"]
        if key not in seen:
            seen.add(key)
            out.append(r)
    return out


def flags(row):
    return row["flags"].split(";") if row["flags"] else []


def names_of(code):
    """All that an expression names, also inside of its comprehensions."""
    return set(code.co_names).union(*[names_of(c) for c in code.co_consts if hasattr(c, "co_names")])


def main():
    code = compile(f"({sys.argv[2]})", "expression", "eval")
    o = Output(sys.argv[1], names_of(code) | ({"R"} if "on" in names_of(code) else set()))
    names = {"calls": calls, "flags": flags, "Counter": Counter, "re": re, "json": json, "os": os, "R": o.R, "C": o.C,
             "S": o.S, "V": o.V, "N": o.N, "M": o.M, "dirs": o.dirs, "files": o.files, "on": o.on}
    for table, what in (("R", "rows"), ("C", "communicators"), ("S", "stacks"), ("M", "meta.json")):
        if table in names_of(code) and not names[table]:
            print(f"no {what} in {sys.argv[1]}")
            sys.exit(1)
    print(eval(code, names))


if __name__ == "__main__":
    main()
