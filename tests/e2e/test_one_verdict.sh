#!/usr/bin/env bash
# The verdict of five recorded runs (healthy, a NaN, a hang, a mismatch, a killed rank) is the same in every view: text, JSON, page, top,
# serve and watch: its first line, which fits into a terminal, and what was checked. Prints TAP.
. "$(dirname "$0")/lib.sh"

gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }

json_text() { # EXPRESSION over d, of the JSON on stdin
	python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

page_json() { # FILE EXPRESSION over d, of the verdict in the page's data
	python3 -c 'import json, re, sys
page = open(sys.argv[1]).read()
at = page.index("\"verdict\":") + len("\"verdict\":")
d = json.JSONDecoder().raw_decode(page[at:])[0]
print(eval(sys.argv[2]))' "$1" "$2"
}

# DIR: how many kinds the lists of --json have, in the order in which the verdict counts them
kinds_of() {
	"$probe" report --json "$1" | json_text '" ".join(str(len(d["verdict"][k])) for k, word in (("checked", "checked"), ("partly", "partly"), ("not_checked", "not checked")) if d["verdict"][k] and not (k == "checked" and d["verdict"]["faults"]))'
}

same_verdict() { # NAME DIR PATTERN CHECKS
	local want checks lines='"\n".join(d["detail"])' faults url server said
	"$probe" report --html "$tmp/page.html" "$2" >"$tmp/said" 2>&1
	want=$("$probe" report "$2" 2>/dev/null | head -1)
	checks=$("$probe" report "$2" 2>/dev/null | sed '1,/^What was checked$/d; /^$/,$d; s/^  //')
	like "$1: the verdict" "$want" "$3"
	ok "$1: it fits into 80 columns" test ${#want} -le 80
	if [ -n "$4" ]; then
		like "$1: what was checked, or not, is a line each" "$checks" "$4"
	else
		is "$1: all was checked: no line" "$checks" ''
	fi
	is "$1: the lines count as many kinds" "$(kinds_of "$2")" "$(grep -oE '\(.*' <<<"$want" | grep -oE '[0-9]+' | paste -sd ' ')"
	is "$1: report --json" "$("$probe" report --json "$2" | json_text 'd["verdict"]["text"]')" "$want"
	is "$1: what was checked: report --json" "$("$probe" report --json "$2" | json_text "${lines/d\[/d[\"verdict\"][}")" "$checks"
	is "$1: the page" "$(page_json "$tmp/page.html" 'd["text"]')" "$want"
	is "$1: what was checked: the page" "$(page_json "$tmp/page.html" "$lines")" "$checks"
	is "$1: top" "$("$probe" top --once "$2" | grep -cxF "$want")" 1
	is "$1: what was checked: top" "$("$probe" top --once "$2" | grep -E '^  (checked|partly checked|not checked|alerts): ' | sed 's/^  //')" "$checks"
	is "$1: top --json" "$("$probe" top --json "$2" | json_text 'd["verdict"]["text"]')" "$want"
	faults=$("$probe" report --json "$2" | json_text 'd["verdict"]["faults"], d["verdict"]["warnings"]')
	is "$1: as many faults in top --json" "$("$probe" top --json "$2" | json_text 'd["verdict"]["faults"], d["verdict"]["warnings"]')" "$faults"
	is "$1: as many findings as that" "$("$probe" report --json "$2" | json_text 'tuple(sum(f["severity"] == s for f in d["findings"]) for s in ("bad", "warn"))')" "$faults"
	said=$("$probe" serve --once "$2")
	is "$1: /metrics" "$(sed -n 's/^probe_verdict_info{text="\(.*\)"} 1$/\1/p' <<<"$said" | sed 's/\\"/"/g')" "$want"
	is "$1: as many faults in /metrics" "($(sed -n 's/^probe_faults //p' <<<"$said"), $(sed -n 's/^probe_warnings //p' <<<"$said"))" "$faults"
	rm -f "$tmp/served" # the last server's address
	"$probe" serve --port 0 "$2" >"$tmp/served" 2>/dev/null </dev/null &
	server=$!
	started+=($server)
	wait_until 20 grep -q http "$tmp/served"
	url=$(sed 's|/metrics||' "$tmp/served")
	is "$1: the verdict of serve" "$(python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1] + "/verdict").read().decode(), end="")' "$url")" "$want${checks:+$'\n'$checks}"
	kill $server
	"$probe" watch --interval 0.2 "$2" >"$tmp/watched" 2>"$tmp/watched.err"
	is "$1: watch" "$(sed 's/.*: watch: [^:]*: //' "$tmp/watched.err" | grep -A9 -xF "$want")" "$want${checks:+$'\n'$checks}"
}

$gen -r 4 -s 60 -c 4 -g 2 "$tmp/healthy"
same_verdict healthy "$tmp/healthy" '^No fault found \([0-9]+ kinds checked' '^checked: .*hang.*nan'
$gen -r 8 -s 60 -c 4 -g 4 -b 31:6 "$tmp/nan"
same_verdict nan "$tmp/nan" '^1 fault found' ''
$gen -r 8 -s 60 -c 4 -g 4 -x 31:6 "$tmp/hang"
same_verdict hang "$tmp/hang" '^1 fault found' ''
$gen -r 4 -s 60 -c 4 -g 2 "$tmp/mismatch"
python3 - "$tmp/mismatch/rank2/calls_0-99.csv" <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
at = {n: i for i, n in enumerate(rows[0])}
for r in rows[1:]:
    if r[at["step"]] == "40" and r[at["op"]] == "all_reduce":
        r[at["redop"]] = "max"
csv.writer(open(sys.argv[1], "w"), lineterminator="\n").writerows(rows)
PY
same_verdict mismatch "$tmp/mismatch" '^1 fault found' ''
for r in 0 1 2 3; do
	background env RANK=$r WORLD_SIZE=4 APP_ID="$tmp/id" PROBE_OUTPUT_DIR="$tmp/killed" LD_PRELOAD="$lib" \
		"$B/apps/nccl/nccl_waits" gone 20 >"$tmp/gone.$r" 2>&1
	pids[r]=$!
done
wait_until 30 eval '! kill -0 ${pids[2]} 2>/dev/null'
sleep 2
kill -9 "${pids[0]}" "${pids[1]}" "${pids[3]}" 2>/dev/null
wait "${pids[@]}" 2>/dev/null
same_verdict killed "$tmp/killed" '^1 fault found' '^(partly|not) checked: '
finish
