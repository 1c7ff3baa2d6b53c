#!/usr/bin/env bash
# probe sql: DuckDB answers over the files of a run what Python's csv module reads in them and what `probe report --json` says, of an MPI
# run, of a training with a NaN, and of files that readers read wrongly when they guess. Prints TAP.
# timeout: 600
# beside: nothing of it waits busily
duckdb=${PROBE_TEST_DUCKDB:-} # a folder with `duckdb`, or with a python3 that has a module
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh

says() { # TEXT STATUS PATTERN COMMAND...: of stderr
	local text=$1 want=$2 pattern=$3 rc
	shift 3
	"$@" >"$tmp/says.out" 2>"$tmp/says.err"
	rc=$?
	is "$text: status" "$rc" "$want"
	like "$text" "$(cat "$tmp/says.err")" "$pattern"
}

python3 tests/e2e/fault_folders.py "$tmp" nan slow
nan=$tmp/nan

# ---- without DuckDB ----

mkdir "$tmp/empty" "$tmp/none"
printf '#!/bin/sh\nexit 2\n' >"$tmp/none/python3"
chmod +x "$tmp/none/python3"
says 'no DuckDB: the line that installs it' 2 'no DuckDB: .*python3 -m pip install duckdb-cli' env PATH="$tmp/none" "$probe" sql "$nan" 'SELECT 1'
says 'a folder that is none' 2 "$tmp/empty" "$probe" sql --print "$tmp/empty"
says 'two queries' 2 'a folder and one query, in quotes' "$probe" sql "$nan" SELECT '*' FROM
echo 'SELECT 1' >"$tmp/q.sql"
says 'a query twice' 2 '--file and a query cannot be used together' "$probe" sql --file "$tmp/q.sql" "$nan" 'SELECT 2'
says 'an empty file' 2 'the file is empty' "$probe" sql --file /dev/null "$nan"
says 'a file that is not there' 2 'nosuch: No such file' "$probe" sql --file nosuch "$nan"
like '--print: a view for each table' "$("$probe" sql --print "$nan" | grep -oE 'TEMP VIEW [a-z]+' | cut -d' ' -f3 | sort | tr '\n' ' ')" \
	'^calls comms findings kinds modules names ranks scalars stacks steps $'
# Values of these operators are no values: any of the first, only input 0 of those that fill memory, each input of those that
# fill lists.
like '--print: operators on uninitialised memory' "$("$probe" sql --print "$nan" | grep 'is_unwritten(op, io, index) AS')" \
	"AS regexp_full_match\(.*[(|']empty.*'\) OR \(io = 'in' AND index = 0 AND regexp_full_match\(.*[(|']copy_.*'\)\) OR \(io = 'in' AND regexp_full_match\(.*[(|']_foreach_copy_.*'\)\);"

# ---- with it ----

if [ -n "$duckdb" ]; then
	export PATH=$duckdb:$PATH
elif ! command -v duckdb >/dev/null && ! python3 -c 'import duckdb' 2>/dev/null; then
	skip 'queries' 'no DuckDB (set PROBE_TEST_DUCKDB to the bin folder of a virtual environment that has duckdb-cli)'
	finish
fi

q() { # DIR QUERY: rows of JSON, one a line
	"$probe" sql --json "$1" "$2" 2>"$tmp/q.err" | python3 -c 'import json, sys
for row in json.load(sys.stdin): print(*row.values())'
}

