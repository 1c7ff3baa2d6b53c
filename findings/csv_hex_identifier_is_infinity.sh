#!/usr/bin/env bash
# DuckDB 2.0.1, Polars 2.1.0, PyArrow 26.0.1, pandas 3.1.1: hexadecimal identifiers of 16 digits in a CSV file.
#
# Question: a column holds identifiers such as 12e4567890123456 and 34e9876543210987. What is read?
# Guess:    text, or at least two different values.
# Real:     all four read them as floating-point numbers in scientific notation, and both are +infinity: two identifiers
#           become one, without a warning. About 1 of 800 random 16-digit hexadecimal numbers looks like a decimal number.
# Matters:  a join by such a column (communicators, traces, commits) joins what does not belong together.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import duckdb, pandas, polars, pyarrow.csv
open("run.csv", "w").write("comm,bytes\n12e4567890123456,1\n34e9876543210987,2\n")
for name, values in (("DuckDB", [row[0] for row in duckdb.sql("SELECT comm FROM 'run.csv'").fetchall()]),
                     ("Polars", polars.read_csv("run.csv")["comm"].to_list()),
                     ("PyArrow", pyarrow.csv.read_csv("run.csv")["comm"].to_pylist()),
                     ("pandas", pandas.read_csv("run.csv").comm.tolist())):
    print(name, values)
P
(cd "$work" && "$python" program.py >seen) || exit 2
expect_output "$work/seen" <<'S'
DuckDB [inf, inf]
Polars [inf, inf]
PyArrow [inf, inf]
pandas [inf, inf]
S
