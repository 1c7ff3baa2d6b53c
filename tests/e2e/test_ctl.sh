#!/usr/bin/env bash
# Switching on four ranks of each MPI while they run: `probe ctl` on, off, set, status; an edit of the configuration; a
# configuration that is wrong; a rank that sees it late; a process that starts with the recording off. Prints TAP.
. "$(dirname "$0")/lib.sh"

# The steps of a rank that have rows of all_reduce, as ranges: 0-17,30-.
steps_of() { # RANK
	rows "$out" "(lambda s: ','.join('%d-%d' % (a, b) for a, b in zip([x for x in s if x - 1 not in s], [x for x in s if x + 1 not in s])))(sorted({int(r['step']) for r in on('rank$1') if r['op'] == 'all_reduce'}))"
}
switches() { # RANK
	rows "$out" "[s['step'] for s in reversed(M['rank$1']['switches']['last'])]"
}
is_at() { # STEP
	[ "$("$probe" ctl "$out" status --json | python3 -c 'import json, sys; print(min(r["step"] for r in json.load(sys.stdin)["ranks"]) >= int(sys.argv[1]))' "$1")" = True ]
}
record_begins() {
	wait_until 60 test -e "$out/rank3/meta.json" && wait_until 60 is_at 20
}

for m in $flavours; do
	run_plain $m 4 mpi_switch 40 1
	new_out
	run_with $m 4 mpi_switch 40 1
	same_result "$m: nothing is switched"

	new_out
	stop=$tmp/stop.$m
	config=$tmp/config.$m.yaml
	echo 'journal_mib: 16' >"$config"
	start_with $m 4 PROBE_CONFIG="$config" mpi_switch "$stop" 10
	record_begins
	"$probe" ctl "$out" off --margin 3 --wait >"$tmp/said" 2>"$tmp/err"
	is "$m: off: status, once all ranks have switched" $? 0
	off=$(sed -n 's/.*at step \([0-9]*\).*/\1/p' "$tmp/said")
	like "$m: it says when" "$(cat "$tmp/said")" '^4 ranks switch at step [0-9]+ \(now: [0-9]+\)'
	is "$m: effective_step is in ctl.yaml" "$(sed -n 's/^effective_step: //p' "$out/ctl.yaml")" "$off"
	is "$m: status" "$("$probe" ctl "$out" status | awk '$4 == "off"' | wc -l)" 4
	"$probe" ctl "$out" set step_interval=5 --at $((off + 300)) >"$tmp/set"
	"$probe" ctl "$out" on --at $((off + 400)) --wait >"$tmp/said" 2>"$tmp/err"
	is "$m: on, with another key" $? 0
	on=$(sed -n 's/.*at step \([0-9]*\).*/\1/p' "$tmp/said")
	set=$(sed -n 's/.*at step \([0-9]*\).*/\1/p' "$tmp/set")
	ok "$m: one change after the other" test "$off" -lt "$set" -a "$set" -lt "$on"
	wait_until 60 is_at $((on + 20))

	# An edit of the file, and one that is wrong; with one MPI.
	[ $m = "$(head -n1 <<<"$flavours")" ] || touch "$stop"
	if [ ! -e "$stop" ]; then
		printf 'journal_mib: 16\nstep_interval: nonsense\n' >"$config"
		wait_until 60 grep -q "$config:2:16: step_interval: \"nonsense\"" "$tmp/started.err"
		ok "$m: a wrong edit: file, line, key" grep -q "$config:2:16: step_interval" "$tmp/started.err"
		is "$m: and nothing changes" "$(switches 0)" "[$off, $set, $on]"
		# A right key beside an unknown one (nonsense), and no YAML at all: neither is taken, and the message is not that of a start.
		printf 'stack: false\nstep_intervall: 5 # nonsense\n' >"$config"
		wait_until 60 grep -q "$config:2:1: \"step_intervall\": unknown key; did you mean step_interval?; the configuration stays as it was" "$tmp/started.err"
		ok "$m: an unknown key: what was meant, and the whole edit is refused" grep -q 'did you mean step_interval?; the configuration stays' "$tmp/started.err"
		printf 'stack: false\nrank: [nonsense\n\n' >"$config"
		wait_until 60 grep -q "$config:4:1: no valid YAML: .*begins in line 2; the configuration stays as it was" "$tmp/started.err"
		ok "$m: no YAML: where the bracket began, and recording goes on" grep -q 'begins in line 2; the configuration stays' "$tmp/started.err"
		is "$m: still nothing changes" "$(switches 0)$(grep -c '"stack": false' "$out/rank0/meta.json")" "[$off, $set, $on]0"
		printf 'journal_mib: 16\nstack_depth: 7\n' >"$config"
		wait_until 60 grep -q '"stack_depth": 7' "$out/rank2/meta.json"
		ok "$m: an edit takes effect" grep -q '"stack_depth": 7' "$out/rank2/meta.json"
	fi
	touch "$stop"
	wait $launcher
	is "$m: the program's own end" "$(grep -c ' 0 wrong' "$tmp/started")" 1
	for r in 0 1 2 3; do
		is "$m: rank $r switched when it was asked" "$(rows "$out" "[(s['step'], s['late']) for s in reversed(M['rank$r']['switches']['last']) if s['by'] == 'ctl.yaml']")" \
			"[($off, False), ($set, False), ($on, False)]"
		is "$m: rank $r: the steps that were off have no rows, all others have" \
			"$(rows "$out" "(lambda s: [s == [x for x in range($off)] + [x for x in range($on, s[-1] + 1) if x % 5 == 0], s[-1] > $on])(sorted({int(r['step']) for r in on('rank$r') if r['op'] == 'all_reduce'}))")" '[True, True]'
		is "$m: rank $r: calls were counted on" "$(rows "$out" "all(int(r['comm_seq']) == 2 * int(r['step']) for r in on('rank$r') if r['op'] == 'all_reduce')")" True
		is "$m: rank $r: messages too" "$(rows "$out" "all(r['comm_seq'] == r['step'] for r in on('rank$r') if r['op'] == 'send_recv')")" True
	done
	contract "$m: the folder" "$out"
	grep -vE 'nonsense|step_intervall|no valid YAML' "$tmp/started.err" >"$tmp/rest.err"
	silent "$m: nothing is reported about changes that are fine" "$tmp/rest.err"
