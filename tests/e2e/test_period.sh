#!/usr/bin/env bash
# Steps of a program that marks none: the report finds them as the period of its calls. The program itself says how many
# iterations it made, of how many calls, and how many extra calls.
# timeout: 480
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'period' 'no MPI, or its programs are not built (make apps)'; finish; }

period_run() { # TEXT FLAVOUR RANKS ARGUMENTS of mpi_period
	name="$2: $1"
	local f=$2 n=$3
	shift 3
	run_plain $f $n mpi_period "$@"
	new_out
	run_with $f $n mpi_period "$@"
	same_result "$name"
	"$probe" report --json "$out" >"$tmp/json" 2>"$tmp/json.err"
	said=$("$probe" report "$out" 2>&1)
	read -r iterations length besides <<<"$(sed -n 's/^\[0\].*: \([0-9]*\) iterations of \([0-9]*\) calls, \([0-9]*\) besides$/\1 \2 \3/p' "$tmp/with")"
}

period() { # KEY...: values in the report
	python3 -c 'import json, sys; p = json.load(open(sys.argv[1]))["steps"]["period"]; print(*[p and p[k] for k in sys.argv[2:]])' "$tmp/json" "$@" 2>&1
}

told() { # RANKS: what the report says is what the program printed
	is "$name: calls, iterations of each rank, extra calls" "$(period calls steps steps_least extra_calls ranks)" \
		"$length $iterations $iterations $besides $1"
	is "$name: it begins after the three calls of the set-up" "$(period first_seq)" \
		"$(rows "$out" '[int(r["seq"]) for r in calls(on("rank0"))][3]')"
	is "$name: the confidence is the share of calls that fit" \
		"$(python3 -c "n = $iterations * $length; print(abs(float('$(period confidence)') - n / (n + $besides)) < 1e-6)")" True
	is "$name: the rows stay in step 0" "$(rows "$out" '{r["step"] for r in R}, {m["steps"]["source"] for m in M.values()}')" "({'0'}, {'none'})"
}

for f in $flavours; do
	period_run 'regular' $f 2 60
	told 2
	like "$name: in words" "$said" "steps 0 to $((iterations - 1)) \(none was marked; $iterations by the period of the calls\)"
	like "$name: the finding" "$said" "no step signal.*on ranks 0,1 the call sequence repeats every $length calls \(confidence 100 %, $iterations repetitions, first at seq 4"
	# The function that it names does make these steps.
	marker=$(period marker)
	new_out
	run_with $f 2 PROBE_STEP_MARKER="$marker" mpi_period 60
	is "$name: the marker that is proposed ends as many steps" "$marker $(rows "$out" '{(m["steps"]["current"], m["steps"]["source"]) for m in M.values()}')" \
		"MPI_Barrier {($iterations, 'marker')}"

	period_run 'an evaluation of 2 calls every 10 iterations' $f 2 100 10 2
	told 2
	period_run 'an evaluation of 9 calls every 10 iterations' $f 3 100 10 9
	told 3
	period_run 'an evaluation of 40 calls every 25 iterations' $f 1 100 25 40
	told 1

	# Every property that distinguishes calls counts.
	for only in counts types comms; do
		period_run "one function, and other $only" $f 2 60 $only
		told 2
	done

	period_run 'too short to tell' $f 2 4
	is "$name: no period" "$(period calls)" None
	like "$name: the report says how to get steps" "$said" 'no step was ever marked.*PROBE_STEP_MARKER'
	# Steps that are marked count, whatever the calls look like.
	new_out
	run_with $f 2 PROBE_STEP_MARKER=MPI_Bcast mpi_period 60
	"$probe" report --json "$out" >"$tmp/json"
	is "$f: marked steps: no period" "$(period calls)" None
done
finish
