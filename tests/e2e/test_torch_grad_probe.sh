#!/usr/bin/env bash
# Task grad_probe of msprobe 8.x, from its own configuration file: grad_summary_<step>.csv and the files of signs against the gradients
# that the program kept itself, at each grad_level; `probe compare --grad` of two runs; what an earlier run left is not written over.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: grad_probe'
app=tests/apps/py/grads.py

grad_config() { # LEVEL FOLDER REST
	printf '{"task": "grad_probe", "dump_path": "%s", "rank": [], "step": [], "level": "L1", "grad_probe": {"grad_level": "%s"%s}}\n' \
		"$2" "$1" "$3" >"$tmp/config.json"
}

torchrun_plain 2 $app --truth "$tmp/truth"
grad_config L2 "$tmp/a" ', "bounds": [-0.5, -1e-3, 0, 2]'
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/config.json" $app
same_output 'L2'
silent 'L2: nothing is reported' "$tmp/with.err"
is 'L2: statistics, intervals and signs' "$("$python" tests/e2e/grad_truth.py check "$tmp/a" "$tmp/truth" L2 2 -0.5 -1e-3 0 2 2>&1)" ''
is 'L2: no dump of calls, and nothing is left over' "$(cd "$tmp/a" && find . -name 'dump.json' -o -name '.dump*' -o -name '*.part'; ls)" "rank0
rank1"

# One process, two parameters; the rank's own folder, then another run's in the same dump_path.
torchrun_plain 1 $app --truth "$tmp/one" --seed 2
grad_config L0 "$tmp/b" ', "param_list": ["turned", "module.small.weight"]'
for n in 1 2; do
	new_out
	torchrun_with 1 PROBE_CONFIG="$tmp/config.json" $app --seed 2
	same_output "L0, run $n"
	is "L0, run $n: checksums of float32, of these parameters" \
		"$("$python" tests/e2e/grad_truth.py check "$tmp/b" "$tmp/one" L0 1 -- turned small.weight 2>&1)" ''
done
is "what the first run left is another's" "$(cd "$tmp/b" && ls)" "rank0
rank0.1"

# In our own keys; signs of two runs.
torchrun_plain 2 $app --truth "$tmp/other" --seed 3
new_out
torchrun_with 2 PROBE_FORMAT=dump PROBE_TASK=grad_probe $app --seed 3
same_output 'L1'
is 'L1: in the ranks'"'"' own folders' "$("$python" tests/e2e/grad_truth.py check "$out" "$tmp/other" L1 2 2>&1)" ''
"$probe" compare --grad -o "$tmp/similar" "$tmp/a" "$out" >"$tmp/said" 2>&1
status=$?
is 'signs of two runs differ' $status 1
for r in 0 1; do
	is "similarities of rank $r" "$(cat "$tmp/similar/rank$r/similarities.csv")" "$("$python" tests/e2e/grad_truth.py similar "$tmp/truth" "$tmp/other" $r)"
done

# A parameter is sharded: each rank has its own part.
torchrun_plain 2 $app --how fsdp2 --truth "$tmp/parts"
grad_config L2 "$tmp/p" ', "bounds": [-1e-2, 0, 1e-2]'
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/config.json" $app --how fsdp2
same_output 'FSDP2'
silent 'FSDP2: nothing is reported' "$tmp/with.err"
is 'FSDP2: what each rank has' "$("$python" tests/e2e/grad_truth.py check "$tmp/p" "$tmp/parts" L2 2 -1e-2 0 1e-2 2>&1)" ''

# Each rank's optimizer steps with some of the parameters; gradients it has of all.
torchrun_plain 2 $app --how zero --truth "$tmp/zero"
grad_config L2 "$tmp/z" ', "bounds": [-0.5, -1e-3, 0, 2]'
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/config.json" $app --how zero
same_output 'ZeRO'
silent 'ZeRO: nothing is reported' "$tmp/with.err"
is 'ZeRO: each gradient of each rank' "$("$python" tests/e2e/grad_truth.py check "$tmp/z" "$tmp/zero" L2 2 -0.5 -1e-3 0 2 2>&1)" ''

# Killed after its third step: what the disk does not have yet is in the journal.
grad_config L2 "$tmp/k" ', "bounds": [-0.5, -1e-3, 0, 2]'
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/config.json" $app --kill 2
is 'killed: three steps' "$(grep -c . "$tmp/with")" 6
"$probe" recover "$out" >"$tmp/said" 2>&1
is 'killed: probe recover' $? 0
lost=$((36 - $(find "$tmp/k" -name '*.npy' | wc -l)))
is "killed: $lost files of signs are lost, which is reported" \
	"$(grep -cE 'files of signs of [0-9]+ gradients were in the memory of the process that was killed' "$tmp/said")" $((lost > 0))
is 'killed: each row of the three steps' "$("$python" tests/e2e/grad_truth.py check "$tmp/k" "$tmp/truth" L2 2 -0.5 -1e-3 0 2 2>&1 | grep -v '^no signs of ')" ''
is 'killed: no folder without any' "$(find "$tmp/k" -type d -empty)" ''

# Names that are longer than a file's may be: found by what their first letters are, and different.
torchrun_plain 0 tests/apps/py/deep_names.py
new_out
torchrun_with 0 PROBE_FORMAT=dump PROBE_TASK=grad_probe tests/apps/py/deep_names.py
same_output 'long names'
silent 'long names: nothing is reported' "$tmp/with.err"
is 'long names: signs of each parameter in each step' "$(find "$out" -name 'ää*~*.npy' | wc -l)" 12

# A wrong value.
printf '{"task": "grad_probe", "grad_probe": {"grad_level": "L4", "bounds": [0, 0]}}' >"$tmp/config.json"
"$probe" config -c "$tmp/config.json" >"$tmp/said" 2>&1
like 'a level that there is not' "$(cat "$tmp/said")" 'config.json:1:[0-9]*: .*grad_level.*L4.*L0 or L1 or L2'
like 'bounds that do not ascend' "$(cat "$tmp/said")" 'bounds.*not ascending; accepted: a list of ascending numbers'
finish