report() { # DIR EXPRESSION over r
	"$probe" report --json "$1" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

# The three questions: figures of the report.
equal() { # TEXT DIR
	local late
	is "$1: calls" "$(q "$2" 'SELECT count(*) FROM (SELECT DISTINCT rank, seq FROM calls)')" "$(report "$2" 'r["calls"]')"
	is "$1: rows" "$(q "$2" 'SELECT count(*) FROM calls')" "$(report "$2" 'r["rows"]')"
	is "$1: bytes" "$(q "$2" 'SELECT CAST(sum(bytes) AS BIGINT) FROM steps')" "$(report "$2" 'r["bytes"]')"
	late=$(report "$2" '"\n".join(" ".join(map(str, (c["comm"], c["operations"], c["waited_in"]))) for c in sorted(r["late"], key=lambda c: c["comm"]) if c["operations"])')
	is "$1: last_arrivals() has the operations of the report" \
		"$(q "$2" 'SELECT comm, count(*), count(*) FILTER (waited) FROM last_arrivals() GROUP BY comm ORDER BY comm')" "$late"
	is "$1: last_arrivals() has who arrives last most often, and how often" \
		"$(q "$2" 'SELECT comm, max(n) FROM (SELECT comm, last_rank, count(*) AS n FROM last_arrivals() WHERE waited GROUP BY ALL) GROUP BY comm ORDER BY comm')" \
		"$(report "$2" '"\n".join(c["comm"] + " " + str(c["times_last"]) for c in sorted(r["late"], key=lambda c: c["comm"]) if c["waited_in"])')"
	is "$1: first_nonfinite() is that of the report" \
		"$(q "$2" "SELECT concat_ws(' ', rank, step, coalesce(comm_seq, -1), seq, io, index, nans, infs) FROM first_nonfinite()")" \
		"$(report "$2" '(lambda f: " ".join(str(-1 if f[k] is None else f[k]) for k in ("rank", "step", "comm_seq", "seq", "io", "index", "nans", "infs")) if f else "")(r["bad_values"]["first"])')"
	is "$1: findings" "$(q "$2" "SELECT kind || ' ' || severity || ' ' || coalesce(step, -1) || ' ' || CAST(ranks AS VARCHAR) FROM findings ORDER BY kind, step")" \
		"$(report "$2" '"\n".join(" ".join((f["kind"], f["severity"], str(-1 if f["step"] is None else f["step"]), str(f["ranks"]))) for f in sorted(r["findings"], key=lambda f: (f["kind"], f["step"] or 0)))')"
}
equal 'a NaN' "$nan"
equal 'a slow rank' "$tmp/slow"
# Seconds of wait: sums of whole nanoseconds.
is 'last_arrivals() has the wait of the report' "$(q "$nan" 'SELECT CAST(sum(wait_ns) AS BIGINT) FROM last_arrivals()')" "$(report "$nan" 'round(r["late"][0]["wait_s"] * 1e9)')"
is 'step_times(): from call to call' "$(q "$nan" 'SELECT step, ranks, CAST(round(min_ms * 1e6) AS BIGINT) FROM step_times() ORDER BY step LIMIT 3')" "$(python3 - "$nan" <<'PY'
import csv, glob, sys
first = {}
for f in glob.glob(sys.argv[1] + "/rank*/calls_*.csv"):
    for r in csv.DictReader(open(f, newline="")):
        key = f.split("/")[-2], int(r["step"])
        first[key] = min(first.get(key, 1 << 62), int(r["start_ns"]))
for step in range(3):
    took = [first[k, step + 1] - t for (k, s), t in first.items() if s == step]
    print(step, len(took), min(took))
PY
)"

# Every field of the files, and no more.
"$probe" sql --csv "$nan" 'SELECT * FROM calls ORDER BY rank, seq, io NULLS FIRST, "index"' >"$tmp/all.csv" 2>"$tmp/err"
is 'every field of calls' "$(python3 - "$nan" "$tmp/all.csv" <<'PY'
import csv, glob, sys
folder, table = sys.argv[1:]
def value(v):
    if v in ("", "NULL"):
        return None
    try:
        return float(v)
    except ValueError:
        return v
want = []
for rank in range(4):
    for f in glob.glob(f"{folder}/rank{rank}/calls_*.csv"):
        for r in csv.DictReader(open(f, newline="")):
            want.append([float(rank)] + [value(v) for v in r.values()])
have = [[value(v) for v in r] for r in list(csv.reader(open(table, newline="")))[1:]]
key = lambda r: repr(r)
wrong = [(a, b) for a, b in zip(sorted(have, key=key), sorted(want, key=key)) if repr(a) != repr(b)]
print(len(have) == len(want) > 500, wrong[:1])
PY
)" 'True []'
is '--file: a query with several lines' "$(printf 'SELECT count(*) AS n\nFROM ranks;\n' | "$probe" sql --csv --file - "$nan")" "$(printf 'n\n4')"
is 'a query that is wrong: its status' "$("$probe" sql "$nan" 'SELECT nosuch FROM calls' >/dev/null 2>&1; echo $?)" 1
is '$PROBE_OUTPUT_DIR' "$(PROBE_OUTPUT_DIR=$nan "$probe" sql --csv 'SELECT count(*) AS n FROM ranks')" "$(printf 'n\n4')"

