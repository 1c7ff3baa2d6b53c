#!/usr/bin/env bash
# NCCL on streams of a device, on doubles of NCCL and of CUDA's driver: the requests to the driver, and their order.
# timeout: 420
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
[ -x "$B/apps/nccl/nccl_device" ] || {
	skip 'NCCL on a device' 'the programs are not built (make apps)'
	is 'device: auto gives the same rows' "$measured_values" "$(rows "$out" "$columns")"
finish
}

# The requests of a part of the program to the driver, in one line.
asked() { # FILE PART
	sed -n "/^\[$2\]/,/^\[/{/^\[/d;p}" "$1" | tr '\n' ';'
}

columns='[(r["api"][4:], r["io"], r["min"], r["max"], r["flags"]) for r in on("rank0")]'

nccl_plain 2 APP_LOG="$tmp/log" nccl_device
is 'the program itself' "$status" 0
is 'without the preload the requests of the program are the usual ones' "$(asked "$tmp/log.0" group)$(asked "$tmp/log.0" capture)" 's1 launch;s2 captured launch;'

new_out
nccl_with 2 APP_LOG="$tmp/log_off" PROBE_DEVICE=off nccl_device
same_result 'device: off'
is 'device: off: nothing is put on a stream' "$(cat "$tmp/log_off.0")" "$(cat "$tmp/log.0")"
is 'device: off: memory that the CPU can read is measured' "$(rows "$out" "$columns[:4] + $columns[-2:]")" \
	"[('AllReduce', 'in', '1', '4', 'inplace'), ('AllReduce', 'out', '2', '8', 'inplace'), ('AllReduce', 'in', '', '', 'nostats'), ('AllReduce', 'out', '', '', 'nostats'), ('AllReduce', 'in', '2', '8', ''), ('AllReduce', 'out', '', '', 'nostats')]"
contract 'device: off' "$out" --partial

unmeasured() { "$probe" report --json "$out" | python3 -c 'import json, sys; print(*(f["text"] for f in json.load(sys.stdin)["findings"] if f["kind"] == "unmeasured"))'; }
like 'device: off: the report says that values were not measured' "$(unmeasured)" '^ranks 0,1: the values of 14 of 18 calls .*device: auto'
new_out
nccl_with 2 APP_LOG="$tmp/log_auto" nccl_device
same_result 'device: auto'
silent 'device: auto: nothing is reported' "$tmp/with.err"
contract 'device: auto' "$out" --partial
is 'a launch before and a launch after the operation, on its stream' "$(asked "$tmp/log_auto.0" all_reduce)" 's1 values of 1;s1 launch;s1 values of 1;'
is 'in a group all outputs are measured by one launch, when the group has been put on the stream' "$(asked "$tmp/log_auto.0" group)" \
	's1 values of 1;s1 values of 1;s1 launch;s1 values of 2;'
is 'a capture gets no launch of ours' "$(asked "$tmp/log_auto.0" capture)" 's2 captured launch;'
is 'launches outside a capture go on, and do not invalidate it' "$(asked "$tmp/log_auto.0" 'beside a capture')" \
	's1 values of 1;s1 launch;s1 values of 1;s1 values of 1;s1 launch;s1 values of 1;'
is 'host memory that a stream can write is measured by it too; so is managed memory' "$(asked "$tmp/log_auto.0" 'other memory')" \
	's0 values of 1;s0 launch;s0 values of 1;'
measured_values="$(rows "$out" "$columns")"
like 'the time on the device is there of every call but those of the capture and before cuInit' \
	"$(rows "$out" '[r["dev_ns"].isdigit() and 0 < int(r["dev_ns"]) < 60e9 for r in on("rank0")]')" '^.False, False, (True, ){8}(False, ){2}(True(, )?){6}'
# 4 all_reduces of 16 bytes and 1 of 8 outside of the group with 2 ranks: the bus carries what the algorithm does.
is 'the report: time and bandwidth on the device, of the calls that have it' "$("$probe" report --json "$out" | python3 -c '
import json, sys
for o in json.load(sys.stdin)["operations"]:
    print(o["op"], o.get("on_device"), abs(o["bus_bytes_per_s"] / o["algorithm_bytes_per_s"] - 1) < 1e-9, o["device_s"] > 0)')" \
	"$(printf 'all_reduce 12 True True\nbroadcast 2 True True')"
like 'and its table' "$("$probe" report "$out")" 'On the device.*all_reduce.*algorithm|On the device.*algorithm.*bus.*all_reduce'
new_out
nccl_with 2 APP_LOG="$tmp/log_copy" PROBE_DEVICE=copy nccl_device
same_result 'device: copy'
silent 'device: copy: nothing is reported' "$tmp/with.err"
is 'device: copy: the report has nothing to say of it' "$(unmeasured)" ''
contract 'device: copy' "$out" --partial
is 'copies before and after the operation, on its stream' "$(asked "$tmp/log_copy.0" all_reduce)" 's1 copy 16;s1 mark;s1 launch;s1 copy 16;s1 mark;'
is 'in place: the input is copied before' "$(asked "$tmp/log_copy.1" 'in place')" 's1 copy 16;s1 mark;s1 launch;s1 copy 16;s1 mark;'
is 'in a group nothing is copied out before the group has been put on the stream' "$(asked "$tmp/log_copy.0" group)" \
	's1 copy 16;s1 mark;s1 copy 8;s1 mark;s1 launch;s1 copy 16;s1 mark;s1 copy 8;s1 mark;'
is 'a capture gets nothing of ours' "$(asked "$tmp/log_copy.0" capture)" 's2 captured launch;'
is 'copies outside a capture go on, and do not invalidate it' "$(asked "$tmp/log_copy.0" 'beside a capture')" \
	's1 copy 16;s1 mark;s1 launch;s1 copy 16;s1 mark;s1 copy 16;s1 mark;s1 launch;s1 copy 16;s1 mark;'
is 'host memory that a stream can write is copied by the stream too; so is managed memory' "$(asked "$tmp/log_copy.0" 'other memory')" \
	's0 copy 16;s0 mark;s0 launch;s0 copy 16;s0 mark;'
is 'every row but those of the capture is measured' "$(rows "$out" "$columns")" \
	"[('AllReduce', 'in', '1', '4', 'inplace'), ('AllReduce', 'out', '2', '8', 'inplace'), ('AllReduce', 'in', '1', '4', 'async'), ('AllReduce', 'out', '3', '12', 'async'), ('AllReduce', 'in', '1', '4', 'inplace;async'), ('AllReduce', 'out', '2', '8', 'inplace;async'), ('Broadcast', 'in', '2', '8', 'async'), ('Broadcast', 'out', '2', '8', 'async'), ('AllReduce', 'in', '2', '4', 'inplace;async'), ('AllReduce', 'out', '4', '8', 'inplace;async'), ('AllReduce', 'in', '', '', 'captured;nostats'), ('AllReduce', 'out', '', '', 'captured;nostats'), ('AllReduce', 'in', '4', '8', 'async'), ('AllReduce', 'out', '8', '16', 'async'), ('AllReduce', 'in', '8', '16', 'inplace;async'), ('AllReduce', 'out', '8', '16', 'inplace;async'), ('AllReduce', 'in', '2', '8', 'async'), ('AllReduce', 'out', '4', '16', 'async')]"
is 'device: auto gives the same rows' "$measured_values" "$(rows "$out" "$columns")"
finish
