#!/usr/bin/env bash
# The demo reaches the accuracy that it states, recorded or not, to the bit; and when the training goes wrong as real ones
# do (a NaN, a slow rank, a rank that hangs) the report names rank, step, operation and line. With each MPI.
# timeout: 600
# long: each training with each MPI
# root: installs
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'demo' 'no MPI, or its programs are not built (make apps)'; finish; }

report() {
	"$probe" report "$@" 2>&1
}

line_of() { # PATTERN in train_digits.c
	grep -n -m1 "$1" tests/apps/train_digits.c | cut -d: -f1
}

said=$(tests/demo.sh "$B" 2>"$tmp/err")
is 'make demo: status' $? 0
is 'make demo: nothing on stderr' "$(libprobe_lines "$tmp/err")" ''
like 'make demo: the training' "$said" 'test accuracy 9[5-9]\.[0-9] % loss [0-9.]+ weights crc32 [0-9a-f]{8}'
like 'make demo: the files' "$said" 'calls_0-99.csv.*comms.csv.*meta.json.*modules.csv.*stack_info.csv'
like 'make demo: the report' "$said" 'ranks 4 \(0-3\) of 4, all finished .*all_reduce MPI_Allreduce MPI_COMM_WORLD'
line=$(sed -n "s/^To go on with README's first run: //p" <<<"$said")
is 'make demo: its last line finds the commands of the first run' "$(PATH=/usr/bin:/bin && eval "${line:-false}" && command -v probe train_digits | wc -l)" 2
rm -rf "$B/demo_output"
# The commands that it shows after $ can be typed.
typed=$(sed -n 's/^\$ //p; s/^    mpirun/mpirun/p' <<<"$said")
again=$(eval "$typed" 2>&1)
is 'make demo: its lines can be typed: status' $? 0
said=$(grep -v '^\$\|^    mpirun' <<<"$said")
is 'make demo: its lines can be typed: the same training and files' \
	"$(grep '^test accuracy\|^calls_.*csv' <<<"$again")" "$(grep '^test accuracy\|^calls_.*csv' <<<"$said")"
like 'make demo: its lines can be typed: the report' "$again" 'ranks 4 \(0-3\) of 4, all finished'
rm -rf "$B/demo_output"

train_whole() { # FLAVOUR
	local f=$1 steps
	run_plain $f 4 train_digits
	new_out
	run_with $f 4 PROBE_STEP_MARKER=MPI_Reduce train_digits
	same_result "$f: 30 epochs"
	is "$f: 30 epochs: the accuracy it states" "$(awk '/test accuracy/ {print ($3 >= 95)}' "$tmp/with")" 1
	contract "$f: 30 epochs" "$out"
	# Two buckets and a loss a step, a barrier an epoch: read off train_digits.c and its own output.
	steps=$(awk '/epoch 30/ {print $4}' "$tmp/with")
	is "$f: 30 epochs: its calls" "$(rows "$out" 'sorted(Counter(r["op"] for r in calls(on("rank2"))).items())')" \
		"[('all_reduce', $((2 * steps + 1))), ('barrier', 30), ('broadcast', 1), ('gather', 1), ('reduce', $steps)]"
	is "$f: 30 epochs: a step each" "$(rows "$out" 'Counter(int(r["step"]) for r in calls(on("rank2")) if r["op"] == "reduce") == {s: 1 for s in range('$steps')}')" True
	like "$f: 30 epochs: report" "$(report "$out")" "ranks 4 \(0-3\) of 4, all finished"
}

train_short() { # FLAVOUR
	local f=$1
	run_plain $f 2 train_digits --epochs 1
	is "$f: a short training that README could show ends with 0" $status 0
}

train_with_nan() { # FLAVOUR
	local f=$1
	run_plain $f 2 train_digits --steps 60 --nan-at 37:1
	new_out
	# By its whole path: the report must find its debug information.
	run_with $f 2 PROBE_STEP_MARKER=MPI_Reduce "$(realpath "$B/apps/$f/train_digits")" --steps 60 --nan-at 37:1
	same_result "$f: a NaN"
	like "$f: a NaN: rank, step, operation, line" "$(report --stacks "$out")" \
		"first in step 37, rank 1: 1 NaN of 4,160 float32 elements in the input of all_reduce #113 on MPI_COMM_WORLD .*train_digits.c:$(line_of 'MPI_Allreduce(MPI_IN_PLACE, bucket')"
}

train_with_slow_rank() { # FLAVOUR
	local f=$1
	run_plain $f 2 train_digits --steps 60 --slow 1:50
	new_out
	run_with $f 2 PROBE_STEP_MARKER=MPI_Reduce train_digits --steps 60 --slow 1:50
	same_result "$f: a slow rank"
	like "$f: a slow rank: is named" "$(report "$out")" 'straggler rank 1 '
	unlike "$f: a slow rank: and no other" "$(report "$out")" 'straggler rank 0 '
}

train_with_hang() { # FLAVOUR
	local f=$1
	new_out
	start_with $f 3 PROBE_STEP_MARKER=MPI_Reduce train_digits --hang 20:1
	hung() {
		report "$out" >"$tmp/report" && in_one_line "$(cat "$tmp/report")" | grep -q ' hang rank.* 0,2 are blocked in all_reduce'
	}
	wait_until 40 hung
	like "$f: a hang: who waits where, and who is missing" "$(cat "$tmp/report")" \
		'hang ranks 0,2 are blocked in all_reduce .{,60} step 20, for [0-9.]+ s, called from .{,120} rank 1 never entered it: the last call was reduce'
	kill -9 $(ranks_of "$out")
	launcher_ends
	gone "$out"
}

for f in $flavours; do
	for how in whole short with_nan with_slow_rank with_hang; do
		! has_turn $f $how || train_$how $f
	done
done
finish
