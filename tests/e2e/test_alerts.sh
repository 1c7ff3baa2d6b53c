#!/usr/bin/env bash
# Alerts of a training in which things go wrong in known steps, against its own numbers; what they do; anomaly.json.
# timeout: 400
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: alerts'

one() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	env OMP_NUM_THREADS=1 "$@" timeout -k 5 150 "$python" tests/apps/py/alerts.py "$tmp/numbers" >"$file" 2>"$file.err" </dev/null
	status=$?
	echo $status >"$file.status"
}

cat >"$tmp/alerts.yaml" <<'Y'
alerts:
- {rule: AnomalyTurbulence, kind: [grad_reduced, loss], threshold: 0.5, warmup: 5}
- {rule: AnomalyNan, kind: grad_reduced, action: [log, exec]}
- {rule: inf, kind: grad_reduced, names: 'weight$'}
- {rule: zero, names: ['^2\.', nothing]}
- {rule: stuck, threshold: 3}
- {rule: spike, kind: loss, threshold: 3}
- {rule: slow, threshold: 2}
anomaly_json: true
Y
new_out
one "$tmp/plain"
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CONFIG="$tmp/alerts.yaml" RANK=0 WORLD_SIZE=1
is 'ends well' "$status" 0
is 'the same results with and without' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
ok "each alert once, with the steps and the count: $(python3 tests/e2e/alerts_truth.py "$out/rank0" "$tmp/numbers" 5 | tr '\n' ' ')" \
	python3 tests/e2e/alerts_truth.py "$out/rank0" "$tmp/numbers" 5
is 'the step that took long' "$(python3 -c '
import json, sys
print([a["first_step"] for a in map(json.loads, open(sys.argv[1])) if a["rule"] == "slow" and a["first_step"] <= 38 <= a["last_step"]] != [])' "$out/rank0/alerts.jsonl")" True
is 'no watcher: reported' "$(grep '"rule": "AnomalyNan"' "$out/rank0/alerts.jsonl" | grep -c 'exec: no watcher')" 1
like 'a line on stderr' "$(cat "$tmp/with.err")" 'AnomalyNan: grad_reduced of 0.weight, nans 1 in step 25'
ok 'they are few' test "$(wc -l <"$tmp/with.err")" -le 20
contract alerts "$out"
# By the file itself: how often each rule fired, and which did not. Here each rule has a word of its own.
python3 - "$out/rank0/alerts.jsonl" >"$tmp/fired" <<'P'
import json, sys

alerts = [json.loads(line) for line in open(sys.argv[1])]
for rule in "AnomalyTurbulence AnomalyNan inf zero stuck spike slow".split():
    of = [a for a in alerts if a["rule"] == rule]
    print(rule, len(of), sum(a["count"] for a in of), min((a["first_step"] for a in of), default=None))
P
is 'report --json: how often each rule fired' "$("$probe" report --json "$out" | python3 -c 'import json, sys
for a in json.load(sys.stdin)["verdict"]["alert_rules"]:
    print(a["rule"], a["alerts"], a["count"], a.get("first_step"))')" "$(cat "$tmp/fired")"
like 'report: how often a rule fired' "$("$probe" report "$out")" "alerts:.* $(awk '$1 == "AnomalyNan" {
	printf "AnomalyNan fired %d time%s, first in step %d on rank 0", $3, $3 == 1 ? "" : "s", $4}' "$tmp/fired")"
cp -r "$out" "$tmp/torn"
echo 'no alert' >>"$tmp/torn/rank0/alerts.jsonl"
sed -n 1p "$out/rank0/alerts.jsonl" | sed 's/"AnomalyTurbulence"\|"AnomalyNan"\|"inf"\|"zero"\|"stuck"\|"spike"\|"slow"/"later"/' >>"$tmp/torn/rank0/alerts.jsonl"
said=$("$probe" report "$tmp/torn")
like 'report: a damaged line of alerts.jsonl is counted' "$said" '1 damaged line was skipped'
like '... and the line after it is read' "$said" 'later fired '

# anomaly.json: which came first, by probe analyze.
said=$("$probe" analyze --anomalies -k 3 -s '[25, 26]' "$out")
is 'analyze: status' $? 1
like 'analyze: the first' "$said" 'rank 0, step 25: Rule AnomalyNan reports anomaly signal in'
is 'anomaly_analyse.json: steps and keys' "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(len(d), sorted({v["step"] for v in d.values()}), all(k == "%s_step_%d_call_%d" % (v["tag_name"], v["step"], v["call_id"]) for k, v in d.items()))' "$out/anomaly_detected/anomaly_analyse.json")" '2 [25, 26] True'
"$probe" analyze --anomalies "$tmp" >"$tmp/o" 2>"$tmp/e"
is 'analyze where there is none: status, one line' "$? $(wc -l <"$tmp/e")" '2 1'
for a in '-k 0' '-k x' '-s [x]' '-s 3-1' 'a b'; do
	"$probe" analyze --anomalies $a >"$tmp/o" 2>"$tmp/e"
	is "analyze $a: status, one line" "$? $(wc -l <"$tmp/e")" '2 1'
