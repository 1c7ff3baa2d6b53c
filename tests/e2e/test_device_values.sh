#!/usr/bin/env bash
# Values on a device must not change what a job does: nothing waits, nothing is read that is not there, nothing is allocated while a
# collective is under way. On doubles of NCCL and of CUDA's driver, which runs the kernel's form in C.
# timeout: 420
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
[ -x "$B/apps/nccl/nccl_values" ] || {
	skip 'values on a device' 'the programs are not built (make apps)'
	finish
}

values() { rows "$out" '[(r["api"][4:], r["io"], r["max"], r["flags"]) for r in on("rank0")]'; }
dropped() { rows "$out" 'M["rank0"]["calls"]["dropped"]["device_values"]'; }
said_of_device() { rows "$out" 'M["rank0"]["missing"].get("device", "")'; }

try() { # CASE [NAME=VALUE ...]
	local name=$1
	shift
	new_out
	nccl_plain 2 "$@" nccl_values "$name"
	nccl_with 2 "$@" nccl_values "$name"
	same_result "$name${*:+, $*}"
	contract "$name${*:+, $*}" "$out" --partial
}

try many
is 'no call that waits for the device, or asks it, in 1,000 collectives' "$(sort "$tmp/with" | grep -c ': 0 waits in 1000')" 2
is 'more than 64 calls have values, for the device continues meanwhile' "$(rows "$out" 'sum(r["max"] == "4" for r in on("rank0")) > 128')" True
is 'what is missing was counted' "$(rows "$out" 'sum(r["max"] == "" for r in on("rank0")) <= 2 * M["rank0"]["calls"]["dropped"]["device_values"]')" True
is 'missing values are reported once per rank' "$(grep -c 'libprobe.*launches pending on a stream' "$tmp/with.err")" 2

try full
is 'of a stream that does not get on 128 launches are under way: 64 calls' \
	"$(rows "$out" 'sum(r["max"] == "4" and r["io"] == "in" for r in on("rank0")[:400])')" 64
is 'values of the others are counted as dropped' "$(dropped)" "$((2 * 136))"
is 'when the stream continues, values are measured again' "$(rows "$out" '[r["max"] for r in on("rank0")[-2:]]')" "['4', '8']"

try wrong
is 'too large a count, memory that is nowhere, that was given back, the end of it, between two elements: not read' \
	"$(rows "$out" 'sorted({(r["max"], r["flags"]) for r in on("rank0") if r["api"] == "ncclSend"})')" "[('', 'nostats;error:4')]"
is 'valid tensors are measured' "$(rows "$out" '[r["max"] for r in on("rank0") if r["api"] == "ncclReduce"]')" "['4', '8']"
is 'the result on another rank than the root is not read' "$(rows "$out" '[(r["io"], r["max"]) for r in on("rank1") if r["api"] == "ncclReduce"]')" "[('in', '4')]"

try freed
is 'values of a communicator that is gone' "$(rows "$out" '[r["max"] for r in on("rank0")]')" "['4', '8', '8', '16']"

try exit
is 'the program leaves as it would' "$status" 7
is 'values that had arrived are there, others are not' "$(rows "$out" '[r["max"] for r in on("rank0")]')" "['4', '8', '']"

try usual DOUBLE_NO_KERNEL=1
is 'a driver that does not take the kernel: rows without values' "$(rows "$out" '{r["max"] for r in on("rank0")}')" "{''}"
like 'and that is reported' "$(said_of_device)" 'tensors on a device are not measured'
is 'once' "$(grep -c 'libprobe.*are not measured' "$tmp/with.err")" 2

try usual LD_LIBRARY_PATH="$B/doubles/cuda11"
is 'a driver of CUDA 11, which does not number contexts: rows without values' "$(rows "$out" '{r["max"] for r in on("rank0")}')" "{''}"
like 'and that is reported' "$(said_of_device)" 'needs a driver of CUDA 12'

try usual DOUBLE_LOSE_AT=5
like 'a launch that the driver refuses: the values end, and that is reported' "$(said_of_device)" 'are no longer measured'
is 'values measured before stay' "$(rows "$out" '[r["max"] for r in on("rank0")[:4]]')" "['4', '8', '4', '8']"

# Values are switched on in rank 1 while a collective of its spins.
new_out
nccl_plain 2 DOUBLE_STRICT=1 nccl_values cross
(
	until grep -qs 'waits in X' "$tmp"/with.1; do sleep 0.05; done
	"$probe" ctl "$out" set statistics=true --now >"$tmp/ctl" 2>&1
	: >"$tmp/go"
) &
nccl_with 2 DOUBLE_STRICT=1 APP_GO="$tmp/go" PROBE_STATISTICS=false nccl_values cross
wait $!
same_result 'values are switched on while a collective spins'
is 'from then on they are there' "$(rows "$out" '[r["max"] for r in on("rank1") if r["io"] == "in"]')" "['', '12', '24', '24']"
finish
