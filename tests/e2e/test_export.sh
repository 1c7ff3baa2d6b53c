#!/usr/bin/env bash
# `probe export`: the Chrome trace against the rows (trace_truth.py), the window that it chooses, its limit; the Flight
# Recorder's pickles as Python reads them, and as PyTorch's own analyser does; the graph of a step. Prints TAP.
# timeout: 300
. "$(dirname "$0")/lib.sh"

gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }

truth() { # WHAT TRACE DIR [STEPS [RANKS]]
	local what=$1 line
	shift
	if ! python3 tests/e2e/trace_truth.py "$@" >"$tmp/truth" 2>&1; then
		fail "$what: the trace is read" "$(cat "$tmp/truth")"
		return
	fi
	while read -r line; do
		case $line in
		ok*) pass "$what: ${line#ok - }" ;;
		*) fail "$what: ${line#not ok - }" ;;
		esac
	done <"$tmp/truth"
}

export_to() { # FILE [OPTIONS] DIR: what it said in $said, its status in $status
	local to=$1
	shift
	said=$("$probe" export --format trace --output "$to" "$@" 2>&1)
	status=$?
}

json() { # FILE EXPRESSION over d, the document, and e, its events
	python3 -c 'import gzip, json, sys
f = sys.argv[1]
d = json.load(gzip.open(f) if f.endswith(".gz") else open(f))
e = d["traceEvents"]
print(eval(sys.argv[2]))' "$1" "$2"
}

# ---- generated runs ----

$gen -r 6 -s 150 -c 5 -g 3 "$tmp/plain"
export_to "$tmp/plain.json" --all "$tmp/plain"
is 'a whole run: status' "$status" 0
truth 'a whole run' "$tmp/plain.json" "$tmp/plain"
export_to "$tmp/plain.json.gz" --step 20-24 --rank 1,4-5 "$tmp/plain"
like 'what was written is reported' "$said" 'plain.json.gz: steps 20-24, ranks 1,4,5, 75 calls'
truth 'some steps of some ranks, compressed' "$tmp/plain.json.gz" "$tmp/plain" 20-24 1,4,5
is 'stdout' "$("$probe" export -F trace -o - --step 3 --rank 0 "$tmp/plain" 2>/dev/null | json /dev/stdin 'sorted({x["args"]["step"] for x in e if x.get("cat") == "cpu_op"})')" '[3]'
"$probe" export --format trace "$tmp/plain" >"$tmp/said"
like 'without a finding: the last steps, into the folder' "$(cat "$tmp/said")" "$tmp/plain/trace.json.gz: steps 147-149, ranks 0-5"
unlike 'the report is not disturbed by it' "$("$probe" report "$tmp/plain")" 'trace.json'
export_to "$tmp/l2.json" --step 5 --level 2 "$tmp/plain"
is 'level 2 has statistics' "$(json "$tmp/l2.json" '[x["args"]["out"]["norm"] for x in e if x.get("cat") == "cpu_op"][0]')" 32
export_to "$tmp/l0.json" --step 5 --level 0 "$tmp/plain"
is 'level 0 has no stacks' "$(json "$tmp/l0.json" 'any("called from" in x.get("args", {}) for x in e)')" False
is 'level 1 has' "$(json "$tmp/plain.json" 'sorted({x["args"]["called from"] for x in e if x.get("cat") == "cpu_op"})')" \
	"['step (train.py:11) <- main (train.py:30)', 'step (train.py:12) <- main (train.py:30)']"

$gen -r 8 -s 60 -c 4 -g 4 -l 5:700000 -k 1:40000000 "$tmp/skew"
export_to "$tmp/skew.json" --step 30 "$tmp/skew"
is 'a wrong clock is set right' "$(json "$tmp/skew.json" 'max(x["ts"] for x in e if x.get("cat") == "cpu_op") - min(x["ts"] for x in e if x.get("cat") == "cpu_op") < 10000')" True

# The window: around the finding, with the ranks that it names.
$gen -r 100 -s 40 -c 3 -g 10 -b 21:87 "$tmp/nan"
export_to "$tmp/nan.json" "$tmp/nan"
like 'around the finding, 64 ranks' "$said" 'steps 20-22, ranks 36-99'
is 'with the one it names' "$(json "$tmp/nan.json" '(87 in {x["pid"] for x in e}, len({x["pid"] for x in e if x.get("cat") == "cpu_op"}))')" '(True, 64)'

