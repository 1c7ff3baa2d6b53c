#!/usr/bin/env bash
# How jobs end, from folders of which every number is made here (end_folders.py): who is named, and what is no fault of any rank.
. "$(dirname "$0")/lib.sh"

field() { # CASE EXPRESSION of f, the first finding, and of all, the findings
	"$probe" report --json "$tmp/$1" | python3 -c '
import json, sys
doc = json.load(sys.stdin)
all = doc["findings"]
f = ([x for x in all if x["kind"] not in ("straggler", "steps")] or [{}])[0]
print(eval(sys.argv[1]))' "$2"
}

of_case() { # CASE: kind, severity, ranks, step, op of its first finding
	field "$1" '" ".join(str(f.get(k)) for k in ("kind", "severity", "ranks", "step", "op"))'
}

python3 tests/e2e/end_folders.py "$tmp" late_rank
is 'late_rank_is_named_and_not_who_gave_up' "$(of_case late_rank)" 'error bad [2] 1 all_reduce'
like 'late_rank: what happened, with its numbers and the line' "$(field late_rank 'f["text"]')" \
	'^step 1: rank 2 came to all_reduce #2 .* 12\.0 s after 3 ranks had given up, after waiting for it for 8\.00 s, called from prepare \(train.py:30\)'
is 'late_rank_finds_no_hang' "$(field late_rank '[x["kind"] for x in all if x["severity"] == "bad"]')" "['error']"
like 'late_rank_has_all_ranks' "$("$probe" report "$tmp/late_rank")" 'ranks +4 \(0-3\) of 4'
finish
