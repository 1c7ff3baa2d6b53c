#!/usr/bin/env bash
# The order of messages that follows the order in which others arrived: no rank is accused of it. A rank that swaps two calls of its own
# accord is named. Prints TAP.
# timeout: 400
. "$(dirname "$0")/lib.sh"

accused() { # DIR: kind, severity, ranks, step of each finding on the order of calls
	"$probe" report --json "$1" | python3 -c '
import json, sys
print([(f["kind"], f["severity"], f["ranks"], f["step"]) for f in json.load(sys.stdin)["findings"]
       if f["severity"] != "note" and f["kind"] in ("order", "skip", "mismatch", "tag", "hang", "deadlock")])'
}

for m in $flavours; do
	while read -r mode want; do
		run_plain $m 4 mpi_arrivals $mode
		new_out
		run_with $m 4 mpi_arrivals $mode
		same_result "$mode ($m)"
		is "$mode ($m): who is accused" "$(accused "$out")" "$want"
	done <<-'END'
		waitany []
		branches []
		any []
		farm []
		swapped [('order', 'warn', [1], 9)]
	END
done
[ -n "$flavours" ] || skip 'the order of arrival' 'no MPI'
finish
