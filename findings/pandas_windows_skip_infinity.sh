#!/usr/bin/env bash
# pandas 3.1.1, beside Polars 2.1.0 and DuckDB 2.0.1: running statistics of a gradient norm of which one value is infinite.
#
# Question: the norms are 1, 2, infinity, 3, 4. What are the largest and the mean so far, those of a window of two, and the
#           exponentially weighted mean?
# Guess:    infinite from the third value on, or while it is in the window: infinity is a number and the largest one, isna() is False for
#           it, max() and cummax() have it. Perhaps NaN after it, by inf - inf.
# Real:     expanding(), rolling() and ewm() treat it as a missing value: the largest so far is 2, 2, then 3. With min_periods, which
#           expanding() and ewm() have as 1, nothing is NaN either. count() counts it. apply() gets NaN in its place. Polars and DuckDB
#           give infinity.
# Matters:  a smoothed curve of a loss or norm shows no trace of a step that overflowed, and an alert on expanding().max() cannot fire.
. "$(dirname "$0")/lib.sh"
environment data duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cat >"$work/program.py" <<'P'
import duckdb, numpy as np, pandas, polars
norms = [1.0, 2.0, float("inf"), 3.0, 4.0]
s, p = pandas.Series(norms), polars.Series("norm", norms)
def show(name, values):
    print(f"{name}: {[round(float(v), 3) for v in values]}")
show("pandas max(), cummax()", [s.max(), *s.cummax()])
show("pandas expanding().max()", s.expanding().max())
show("pandas expanding().mean()", s.expanding().mean())
show("pandas expanding().count()", s.expanding().count())
show("pandas expanding().apply(numpy.max)", s.expanding().apply(np.max))
show("pandas rolling(2).max()", s.rolling(2).max())
show("pandas rolling(2, min_periods=1).max()", s.rolling(2, min_periods=1).max())
show("pandas ewm(alpha=0.5).mean()", s.ewm(alpha=0.5).mean())
show("Polars cum_max()", p.cum_max())
show("Polars rolling_max(2, min_samples=1)", p.rolling_max(2, min_samples=1))
show("Polars ewm_mean(alpha=0.5)", p.ewm_mean(alpha=0.5))
frame = s.to_frame("norm").reset_index()
show("DuckDB max() over", [v for v, in duckdb.sql('SELECT max(norm) OVER (ORDER BY "index") FROM frame').fetchall()])
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
pandas max(), cummax(): [inf, 1.0, 2.0, inf, inf, inf]
pandas expanding().max(): [1.0, 2.0, 2.0, 3.0, 4.0]
pandas expanding().mean(): [1.0, 1.5, 1.5, 2.0, 2.5]
pandas expanding().count(): [1.0, 2.0, 3.0, 4.0, 5.0]
pandas expanding().apply(numpy.max): [1.0, 2.0, 2.0, 3.0, 4.0]
pandas rolling(2).max(): [nan, 2.0, nan, nan, 4.0]
pandas rolling(2, min_periods=1).max(): [1.0, 2.0, 2.0, 3.0, 4.0]
pandas ewm(alpha=0.5).mean(): [1.0, 1.667, 1.667, 2.636, 3.444]
Polars cum_max(): [1.0, 2.0, inf, inf, inf]
Polars rolling_max(2, min_samples=1): [1.0, 2.0, inf, inf, 4.0]
Polars ewm_mean(alpha=0.5): [1.0, 1.667, inf, nan, nan]
DuckDB max() over: [1.0, 2.0, inf, inf, inf]
S
