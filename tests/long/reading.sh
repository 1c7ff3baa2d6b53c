#!/usr/bin/env bash
# The snippets of docs/how-to/reading.md say the same: Python alone, pandas, DuckDB, Polars, PyArrow, Dask on two workers; of a thousand ranks
# what the report says. With the types that `probe columns` prints they read a run whose first values are Inf and NaN, and ids that look like
# numbers. They come from PyPI into a virtual environment of this test's own. Prints TAP.
# timeout: 900
. "$(dirname "$0")/../e2e/lib.sh"

snippet() { # NAME
	awk -v name="$1" '$0 == "<!-- file: " name " -->" {take = 1; next} take && /^```$/ {exit} take && !/^```/ {print}' docs/how-to/reading.md
}

venv=$(realpath "$B")/reading-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! "$venv/bin/python" -c 'import pandas, duckdb, polars, pyarrow, dask.dataframe, distributed' 2>/dev/null &&
	! "$venv/bin/pip" install --quiet pandas duckdb polars pyarrow 'dask[dataframe]' distributed; then
	skip 'snippets' 'pandas, DuckDB, Polars, PyArrow and Dask cannot be had'
	finish
fi
python3 tests/e2e/fault_folders.py "$tmp" slow
snippet last.py >"$tmp/last.py"
want=$("$venv/bin/python" "$tmp/last.py" "$tmp/slow")
like 'Python alone' "$want" 'rank 2: last in [0-9]+'
for m in pandas duckdb polars arrow dask; do
	snippet last_$m.py >"$tmp/last_$m.py"
	is "$m says the same" "$("$venv/bin/python" "$tmp/last_$m.py" "$tmp/slow" 2>"$tmp/err")" "$want"
done

# The types in the page are those of `probe columns`.
for m in pandas duckdb polars arrow; do
	is "$m: the page has the types of all columns" "$(tr -d ' \n' <"$tmp/last_$m.py" | grep -cF "types=$("$probe" columns --$m calls | tr -d ' \n')")" 1
done

# A run whose first sum is Inf and whose next is NaN, with ids as versions before had them. Each reader knows the numbers as
# numbers, tells both ids and both values apart, and keeps what is empty.
read -r f _ <<<"$flavours"
cat >"$tmp/odd.c" <<'C'
#include <math.h>
#include <mpi.h>
int main(int argc, char **argv)
{
	double v[4] = {INFINITY, NAN, 3, 1e7};
	MPI_Comm c;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	for (int i = 0; i < 4; i++)
		MPI_Allreduce(MPI_IN_PLACE, &v[i], 1, MPI_DOUBLE, MPI_SUM, i % 2 ? c : MPI_COMM_WORLD);
	MPI_Barrier(c);
	MPI_Finalize();
	return 0;
}
C
if [ -n "${f:-}" ] && mpi_cc "$f" -o "$tmp/odd" "$tmp/odd.c" -lm; then
	new_out
	run_with "$f" 2 "$tmp/odd"
	ids=$(cut -d, -f7 "$out"/rank0/calls_*.csv | grep -E '^[0-9a-f]{16}$' | sort -u)
	like 'ids begin with a letter that no number has' "$(tr '\n' ' ' <<<"$ids")" '^([abcdf][0-9a-f]{15} ){2}$'
	world=$(sed -n 2p "$out"/rank0/calls_*.csv | cut -d, -f7)
	dup=$(grep -v "$world" <<<"$ids")
	sed -i "s/$world/12e4567890123456/; s/$dup/1234567890123456/" "$out"/rank*/calls_*.csv
	cat >"$tmp/read.py" <<'PY'
import math, subprocess, sys
probe, reader, folder = sys.argv[1:]
types = subprocess.run([probe, "columns", "--" + reader, "calls"], check=True, capture_output=True, text=True).stdout
files = folder + "/rank0/calls_*.csv"
if reader == "duckdb":
    import duckdb
    calls = f"read_csv('{files}', union_by_name = true, types = {types})"
    assert duckdb.sql(f"SELECT * FROM {calls} WHERE norm > 1e6").fetchall()
    rows = duckdb.sql(f"SELECT comm, norm, peer FROM {calls} WHERE io IS DISTINCT FROM 'in'").fetchall()
elif reader == "polars":
    import polars as pl
    d = pl.read_csv(files, schema_overrides=eval(types))
    assert d.filter(pl.col("norm") > 1e6).height
    rows = d.filter((pl.col("io") == "out") | pl.col("io").is_null()).select("comm", "norm", "peer").rows()
elif reader == "pandas":
    import glob
    import pandas as pd
    d = pd.read_csv(glob.glob(files)[0], dtype=eval(types))
    assert (d["norm"] > 1e6).any()
    d = d[(d["io"] == "out") | d["io"].isna()]
    # It alone cannot tell nan from an empty field: by column nans.
    rows = [(c, n if not pd.isna(x) else None, None if pd.isna(p) else p) for c, n, x, p in zip(d["comm"], d["norm"], d["nans"], d["peer"])]
else:
    import glob
    import pyarrow as pa
    from pyarrow import csv
    options = csv.ConvertOptions(column_types=eval(types), null_values=[""])
    d = csv.read_csv(glob.glob(files)[0], convert_options=options)
    rows = [(r["comm"], r["norm"], r["peer"]) for r in d.to_pylist() if r["io"] != "in"]
for comm, norm, peer in rows:
    print(comm, "empty" if norm is None else "nan" if math.isnan(norm) else "inf" if math.isinf(norm) else f"{norm:g}", peer)
PY
	for m in duckdb polars pandas arrow; do
		is "$m: a first Inf, a NaN, ids like numbers, empty fields" "$("$venv/bin/python" "$tmp/read.py" "$probe" $m "$out" 2>&1 | sort)" \
			"$(printf '%s\n' '12e4567890123456 inf None' '1234567890123456 nan None' '12e4567890123456 6 None' '1234567890123456 2e+07 None' \
				'1234567890123456 empty None' | sort)"
	done
else
	skip 'a first Inf, a NaN' 'no MPI'
fi

# A thousand ranks, of which one is late for what all do together; who is last of eight is chance.
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$tmp/gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
"$tmp/gen" -r 1000 -s 20 -c 2 -l 417:5000000 "$tmp/many"
want=$("$venv/bin/python" "$tmp/last.py" "$tmp/many")
like '1,000 ranks: the late one' "$want" 'rank 417: last in 20, '
for m in duckdb polars arrow dask; do
	is "1,000 ranks: $m says the same" "$("$venv/bin/python" "$tmp/last_$m.py" "$tmp/many" 2>"$tmp/err")" "$want"
done
is '1,000 ranks: so does the report' "$("$probe" report --json "$tmp/many" | python3 -c 'import json, sys
print(*[(c["most_often_last"], c["times_last"]) for c in json.load(sys.stdin)["late"] if c["comm"] == "1111111111111111"])')" '(417, 20)'
finish
