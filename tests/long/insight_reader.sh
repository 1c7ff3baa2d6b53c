#!/usr/bin/env bash
# `probe export --format insight` in `msprof-analyze cluster -m all`, which makes what MindStudio Insight's cluster tabs show; in a
# virtual environment of its own in $B/long.
# timeout: 1200
. "$(dirname "$0")/../e2e/lib.sh"
venv=$(realpath "$B")/long/insight
mkdir -p "${venv%/*}"
{ [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; } >"$tmp/pip" 2>&1 &&
	"$venv/bin/pip" install --quiet msprof-analyze==26.2.0 >>"$tmp/pip" 2>&1 || {
	skip 'msprof-analyze' "$(tail -1 "$tmp/pip")"
	finish
}
gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
$gen -r 6 -s 40 -c 5 -g 3 "$tmp/run"
ok 'profiles' "$probe" export --format insight --step 10-14 -o "$tmp/profile" "$tmp/run"
ok 'msprof-analyze reads them' "$venv/bin/msprof-analyze" cluster -m all -d "$tmp/profile" -o "$tmp/analysed"
read_out() { # EXPRESSION over t, c, x, g: the four files
	python3 -c 'import csv, json, sys
d = sys.argv[1] + "/cluster_analysis_output/"
t = list(csv.DictReader(open(d + "cluster_step_trace_time.csv")))
c, x, g = (json.load(open(d + f)) for f in ("cluster_communication.json", "cluster_communication_matrix.json", "communication_group.json"))
print(eval(sys.argv[2]))' "$tmp/analysed" "$1"
}
want=$(awk -F, 'FNR > 1 {printf "%s ", $3}' "$tmp/profile/rank4_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv")
is 'its steps have our numbers' "$(read_out '" ".join("%.3f" % float(r["Communication(Not Overlapped)"]) for r in t if r["Type"] == "rank" and r["Index"] == "4") + " "')" "$want"
is 'and a place in the parallelism' "$(read_out 'sorted({(r["Index"], r["DP Index"]) for r in t if r["Type"] == "rank"})')" "$(python3 -c 'print([(str(i), str(i)) for i in range(6)])')"
is 'the groups are our communicators' "$(read_out 'sorted(sorted(v) for v in g["collective"])')" '[[0, 1, 2], [0, 1, 2, 3, 4, 5], [3, 4, 5]]'
like 'the others are there' "$(read_out '(len(c) > 0, len(x) > 0)')" '\(True, True\)'
finish
