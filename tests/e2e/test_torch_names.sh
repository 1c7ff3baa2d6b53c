#!/usr/bin/env bash
# Names of a training's parameters (key names): found without a trace in the program, whose output is the same bit for bit;
# in calls, in buckets of DDP, in the report of a NaN; module_struct.json; probe names.
# timeout: 600
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: names'
app=tests/apps/py/names.py

alone() { # FILE [NAME=VALUE ...] MODE...: one process
	local file=$1 vars=(OMP_NUM_THREADS=1)
	shift
	while [[ $1 == *=* ]]; do
		vars+=("$1")
		shift
	done
	env "${vars[@]}" timeout -k 5 120 "$python" $app "$@" >"$file" 2>"$file.err" </dev/null
	status=$?
	echo $status >"$file.status"
}
# The last row of each parameter: name, optimizer, group, flags, by number.
known='{int(n["id"]): n for n in N if n["what"] == "param"}'
listed() { rows "$1" "[(n['name'], n['optimizer'], n['group'], n['vpp_stage'], n['flags']) for _, n in sorted($known.items())]"; }

# One after the other in one process: numbers of optimizers and parameters go on.
modes=(strict trace counts gan trainer)
alone "$tmp/plain" "${modes[@]}"
is 'alone: ends well without us' "$(cat "$tmp/plain.status")" 0
new_out
alone "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_NAMES=true "${modes[@]}"
same_output 'alone: losses, weights, random states, the collector, hooks and the code of classes'
# A later model may have its frozen parameter at the same address, and an optimizer that has it.
is 'strict: names, groups, what is tied, frozen, in no module' "$(rows "$out" "[n['flags'].split(';')[0] if n['name'] == 'scale' else (n['name'], n['optimizer'], n['group'], n['flags']) for _, n in sorted($known.items())][:4]")" \
	"['frozen', ('embed.weight', '0', '1', 'tied'), ('layers.0.up_proj.weight', '0', '1', ''), ('layers.0.up_proj.bias', '0', '0', '')]"
is 'strict: requires_grad' "$(rows "$out" "[n['requires_grad'] for _, n in sorted($known.items())][:2]")" "['false', 'true']"
is 'strict: a module whose attributes are in no dictionary' "$(rows "$out" "[n['name'] for n in $known.values() if n['name'].startswith('seq')][:2]")" "['seq.0.weight', 'seq.0.bias']"
is 'strict: what no module has is named by its group; an optimizer whose groups are a property is left alone' \
	"$(rows "$out" "[n['name'] for _, n in sorted($known.items()) if n['flags'] == 'unnamed']")" "['opt0.group1.param11', 'opt1.group1.param11']"
is 'gan: names of both networks, each with its variable' "$(rows "$out" "[(n['name'], n['vpp_stage']) for n in $known.values() if 'or.1.bias' in n['name']]")" \
	"[('generator.1.bias', '0'), ('discriminator.1.bias', '1')]"
is 'trainer: found below attributes of self' "$(rows "$out" "[n['name'] for n in $known.values() if n['shape'] == '50x8'][-1:]")" "['embed.weight']"
is 'the layout was verified' "$(rows "$out" '[M[d]["layout_facts"]["python.objects"] for d in dirs]')" "['verified']"

modes=(freeze hidden)
alone "$tmp/plain" "${modes[@]}"
new_out
alone "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_NAMES=true "${modes[@]}"
same_output 'after gc.freeze(), and a model that no frame leads to'
is 'hidden: one pass over the objects of the collector finds it' "$(rows "$out" "[n['name'] for n in $known.values() if n['shape'] == '50x8']")" "['embed.weight']"

# The same file as a script, with -m, and by a launcher that runs it with runpy.
launched() { # WORD COMMAND...
	new_out
	env STORE="$tmp/$1.store" OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_NAMES=true "${@:2}" >"$tmp/$1" 2>"$tmp/$1.err" </dev/null
	rows "$out" "[(n['name'], n['optimizer'], n['group'], n['vpp_stage'], n['flags']) for _, n in sorted($known.items())]" >"$tmp/$1.names"
	"$probe" report "$out" 2>/dev/null | tr -s ' \n' ' ' | grep -oP 'called from <module>.*?(?= evidence:)' | head -1 >"$tmp/$1.place"
}
launched script "$python" tests/apps/py/as_module.py
is 'a script: names begin with its own variables' "$(grep -o "'[a-z.0-9]*weight'" "$tmp/script.names" | tr '\n' ' ')" "'encoder.weight' 'decoder.weight' "
like 'a script: the place of a NaN' "$(cat "$tmp/script.place")" 'called from <module> \(as_module.py:'
launched module "$python" -m tests.apps.py.as_module
launched path "$python" -c 'import runpy; runpy.run_path("tests/apps/py/as_module.py", run_name="__main__")'
for way in module path; do
	is "$way: the same names as the script" "$(diff "$tmp/script.names" "$tmp/$way.names")" ''
