#!/usr/bin/env bash
# Values that break a habit: healthy programs are not accused (no finding of severity bad or warn is about values), and four faults of the
# same look are named. Prints TAP.
# timeout: 300
. "$(dirname "$0")/lib.sh"

accused() { # DIR: kind, severity, ranks, step of each finding about values that accuses
	"$probe" report --json "$1" | python3 -c '
import json, sys
print([(f["kind"], f["severity"], f["ranks"], f["step"]) for f in json.load(sys.stdin)["findings"]
       if f["severity"] != "note" and f["kind"] in ("spike", "stale", "zero", "diverged", "corruption", "not_sum", "nan", "inf")])'
}

flavours=$(mpi_flavours)
for m in $flavours; do
	while read -r mode want; do
		new_out
		run_with $m 4 mpi_habits $mode
		is "$mode ($m)" "$(accused "$out")" "$want"
	done <<-'END'
		rates []
		front []
		expert []
		rest []
		plan []
		restart []
		batches []
		clusters []
		distances []
		lengths []
		larger [('spike', 'bad', [2], 12)]
		replicas [('diverged', 'bad', [2], 15)]
		overflow [('inf', 'bad', [2], 15)]
		distance [('nan', 'bad', [2], 12)]
	END
done
[ -n "$flavours" ] || skip 'values that break a habit' 'no MPI'
finish
