#!/usr/bin/env bash
# DuckDB 2.0.1 reading Parquet files written by PyArrow 26.0.1, Polars 2.1.0 and DuckDB itself.
#
# Question: 1,000 rows, one of them NaN. Does the same query find it in a CSV file and in each Parquet file?
# Guess:    yes. DuckDB sorts NaN above all numbers, so "norm > 1e6" and isnan(norm) give 1 row everywhere.
# Real:     only in the CSV file and in DuckDB's own Parquet file. PyArrow and Polars write minimum and maximum of a row
#           group without its NaN, as the Parquet format says. DuckDB takes them as bounds under its own order and skips
#           the row group: 0 rows for "> 1e6" and for isnan(). "norm < 100" is answered from the same bounds and counts
#           the NaN row too. max(norm) alone is 6 of PyArrow's file and NaN of Polars'.
# Matters:  "which step has the first NaN" is asked of just such files. PyArrow's and pandas' own filters on a norm > 1e6
#           give 0 rows as well, by IEEE comparison; is_nan() finds the row there.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import duckdb, numpy, polars, pyarrow, pyarrow.compute, pyarrow.csv, pyarrow.dataset, pyarrow.parquet
norm = numpy.arange(1000.) % 7
norm[500] = numpy.nan
run = pyarrow.table({"step": numpy.arange(1000), "norm": norm})
pyarrow.csv.write_csv(run, "run.csv")
pyarrow.parquet.write_table(run, "arrow.parquet", row_group_size=100)
polars.from_arrow(run).write_parquet("polars.parquet", row_group_size=100)
duckdb.sql("COPY (FROM run) TO 'duckdb.parquet' (FORMAT parquet, ROW_GROUP_SIZE 100)")
print("rows by DuckDB: source, norm > 1e6, isnan(norm), norm < 100, max(norm)")
for source in "read_csv('run.csv', types={'norm': 'DOUBLE'})", "'arrow.parquet'", "'polars.parquet'", "'duckdb.parquet'":
    counts = [duckdb.sql(f"SELECT count(*) FROM {source} WHERE {where}").fetchall()[0][0]
              for where in ("norm > 1e6", "isnan(norm)", "norm < 100")]
    print(source.split("(")[0], *counts, duckdb.sql(f"SELECT max(norm) FROM {source}").fetchall()[0][0])
field = pyarrow.dataset.field("norm")
print("rows by PyArrow, arrow.parquet: is_nan", pyarrow.dataset.dataset("arrow.parquet").to_table(
    filter=pyarrow.compute.is_nan(field)).num_rows)
print("rows by Polars, arrow.parquet: is_nan", polars.scan_parquet("arrow.parquet").filter(
    polars.col("norm").is_nan()).collect().height)
P
(cd "$work" && "$python" program.py >seen) || exit 2
expect_output "$work/seen" <<'S'
rows by DuckDB: source, norm > 1e6, isnan(norm), norm < 100, max(norm)
read_csv 1 1 999 nan
'arrow.parquet' 0 0 1000 6.0
'polars.parquet' 0 0 1000 nan
'duckdb.parquet' 1 1 999 nan
rows by PyArrow, arrow.parquet: is_nan 1
rows by Polars, arrow.parquet: is_nan 1
S