done
is 'module: the same place as the script, without frames of runpy' "$(diff "$tmp/script.place" "$tmp/module.place")" ''

# Two ranks of DDP.
torchrun_plain 2 $app ddp nan
is 'DDP: ends well without us' "$(cat "$tmp/plain.status")" 0
new_out
torchrun_with 2 PROBE_NAMES=true PROBE_PRINT_STRUCT=true $app ddp nan
same_output 'DDP'
contract 'DDP' "$out"
is "DDP: names without DDP's module." "$(listed "$out/rank0" | grep -o "'[^']*up_proj[^)]*)" | head -2 | tr '\n' ' ')" \
	"'layers.0.up_proj.weight', '0', '1', '0', '') 'layers.0.up_proj.bias', '0', '0', '0', '') "
is 'DDP: each all-reduce of a pass carries a bucket, on its way in and out' \
	"$(rows "$out" 'sorted(Counter((r["io"], re.sub("[0-9]+", "", r["name"])) for r in R if r["op"] == "all_reduce" and r["phase"] == "backward").items())')" \
	"[(('in', 'bucket'), 20), (('out', 'bucket'), 20)]"
is 'DDP: the parts of a bucket fill it' \
	"$(rows "$out" '{(r["folder"], r["name"], r["count"]) for r in R if r["name"].startswith("bucket")} == {(n["folder"], "bucket" + n["bucket"], str(sum(int(k["count"]) for k in N if k["what"] == "part" and (k["folder"], k["bucket"]) == (n["folder"], n["bucket"])))) for n in N if n["what"] == "part"}')" True
is 'DDP: a gradient that the program reduces by itself' "$(rows "$out" 'sorted({r["name"] for r in R if r["op"] == "all_reduce" and r["shape"] == "-" and r["step"] != "0"})')" "['opt0.group1.param8.grad']"
is 'DDP: parts lie one after the other' \
	"$(rows "$out/rank0" '[(n["name"], n["offset"], n["count"]) for n in N if n["what"] == "part" and n["bucket"] == "1"][:3]')" \
	"[('seq.0.bias.grad', '0', '64'), ('seq.0.weight.grad', '64', '4096'), ('layers.1.down_proj.bias.grad', '4160', '64')]"
like 'report: which gradient has the NaN, and where' "$("$probe" report "$out" 2>/dev/null | tr -s ' \n' ' ')" \
	'rank 1: NaN in gradient of layers\.1\.up_proj\.weight, element 197 \(element 12,741 of bucket 1\): 1 NaN of'
# Without the row that says where: what the bucket holds.
cp -r "$out" "$tmp/less"
sed -i '/^bad,/d' "$tmp"/less/rank*/names.csv
like 'report: else what the bucket holds' "$("$probe" report "$tmp/less" 2>/dev/null | tr -s ' \n' ' ')" \
	'NaN in bucket 1, which holds seq\.0\.bias\.grad, seq\.0\.weight\.grad, layers\.1\.down_proj\.bias\.grad and 3 more'
like 'probe names: parameters' "$("$probe" names "$out")" '3 +layers\.0\.up_proj\.weight +128x64 +float32 +0 +1 +0 '
like 'probe names: buckets' "$("$probe" names --buckets --rank 1 "$out")" ' 1 +64 +4,096 +seq\.0\.weight\.grad'
like 'probe names: modules' "$("$probe" names --modules "$out")" '0 +layers\.1\.up_proj +Linear'
is 'module_struct.json: modules, classes, parameters' "$(rows "$out" '[(m["0:layers.1.up_proj"]["class"], m["0:layers.1.up_proj"]["parameters"]["weight"], m["0:"]["class"], len(m)) for d in dirs for m in [json.load(open(os.path.join("'"$out"'", d, "module_struct.json")))]][0]')" \
	"('Linear', {'shape': [128, 64], 'dtype': 'float32', 'requires_grad': True}, 'Net', 14)"

# probe recover produces the same files for a process that was killed.
for how in '' killed; do
	new_out
	OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_NAMES=true PROBE_PRINT_STRUCT=true \
		"$python" tests/apps/py/small_modules.py $how >/dev/null 2>&1 </dev/null
	[ -n "$how" ] || cp "$out"/host-*/module_struct.json "$tmp/whole.json"
done
rm -f "$out"/host-*/module_struct.json
ok 'probe recover' "$probe" recover "$out"
is 'probe recover writes module_struct.json' "$(diff "$tmp/whole.json" "$out"/host-*/module_struct.json)" ''

rm "$tmp"/less/rank*/names.csv
"$probe" names "$tmp/less" >"$tmp/said" 2>&1
is 'probe names: without names it says so, and has the communicators' "$? $(grep -c 'no names.csv; record with names: true$' "$tmp/said") $(grep -c ' data  ' "$tmp/said")" '0 1 1'
finish
