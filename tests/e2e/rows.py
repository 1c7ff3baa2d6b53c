#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Evaluates an expression over an output folder and prints its value.

    rows.py DIR EXPRESSION        DIR: an output folder, or one rank's

Names in it: R the rows of calls_*.csv, C of comms.csv, S of stack_info.csv, each a dict with the columns and `folder`;
M the meta.json of each folder by its name; dirs, the names; files(folder), its files; calls(rows), the first row of each
call; on(folder, rows=R), those of one folder; flags(row); Counter.
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


class Output:
    def __init__(self, top):
        self.top = top
        if os.path.exists(top + "/meta.json") or glob.glob(glob.escape(top) + "/calls_*.csv"):
            paths = [os.path.normpath(top)]
        else:
            paths = sorted(p for p in glob.glob(glob.escape(top) + "/*") if os.path.isdir(p))
        self.paths = {os.path.basename(p): p for p in paths}
        self.dirs = list(self.paths)
        self.R, self.C, self.S, self.M = [], [], [], {}
        for name, path in self.paths.items():
            self.R += table(path, "calls_*.csv")
            self.C += table(path, "comms.csv")
            self.S += table(path, "stack_info.csv")
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


def main():
    o = Output(sys.argv[1])
    names = {"calls": calls, "flags": flags, "Counter": Counter, "re": re, "json": json, "os": os, "R": o.R, "C": o.C,
             "S": o.S, "M": o.M, "dirs": o.dirs, "files": o.files, "on": o.on}
    print(eval(f"({sys.argv[2]})", names))


if __name__ == "__main__":
    main()
