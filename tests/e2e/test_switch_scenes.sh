#!/usr/bin/env bash
# The six scenes of msprobe's monitor that is switched while the program runs, with its configuration's keys. Prints TAP.
. "$(dirname "$0")/lib.sh"

m=$(head -n1 <<<"$flavours")
config=$tmp/config.yaml

# Steps that rank 0 has recorded, as ranges.
steps() {
	python3 - "$out" <<'PY'
import csv, glob, sys
s = sorted({int(r["step"]) for f in glob.glob(sys.argv[1] + "/rank0/calls_*.csv") for r in csv.DictReader(open(f))})
print(",".join("%d-%d" % (a, b) for a, b in zip([x for x in s if x - 1 not in s], [x for x in s if x + 1 not in s])) or "none")
PY
}
# KEY: VALUE ... as the file has them.
write_config() { printf '# of the monitor\ndynamic_monitor: %s\n' "$1" >"$config.new"; shift; printf '%s\n' "$@" >>"$config.new"; mv "$config.new" "$config"; }
step_now() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["steps"]["current"])' "$out/rank0/meta.json" 2>/dev/null || echo 0; }
reaches() { [ "$(step_now)" -ge "$1" ]; }
scene() { # as start_with's variables
	new_out
	stop=$tmp/stop.$outs
	start_with $m 2 PROBE_CONFIG="$config" "$@" mpi_switch "$stop" 10
}
over() {
	touch "$stop"
	wait $launcher
}
is_off_in_file() { grep -q '^dynamic_on: false' "$config"; }
count_of() { python3 -c 'import sys; print(sum(int(b) - int(a) + 1 for a, b in (r.split("-") for r in sys.argv[1].split(",") if r != "none")))' "$1"; }

# 1: static. dynamic_on of a monitor configuration has no effect: the reader of these leaves it true.
write_config false 'start_step: 3'
new_out
run_with $m 2 PROBE_CONFIG="$config" mpi_switch 20 1
is 'scene 1, static: recording starts at start_step' "$(steps)" 3-19

# 2: off at the start.
write_config true 'dynamic_on: false'
scene
wait_until 60 reaches 150
over
is 'scene 2, off: nothing is recorded' "$(steps)" none

# 3: on at the start: from step 1 on, collect_times steps; then the file says false.
write_config true 'dynamic_on: true   # now' 'start_step: 50' 'collect_times: 7'
scene
wait_until 60 is_off_in_file
over
is 'scene 3, on: from step 1, start_step is ignored, collect_times steps' "$(steps)" 1-7
is 'scene 3: the file, all else as it was' "$(cat "$config")" '# of the monitor
dynamic_monitor: true
dynamic_on: false   # now
start_step: 50
collect_times: 7'

# A run that ends before the others would have had their time says so at its end.
write_config true 'dynamic_on: true' 'collect_times: 3'
new_out
began=$SECONDS
run_with $m 2 PROBE_CONFIG="$config" mpi_switch 20 10
is 'scene 3: the file says false at the end of a short run' "$(is_off_in_file && echo yes) $((SECONDS - began < 8))" 'yes 1'

# 4: off, then on while it runs; 6: again after the end, by an edit. An edit that says false in between counts for nothing.
write_config true 'dynamic_on: false' 'collect_times: 5'
scene
wait_until 60 reaches 30
is 'scene 4: off at first' "$(steps)" none
write_config true 'dynamic_on: true' 'collect_times: 5'
edited=$SECONDS
wait_until 60 is_off_in_file
ok 'scene 4: not before all ranks have had time to read that it is on' test $((SECONDS - edited)) -ge 10
is 'scene 4: the file says false at the limit' "$(is_off_in_file && echo yes)" yes
wait_until 60 test "$(steps)" != none
four=$(steps)
is 'scene 4: collect_times steps in a row' "$(count_of "$four") $(tr -dc , <<<"$four" | wc -c)" '5 0'
write_config true 'dynamic_on: false' 'collect_times: 100'
sleep 2.5
write_config true 'dynamic_on: true' 'collect_times: 6'
wait_until 60 is_off_in_file
sleep 1.5
over
six=$(steps)
is 'scene 6: again, counted from 0' "$(count_of "$six") ${six%%,*}" "11 $four"

# 5: another configuration before the end; collect_times: 0 (of ours -1) stops. A broken one, and one that says false, change nothing.
write_config true 'dynamic_on: true' 'collect_times: 100000'
scene
wait_until 60 reaches 60
write_config true 'dynamic_on: false'
sleep 2.5
write_config true 'dynamic_on: true' 'collect_times: many'
wait_until 60 grep -q 'collect_times' "$tmp/started.err"
like 'scene 5: a wrong edit: file, line, key' "$(cat "$tmp/started.err")" "$config:4:16: collect_times"
was=$(step_now)
wait_until 60 reaches $((was + 50))
write_config true 'dynamic_on: true' 'step_interval: 4' 'collect_times: 9'
wait_until 60 is_off_in_file
sleep 1.5
over
five=$(steps)
ok 'scene 5: on until the edit that is right' test "$(cut -d, -f1 <<<"$five" | sed 's/1-//')" -ge "$was"
is 'scene 5: then as it says, one step in four: nine, the first after what was before' "$(cut -d, -f2- <<<"$five" | tr , '\n' | awk -F- '{n++; if ($1 != $2 || (l && $1 - l != 4)) bad++; l = $1} END {print n, bad + 0}')" '8 0' # the first one touches what was before
write_config true 'dynamic_on: true' 'collect_times: 100000'
scene
wait_until 60 reaches 60
write_config true 'dynamic_on: true' 'collect_times: -1'
wait_until 60 is_off_in_file
last=$(steps)
was=$(step_now)
wait_until 60 reaches $((was + 50))
over
is 'scene 5: collect_times 0 stops it early' "$(tr -dc , <<<"$(steps)" | wc -c) $([ "$(steps | sed 's/.*-//')" -lt "$was" ] && echo stopped)" '0 stopped'
finish
