#!/usr/bin/env bash
# The snippets of docs/reading.md say the same: Python alone, pandas, DuckDB, Dask on two workers; of a thousand ranks what the
# report says. They come from PyPI into a virtual environment
# of this test's own. Prints TAP.
# timeout: 900
. "$(dirname "$0")/../e2e/lib.sh"

snippet() { # NAME
	awk -v name="$1" '$0 == "<!-- file: " name " -->" {take = 1; next} take && /^```$/ {exit} take && !/^```/ {print}' docs/reading.md
}

venv=$(realpath "$B")/reading-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! "$venv/bin/python" -c 'import pandas, duckdb, dask.dataframe, distributed' 2>/dev/null && ! "$venv/bin/pip" install --quiet pandas duckdb 'dask[dataframe]' distributed; then
	skip 'snippets' 'pandas, DuckDB and Dask cannot be had'
	finish
fi
python3 tests/e2e/fault_folders.py "$tmp" slow
snippet last.py >"$tmp/last.py"
want=$("$venv/bin/python" "$tmp/last.py" "$tmp/slow")
like 'Python alone' "$want" 'rank 2: last in [0-9]+'
for m in pandas duckdb dask; do
	snippet last_$m.py >"$tmp/last_$m.py"
	is "$m says the same" "$("$venv/bin/python" "$tmp/last_$m.py" "$tmp/slow" 2>"$tmp/err")" "$want"
done

# A thousand ranks, of which one is late for what all do together; who is last of eight is chance.
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$tmp/gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
"$tmp/gen" -r 1000 -s 20 -c 2 -l 417:5000000 "$tmp/many"
want=$("$venv/bin/python" "$tmp/last.py" "$tmp/many")
like '1,000 ranks: the late one' "$want" 'rank 417: last in 20, '
for m in duckdb dask; do
	is "1,000 ranks: $m says the same" "$("$venv/bin/python" "$tmp/last_$m.py" "$tmp/many" 2>"$tmp/err")" "$want"
done
is '1,000 ranks: so does the report' "$("$probe" report --json "$tmp/many" | python3 -c 'import json, sys
print(*[(c["most_often_last"], c["times_last"]) for c in json.load(sys.stdin)["late"] if c["comm"] == "1111111111111111"])')" '(417, 20)'
finish
