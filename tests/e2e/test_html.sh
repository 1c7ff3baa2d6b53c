#!/usr/bin/env bash
# `probe report --html`: the data in the page against the rows and the report (html_truth.py), on generated runs and on a
# real one; its size for a thousand ranks. tests/long/html_browser.sh looks at it in a browser. Prints TAP.
# timeout: 300
. "$(dirname "$0")/lib.sh"

gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }

truth() { # WHAT DIR
	local line
	said=$("$probe" report --html "$tmp/page.html" "$2" 2>&1) || fail "$1: status" "$said"
	"$probe" report --json "$2" >"$tmp/report.json"
	python3 tests/e2e/html_truth.py "$tmp/page.html" "$2" "$tmp/report.json" >"$tmp/truth" 2>&1 || echo "not ok - the page is read: $(tail -1 "$tmp/truth")" >>"$tmp/truth"
	while read -r line; do
		case $line in
		'ok - '*) pass "$1: ${line#ok - }" ;;
		'not ok - '*) fail "$1: ${line#not ok - }" ;;
		esac
	done <"$tmp/truth"
}

data() { # EXPRESSION over d, the document in the last page
	python3 -c 'import json, re, sys
d = json.loads(re.search("id=\"data\">(.*?)</script>", open(sys.argv[1]).read(), re.S)[1])
print(eval(sys.argv[2]))' "$tmp/page.html" "$1"
}

$gen -r 6 -s 150 -c 5 -g 3 "$tmp/plain"
# The last rank has no loss, as in a pipeline.
for r in 0 1 2 3 4 5; do
	awk -v r=$r 'BEGIN { print "step,name,value,wall_ns"
		for (i = 0; i < 100; i++) {
			if (r < 5)
				printf "%d,loss,%.9g,0\n", i, 5 / (i + 1) + r / 100
			printf "%d,throughput,%.9g,0\n", i, 100 + (i * 7 + r * 3) % 11
		} }' >"$tmp/plain/rank$r/scalars_0-99.csv"
done
truth 'a clean run' "$tmp/plain"
is 'numbers: the mean over the ranks that have one, the smallest and the largest' \
	"$(data '[(n["name"], n["points"][1]) for n in d["numbers"]][0]')" "('loss', [2.52, 2.5, 2.54])"
like 'what was written is reported' "$said" 'page.html: [0-9.]+ kB, one file'
is 'without a finding: the last steps' "$(data '[(w["finding"], w["step"]) for w in d["windows"]]')" '[(-1, 148)]'

$gen -r 12 -s 60 -c 4 -g 4 -b 31:6 -l 5:900000 "$tmp/nan"
truth 'a NaN and a late rank' "$tmp/nan"
is 'both have a timeline, with the rank that is named' "$(data '[(d["findings"][w["finding"]]["kind"], w["step"], w["named"]) for w in d["windows"]][0]')" "('nan', 31, [6])"

$gen -r 8 -s 60 -c 4 -g 4 -x 31:6 "$tmp/hang"
truth 'a hang' "$tmp/hang"
is 'the rank that is missing comes first' "$(data 'd["windows"][0]["named"][0]')" 6
is 'the open calls are shown as such' "$(data 'sum(b & 1 for b in d["windows"][0]["calls"][6::12])')" 7

$gen -r 8 -s 60 -c 4 -g 4 -l 5:700000 -k 1:40000000 "$tmp/skew"
truth 'a wrong clock' "$tmp/skew"

for m in $flavours; do
	new_out
	run_with $m 4 PROBE_STEP_MARKER=MPI_Reduce train_digits --epochs 3 --nan-at 40:2
	truth "a training, $m" "$out"
	is 'the NaN is in the statistics of its site' "$(data 'min(i for s in d["sites"] for i, p in enumerate(s["points"]) if p and p[6])')" 40
	break
done

# A thousand ranks: fewer columns, fewer calls, the same page.
$gen -r 1000 -s 12 -c 3 -g 8 -b 7:700 "$tmp/big"
"$probe" report --html "$tmp/page.html" "$tmp/big" >"$tmp/said"
is 'a thousand ranks: below 10 MB' "$(($(stat -c %s "$tmp/page.html") < 10000000))" 1
is 'all in the heat map, 128 around the one that is named' "$(data '(d["heat"]["rows"], len(d["windows"][0]["rows"]), 700 in d["windows"][0]["rows"])')" '(1000, 128, True)'

# Names come from the program.
python3 - "$tmp/plain/rank0/meta.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
d["program"] = ["</script><script>alert(1)</script>"]
json.dump(d, open(sys.argv[1], "w"))
PY
"$probe" report --html "$tmp/page.html" "$tmp/plain" >"$tmp/said"
is 'a name with markup stays a name' "$(grep -c 'alert(1)</script>' "$tmp/page.html") $(data '"alert(1)" in d["program"] or d["program"]')" '0 True'

said=$("$probe" report --html "$tmp/none/deep/page.html" "$tmp/plain" 2>&1)
is 'a folder that does not exist is an error, and is not made' "$? $said $(ls -d "$tmp/none" 2>/dev/null)" \
	"2 probe: $tmp/none/deep/page.html: cannot be written: folder $tmp/none/deep: No such file or directory "
is 'stdout' "$("$probe" report --html - "$tmp/plain" | sed -n 1p)" '<!DOCTYPE html>'
"$probe" report --html "$tmp/page.html" --json "$tmp/plain" >"$tmp/o" 2>"$tmp/e"
is '--html and --json: one of them' "$? $(wc -l <"$tmp/e")" '2 1'
finish
