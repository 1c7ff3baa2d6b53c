#!/usr/bin/env bash
# PySpark 4.3.0 (needs a Java runtime) reading a CSV file with inf, -inf and nan.
#
# Question: does Spark read `inf` and `nan`, as C, Python, pandas and DuckDB write them, into a column of type double?
# Guess:    yes, as infinities and NaN; or an error, since the schema says double.
# Real:     with a schema each of them becomes NULL, without an error or a warning: only "Inf", "-Inf" and "NaN" count, in
#           just these letters. With inferSchema the whole column becomes a string. Options nanValue, positiveInf and
#           negativeInf cure it.
# Matters:  a query for non-finite norms over a folder of CSV files finds none.
. "$(dirname "$0")/lib.sh"
command -v java >/dev/null || { echo "$0: needs a Java runtime (openjdk-17-jre-headless)"; exit 2; }
environment spark pyspark==4.3.0
cat >"$work/program.py" <<'P'
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
open("run.csv", "w").write("step,norm\n0,1.5\n1,inf\n2,nan\n3,-inf\n4,2.5\n")
schema = "step int, norm double"
letters = {"nanValue": "nan", "positiveInf": "inf", "negativeInf": "-inf"}
def column(**options):
    return [row.norm for row in spark.read.csv("run.csv", header=True, **options).orderBy("step").collect()]
with open("seen", "w") as out:
    print("inferred:", spark.read.csv("run.csv", header=True, inferSchema=True).dtypes[1], file=out)
    print("schema double:", column(schema=schema), file=out)
    print("schema double, letters named:", column(schema=schema, **letters), file=out)
P
(cd "$work" && "$python" program.py >log 2>&1) || { tail -5 "$work/log"; exit 2; }
expect_output "$work/seen" <<'S'
inferred: ('norm', 'string')
schema double: [1.5, None, None, None, 2.5]
schema double, letters named: [1.5, inf, nan, -inf, 2.5]
S
