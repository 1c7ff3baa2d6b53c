#!/usr/bin/env bash
# The snippets of docs/reading.md say the same: Python alone, pandas, DuckDB. They come from PyPI into a virtual environment
# of this test's own. Prints TAP.
# timeout: 900
. "$(dirname "$0")/../e2e/lib.sh"

snippet() { # NAME
	awk -v name="$1" '$0 == "<!-- file: " name " -->" {take = 1; next} take && /^```$/ {exit} take && !/^```/ {print}' docs/reading.md
}

venv=$(realpath "$B")/reading-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! "$venv/bin/python" -c 'import pandas, duckdb' 2>/dev/null && ! "$venv/bin/pip" install --quiet pandas duckdb; then
	skip 'snippets' 'pandas and DuckDB cannot be had'
	finish
fi
python3 tests/e2e/fault_folders.py "$tmp" slow
snippet last.py >"$tmp/last.py"
want=$("$venv/bin/python" "$tmp/last.py" "$tmp/slow")
like 'Python alone' "$want" 'rank 2: last in [0-9]+'
for m in pandas duckdb; do
	snippet last_$m.py >"$tmp/last_$m.py"
	is "$m says the same" "$("$venv/bin/python" "$tmp/last_$m.py" "$tmp/slow" 2>&1)" "$want"
done
finish
