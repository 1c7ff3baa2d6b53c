#!/usr/bin/env bash
# PyArrow 26.0.1, pandas 3.1.1, DuckDB 2.0.1, Polars 2.1.0: CSV columns of integers beyond 2^63, such as 64-bit hashes and ids.
#
# Question: two different 64-bit numbers above 2^63 are in a column. Does each reader keep them apart? And beside a -1, or a gap?
# Guess:    unsigned 64-bit where the reader has that type, text or an error otherwise.
# Real:     PyArrow makes float64, so both become 18446744073709551616; pandas does the same with engine="pyarrow". pandas' own
#           reader keeps them, makes text of the column if a -1 is in it, and float64 (2^53 + 1 becomes 2^53) if a number below 2^63
#           stands beside an empty field. DuckDB and Polars widen to 128 bits.
# Matters:  a join or a count of distinct values by such a column is wrong, and nothing was said.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import sys, duckdb, pandas, polars, pyarrow.csv
file = sys.argv[1]
readers = {
    "pandas": lambda: pandas.read_csv(file)["id"].tolist(),
    "pandas, engine pyarrow": lambda: pandas.read_csv(file, engine="pyarrow")["id"].tolist(),
    "PyArrow": lambda: pyarrow.csv.read_csv(file)["id"].to_pylist(),
    "DuckDB": lambda: [row[0] for row in duckdb.sql(f"SELECT id FROM read_csv('{file}')").fetchall()],
    "Polars": lambda: polars.read_csv(file)["id"].to_list(),
}
for column in (18446744073709551615, 18446744073709551614), (9223372036854775808, -1), (9007199254740993, ""):
    with open(file, "w") as out:
        out.writelines(f"{line}\n" for line in ("id,x", *(f"{value},1" for value in column)))
    print(*map(repr, column))
    for name, read in readers.items():
        print(f"  {name}: {read()}")
P
"$python" -W ignore "$work/program.py" "$work/ids.csv" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
18446744073709551615 18446744073709551614
  pandas: [18446744073709551615, 18446744073709551614]
  pandas, engine pyarrow: [1.8446744073709552e+19, 1.8446744073709552e+19]
  PyArrow: [1.8446744073709552e+19, 1.8446744073709552e+19]
  DuckDB: [18446744073709551615, 18446744073709551614]
  Polars: [18446744073709551615, 18446744073709551614]
9223372036854775808 -1
  pandas: ['9223372036854775808', '-1']
  pandas, engine pyarrow: [9.223372036854776e+18, -1.0]
  PyArrow: [9.223372036854776e+18, -1.0]
  DuckDB: [9223372036854775808, -1]
  Polars: [9223372036854775808, -1]
9007199254740993 ''
  pandas: [9007199254740992.0, nan]
  pandas, engine pyarrow: [9007199254740992.0, nan]
  PyArrow: [9007199254740993, None]
  DuckDB: [9007199254740993, None]
  Polars: [9007199254740993, None]
S
