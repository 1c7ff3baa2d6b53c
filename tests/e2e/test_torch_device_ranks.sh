#!/usr/bin/env bash
# PyTorch with two ranks on a device: DDP, and gradients that are kept in one buffer (Megatron), on the stand-ins for CUDA's driver and
# for NCCL, by a process group that this test compiles (tests/doubles/torch). The program's own copies are the truth.
# timeout: 900
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
LONG=1 torch_python 'ranks on a device'
. tests/e2e/torch_device.sh
torch_device 'ranks on a device' group
kinds=(param_origin param_updated grad_unreduced grad_reduced)

ranks() { # FOLDER [NAME=VALUE ...] SCENE; what the ranks print is in FOLDER/printed, sorted in FOLDER/sorted
	local folder=$1 scene=${*: -1}
	mkdir -p "$folder"
	# shellcheck disable=SC2034 # of start_script
	vars=(LD_LIBRARY_PATH="$B/doubles" "${@:2:$#-2}")
	start_script by_hand "$folder/printed" 2 tests/apps/torch_device_ranks.py "$extensions" "$folder" "$folder/store" "$scene"
	sort "$folder/printed" >"$folder/sorted"
}

scene() { # TEXT [NAME=VALUE ...] SCENE; without the preload into $tmp/plain.SCENE, with it into $tmp/SCENE and $out
	local scene=${*: -1}
	new_out
	[ -e "$tmp/plain.$scene/printed" ] || ranks "$tmp/plain.$scene" "$scene"
	rm -rf "${tmp:?}/$scene"
	ranks "$tmp/$scene" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "${@:2}"
	is "$1: both ranks end without an error" "$status $(grep -c Error "$tmp/$scene/printed.err")" '0 0'
	ok "$1: prints the same, and the driver counts the same waits" diff "$tmp/plain.$scene/sorted" "$tmp/$scene/sorted"
}

trained_alike() { # TEXT SCENE
	ok "$1: trained as without us" cmp "$tmp/plain.$2/rank0.json" "$tmp/$2/rank0.json"
	ok "$1: trained as without us, rank 1" cmp "$tmp/plain.$2/rank1.json" "$tmp/$2/rank1.json"
}

state=(PROBE_PRESET=state PROBE_KINDS="$(IFS=,; echo "${kinds[*]}")")
scene ddp "${state[@]}" ddp
trained_alike ddp ddp
ok 'ddp: kinds of both ranks' python3 tests/e2e/kinds_truth.py "$out" "$tmp/ddp" "${kinds[@]}"
is 'ddp: the all_reduce of 1 and 2, and of the number of the step twice: inputs of each rank, and the result' "$(rows "$out" \
	'[[(r["io"], float(r["max"])) for r in on(rank) if r["op"] == "all_reduce" and r["count"] == "2"][-2:] for rank in ("rank0", "rank1")]')" \
	"[[('in', 5.0), ('out', 10.0)], [('in', 5.0), ('out', 10.0)]]"
is 'ddp: at most the first tensor is dropped, while the kernel is being loaded' \
	"$(rows "$out" '[M[r]["calls"]["dropped"]["device_values"] <= 1 for r in ("rank0", "rank1")]')" '[True, True]'
# One result of the step before, four gradients, and the input and the result of four all_reduces; once the buckets stay.
is 'ddp: a gradient is measured before the hooks of its node, in a launch of its own' \
	"$(python3 -c 'import json, sys; print({tuple(step) for step in json.load(open(sys.argv[1]))[2:]})' "$tmp/ddp/launches0.json")" \
	"{($(printf '1, %.0s' {1..13})8, 4, 4, 1, 1)}"

scene kept "${state[@]}" kept
trained_alike kept kept
ok 'kept: kinds of both ranks' python3 tests/e2e/kinds_truth.py "$out" "$tmp/kept" "${kinds[@]}"
is 'kept: a launch for the gradients of the buffer that is sent, for parameters with theirs, for updated ones, for their norms' \
	"$(python3 -c 'import json, sys; print(sorted({tuple(n for n in step if n > 1) for step in json.load(open(sys.argv[1]))}))' "$tmp/kept/launches0.json")" \
	'[(4, 8, 4, 4)]'

# An operator whose input is in the host's memory, and whose result is on the device; then operators there.
scene 'preset nan' PROBE_PRESET=nan nan
like 'the first NaN is named: step, rank, line' "$("$probe" report "$out")" \
	"nan +first in step 3, rank 1: .*torch_device_ranks.py:$(grep -n 'model(x.to("cuda"))' tests/apps/torch_device_ranks.py | cut -d: -f1)"

# A result is measured again as an input: neither the tensor nor its version shows that it was written in between.
printf 'aten:\n  - aten::mul\n  - aten::add\n' >"$tmp/two.yaml"
scene 'writes in between' PROBE_WRAP_OPS="$tmp/two.yaml" writes
is 'writes in between: none raises the version' "$(grep -c 'same version' "$tmp/writes/printed")" 6
written=[$(awk '$1 == 0 {print $NF}' "$tmp/writes/printed" | paste -sd, | sed 's/,/, /g')]
# What is missing was dropped while the kernel was being loaded, and counted.
is 'writes in between: the input is what was written' "$(rows "$out" "[len(seen := [r['max'] and float(r['max']) for r in on('rank0')
	if r['op'] == 'add.Tensor' and r['io'] == 'in'][::2]), all(m in ('', w) for m, w in zip(seen, $written)), any(seen),
	seen.count('') <= M['rank0']['calls']['dropped']['device_values']]")" \
	"[$(grep -c '^0 ' "$tmp/writes/printed"), True, True, True]"
finish