# ... of whatever kind: a value far outside, in the middle of the run.
cp -r "$tmp/plain" "$tmp/spike"
awk -F, -v OFS=, 'FNR == 1 {for (i = 1; i <= NF; i++) at[$i] = i} $at["step"] == 70 && $at["op"] == "all_reduce" {$at["max"] = $at["norm"] = "1e+12"} {print}' \
	"$tmp/plain/rank4/calls_0-99.csv" >"$tmp/spike/rank4/calls_0-99.csv"
like 'a spike is found' "$("$probe" report "$tmp/spike")" 'spike +first in step 70, rank 4'
export_to "$tmp/spike.json" "$tmp/spike"
like 'the exported steps and ranks are those around that finding' "$said" 'steps 69-71, ranks 0-5'
"$probe" report --html "$tmp/spike.html" "$tmp/spike" >/dev/null
like 'the timeline of the page is around that finding too' "$(grep -o '"windows":\[{"finding":[-0-9]*,"step":[0-9]*' "$tmp/spike.html")" '"finding":0,"step":70'

# The limit: nothing is left, and the command that it names is short enough.
export_to "$tmp/long.json" --all --limit 1 "$tmp/nan"
is 'with --all no limit' "$status" 0
rm "$tmp/long.json"
export_to "$tmp/long.json" --limit 1 --step 0-39 "$tmp/nan"
is 'above the limit: status' "$status" 2
is 'nothing is left' "$(ls "$tmp" | grep long)" ''
like 'the command that narrows it is reported' "$said" 'probe export --format trace --step 0-[0-9]+ /'
narrow=$(grep -oE -- '--step [0-9-]+( --rank [0-9-]+)?' <<<"$said" | head -1)
export_to "$tmp/long.json" --limit 1 $narrow "$tmp/nan"
is 'an export with these options is short enough' "$status" 0
# A step that is not there is an error for each format; an earlier export stays.
for f in trace flight-recorder dot insight dump monitor tensorboard; do
	to=$tmp/kept_$f
	mkdir "$to"
	case $f in trace) to+=/x.json ;; dot) to+=/x.dot ;; esac
	"$probe" export --format $f --step 2 -o "$to" "$tmp/nan" >/dev/null 2>&1
	before=$(cd "$tmp/kept_$f" && find . -type f -exec cksum {} + | sort -k 3)
	for step in 7000 7000-7001; do
		said=$("$probe" export --format $f --step $step -o "$to" "$tmp/nan" 2>&1)
		is "$f: a step that is not there: status, message" "$? $said" \
			"2 probe: export: no calls in step$([ $step = 7000 ] || echo s) $step; the run has steps 0-39"
	done
	is "$f: what was exported before is still there, and nothing else" "$(cd "$tmp/kept_$f" && find . -type f -exec cksum {} + | sort -k 3)" "$before"
done

# A file for each rank, as HTA and torch_tb_profiler want them (tests/long/trace_readers.sh runs these).
export_to "$tmp/hta" --step 10-14 "$tmp/plain"
is 'a file for each rank' "$(ls "$tmp/hta" | tr '\n' ' ')" 'rank0.pt.trace.json.gz rank1.pt.trace.json.gz rank2.pt.trace.json.gz rank3.pt.trace.json.gz rank4.pt.trace.json.gz rank5.pt.trace.json.gz '
is 'HTA finds the rank in its first lines' "$(zcat "$tmp/hta/rank4.pt.trace.json.gz" | head -5 | grep -cE '"rank": +4')" 1
is 'each collective is launched, and a kernel' "$(json "$tmp/hta/rank4.pt.trace.json.gz" \
	'[len({x["args"]["correlation"] for x in e if x.get("cat") == c}) for c in ("cuda_runtime", "kernel")] + [all(x["name"].startswith("ncclKernel_") for x in e if x.get("cat") == "kernel")]')" '[25, 25, True]'


