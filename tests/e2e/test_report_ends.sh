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
	'^step 1: rank 2 entered all_reduce #2 .* 12\.0 s after 3 ranks had given up, after waiting for it for 8\.00 s, called from prepare \(train.py:30\)'
is 'late_rank_finds_no_hang' "$(field late_rank '[x["kind"] for x in all if x["severity"] == "bad"]')" "['error']"
like 'late_rank: those who gave up were inside until they did' "$("$probe" report "$tmp/late_rank")" 'ranks 0,1,3: inside for 8\.00 s'
like 'late_rank_has_all_ranks' "$("$probe" report "$tmp/late_rank")" 'ranks +4 \(0-3\) of 4'

# The way in which a process ended is a note if all work was done, but not if others were interrupted or waited.
python3 tests/e2e/end_folders.py "$tmp" exit_code_of_all crash_at_exit exit_code_of_one left_while_others_wait
for case in exit_code_of_all crash_at_exit; do
	is "${case}_is_a_note" "$(field $case '[(x["kind"], x["severity"], x["ranks"], x["others"]) for x in all if x["kind"] != "straggler"]')" \
		"[('ended', 'note', [], [2])]"
	ok "${case}_passes_the_check" "$probe" report --check "$tmp/$case"
done
like 'exit_code_of_all_says_how' "$(field exit_code_of_all 'f["text"]')" \
	'^step 10: rank 2 left by exit with code 1 .*then rank 3 left, 4 ms later, .* all calls of all ranks were complete, and no rank waited'
for case in exit_code_of_one left_while_others_wait; do
	is "${case}_is_the_fault" "$(field $case 'f["kind"], f["severity"], f["ranks"]')" "('died', 'bad', [2])"
done

# A user killed a job that had been blocked for 14 s: being killed first is no fault.
python3 tests/e2e/end_folders.py "$tmp" stood_and_was_killed started_and_not_complete
is 'stood_and_was_killed_blames_no_victim' "$(field stood_and_was_killed '[(x["kind"], x["ranks"]) for x in all if x["severity"] == "bad"]')" "[('skip', [2])]"
said=$(field started_and_not_complete 'f["text"]')
like 'a_rank_that_awaits_what_it_started_is_blocked_in_it' "$said" \
	'^rank 0 is blocked in recv .* ranks 1-3 are blocked in Work.wait of all_reduce #20 on MPI_COMM_WORLD .*, started 13.9 s before, called from train \(train.py:20\)'
unlike 'a_rank_that_awaits_what_it_started_is_in_a_call' "$said" 'no recorded call'
finish
