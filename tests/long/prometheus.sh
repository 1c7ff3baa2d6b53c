#!/usr/bin/env bash
# What `probe serve` says of a run, read by Prometheus' own Python client (in a virtual environment of its own in $B/long) and by Prometheus
# itself, with the rules and the dashboard of packaging/monitoring.
# timeout: 600
. "$(dirname "$0")/../e2e/lib.sh"
venv=$(realpath "$B")/long/prometheus
mkdir -p "${venv%/*}"
{ [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; } >"$tmp/pip" 2>&1 &&
	"$venv/bin/pip" install --quiet 'prometheus_client==0.*' >>"$tmp/pip" 2>&1 || {
	skip "Prometheus' client" "$(tail -1 "$tmp/pip")"
	finish
}
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$tmp/gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
"$tmp/gen" -r 4 -s 20 -c 2 -g 2 -l 2:5000000 "$tmp/run"
printf 'step,name,value,wall_ns\n19,loss,2.25,1\n19,learning-rate/group1,0.5,1\n19,grad-norm,inf,1\n' >"$tmp/run/rank0/scalars_0-99.csv"
"$probe" serve --port 0 "$tmp/run" >"$tmp/served" 2>&1 </dev/null &
started+=($!)
wait_until 20 grep -q http "$tmp/served"
read_by() { # EXPRESSION over F, {family: [(labels, value), ...]}, and T, {family: type}
	"$venv/bin/python" - "$(cat "$tmp/served")" "$1" <<'PY' 2>&1
import sys, urllib.request
from prometheus_client.parser import text_string_to_metric_families
text = urllib.request.urlopen(sys.argv[1], timeout=20).read().decode()
families = list(text_string_to_metric_families(text))
F = {f.name: [(s.labels, s.value) for s in f.samples] for f in families}
T = {f.name: f.type for f in families}
D = {f.name: f.documentation for f in families}
print(eval(sys.argv[2]))
PY
}
is 'families have types and texts' "$(read_by "sorted({t for t in T.values()}), all(D.values())")" "(['counter', 'gauge'], True)"
is 'numbers' "$(read_by "F['probe_loss'], F['probe_learning_rate'], F['probe_grad_norm'][0][1]")" \
	"([({'rank': '0'}, 2.25)], [({'rank': '0', 'part': 'group1'}, 0.5)], inf)"
is "the Inspector's names, with its labels" \
	"$(read_by "sorted(set(F['nccl_bus_bandwidth_gbs'][0][0]) & {'slurm_job_id', 'node', 'comm_name', 'n_nodes', 'nranks', 'collective', 'message_size'}), sorted({l['collective'] for l, _ in F['nccl_bus_bandwidth_gbs']})")" \
	"(['collective', 'comm_name', 'message_size', 'n_nodes', 'node', 'nranks', 'slurm_job_id'], ['AllGather', 'AllReduce'])"
is 'each rank once' "$(read_by "sorted(l['rank'] for l, _ in F['probe_step'])")" "['0', '1', '2', '3']"
# The dashboard: what Grafana needs of each panel. Its queries are asked below.
cat >"$tmp/queries.py" <<'PY'
import json, sys
d = json.load(open("packaging/monitoring/grafana-dashboard.json"))
assert len({p["id"] for p in d["panels"]}) == len(d["panels"]) > 10 and d["uid"] and d["schemaVersion"] >= 36
cells = set()
for p in d["panels"]:
    g = p["gridPos"]
    assert p["title"] and p["type"] in ("stat", "table", "timeseries") and p["targets"] and g["x"] + g["w"] <= 24, p["title"]
    at = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
    assert not cells & at, "panels overlap: " + p["title"]
    cells |= at
    for t in p["targets"]:
        print(t["expr"].replace("$__rate_interval", "1m").replace("$job", ".+").replace("$instance", ".+"))
PY
python3 "$tmp/queries.py" >"$tmp/queries" 2>"$tmp/err"
is 'the dashboard has panels that do not overlap' "$? $(tail -1 "$tmp/err")" '0 '
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
	skip 'Prometheus itself' 'no prometheus, promtool (Debian: prometheus)'
	finish
fi
ok 'promtool accepts the rules' promtool check rules packaging/monitoring/probe-rules.yaml
ok 'rules fire when they are to, and only then' promtool test rules tests/long/prometheus_rules.yaml
"$tmp/gen" -r 4 -s 20 -c 2 -g 2 -b 9:3 "$tmp/nan"
cp "$tmp/run/rank0/scalars_0-99.csv" "$tmp/nan/rank0/"
"$probe" serve --port 0 "$tmp/nan" >"$tmp/served.nan" 2>&1 </dev/null &
started+=($!)
wait_until 20 grep -q http "$tmp/served.nan"
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
cat >"$tmp/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ['$(realpath packaging/monitoring/probe-rules.yaml)']
scrape_configs:
- job_name: training
  static_configs: [{targets: ['$(sed 's|http://||; s|/metrics||' "$tmp/served.nan")']}]
END
prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/tsdb" --web.listen-address="127.0.0.1:$port" >"$tmp/prometheus.log" 2>&1 </dev/null &
started+=($!)
ask() { # QUERY: labels and values
	python3 - "$port" "$1" <<'PY'
import json, sys, urllib.error, urllib.parse, urllib.request
url = f"http://127.0.0.1:{sys.argv[1]}/api/v1/query?" + urllib.parse.urlencode({"query": sys.argv[2]})
try:
    r = json.load(urllib.request.urlopen(url, timeout=10))
except urllib.error.HTTPError as e:
    print(json.load(e)["error"])
    sys.exit(1)
except OSError as e:
    print(e)
    sys.exit(1)
for s in r["data"]["result"]:
    print(*(f"{k}={v}" for k, v in sorted(s["metric"].items()) if k in ("alertname", "kind", "rank", "severity")), s["value"][1])
PY
}
fires() { ask 'ALERTS{alertname="ProbeFault",alertstate="firing"}' | grep -q 'kind=nan rank=3'; }
ok 'Prometheus scrapes it, and the rule for faults fires for the rank that is named' wait_until 60 fires
is 'a finding in Prometheus' "$(ask 'probe_finding{severity="bad"}')" 'kind=nan rank=3 severity=bad 1'
is 'a loss of 2.25' "$(ask 'probe_loss')" 'rank=0 2.25'
bad=0 empty=''
while read -r q; do
	answer=$(ask "$q") || { bad=$((bad + 1)); fail 'a query of the dashboard' "$q: $answer"; }
	[ -n "$answer" ] || empty+="$q;"
done <"$tmp/queries"
is 'Prometheus accepts each query of the dashboard' "$bad" 0
is 'each has an answer, but for calls that are open' "$(tr -d '\n' <<<"$empty" | sed 's/topk(10, probe_open_call_seconds{[^}]*} > 5);//')" ''
finish
