#!/usr/bin/env bash
# DuckDB 2.0.1, Polars 2.1.0, PyArrow 26.0.1 and pandas 3.1.1 guess the type of a CSV column of floating-point numbers.
#
# Question: what becomes of a column of numbers with one `inf` (first row) or one `nan`?
# Guess:    a column of 64-bit floats in all four.
# Real:     DuckDB makes text of a column that begins with `inf` (alone, it is a DATE: 'inf' is an infinite date), so that
#           "norm > 1e6" is an error and ORDER BY sorts letters. Polars makes text of a column with `nan`. PyArrow reads
#           `nan` as null. pandas reads both, but `nan` and an empty field are the same.
# Matters:  the types hold in healthy runs and break in those that people look at. Name the types when reading.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import duckdb, pandas, polars, pyarrow.csv
files = {"inf first": "step,norm\n0,inf\n1,2.5\n2,100\n", "one nan": "step,norm\n0,1.5\n1,nan\n2,100\n",
         "only inf": "step,norm\n0,inf\n"}
for name, text in files.items():
    open("run.csv", "w").write(text)
    arrow = pyarrow.csv.read_csv("run.csv")
    print(f"{name}: DuckDB {duckdb.read_csv('run.csv').types[1]}, Polars {polars.read_csv('run.csv')['norm'].dtype}, "
          f"PyArrow {arrow['norm'].type} with {arrow['norm'].null_count} null, pandas {pandas.read_csv('run.csv').norm.dtype}")
    if name == "inf first":
        print("  DuckDB, ORDER BY norm DESC:", [row[0] for row in duckdb.sql("SELECT norm FROM 'run.csv' ORDER BY norm DESC").fetchall()])
        try:
            duckdb.sql("SELECT * FROM 'run.csv' WHERE norm > 1e6").fetchall()
        except duckdb.Error as error:
            print("  DuckDB, WHERE norm > 1e6:", type(error).__name__)
P
(cd "$work" && "$python" program.py >seen) || exit 2
expect_output "$work/seen" <<'S'
inf first: DuckDB VARCHAR, Polars Float64, PyArrow double with 0 null, pandas float64
  DuckDB, ORDER BY norm DESC: ['inf', '2.5', '100']
  DuckDB, WHERE norm > 1e6: BinderException
one nan: DuckDB DOUBLE, Polars String, PyArrow double with 1 null, pandas float64
only inf: DuckDB DATE, Polars Float64, PyArrow double with 0 null, pandas float64
S
