#!/usr/bin/env bash
# A cluster's engines on the Parquet that `probe sql` exports of 1,000 ranks: Dask on two workers and Spark answer who arrives last, where the
# first NaN is, and how long steps took, as DuckDB and `probe report` do, and as Python's csv module reads the files. Clocks of hosts that are
# wrong are set right. DuckDB, Dask and Spark come from PyPI into a virtual environment of this test's own; Spark needs Java. Prints TAP.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"

venv=$(realpath "$B")/sql-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! "$venv/bin/python" -c 'import duckdb_cli, pyarrow, dask.dataframe, distributed' 2>/dev/null &&
	! "$venv/bin/pip" install --quiet duckdb-cli pyarrow 'dask[dataframe]' distributed; then
	skip 'engines' 'DuckDB, PyArrow and Dask cannot be had'
	finish
fi
spark=
if command -v java >/dev/null; then
	"$venv/bin/python" -c 'import pyspark' 2>/dev/null || "$venv/bin/pip" install --quiet pyspark
	"$venv/bin/python" -c 'import pyspark' 2>/dev/null && spark=1
fi
export PATH=$venv/bin:$PATH

# Rank 417 is late for what all do together, and in step 9 rank 600 puts in a NaN.
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$tmp/gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
"$tmp/gen" -r 1000 -s 20 -c 2 -l 417:5000000 -b 9:600 "$tmp/many"
cd "$tmp" || exit 2
"$probe" report --json many >report.json

# The files by Python alone: the truth of the steps.
cat >truth.py <<'PY'
import collections, csv, glob
first = collections.defaultdict(lambda: 1 << 62)
for f in glob.glob("many/rank*/calls_*.csv"):
    rank = int(f.split("/")[1][4:])
    for r in csv.DictReader(open(f, newline="")):
        key = rank, int(r["step"])
        first[key] = min(first[key], int(r["start_ns"]))
took = [first[rank, 4] - first[rank, 3] for rank in range(1000)]
print(f"step 3: 1000 ranks, {min(took)} to {max(took)} ns")
PY
want=$(
	python3 -c 'import json
r = json.load(open("report.json"))
print(*["rank %d: last in %d" % (c["most_often_last"], c["times_last"]) for c in r["late"] if c["comm"] == "1111111111111111"])
f = r["bad_values"]["first"]
print("NaN: rank %d, step %d, seq %d" % (f["rank"], f["step"], f["seq"]))'
	python3 truth.py
)
like 'the report: rank 417, and the NaN of rank 600' "$(tr '\n' ' ' <<<"$want")" '^rank 417: last in 20 NaN: rank 600, step 9, seq [0-9]+ step 3: 1000 ranks, [0-9]+ to [0-9]+ ns $'

is 'DuckDB over the CSV files says the same' "$("$probe" sql --csv many "
	SELECT 'rank ' || last_rank || ': last in ' || count(*) AS said FROM last_arrivals() WHERE comm = '1111111111111111' AND waited GROUP BY last_rank HAVING last_rank = 417;
	SELECT 'NaN: rank ' || rank || ', step ' || step || ', seq ' || seq AS said FROM first_nonfinite();
	SELECT 'step 3: ' || ranks || ' ranks, ' || CAST(round(min_ms * 1e6) AS BIGINT) || ' to ' || CAST(round(max_ms * 1e6) AS BIGINT) || ' ns' AS said
		FROM step_times() WHERE step = 3" 2>err | grep -vx said | tr -d '"')" "$want"
# gzip: for snappy, Spark unpacks a library of its own, which failed on one machine.
"$probe" sql many "COPY (SELECT * FROM calls) TO 'run' (FORMAT parquet, COMPRESSION gzip, PARTITION_BY (rank))" >copy.out 2>&1
is 'a folder for each rank' "$(find run -maxdepth 1 -name 'rank=*' | wc -l)" 1000

cat >ask_dask.py <<'PY'
import os
import dask.dataframe as dd
from dask.distributed import Client


