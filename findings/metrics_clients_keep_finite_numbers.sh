#!/usr/bin/env bash
# influxdb-client 1.50.0 and opentelemetry-sdk 1.45.2: a loss that becomes NaN, sent to a monitoring system.
#
# Question: a rank sends its loss each step: 2, 1, NaN, infinity. What leaves the process?
# Guess:    InfluxDB's client writes NaN or raises, since the line protocol has no NaN. OpenTelemetry's histogram leaves such values out
#           (it does); of the gauge no guess was made.
# Real:     InfluxDB's client leaves the field out, and the whole line if it has no other; nothing is said. OpenTelemetry ignores the value
#           with a line in Python's log and exports the last finite one again and again: a loss of 1
#           whose time is that of the export.
# Matters:  an alert on "loss is NaN" or on a large loss can never fire, and one on "no data" fires with InfluxDB only. A job that has
#           diverged looks healthy on the dashboard. Send a number of values that are not finite beside it.
. "$(dirname "$0")/lib.sh"
environment metrics influxdb-client==1.50.0 opentelemetry-sdk==1.45.2
cat >"$work/program.py" <<'P'
import logging
from influxdb_client import Point
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
logging.disable()
reader = InMemoryMetricReader()
meter = MeterProvider([reader]).get_meter("training")
gauge, histogram = meter.create_gauge("loss"), meter.create_histogram("losses")
for loss in (2.0, 1.0, float("nan"), float("inf")):
    print(f"InfluxDB, loss {loss}: {Point('train').tag('rank', 0).field('loss', loss).to_line_protocol()!r}, with a step: "
          f"{Point('train').tag('rank', 0).field('loss', loss).field('step', 3).to_line_protocol()!r}")
    gauge.set(loss)
    histogram.record(loss)
    found = {m.name: m.data.data_points[0] for m in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics}
    print(f"OpenTelemetry, loss {loss}: gauge {found['loss'].value}, histogram of {found['losses'].count} values, maximum {found['losses'].max}")
P
"$python" "$work/program.py" >"$work/seen" 2>&1
expect_output "$work/seen" <<'S'
InfluxDB, loss 2.0: 'train,rank=0 loss=2', with a step: 'train,rank=0 loss=2,step=3i'
OpenTelemetry, loss 2.0: gauge 2.0, histogram of 1 values, maximum 2.0
InfluxDB, loss 1.0: 'train,rank=0 loss=1', with a step: 'train,rank=0 loss=1,step=3i'
OpenTelemetry, loss 1.0: gauge 1.0, histogram of 2 values, maximum 2.0
InfluxDB, loss nan: '', with a step: 'train,rank=0 step=3i'
OpenTelemetry, loss nan: gauge 1.0, histogram of 2 values, maximum 2.0
InfluxDB, loss inf: '', with a step: 'train,rank=0 step=3i'
OpenTelemetry, loss inf: gauge 1.0, histogram of 2 values, maximum 2.0
S