# As those programs read it: times are doubles, torch_tb_profiler drops an event that ends one bit after the enclosing one, and HTA
# counts what is queued on streams, where nothing overlaps.
as_read() { # TRACE: events that are dropped, pairs that overlap on a stream, kernels in the microsecond of their launch
	python3 -c 'import collections, gzip, json, sys
tree, stream, launch, lost, overlap, early = collections.defaultdict(list), collections.defaultdict(list), {}, 0, 0, 0
for e in json.load(gzip.open(sys.argv[1]))["traceEvents"]:
    if e.get("cat") in ("cpu_op", "user_annotation", "cuda_runtime"):
        tree[e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    if e.get("cat") == "kernel":
        stream[e["args"]["stream"]].append((e["ts"], e["ts"] + e["dur"], e["args"]["correlation"]))
    if e.get("cat") == "cuda_runtime":
        launch[e["args"]["correlation"]] = e["ts"]
for t in tree.values():
    stack = [float("inf")]
    for a, b in sorted(t, key=lambda x: (x[0], -x[1])):
        while a >= stack[-1]:
            stack.pop()
        lost += b > stack[-1]
        if b <= stack[-1]:
            stack.append(b)
for t in stream.values():
    t.sort()
    overlap += sum(q[0] < p[1] - 0.0005 for p, q in zip(t, t[1:]))
    early += sum(b - a > 2 and a - launch[k] < 0.999 for a, b, k in t)
print(len(launch) > 20, lost, overlap, early)' "$1"
}
export_to "$tmp/hta_all" --all --rank 4 "$tmp/plain"
is 'readers leave out nothing of it' "$(as_read "$tmp/hta_all/rank4.pt.trace.json.gz")" 'True 0 0 0'

# ---- real runs ----

for m in $flavours; do
	new_out
	run_with $m 4 mpi_p2p
	"$probe" export -F trace --all -o "$tmp/p2p.json.gz" "$out" >"$tmp/said"
	truth "messages, $m" "$tmp/p2p.json.gz" "$out"
	# A message is of two ranks; 0 to 1 is another one than 1 to 0 or 2 to 3.
	"$probe" export -F dot --step 0 "$out" >"$tmp/p2p.dot"
	is "messages, $m: a box of the graph has the two ranks of its message at most" \
		"$(grep -E 'label="(send|recv) [0-9]+ to ' "$tmp/p2p.dot" | grep -oE 'n[0-9]+ ranks?,' | sort -u)" 'n2 ranks,'
	new_out
	run_with $m 3 mpi_nonblocking
	"$probe" export -F trace --all -o "$tmp/nb.json.gz" "$out" >"$tmp/said"
	truth "nonblocking collectives, $m" "$tmp/nb.json.gz" "$out"
	"$probe" export -F trace --all --per-rank -o "$tmp/nb" "$out" >"$tmp/said"
	is "nonblocking collectives, $m: readers leave out nothing, and streams are streams" "$(as_read "$tmp/nb/rank1.pt.trace.json.gz")" 'True 0 0 0'
	break # the other one's rows are the same
done

# A job that hangs: what its ranks stand in is in no file yet.
for m in $flavours; do
	new_out
	start_with $m 3 PROBE_STEP_MARKER=MPI_Reduce train_digits --epochs 3 --hang 5:2
	hangs() {
		"$probe" report --json "$out" | python3 -c 'import json, sys; sys.exit(sum(o["op"] == "all_reduce" and o["age_s"] > 1 for o in json.load(sys.stdin)["open"]) != 2)'
	}
	wait_until 40 hangs
	export_to "$tmp/live.json" "$out"
	is 'a living job: the call that it is blocked in is shown as open' "$(json "$tmp/live.json" 'sorted((x["pid"], x["name"], x["args"]["step"]) for x in e if x.get("args", {}).get("open") and x["cat"] == "cpu_op")')" \
		"[(0, 'MPI_Allreduce (open)', 5), (1, 'MPI_Allreduce (open)', 5)]"
	"$probe" export --format flight-recorder -o "$tmp/fr_live" "$out" >"$tmp/said"
	for p in $(ranks_of "$out"); do kill -9 "$p"; done
	gone "$out"
	cp -r "$out" "$tmp/recovered"
	"$probe" recover "$tmp/recovered" >/dev/null
	is 'compare: a killed job has the calls of its journal, open ones too' "$("$probe" compare --json "$out" "$tmp/recovered" |
		python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["only_a"], d["only_b"], d["differing"], d["paired"] > 20)')" '0 0 0 True'
	break
done

# ---- Flight Recorder ----

pickles() { # DIR EXPRESSION over r: by rank
	python3 -c 'import glob, pickle, sys
r = {int(f.rsplit("_", 1)[1]): pickle.load(open(f, "rb")) for f in glob.glob(sys.argv[1] + "/rank_*")}
print(eval(sys.argv[2]))' "$1" "$2"
}
$gen -r 8 -s 60 -c 4 -g 4 -x 31:6 "$tmp/hang"
$gen -r 8 -s 60 -c 4 -g 4 -m 31:6 "$tmp/unlike"
for k in plain hang unlike; do
	ok "flight recorder: $k" "$probe" export --format flight-recorder -o "$tmp/fr_$k" "$tmp/$k"
