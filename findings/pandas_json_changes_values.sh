#!/usr/bin/env bash
# pandas 3.1.1, beside Polars 2.1.0 and DuckDB 2.0.1: JSON lines of a training, read and written again.
#
# Question: lines have step_time in nanoseconds, run "0012" and commit "123e4567" as strings in quotes, and a learning rate of 1e-12. What
#           does read_json(lines=True) make of them, and what does to_json() write?
# Guess:    numbers stay numbers, and strings in quotes stay strings: JSON has types. The learning rate comes back as it was.
# Real:     step_time becomes a date of 1973, because of its name and because all values are above 31536000: with one faster step it is a
#           number again. Run "0012" becomes 12 and commit "123e4567" infinity. to_json() writes 0.0 for 1e-12 and 10 decimals of all else.
#           Polars and DuckDB read what is there, and Polars writes it.
# Matters:  step times become dates without a warning, for slow trainings only. Different commits and runs become equal. Small variances and
#           learning rates are 0 in a file that was read and written once.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import io, json, os, sys
import duckdb, pandas, polars
path = os.path.join(sys.argv[1], "steps.jsonl")
def write(*times):
    with open(path, "w") as file:
        for time in times:
            print(json.dumps({"step_time": time, "run": "0012", "commit": "123e4567", "rate": 1e-12}), file=file)
def show(name, row):
    print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in row.items()))
def row(frame):
    values = {name: frame[name][0] for name in frame}
    return {name: value.item() if hasattr(value, "item") else str(value) for name, value in values.items()}
for name, times in ("slow steps", (120_000_000, 121_000_000)), ("one fast step", (120_000_000, 9_000_000)):
    write(*times)
    show(f"pandas, {name}", row(pandas.read_json(path, lines=True)))
show("Polars", polars.read_ndjson(path).row(0, named=True))
relation = duckdb.sql(f"SELECT * FROM read_json('{path}')")
show("DuckDB", dict(zip(relation.columns, relation.fetchall()[0])))
frame = {"rate": [1e-12], "variance": [3.3e-9], "loss": [1 / 3]}
print("pandas to_json():", pandas.DataFrame(frame).to_json(orient="records", lines=True).strip())
print("Polars write_ndjson():", polars.DataFrame(frame).write_ndjson().strip())
P
"$python" -W ignore "$work/program.py" "$work" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
pandas, slow steps: step_time 1973-10-20 21:20:00, run 12, commit inf, rate 1e-12
pandas, one fast step: step_time 120000000, run 12, commit inf, rate 1e-12
Polars: step_time 120000000, run 0012, commit 123e4567, rate 1e-12
DuckDB: step_time 120000000, run 0012, commit 123e4567, rate 1e-12
pandas to_json(): {"rate":0.0,"variance":0.0000000033,"loss":0.3333333333}
Polars write_ndjson(): {"rate":1e-12,"variance":3.3e-9,"loss":0.3333333333333333}
S