done

# Off at the start, at once, late; keys that cannot change.
m=$(head -n1 <<<"$flavours")
new_out
stop=$tmp/stop.2
start_with $m 4 PROBE_DYNAMIC_ON=false mpi_switch "$stop" 10
record_begins
is 'dynamic_on: false: no rows' "$(find "$out" -name 'calls_*' | wc -l)" 0
"$probe" ctl "$out" on --at 0 --wait >"$tmp/said" 2>"$tmp/err"
is 'a step that has passed: each rank at its next one, and late' $? 1
is 'which meta.json says' "$(rows "$out" "{M['rank%d' % r]['switches']['last'][0]['late'] for r in range(4)}")" '{True}'
wait_until 30 test -e "$out/rank3/calls_0-99.csv" -o -e "$out/rank3/calls_100-199.csv" -o -e "$out/rank3/calls_200-299.csv"
"$probe" ctl "$out" off --now --wait >"$tmp/said" 2>"$tmp/err"
is 'off --now' $? 0
for a in 'set' 'set journal_mib=7' 'set task=grad_probe' 'set no_such=1' 'set step_interval=x' 'on off' 'fly' 'off --now --at 3' 'set x' 'set skip=[brodcast]' 'set only=[MPI_Bcas]' \
	'set skip=brodcast'; do
	"$probe" ctl "$out" $a >"$tmp/o" 2>"$tmp/e"
	is "ctl $a: status, one line" "$? $(wc -l <"$tmp/e")" '2 1'
done
misspelt=$("$probe" ctl "$out" set 'skip=[brodcast]' 2>&1 | sed 's/.*: "brodcast": //')
like 'a misspelt word: what was meant' "$misspelt" '^no operation and no function has this name.*did you mean broadcast'
is 'a misspelt word: the message is that of probe run' "$misspelt" \
	"$(PROBE_SKIP='[brodcast]' "$probe" run -o "$tmp/none" -- true 2>&1 | sed 's/.*: "brodcast": //')"
"$probe" ctl "$out" set --now 'skip=[broadcast, "MPI_I*"]' only= >"$tmp/said" 2>"$tmp/err"
is 'words that name something: status, nothing on stderr' "$? $(cat "$tmp/err")" '0 '
touch "$stop"
wait $launcher
is 'numbers are right, though nothing was recorded at first' \
	"$(rows "$out" "all(int(r['comm_seq']) == 2 * int(r['step']) for r in R if r['op'] == 'all_reduce')")" True
"$probe" ctl "$out" on >"$tmp/o" 2>"$tmp/e"
is 'a job that has ended: status' "$? $(wc -l <"$tmp/e")" '2 1'

# Requests to an earlier run in the folder do not apply to this one.
run_with $m 4 mpi_switch 40 1
is 'the ctl.yaml of another run' "$(rows "$out" "len({r['step'] for r in R if r['folder'] == 'rank1'})")" 40
finish
