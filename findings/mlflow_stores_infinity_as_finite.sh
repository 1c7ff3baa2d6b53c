#!/usr/bin/env bash
# MLflow 3.17.2 with its default kind of store, a database (SQLite): metrics that are NaN or infinite.
#
# Question: a run logs the losses 1.5, infinity, NaN, -infinity and 2.5. What comes back, and which runs does a search find?
# Guess:    what was logged; a search by `loss > 1e9` finds the run whose last loss is infinite.
# Real:     an infinity comes back as the largest float64, 1.7976931348623157e+308, with its sign: a finite number. NaN comes back, and a
#           run whose last loss is NaN is found by `loss != 1` only, as in SQL.
# Matters:  `math.isfinite()` on a history says that all is well but the NaN, and the mean of two such values is infinite though none of
#           them is. Compare with the largest float64 as well.
. "$(dirname "$0")/lib.sh"
environment mlflow mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic==1.20.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import logging, math, os, sys
import mlflow
logging.disable()
mlflow.set_tracking_uri(f"sqlite:///{sys.argv[1]}/mlflow.db")
client = mlflow.MlflowClient()
for last in ("inf", "nan", "2.5"):
    with mlflow.start_run(run_name=f"ends with {last}") as run:
        for step, loss in enumerate((1.5, math.inf, math.nan, -math.inf, float(last))):
            mlflow.log_metric("loss", loss, step=step)
    values = [m.value for m in client.get_metric_history(run.info.run_id, "loss")]
    print(f"ends with {last}: {values}, finite are {sum(map(math.isfinite, values))}")
for query in ("metrics.loss > 1e9", "metrics.loss < 1e9", "metrics.loss != 1"):
    found = mlflow.search_runs(filter_string=query, output_format="list")
    print(f"{query}: {', '.join(sorted(r.info.run_name for r in found)) or 'none'}")
P
"$python" -W ignore "$work/program.py" "$work" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
ends with inf: [1.5, 1.7976931348623157e+308, nan, -1.7976931348623157e+308, 1.7976931348623157e+308], finite are 4
ends with nan: [1.5, 1.7976931348623157e+308, nan, -1.7976931348623157e+308, nan], finite are 3
ends with 2.5: [1.5, 1.7976931348623157e+308, nan, -1.7976931348623157e+308, 2.5], finite are 4
metrics.loss > 1e9: ends with inf
metrics.loss < 1e9: ends with 2.5
metrics.loss != 1: ends with 2.5, ends with inf, ends with nan
S