def main():
    used = ["comm", "comm_seq", "rank", "peer", "parent", "step", "seq", "start_ns", "io", "nans", "infs"]
    calls = dd.read_parquet(os.path.abspath("run"), columns=used, filesystem="arrow")
    calls["rank"] = calls["rank"].astype("int64")
    # A thousand small files are as many tasks: eight pieces are kept.
    calls = calls.repartition(npartitions=8).persist()
    here = calls[(calls["comm"] == "1111111111111111") & calls["comm_seq"].notnull() & calls["peer"].isnull() & calls["parent"].isnull()]
    each = here[["comm_seq", "rank", "start_ns"]].drop_duplicates()
    last = each.groupby("comm_seq")["start_ns"].max().reset_index().rename(columns={"start_ns": "last_ns"})
    late = each.merge(last, on="comm_seq")
    late = late[late["start_ns"] == late["last_ns"]].groupby("rank")["comm_seq"].count().compute()
    print(f"rank {late.idxmax()}: last in {late.max()}")
    bad = calls[((calls["nans"] > 0) | (calls["infs"] > 0)) & (calls["io"] == "in")][["rank", "step", "seq", "start_ns"]].compute()
    one = bad.sort_values(["step", "start_ns"]).iloc[0]
    print(f"NaN: rank {one['rank']}, step {one['step']}, seq {one['seq']}")
    first = calls[calls["step"].isin([3, 4])].groupby(["rank", "step"])["start_ns"].min().compute().unstack()
    took = first[4] - first[3]
    print(f"step 3: {len(took)} ranks, {took.min()} to {took.max()} ns")


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        main()
PY
is 'Dask on two workers says the same' "$("$venv/bin/python" ask_dask.py 2>err)" "$want" || sed 's/^/# /' err

cat >ask_spark.py <<'PY'
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
spark.read.parquet("run").createOrReplaceTempView("calls")
one = spark.sql("""
    WITH each AS (SELECT DISTINCT comm_seq, rank, start_ns FROM calls
                  WHERE comm = '1111111111111111' AND comm_seq IS NOT NULL AND peer IS NULL AND parent IS NULL),
         last AS (SELECT comm_seq, max_by(rank, start_ns) AS rank FROM each GROUP BY comm_seq)
    SELECT rank, count(*) AS n FROM last GROUP BY rank ORDER BY n DESC LIMIT 1""").first()
print(f"rank {one.rank}: last in {one.n}")
one = spark.sql("SELECT rank, step, seq FROM calls WHERE (nans > 0 OR infs > 0) AND io = 'in' ORDER BY step, start_ns LIMIT 1").first()
print(f"NaN: rank {one.rank}, step {one.step}, seq {one.seq}")
one = spark.sql("""
    WITH first AS (SELECT rank, step, min(start_ns) AS t FROM calls WHERE step IN (3, 4) GROUP BY rank, step)
    SELECT count(*) AS n, min(b.t - a.t) AS least, max(b.t - a.t) AS most FROM first a JOIN first b ON a.rank = b.rank AND a.step = 3 AND b.step = 4""").first()
print(f"step 3: {one.n} ranks, {one.least} to {one.most} ns")
PY
if [ -n "$spark" ]; then
	is 'Spark says the same' "$(SPARK_LOCAL_IP=127.0.0.1 "$venv/bin/python" ask_spark.py 2>err)" "$want" || tail -5 err | sed 's/^/# /'
else
	skip 'Spark' 'no Java, or pyspark cannot be had'
fi

# Four hosts of 8 ranks, of which one is 0.4 s ahead: by its own clock one of its ranks would always be last.
"$tmp/gen" -r 32 -s 50 -c 2 -l 5:5000000 -k 2:400000000 "$tmp/clocks"
is 'last_arrivals() sets clocks right' "$("$probe" sql --csv clocks "SELECT last_rank, count(*) AS n FROM last_arrivals() WHERE comm = '1111111111111111' AND waited
	GROUP BY ALL ORDER BY n DESC LIMIT 1" 2>err | tail -1)" "$("$probe" report --json clocks | python3 -c 'import json, sys
print(*["%d,%d" % (c["most_often_last"], c["times_last"]) for c in json.load(sys.stdin)["late"] if c["comm"] == "1111111111111111"])')"
finish