done

# exec: by probe watch alone, the alert on its standard input.
new_out
mkdir "$out"
"$probe" watch --interval 0.5 --exec "cat >>$tmp/given" "$out" >"$tmp/watched" 2>"$tmp/watched.err" &
watch=$!
started+=($watch)
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CONFIG="$tmp/alerts.yaml" PROBE_ANOMALY_JSON=false RANK=0 WORLD_SIZE=1 \
	STEP_PAUSE=0.1
wait $watch
is 'watch: status' $? 1
is 'watch: the command has the alert on its standard input' "$(python3 -c '
import json, sys
print([(a["rule"], a["name"], a["step"], a["rank"]) for a in map(json.loads, open(sys.argv[1])) if "rule" in a])' "$tmp/given")" \
	"[('AnomalyNan', '0.weight', 25, 0)]"
like 'watch: the others are reported' "$(cat "$tmp/watched")" 'alert: rank0: zero: grad_reduced of 2.bias in step 30|alert: rank0: zero: grad_reduced of 2.bias 0 in step 30'
is 'the alert knows' "$(grep '"rule": "AnomalyNan"' "$out/rank0/alerts.jsonl" | grep -c 'exec: by probe watch')" 1
is 'without anomaly_json there is none' "$(ls "$out" | grep -c anomaly)" 0

# capture and pause: the given number of steps from the next on; recording goes on as before. Steps of a file, as ranges.
steps_of() {
	python3 -c '
import csv, sys
s = sorted({int(r["step"]) for r in csv.DictReader(open(sys.argv[1]))})
print(len(s), [x for x in range(s[0], s[-1]) if x not in s])' "$1"
}
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" RANK=0 WORLD_SIZE=1 STEP_PAUSE=0.1 STEPS=40 \
	PROBE_ALERTS='[{rule: zero, action: capture, n: 3, preset: state}]'
is 'capture: three steps of another kind' "$(steps_of "$out"/rank0/param_origin_*.csv)" '3 []'
is 'capture: what was recorded before goes on' "$(steps_of "$out"/rank0/grad_reduced_*.csv)" '40 []'
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" RANK=0 WORLD_SIZE=1 STEP_PAUSE=0.1 STEPS=44 \
	PROBE_ALERTS='[{rule: zero, action: pause, n: 4}]'
like 'pause: four steps, and the one in which it began' "$(steps_of "$out"/rank0/grad_reduced_*.csv)" '^(39|40) \[3[0-9](, 3[0-9]){3,4}\]'

# stop: ValueError after a step that comes soon; nothing where the rule stays silent, and where there is no optimizer.
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" RANK=0 WORLD_SIZE=1 STEP_PAUSE=0.1 STEPS=60 \
	PROBE_ALERTS='[{rule: AnomalyNan, kind: grad_reduced, action: stop}]'
is 'stop: the job ends in an error, after no digest' "$(cat "$tmp/with.status") $(grep -c digest "$tmp/with")" '1 0'
like 'stop: which rule, step, rank' "$(tail -1 "$tmp/with.err")" '^ValueError: libprobe: alert of rule AnomalyNan in step 25 of rank 0, whose action is stop'
last=$(tail -1 "$tmp/numbers" | cut -d' ' -f3)
ok "stop: soon after step 25 ($last), and not before" test "$last" -ge 25 -a "$last" -le 45
is 'stop: the alert says what was done' "$(grep -c '"action": "stop: ValueError after the next step of an optimizer"' "$out/rank0/alerts.jsonl")" 1
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" RANK=0 WORLD_SIZE=1 PROBE_ALERTS='[{rule: stuck, kind: loss, threshold: 900, action: stop}, {rule: slow, kind: mfu}]'
is 'stop: a rule that stays silent ends nothing, and changes nothing' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
like 'report: a rule that was on and did not fire, and one without values' "$("$probe" report "$out")" \
	' alerts: stuck did not fire; slow had no values to check( |$)'
is 'report --json: the same' "$("$probe" report --json "$out" | python3 -c 'import json, sys
print([(a["rule"], a["checked"], a["alerts"], "first_step" in a) for a in json.load(sys.stdin)["verdict"]["alert_rules"]])')" \
	"[('stuck', True, 0, False), ('slow', False, 0, False)]"
new_out
if [ -n "$flavours" ]; then
	run_with "${flavours%%[[:space:]]*}" 4 PROBE_ALERTS='[{rule: AnomalyNan, kind: calls, action: stop}]' mpi_contract
	is 'stop: a program without an optimizer goes on' "$status" 0
	like 'stop: and the alert says so' "$(cat "$out"/rank*/alerts.jsonl)" '"action": "stop: not done: no step of an optimizer'
fi

# Rules that are wrong.
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_ALERTS='[{rule: spikes}, {rule: inf, kind: loss}]' RANK=0 WORLD_SIZE=1 STEPS=3
like 'a wrong rule is reported' "$(cat "$tmp/with.err")" 'PROBE_ALERTS'
is 'without an alert no file is written' "$(ls "$out"/rank0 2>/dev/null | grep -c alerts)" 0
finish
