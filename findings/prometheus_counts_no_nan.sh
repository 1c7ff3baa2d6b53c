#!/usr/bin/env bash
# prometheus_client 0.26.0 (Python): gradient norms 0.5, NaN, 5, inf given to a Histogram and to a Summary, a NaN to a Counter.
#
# Question: how many observations do they count, and does the counter take the NaN, as it refuses negative numbers?
# Guess:    four each, with the NaN in the last bucket; the counter raises.
# Real:     the histogram counts three: the NaN is in no bucket, not even in +Inf, but in its sum. The summary counts four. The counter takes it and is NaN
#           from then on. So are both sums: nothing that is added later brings a number again.
# Matters:  rate(sum) / rate(count) is NaN until the process is started again, and an alert on the number of observations does not see the step.
. "$(dirname "$0")/lib.sh"
environment prometheus prometheus_client==0.26.0
cat >"$work/program.py" <<'P'
from prometheus_client import CollectorRegistry, Counter, Histogram, Summary, generate_latest
registry = CollectorRegistry()
histogram = Histogram("norm_h", "norms", buckets=(1, 10), registry=registry)
summary = Summary("norm_s", "norms", registry=registry)
counter = Counter("skipped", "sum of norms of skipped steps", registry=registry)
for norm in (0.5, float("nan"), 5, float("inf")):
    histogram.observe(norm)
    summary.observe(norm)
try:
    counter.inc(-1)
except ValueError as error:
    print("counter, -1:", error)
counter.inc(float("nan"))
counter.inc(1)
for line in generate_latest(registry).decode().splitlines():
    if not line.startswith("#") and "_created" not in line:
        print(line)
P
"$python" "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
counter, -1: Counters can only be incremented by non-negative amounts.
norm_h_bucket{le="1.0"} 1.0
norm_h_bucket{le="10.0"} 2.0
norm_h_bucket{le="+Inf"} 3.0
norm_h_count 3.0
norm_h_sum NaN
norm_s_count 4.0
norm_s_sum NaN
skipped_total NaN
S
