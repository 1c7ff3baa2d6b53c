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
python3 tests/e2e/end_folders.py "$tmp" exit_code_of_all crash_at_exit exit_code_of_one left_while_others_wait exit_with_a_call_under_way
for case in exit_code_of_all crash_at_exit; do
	is "${case}_is_a_note" "$(field $case '[(x["kind"], x["severity"], x["ranks"], x["others"]) for x in all if x["kind"] != "straggler"]')" \
		"[('ended', 'note', [], [2])]"
	ok "${case}_passes_the_check" "$probe" report --check "$tmp/$case"
done
like 'exit_code_of_all_says_how' "$(field exit_code_of_all 'f["text"]')" \
	'^step 10: rank 2 left by exit with code 1 .*then rank 3 left, 4 ms later, .* all calls of all ranks were complete, and no rank waited'
for case in exit_code_of_one left_while_others_wait exit_with_a_call_under_way; do
	is "${case}_is_the_fault" "$(field $case 'f["kind"], f["severity"], f["ranks"]')" "('died', 'bad', [2])"
done

# A rank that raises closes its connections on its way out, so that the errors that follow from it may have an earlier time.
python3 tests/e2e/end_folders.py "$tmp" late_exception
is 'late_exception_is_the_fault' "$(field late_exception 'f["kind"], f["severity"], f["ranks"]')" "('died', 'bad', [2])"
like 'late_exception_came_after_the_errors_of_others' "$(field late_exception 'f["text"]')" 'rank 0 left 1\.99 s before it, '
unlike 'late_exception_has_no_time_of_zero' "$(field late_exception 'f["text"]')" ' 0 ns later'

# Signals that end all ranks at about the same time accuse none of them.
ends() { # CASE: the findings that are no notes
	field "$1" '[(x["kind"], x["severity"], x["ranks"], x["others"]) for x in all if x["severity"] != "note"]'
}
python3 tests/e2e/end_folders.py "$tmp" all_at_once all_on_two_hosts others_continued first_host first_of_host awaited_first awaited_among_others
for case in all_at_once all_on_two_hosts awaited_among_others; do
	is "${case}_accuses_no_rank" "$(ends $case)" "[('killed', 'warn', [], [0, 1, 2, 3])]"
done
is 'others_continued_names_the_one_that_died' "$(ends others_continued)" "[('died', 'bad', [2], [0, 1, 3])]"
said=$(field all_at_once 'f["text"]')
like 'all_at_once_names_the_host_and_the_calls' "$said" \
	'^step 9: all 4 ranks, all on host a, .*within 4 ms.* nothing shows that a rank failed first ranks 0,1 were in all_reduce #20 .* for .* called from train .train.py:20. ranks 2,3 were in no recorded call; .* was barrier #19'
unlike 'all_on_two_hosts_names_no_host' "$(field all_on_two_hosts 'f["text"]')" 'on host'
is 'first_host_is_named_with_all_its_ranks' "$(ends first_host)" "[('died', 'bad', [2, 3], [0, 1])]"
like 'first_host_is_named' "$(field first_host 'f["text"]')" '^all 2 ranks on host b .ranks 2,3. .* 996 ms before any other rank'
# Its four ranks are on this machine: the finding is a warning if they share its cores.
severity=bad
[ "$(getconf _NPROCESSORS_ONLN)" -gt 4 ] || severity=warn
is 'awaited_first_is_named' "$(ends awaited_first)" "[('died', '$severity', [3], [0, 1, 2])]"
is 'first_of_host_is_named_alone' "$(ends first_of_host)" "[('died', 'bad', [3], [0, 1, 2])]"

# The same with real programs: `kill -9` of all ranks at any moment, and of one.
all_running() {
	[ "$(ls "$out"/rank*/journal.bin 2>/dev/null | wc -l)" -eq "$1" ]
}
for f in $flavours; do
	new_out
	start_with $f 4 mpi_loop 100000000 1024
	ok "$f: four ranks run" wait_until 30 all_running 4
	sleep 1.5
	kill -9 $(ranks_of "$out")
	gone "$out"
	launcher_ends
	is "$f: kill -9 of all ranks accuses none" "$("$probe" report --json "$out" | python3 -c 'import json, sys
print([(f["kind"], f["ranks"]) for f in json.load(sys.stdin)["findings"] if f["severity"] != "note"])')" "[('killed', [])]"
	new_out
	run_with $f 4 mpi_exit kill 20 2
	gone "$out"
	is "$f: the one that was killed first is named, or none" "$("$probe" report --json "$out" | python3 -c 'import json, sys
f = [f for f in json.load(sys.stdin)["findings"] if f["severity"] != "note"][0]
print((f["kind"], f["ranks"]) if (f["kind"], f["ranks"]) != ("killed", []) else ("died", [2]))')" "('died', [2])"
done

# A user killed a job that had been blocked for 14 s: being killed first is no fault.
python3 tests/e2e/end_folders.py "$tmp" stood_and_was_killed started_and_not_complete
is 'stood_and_was_killed_blames_no_victim' "$(field stood_and_was_killed '[(x["kind"], x["ranks"]) for x in all if x["severity"] == "bad"]')" "[('skip', [2])]"
said=$(field started_and_not_complete 'f["text"]')
like 'a_rank_that_awaits_what_it_started_is_blocked_in_it' "$said" \
	'^rank 0 is blocked in recv .* ranks 1-3 are blocked in Work.wait of all_reduce #20 on MPI_COMM_WORLD .*, started 13.9 s earlier, called from train \(train.py:20\)'
unlike 'a_rank_that_awaits_what_it_started_is_in_a_call' "$said" 'no recorded call'
finish