# ---- files that readers guess wrongly, of other versions, compressed, damaged ----

odd=$tmp/odd
cp -r "$tmp/slow" "$odd"
calls=$(ls "$odd"/rank0/calls_*.csv | head -1)
norm=$(head -1 "$calls" | tr , '\n' | grep -nx norm | cut -d: -f1)
nans=$(head -1 "$calls" | tr , '\n' | grep -nx nans | cut -d: -f1)
comm=$(awk -F, 'NR == 2 {print $7}' "$calls")
sed -i "s/$comm/12e4567890123456/" "$odd"/rank*/*.csv
awk -F, -v OFS=, -v c="$norm" 'NR == 2 {$c = "inf"} NR == 3 {$c = "nan"} {print}' "$calls" >"$calls.new" && mv "$calls.new" "$calls"
gzip "$odd"/rank1/calls_*.csv
# An older version has fewer columns, a newer one has others.
cut -d, -f1-"$nans" "$odd"/rank2/calls_*.csv >"$tmp/older" && mv "$tmp/older" "$(ls "$odd"/rank2/calls_*.csv)"
sed -i '1s/$/,newer/; 2,$s/$/,yes/' "$(ls "$odd"/rank3/calls_*.csv)"
is 'ids of digits are text, inf and nan are numbers' "$(q "$odd" "SELECT comm, CAST(norm AS VARCHAR), norm > 1e6 FROM calls WHERE rank = 0 AND (isinf(norm) OR isnan(norm)) ORDER BY 2")" \
	"$(printf '12e4567890123456 inf True\n12e4567890123456 nan True')"
is 'compressed, older and newer files beside each other' "$(q "$odd" "SELECT rank, count(*) > 100, count(start_ns) > 100, count(newer) > 100 FROM calls GROUP BY rank ORDER BY rank")" \
	"$(printf '0 True True False\n1 True True False\n2 True False False\n3 True True True')"
printf '1,2,3\n' >>"$(ls "$odd"/rank3/calls_*.csv)"
says 'a damaged line is an error that names the file' 1 'rank3/calls_' "$probe" sql "$odd" 'SELECT count(norm) FROM calls'
is '--skip-damaged' "$("$probe" sql --csv --skip-damaged "$odd" "SELECT count(norm) > 100 AS n FROM calls WHERE rank = 3" 2>&1)" "$(printf 'n\ntrue')"

# No row at all, a file with its header alone, an empty file: views with the right columns.
cp -r "$nan" "$tmp/bare"
for r in 0 1 2 3; do
	head -1 "$(ls "$tmp/bare/rank$r"/calls_*.csv)" >"$tmp/head" && mv "$tmp/head" "$(ls "$tmp/bare/rank$r"/calls_*.csv)"
	rm -f "$tmp/bare/rank$r"/stack_info.csv
	: >"$tmp/bare/rank$r/comms.csv"
done
for t in calls comms stacks scalars names modules kinds steps 'last_arrivals()' 'first_nonfinite()' 'step_times()'; do
	is "$t: empty, no error" "$(q "$tmp/bare" "SELECT count(*) FROM $t")" 0
done
is 'empty files: the columns have their types' "$(q "$tmp/bare" "SELECT column_name, column_type FROM (DESCRIBE calls) WHERE column_name IN ('rank', 'comm', 'norm', 'start_ns')")" \
	"$(printf 'rank BIGINT\ncomm VARCHAR\nnorm DOUBLE\nstart_ns BIGINT')"

# A cluster's engine gets Parquet, a folder for each rank.
(cd "$tmp" && "$probe" sql "$nan" "COPY (SELECT * FROM calls) TO 'run' (FORMAT parquet, PARTITION_BY (rank))" >"$tmp/copy" 2>&1)
is 'Parquet: the same rows' "$(q "$nan" "SELECT count(*), count(DISTINCT rank), CAST(sum(bytes) AS BIGINT) FROM read_parquet('$tmp/run/rank=*/*.parquet', hive_partitioning = true)")" \
	"$(q "$nan" 'SELECT count(*), count(DISTINCT rank), CAST(sum(bytes) AS BIGINT) FROM calls')"

