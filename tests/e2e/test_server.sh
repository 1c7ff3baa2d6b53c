#!/usr/bin/env bash
# A server that answers any rank, and workers whose turns nothing marks (mpi_server.c): what one of them does wrong is named,
# its rank alone, while all stand, when the job was killed, and after `probe recover`; a proper run has nothing. Prints TAP.
# timeout: 300
. "$(dirname "$0")/lib.sh"

# The first finding that is bad or a warning.
first() {
	"$probe" report --json "$out" 2>/dev/null | python3 -c '
import json, sys
f = ([x for x in json.load(sys.stdin)["findings"] if x["severity"] in ("bad", "warn")] or [{}])[0]
print(f.get("kind"), f.get("ranks"), f.get("what"), f.get("api"))'
}

# The server stands, for longer than a launcher takes to end the others: in its probe, or in an answer to who is stopped.
stands() {
	"$probe" report --json "$out" 2>/dev/null | python3 -c '
import json, sys
o = json.load(sys.stdin)["open"]
sys.exit(not any(x["rank"] == 0 and x["age_s"] > 3.5 for x in o))'
}

for f in $flavours; do
	run_plain $f 4 mpi_server
	new_out
	run_with $f 4 mpi_server
	same_result "$f: a proper run"
	is "$f: a proper run: nothing is found" "$(first)" 'None None None None'

	for how in dtype room exit; do
		has_turn $f $how || continue
		new_out
		run_with $f 4 mpi_server $how
		gone "$out"
		case $how in
		dtype) want='mismatch [1] dtype MPI_Send' ;;
		room) want='mismatch [1] count MPI_Recv' ;;
		exit) want='died [1] None MPI_Send' ;;
		esac
		is "$f: $how" "$(first)" "$want"
		"$probe" recover "$out" >"$tmp/recover" 2>&1
		is "$f: $how: after recover" "$(first)" "$want"
	done

	# When a process ended is known where a mapped file has a time of change.
	if [ "$(stat -f -c %T "$tmp")" = tmpfs ]; then
		skip "$f: kill" 'no times of mapped files here'
	else
		new_out
		run_with $f 4 mpi_server kill
		gone "$out"
		# MPICH's launcher may end the others within the tick of the clock that tells: then no rank is named (killed), or the only one
		# that was in no call.
		want='^died .1. None MPI_Send ?$'
		[ $f = openmpi ] || want='^(died .1. None MPI_[A-Z][a-z]*|stopped .1?. None MPI_[A-Z][a-z]*|killed .. None MPI_[A-Z][a-z]*) ?$'
		like "$f: kill" "$(first)" "$want"
		"$probe" recover "$out" >"$tmp/recover" 2>&1
		like "$f: kill: after recover" "$(first)" "$want"
	fi

	while read -r how want; do
		has_turn $f $how || continue
		new_out
		start_with $f 4 mpi_server ${how/:/ }
		if ! wait_until 60 stands; then
			fail "$f: $how: all stand" "$("$probe" report "$out" 2>&1)"
			continue
		fi
		kill -9 $(ranks_of "$out")
		launcher_ends
		gone "$out"
		like "$f: $how" "$(first)" "^$want ?\$"
		"$probe" recover "$out" >"$tmp/recover" 2>&1
		like "$f: $how: after recover" "$(first)" "^$want ?\$"
	done <<-'END'
		tag tag .1. tag MPI_Send
		missing skip .1. missing MPI_Send
		extra skip .1. extra MPI_Recv
		unanswered skip .0. missing MPI_Send
		unanswered:ahead skip .0. missing MPI_Send
		unanswered:after skip .0. missing MPI_Send
		unanswered:turned skip .0. missing MPI_Send
		stop stopped .1. None MPI_(Probe|Send|Recv)
	END
done
[ -n "$flavours" ] || skip 'MPI' 'no MPI, or its programs are not built (make apps)'
finish