done
is 'a pickle for each rank' "$(pickles "$tmp/fr_plain" 'sorted(r)')" '[0, 1, 2, 3, 4, 5]'
is 'protocol 2' "$(head -c 2 "$tmp/fr_plain/rank_0" | od -An -tx1)" ' 80 02'
is 'entries, groups' "$(pickles "$tmp/fr_plain" '[(d["version"], len(d["entries"]), [x["record_id"] for x in d["entries"]] == list(range(15)), sorted(g["ranks"] for g in d["pg_config"].values())) for d in (r[0], r[5])]')" \
	"[('2.10', 15, True, ['[0, 1, 2, 3, 4, 5]', '[0, 1, 2]']), ('2.10', 15, True, ['[0, 1, 2, 3, 4, 5]', '[3, 4, 5]'])]"
is 'the rank that hangs has none of that step' "$(pickles "$tmp/fr_hang" '[max(x["collective_seq_id"] for x in r[k]["entries"] if x["process_group"][1] == "MPI_COMM_WORLD") for k in (0, 6)] + [x["state"] for x in r[0]["entries"]][-1:]')" "[31, 30, 'started']"
is 'frames' "$(pickles "$tmp/fr_plain" 'r[0]["entries"][0]["frames"][0]')" "{'name': 'step', 'filename': 'train.py', 'line': 11}"

# One rank has left the operation that the others stand in, with twice the elements: it is the only odd one.
cp -r "$tmp/hang" "$tmp/odd"
awk -F, -v OFS=, 'FNR == 1 {for (i = 1; i <= NF; i++) at[$i] = i}
	$at["step"] == 31 && $at["op"] == "all_reduce" {
		$at["count"] = 2048; $at["dur_ns"] = 1000; $at["flags"] = ""; print; $at["io"] = "out"
	} {print}' "$tmp/hang/rank2/calls_0-99.csv" >"$tmp/odd/rank2/calls_0-99.csv"
"$probe" export --format flight-recorder --step 30-31 -o "$tmp/fr_odd" "$tmp/odd" >/dev/null
is 'a rank that is blocked in an operation has its own sizes' \
	"$(pickles "$tmp/fr_odd" '[(x["state"], x["input_sizes"], x["output_sizes"]) for k in (0, 2) for x in r[k]["entries"][-1:]]')" \
	"[('started', [[1024]], [[1024]]), ('completed', [[2048]], [[2048]])]"

if [ -n "$test_python" ] && "$test_python" -c 'import torch.distributed.flight_recorder.fr_trace' 2>/dev/null; then
	for m in $flavours; do
		new_out
		run_with $m 4 mpi_p2p
		"$probe" export -F flight-recorder --all -o "$tmp/fr_messages" "$out" >"$tmp/said"
		break
	done
	"$test_python" -c 'import os, sys
from torch.distributed.flight_recorder.fr_trace import main
for d in sys.argv[1:]:
    print("==", os.path.basename(d), flush=True)
    main([d])' "$tmp"/fr_* >"$tmp/analysed" 2>&1 || fail 'torchfrtrace' "$(cat "$tmp/analysed")"
	analysed() { # FOLDER
		awk -v w="$1" '$1 == "==" {on = $2 == w; next} on' "$tmp/analysed"
	}
	is 'torchfrtrace: nothing to say of a clean run' "$(analysed fr_plain)" ''
	like 'torchfrtrace names the rank that is missing' "$(analysed fr_hang)" 'Not all ranks joining collective, sequence number: 93 .*missing ranks: \{6\}'
	like 'torchfrtrace names the rank that does something else' "$(analysed fr_unlike)" 'Culprit rank 6; Error type: COLLECTIVE_TYPE_MISMATCH'
	unlike 'torchfrtrace blames no other for it' "$(analysed fr_odd)" 'Culprit rank [013457]'
	like 'torchfrtrace names the rank that a living job waits for' "$(analysed fr_live)" 'Not all ranks joining collective.*missing ranks: \{2\}'
	is 'torchfrtrace: messages match' "$(analysed fr_messages)" ''
	is 'there are more than 100 point-to-point entries' "$(pickles "$tmp/fr_messages" 'sum(x["is_p2p"] for d in r.values() for x in d["entries"]) > 100')" True
