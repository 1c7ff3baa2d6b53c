#!/usr/bin/env bash
# What `probe serve` says of a run, read by Prometheus' own Python client, in a virtual environment of its own in $B/long.
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
finish
