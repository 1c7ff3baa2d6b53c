#!/usr/bin/env bash
# Dumps of level L0 and mix: modules with inputs, outputs, parameters and gradients, their structure and stacks, against what msprobe
# 26.2.0 wrote of the same program (tests/long/dump_msprobe.sh records it).
# timeout: 1200
# beside: does not wait busily
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

# The origin of a NaN is the operator, whatever uninitialized memory contains.
torchrun_plain 2 $app nan garbage
for level in L1 mix; do
	new_out
	echo "{\"task\": \"overflow_check\", \"dump_path\": \"$out/dump\", \"level\": \"$level\", \"overflow_check\": {\"overflow_nums\": 1}}" >"$config"
	torchrun_with 2 PROBE_CONFIG="$config" $app nan garbage
	same_output "overflow_check, $level"
	is "overflow_check, $level: rank 1 names its operator, rank 0 what brought the NaN to it" "$("$python" - "$out/dump" <<-'PY'
		import json, sys
		for step in 0, 1:
		    for rank in 0, 1:
		        d = json.load(open(f"{sys.argv[1]}/step{step}/rank{rank}/dump.json"))
		        print(step, rank, d["task"], *d["data"])
	PY
	)" "0 0 overflow_check
0 1 overflow_check
1 0 overflow_check Distributed.cxx_all_reduce.0.forward
1 1 overflow_check Tensor.__mul__.4.forward"
done
# ... so msprobe's tool, which looks for the first one in all of a dump, finds none but it.
new_out
echo "{\"task\": \"statistics\", \"dump_path\": \"$out/dump\", \"level\": \"L1\"}" >"$config"
torchrun_with 2 PROBE_CONFIG="$config" $app nan garbage
is 'statistics: the first of finite inputs whose outputs are not' "$("$python" - "$out/dump" <<-'PY'
	import json, math, sys
	def bad(v):
	    if isinstance(v, dict):
	        return any(isinstance(v.get(k), float) and not math.isfinite(v[k]) for k in ("Max", "Min")) or any(map(bad, v.values()))
	    return isinstance(v, list) and any(map(bad, v))
	for step in 0, 1:
	    d = json.load(open(f"{sys.argv[1]}/step{step}/rank1/dump.json"))["data"]
	    print(step, next((n for n, e in d.items() if not any(bad(e.get(s)) for s in ("input_args", "input_kwargs", "input")) and bad(e["output"])), None))
PY
)" "0 None
1 Tensor.__mul__.4.forward"

# Long names are whole in dump.json; a file's name ends in a hash where the file system has no room for all of it.
torchrun_plain 0 tests/apps/py/deep_names.py
torchrun_plain 0 tests/apps/py/deep_names.py "$tmp/deep"
new_out
torchrun_with 0 PROBE_FORMAT=dump PROBE_LEVEL=L0 PROBE_TASK=tensor PROBE_FILE_FORMAT=npy tests/apps/py/deep_names.py
same_output 'long names'
is 'long names: each leaf by its whole name, with the files of its output and of its gradient' "$("$python" - "$out" "$tmp/deep" <<-'PY'
	import glob, json, numpy, os, sys
	path = ".".join("ä" * 30 + str(n) for n in range(6, -1, -1))
	for step in 0, 1:
	    (file,) = glob.glob(f"{sys.argv[1]}/**/step{step}/**/dump.json", recursive=True)
	    data = json.load(open(file))["data"]
	    for leaf in 0, 1, 2:
	        name = data[f"Module.{path}.{leaf}.Linear.forward.0"]["output"][0]["data_name"]
	        have = numpy.load(f"{os.path.dirname(file)}/dump_tensor_data/{name}")
	        grads = data[f"Module.{path}.{leaf}.Linear.parameters_grad.0"]["weight"]
	        grad = numpy.load(f"{os.path.dirname(file)}/dump_tensor_data/{grads[0]['data_name']}")
	        print(step, leaf, 253 < len(name.encode()) < 256, (have == numpy.load(f"{sys.argv[2]}/{step}.{leaf}.npy")).all(),
	              (grad == numpy.load(f"{sys.argv[2]}/{step}.{leaf}.grad.npy")).all())
PY
)" '0 0 True True True
0 1 True True True
0 2 True True True
1 0 True True True
1 1 True True True
1 2 True True True'
finish
