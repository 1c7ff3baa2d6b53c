#!/usr/bin/env bash
# DuckDB 2.0.1, DataFusion 55.0.0, Daft 0.7.26, Polars 2.1.0, PyArrow 25.0.1, chDB 4.4.0: one Parquet file, one column of three doubles: 3, NaN, 1.
#
# Question: what is the largest, how many are above 2, and which comes first in descending order?
# Guess:    two camps: those for which NaN is a number like others, above all (NaN, 2, NaN), and IEEE's (3, 1, 3). Each answers the
#           first question with one number, whatever else is asked in the same query.
# Real:     the second camp is chDB (ClickHouse) and PyArrow. Polars is in both: its max is 3, but two are above 2, and NaN comes first. DuckDB and
#           DataFusion are in the first camp, but `SELECT max(norm)` alone is 3 and `SELECT max(norm), avg(norm)` is NaN: alone
#           it is answered from the file's statistics, in which no NaN counts. Daft says NaN each time.
# Matters:  "the largest norm of the run" and "steps with a norm above 2" differ between engines, and in one engine between two queries.
. "$(dirname "$0")/lib.sh"
environment readers duckdb==2.0.1 datafusion==55.0.0 daft==0.7.26 polars==2.1.0 pyarrow==25.0.1 chdb==4.4.0
cat >"$work/program.py" <<'P'
import sys
import chdb, daft, datafusion, duckdb, polars, pyarrow, pyarrow.compute as compute, pyarrow.parquet as parquet
file = sys.argv[1]
table = pyarrow.table({"norm": [3.0, float("nan"), 1.0]})
parquet.write_table(table, file)
def show(name, largest, beside, above, first):
    print(f"{name:10} max {largest}, beside a mean {beside}, above 2: {above}, first in descending order {first}")
def one(query):
    return duckdb.sql(query).fetchall()[0][0]
show("DuckDB", one(f"SELECT max(norm) FROM '{file}'"), one(f"SELECT max(norm), avg(norm) FROM '{file}'"),
     one(f"SELECT count(*) FROM '{file}' WHERE norm > 2"),
     one(f"SELECT norm FROM '{file}' ORDER BY norm DESC"))
context = datafusion.SessionContext()
context.register_parquet("t", file)
def one(query):
    return list(context.sql(query).to_pylist()[0].values())[0]
show("DataFusion", one("SELECT max(norm) FROM t"), one("SELECT max(norm), avg(norm) FROM t"),
     one("SELECT count(*) FROM t WHERE norm > 2"), one("SELECT norm FROM t ORDER BY norm DESC"))
frame = daft.read_parquet(file)
show("Daft", frame.agg(daft.col("norm").max()).to_pydict()["norm"][0],
     frame.agg(daft.col("norm").max(), daft.col("norm").mean().alias("mean")).to_pydict()["norm"][0], frame.where(daft.col("norm") > 2).count_rows(),
     frame.sort("norm", desc=True).to_pydict()["norm"][0])
column = polars.read_parquet(file)["norm"]
lazy = polars.scan_parquet(file)
show("Polars", lazy.select(polars.col("norm").max()).collect().item(),
     lazy.select(polars.col("norm").max(), polars.col("norm").mean().alias("mean")).collect()["norm"][0], (column > 2).sum(), column.sort(descending=True)[0])
column = parquet.read_table(file)["norm"]
order = compute.sort_indices(column, sort_keys=[("", "descending")])
show("PyArrow", compute.max(column).as_py(), compute.min_max(column)["max"].as_py(), compute.sum(compute.greater(column, 2)).as_py(), column[order[0].as_py()].as_py())
def one(query):
    return str(chdb.query(query)).split()[0]
show("chDB", one(f"SELECT max(norm) FROM file('{file}')"), one(f"SELECT max(norm), avg(norm) FROM file('{file}') FORMAT TSV"),
     one(f"SELECT count() FROM file('{file}') WHERE norm > 2"),
     one(f"SELECT norm FROM file('{file}') ORDER BY norm DESC"))
P
"$python" -W ignore "$work/program.py" "$work/run.parquet" >"$work/seen" 2>"$work/errors" || { tail -3 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
DuckDB     max 3.0, beside a mean nan, above 2: 2, first in descending order nan
DataFusion max 3.0, beside a mean nan, above 2: 2, first in descending order nan
Daft       max nan, beside a mean nan, above 2: 2, first in descending order nan
Polars     max 3.0, beside a mean 3.0, above 2: 2, first in descending order nan
PyArrow    max 3.0, beside a mean 3.0, above 2: 1, first in descending order 3.0
chDB       max 3, beside a mean 3, above 2: 1, first in descending order 3
S