else
	skip 'torchfrtrace' 'no PyTorch with torch.distributed.flight_recorder'
fi

# ---- profiles for MindStudio Insight (tests/long/insight_reader.sh runs its reader) ----

ok 'insight: status' "$probe" export --format insight --step 10-14 -o "$tmp/insight" "$tmp/plain"
is 'insight: its files' "$(cd "$tmp/insight/rank4_ascend_pt" && find . -type f | sort | tr '\n' ' ')" \
	'./ASCEND_PROFILER_OUTPUT/communication.json ./ASCEND_PROFILER_OUTPUT/communication_matrix.json ./ASCEND_PROFILER_OUTPUT/step_trace_time.csv ./ASCEND_PROFILER_OUTPUT/trace_view.json ./profiler_info_4.json ./profiler_metadata.json '
insight() { # EXPRESSION over c: communication.json, x: communication_matrix.json, t: step_trace_time.csv, m: profiler_metadata.json
	python3 -c 'import csv, json, sys
d = sys.argv[1] + "/rank4_ascend_pt/"
o = d + "ASCEND_PROFILER_OUTPUT/"
c, x, v, m = (json.load(open(f)) for f in (o + "communication.json", o + "communication_matrix.json", o + "trace_view.json", d + "profiler_metadata.json"))
t = list(csv.DictReader(open(o + "step_trace_time.csv")))
print(eval(sys.argv[2]))' "$tmp/insight" "$1"
}
dur=$(rows "$tmp/plain" 'sum({r["seq"]: int(r["dur_ns"]) for r in on("rank4") if r["step"] == "12"}.values())')
is 'insight: time in calls is that of the rows' "$(insight 'round(float(t[2]["Communication(Not Overlapped)"]) * 1000), round(1e6 * c["step12"]["collective"]["Total Op Info"]["Communication Time Info"]["Elapse Time(ms)"])')" "($dur, $dur)"
is 'insight: a step is its parts' "$(insight 'all(abs(float(r["Computing"]) + float(r["Communication(Not Overlapped)"]) + float(r["Free"]) - float(r["Stage"])) < 0.01 for r in t)')" True
is 'insight: an entry for each operation' "$(insight 'sorted(c), {len(v["collective"]) for v in c.values()}, {len(v["collective"]) for v in x.values()}')" \
	"(['step10', 'step11', 'step12', 'step13', 'step14'], {6}, {2})"
is 'insight: the last rank of an operation does not wait' "$(for r in 0 1 2 3 4 5; do grep -o '"all_reduce_12_.*' "$tmp/insight/rank${r}_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json" | grep -c '"Wait Time(ms)": 0.000000'; done | sort | uniq -c | awk '{print $1 "x" $2}' | tr '\n' ' ')" '5x0 1x1 '
is 'insight: groups' "$(insight 'sorted((g["group_rank"], g["global_ranks"]) for g in m["parallel_group_info"].values())')" '[(1, [3, 4, 5]), (4, [0, 1, 2, 3, 4, 5])]'

# Operators of the step, which run during the last three quarters of each all_reduce and a while after it: what they cover is overlapped.
cp -r "$tmp/plain" "$tmp/busy"
python3 - "$tmp"/busy/rank4/calls_*.csv >"$tmp/busy.truth" <<'PY'
import collections, csv, sys
spans = collections.defaultdict(lambda: ([], []))
def union(v):
    out = []
    for a, b in sorted(v):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out
for path in sys.argv[1:]:
    rows = list(csv.DictReader(open(path)))
    head, made, seen = list(rows[0]), [], set()
    for r in rows:
        start, dur = int(r["start_ns"]), int(r["dur_ns"])
        if r["comm"]:
            spans[r["step"]][0].append((start, start + dur))
        if r["op"] == "all_reduce" and r["seq"] not in seen:
            seen.add(r["seq"])
            begin = start + dur // 4
            spans[r["step"]][1].append((begin, begin + dur))
            made.append({k: "" for k in head} | {k: r[k] for k in ("rank", "step", "phase", "tid", "micro_step") if k in head} |
                        {"seq": str(10 ** 9 + len(made)), "lib": "aten", "api": "aten::mm", "op": "mm", "start_ns": str(begin), "dur_ns": str(dur)})
    with open(path, "w", newline="") as f:
        w = csv.DictWriter(f, head, lineterminator="\n")
        w.writeheader()
        w.writerows(sorted(rows + made, key=lambda r: int(r["start_ns"])))
