#!/usr/bin/env bash
# Dumps of level L0 and mix: modules with inputs, outputs, parameters and gradients, their structure and stacks, against what msprobe
# 26.2.0 wrote of the same program (tests/long/dump_msprobe.sh records it).
# timeout: 1200
# beside: nothing of it waits busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: dumps of modules'

app=tests/apps/py/moduled.py
torchrun_plain 2 $app
config=$tmp/config.json
dump_level() { # LEVEL SECTION
	new_out
	echo "{\"task\": \"statistics\", \"dump_path\": \"$out/dump\", \"level\": \"$1\", \"statistics\": {$2}}" >"$config"
	torchrun_with 2 PROBE_CONFIG="$config" $app
	same_output "$1 $2"
}
names() { "$python" -c 'import json, sys; print(" ".join(json.load(open(sys.argv[1]))["data"]))' "$out/dump/step1/rank1/dump.json"; }

dump_level L0 ''
ok 'L0: as msprobe has it' "$python" tests/e2e/module_truth.py check "$out/dump" tests/e2e/modules.expected
is 'L0: modules alone' "$(names | tr ' ' '\n' | grep -vc '^Module\.')" 0
dump_level mix ''
ok 'mix: the same modules, and functions in them' "$python" tests/e2e/module_truth.py check "$out/dump" tests/e2e/modules.expected
is 'mix: functions' "$(names | tr ' ' '\n' | grep -c '^Functional\.linear\..*\.forward$')" 24
dump_level mix '"list": ["blocks.0.norm"]'
is 'list: all that is done in the module' "$(names | tr ' ' '\n' | grep -v backward | sort | uniq | paste -sd' ')" \
	'Functional.layer_norm.0.forward Functional.layer_norm.2.forward Module.blocks.0.norm.LayerNorm.forward.0 Module.blocks.0.norm.LayerNorm.forward.1 Module.blocks.0.norm.LayerNorm.parameters_grad.0 Module.blocks.0.norm.LayerNorm.parameters_grad.1'
dump_level L0 '"scope": ["Module.blocks.0.attention.q.Linear.forward.0", "Module.blocks.0.mlp.Sequential.forward.0"], "data_mode": ["forward"]'
is 'scope: up to the end of the last one; data_mode: no gradients' "$(names | tr ' ' '\n' | sed 's/Module.blocks.0.//; s/.forward.0//' | paste -sd' ')" \
	'attention.q.Linear attention.k.Linear attention.drop.Dropout attention.v.Linear mlp.Sequential mlp.0.Linear mlp.1.ReLU mlp.2.Linear'
finish
