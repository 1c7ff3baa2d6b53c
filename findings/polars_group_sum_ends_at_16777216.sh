#!/usr/bin/env bash
# Polars 2.1.0 with one thread, beside DuckDB 2.0.1 and PyArrow 26.0.1: the sum of float32 numbers in groups.
#
# Question: 2^25 rows of one group have the number 1. What is their sum by group_by(), by SQL, of the column, and by a lazy select()? And
#           their mean?
# Guess:    33554432 each time, and 1: float32 holds that number, and sum() of the column adds in pairs or in float64.
# Real:     the sum of the column and all means are right. group_by() and SQL give 16777216: they add one after the other in float32, where a
#           1 is lost from 2^24 on. With more threads it is another number from run to run. The lazy sum without a group was
#           33554600. PyArrow and DuckDB are right.
# Matters:  tokens, bytes or seconds that are stored as float32 are summed too low by rank or by step in long runs; sum divided by count
#           is not the mean, and the sum of the groups is not the sum of the column. pl.col("x").cast(pl.Float64).sum() is right.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import os
os.environ["POLARS_MAX_THREADS"] = "1"
import duckdb, numpy as np, polars as pl
rows = 1 << 25
frame = pl.DataFrame({"rank": np.zeros(rows, np.int8), "x": np.ones(rows, np.float32)})
both = [pl.col("x").sum().alias("sum"), pl.col("x").mean().alias("mean")]
def name(values):
    return f"sum {values[0]:.0f}, mean {values[1]:g}"
print("column:", name((frame["x"].sum(), frame["x"].mean())))
print("group_by:", name(frame.group_by("rank").agg(both).rows()[0][1:]))
print("lazy group_by:", name(frame.lazy().group_by("rank").agg(both).collect(engine="streaming").rows()[0][1:]))
print("SQL:", name(frame.sql("SELECT rank, sum(x), avg(x) AS mean FROM self GROUP BY rank").rows()[0][1:]))
exact = pl.col("x").cast(pl.Float64)
print("group_by as float64:", name(frame.group_by("rank").agg(exact.sum(), exact.mean().alias("mean")).rows()[0][1:]))
total = frame.lazy().select(both).collect(engine="streaming").rows()[0]
print("lazy select:", "sum right" if total[0] == rows else "sum wrong", f"mean {total[1]:g}")
arrow = frame.to_arrow()
group = arrow.group_by("rank").aggregate([("x", "sum"), ("x", "mean")]).to_pylist()[0]
print("PyArrow group_by:", name((group["x_sum"], group["x_mean"])))
print("DuckDB:", name(duckdb.sql("SELECT sum(x), avg(x) FROM arrow GROUP BY rank").fetchall()[0]))
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
column: sum 33554432, mean 1
group_by: sum 16777216, mean 1
lazy group_by: sum 16777216, mean 1
SQL: sum 16777216, mean 1
group_by as float64: sum 33554432, mean 1
lazy select: sum wrong mean 1
PyArrow group_by: sum 33554432, mean 1
DuckDB: sum 33554432, mean 1
S