for step, (calls, ops) in sorted(spans.items(), key=lambda x: int(x[0])):
    if 10 <= int(step) <= 14:
        calls, ops = union(calls), union(ops)
        both = sum(max(0, min(b, d) - max(a, c)) for a, b in calls for c, d in ops)
        print(step, "%.3f %.3f %.3f" % tuple(x / 1000 for x in (sum(b - a for a, b in ops), sum(b - a for a, b in calls) - both, both)))
PY
rm -rf "$tmp/insight"
"$probe" export --format insight --step 10-14 -o "$tmp/insight" "$tmp/busy" >"$tmp/said" 2>&1
is 'insight: computing, exposed and overlapped communication by operators of the step' \
	"$(insight '"\n".join(" ".join([r["Step"], r["Computing"], r["Communication(Not Overlapped)"], r["Overlapped"]]) for r in t)')" "$(cat "$tmp/busy.truth")"
is 'insight: such a step is its parts, too' "$(insight 'all(abs(float(r["Computing"]) + float(r["Communication(Not Overlapped)"]) + float(r["Free"]) - float(r["Stage"])) < 0.01 and float(r["Free"]) > 0 for r in t)')" True

# Four requests that one Waitall completed after 5 us have these as their wait each: they count once.
cp -r "$tmp/plain" "$tmp/waitall"
awk -F, -v OFS=, 'FNR == 1 {for (i = 1; i <= NF; i++) at[$i] = i}
	FNR > 1 && $at["step"] == 12 && $at["op"] == "all_gather" {
		if (!end) end = substr($at["start_ns"], 8) + 9000000
		$at["flags"] = "async"; $at["wait_ns"] = 5000; $at["dur_ns"] = end - substr($at["start_ns"], 8)
	} {print}' "$tmp/plain/rank4/calls_0-99.csv" >"$tmp/waitall/rank4/calls_0-99.csv"
"$probe" export --format insight --step 10-14 -o "$tmp/insight" "$tmp/waitall" >/dev/null
dur=$(rows "$tmp/waitall" 'sum({r["seq"]: int(r["dur_ns"]) for r in on("rank4") if r["step"] == "12" and r["op"] == "all_reduce"}.values())')
is 'insight: the wait of a Waitall counts once' "$(insight 'round(float(t[2]["Communication(Not Overlapped)"]) * 1000)')" $((dur + 5000))

# ---- the graph of a step ----

"$probe" export --format dot --step 12 "$tmp/plain" >"$tmp/step.dot"
is 'a node for each operation of the step' "$(grep -c ' \[label="all_' "$tmp/step.dot")" 9
is 'an edge to the next call of each rank' "$(grep -c ' -> ' "$tmp/step.dot")" 8
like 'the world operation is of all ranks' "$(cat "$tmp/step.dot")" 'all_reduce #12.nMPI_COMM_WORLD.n6 ranks'
if command -v dot >/dev/null; then
	ok 'Graphviz reads it' dot -Tsvg -o "$tmp/step.svg" "$tmp/step.dot"
else
	is 'it is balanced' "$(tr -cd '{}' <"$tmp/step.dot")" '{}'
fi

# ---- usage ----

for a in '' '--format tracee' '--format trace --level 3' '--format trace --step 1,3' '--format trace --rank x' '--format trace --limit 0' '--format trace a b'; do
	"$probe" export $a >"$tmp/o" 2>"$tmp/e"
	is "export $a: status, one line" "$? $(wc -l <"$tmp/e") $(wc -c <"$tmp/o")" '2 1 0'
done
like 'a format is proposed' "$("$probe" export --format tracee 2>&1)" 'did you mean trace'
like '--help has examples' "$("$probe" export --help)" 'examples:'
mkdir -p "$tmp/full"
if can_mount && mount -t tmpfs -o size=64k none "$tmp/full"; then
	said=$("$probe" export -F trace --all -o "$tmp/full/t.json" "$tmp/plain" 2>&1)
	is 'a full disk: status' "$?" 2
	like 'it is reported' "$said" 'No space left on device'
	is 'half a file does not stay' "$(ls "$tmp/full")" ''
else
	skip 'a full disk' 'nothing can be mounted here'
fi
finish