# The lines of the page and of the help.
mkdir "$tmp/bin" "$tmp/page"
ln -s "$probe" "$tmp/bin/probe"
ln -s "$nan" "$tmp/page/run7"
while read -r line; do
	said=$(cd "$tmp/page" && PROBE_OUTPUT_DIR=run7 PATH=$tmp/bin:$PATH bash -c "$line" </dev/null 2>&1)
	is "the page: $line" $? 0
done < <(grep -h '^probe sql' docs/how-to/reading.md; "$probe" sql --help | sed -n 's/^  \(probe sql\)/\1/p')

# ---- real runs ----

read -r f _ <<<"$flavours"
if [ -n "${f:-}" ]; then
	new_out
	run_with "$f" 3 PROBE_STEP_MARKER=MPI_Reduce "$(realpath "$B/apps/$f/train_digits")" --steps 40 --nan-at 25:1
	is 'MPI: status' "$status" 0
	equal MPI "$out"
else
	skip 'MPI' 'no MPI, or its programs are not built (make apps)'
fi
(torch_python x) >/dev/null 2>&1 && torch_python 'PyTorch'
if [ -n "${python:-}" ]; then
	new_out
	torchrun_with 2 PROBE_SCALARS=true PROBE_KINDS='[grad_reduced]' tests/apps/train_ddp.py --steps 12 --nan-at 7:1
	equal PyTorch "$out"
	is 'PyTorch: step_times() is the scalar iteration-time' \
		"$(q "$out" 'SELECT step, ranks, round(max_ms, 6), source FROM step_times() ORDER BY step LIMIT 3')" \
		"$(rows "$out" '"\n".join(f"{s} {len(v)} {round(max(v), 6)} scalars" for s, v in [(s, [float(r["value"]) for r in V if r["name"] == "iteration-time" and int(r["step"]) == s]) for s in sorted({int(r["step"]) for r in V if r["name"] == "iteration-time"})[:3]])' 2>&1)"
	is 'PyTorch: kinds' "$(q "$out" "SELECT kind, count(DISTINCT rank), count(*) FILTER (nans > 0) > 0 FROM kinds GROUP BY kind")" 'grad_reduced 2 True'
else
	skip 'PyTorch' 'no Python with PyTorch (set PROBE_TEST_PYTHON)'
fi

# ---- PyPI's module duckdb alone, which has no command ----

module_python=$(python3 -c 'import duckdb, sys; print(sys.executable)' 2>/dev/null)
if [ -n "$module_python" ]; then
	mkdir "$tmp/module"
	# Its python3 says that there is no duckdb-cli.
	printf '#!/bin/sh\ncase "$2" in *find_spec*) exit 1 ;; esac\nexec %s "$@"\n' "$module_python" >"$tmp/module/python3"
	chmod +x "$tmp/module/python3"
	m() { PATH=$tmp/module "$probe" sql "$@"; }
	is 'module: JSON' "$(m --json "$nan" 'SELECT rank, count(*) AS n FROM ranks GROUP BY rank ORDER BY rank LIMIT 1')" '[{"rank": 0, "n": 1}]'
	is 'module: CSV' "$(m --csv "$nan" 'SELECT count(*) AS n FROM ranks')" "$(printf 'n\n4')"
	like 'module: a table' "$(m "$nan" 'SELECT count(*) AS n FROM ranks')" 'int64 .* 4 '
	says 'module: a query that is wrong' 1 'nosuch' m "$nan" 'SELECT nosuch FROM calls'
	says 'module: it has no prompt' 2 'no prompt: .*duckdb-cli' m "$nan"
else
	skip "PyPI's module duckdb" 'python3 has none'
fi
finish
