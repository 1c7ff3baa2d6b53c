#!/usr/bin/env bash
# PyArrow 26.0.1, beside pandas 3.1.1, Polars 2.1.0 and DuckDB 2.0.1: 0.0 and -0.0, and NaN with other bits, as keys.
#
# Question: a column holds 0.0, -0.0 and 1, another one NaN of two bit patterns and 1. How many groups and distinct values has each? How many
#           pairs does a join of the column with itself give? Is -0.0 in the list [0.0]?
# Guess:    two, five (2 x 2 + 1), yes, in each library: 0.0 == -0.0 everywhere. For NaN two, and five or one.
# Real:     PyArrow has three groups and three distinct values, a join of three pairs, and -0.0 is not in [0.0], though equal() says
#           that they are equal. The two NaN are two groups, and each is joined with itself only. So is pandas with Arrow's types;
#           pandas with its own types, Polars and DuckDB are as guessed.
# Matters:  sums of gradients that cancel are 0.0 on one rank and -0.0 on another, and NaN of a CPU and a GPU differ in sign: groups,
#           joins and filters by is_in() of Arrow split them, and print two rows that look the same.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import duckdb, numpy as np, pandas, polars, pyarrow, pyarrow.compute as compute
zeros = np.array([0.0, -0.0, 1.0])
nans = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x3FF0000000000000], np.uint64).view(np.float64)
for name, values in ("zeros", zeros), ("NaN", nans):
    t = pyarrow.table({"key": values, "a": [1, 2, 3]})
    other = t.rename_columns(["key", "b"])
    f, p = t.to_pandas(), polars.from_arrow(t)
    arrow = t.to_pandas(types_mapper=pandas.ArrowDtype)
    pairs = duckdb.sql("SELECT count(*) FROM t JOIN other ON t.key = other.key").fetchall()[0][0]
    groups = duckdb.sql("SELECT count(*) FROM (SELECT key FROM t GROUP BY key)").fetchall()[0][0]
    print(f"{name}, PyArrow: {t.group_by('key').aggregate([]).num_rows} groups, {len(compute.unique(t['key']))} distinct, "
          f"{t.join(other, keys='key', join_type='inner').num_rows} pairs, "
          f"is_in the first {compute.is_in(t['key'], pyarrow.array(values[:1])).to_pylist()}, "
          f"equal the first {compute.equal(t['key'], pyarrow.scalar(values[0])).to_pylist()}")
    print(f"{name}, pandas of Arrow's types: {arrow.groupby('key', dropna=False).ngroups} groups, {len(arrow.key.unique())} distinct")
    print(f"{name}, pandas: {f.groupby('key', dropna=False).ngroups} groups, {len(f.key.unique())} distinct, {len(f.merge(f, on='key'))} pairs")
    print(f"{name}, Polars: {p.group_by('key').len().height} groups, {p['key'].n_unique()} distinct, {p.join(p, on='key').height} pairs")
    print(f"{name}, DuckDB: {groups} groups, {pairs} pairs")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
zeros, PyArrow: 3 groups, 3 distinct, 3 pairs, is_in the first [True, False, False], equal the first [True, True, False]
zeros, pandas of Arrow's types: 3 groups, 3 distinct
zeros, pandas: 2 groups, 2 distinct, 5 pairs
zeros, Polars: 2 groups, 2 distinct, 5 pairs
zeros, DuckDB: 2 groups, 5 pairs
NaN, PyArrow: 3 groups, 3 distinct, 3 pairs, is_in the first [True, False, False], equal the first [False, False, False]
NaN, pandas of Arrow's types: 3 groups, 3 distinct
NaN, pandas: 2 groups, 2 distinct, 5 pairs
NaN, Polars: 2 groups, 2 distinct, 5 pairs
NaN, DuckDB: 2 groups, 5 pairs
S
