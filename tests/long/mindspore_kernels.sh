#!/usr/bin/env bash
# MindSpore's kernels as operators, one rank on the CPU: results bit for bit as without us, values as MindSpore's own asnumpy() has
# them, phases, steps, stacks, names and patterns; a release that is not known.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/mindspore.sh
mindspore_python 'MindSpore: kernels'
echo "# MindSpore $ms_version"
ms_python=$ms_bin/python
app=tests/apps/py/ms_kernels.py
line() { grep -n "$1" $app | head -1 | cut -d: -f1; }

kernels_with() { # LIST [NAME=VALUE ...] SCRIPT [ARGS]
	printf '%b\n' "$1" >"$tmp/list.yaml"
	new_out
	timeout -k 5 600 env PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" LD_PRELOAD="$lib" "${@:2}" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	status=$?
}

for how in '' --graph; do
	timeout -k 5 600 "$ms_python" $app $how >"$tmp/plain" 2>"$tmp/plain.err" </dev/null
	is "kernels$how: ends well without us" $? 0
	kernels_with 'mindspore:\n  - "*"' "$ms_python" $app --truth "$tmp/truth" $how
	is "kernels$how: ends well with us, and says nothing" "$status $(libprobe_lines "$tmp/with.err")" '0 '
	ok "kernels$how: results, losses and weights" cmp "$tmp/plain" "$tmp/with"
	contract "kernels$how" "$out" --partial
	ok "kernels$how: shapes, types, values before and after as MindSpore has them" python3 tests/long/ms_truth.py "$out" "$tmp/truth"
	is "kernels$how: steps" "$(rows "$out" 'Counter(r["step"] for r in calls(R) if r["op"] == "Adam")')" "Counter({'0': 4, '1': 4, '2': 4})"
	is "kernels$how: the optimizer's phase" "$(rows "$out" '{r["phase"] for r in R if r["op"] in ("Adam", "AssignAdd")}')" "{'optimizer'}"
	is "kernels$how: gradients are backward" "$(rows "$out" '{r["phase"] for r in R if r["op"].endswith("Grad") or r["op"] == "GatherDGradV2"}')" "{'backward'}"
	is "kernels$how: products of each pass" "$(rows "$out" 'Counter(r["phase"] for r in calls(R) if r["op"] == "MatMul" and r["step"] == "1")')" \
		"Counter({'backward': 3, 'forward': 2})"
	is "kernels$how: facts" "$(python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); print(m["libraries"]["mindspore"], m["layout_facts"]["mindspore.kernels"], m["layout_facts"]["mindspore.executor"])' "$out"/*/meta.json)" \
		"$ms_version verified verified"
	is "kernels$how: the line of each" "$(rows "$out" 'sorted({int(re.findall(r"ms_kernels.py:(\d+) one_by_one", s["python_stack"])[0]) for s in S if "one_by_one" in s["python_stack"] and s["api"] == "ms::Sigmoid"})')" \
		"[$(line 'ops.sigmoid')]"
	is "kernels$how: a graph's have the line of its call" "$(rows "$out" 'sorted({int(re.findall(r"ms_kernels.py:(\d+) in_a_graph", s["python_stack"])[0]) for s in S if "in_a_graph" in s["python_stack"] and s["api"] in ("ms::Sin", "ms::MatMul")})')" \
		"[$(line 'y = compiled')]"
done

kernels_with 'mindspore:\n  - MatMul\n  - "*Grad"' "$ms_python" $app
is 'names and patterns: these and no others' "$(rows "$out" 'sorted({r["op"] for r in R})')" "['BiasAddGrad', 'MatMul', 'ReluGrad']"
kernels_with 'ops:\n  - matmul\n  - sigmoid\ntensor:\n  - __neg__\nmint.nn.functional:\n  - relu' "$ms_python" $app
is "msprobe's names: the kernels that they become" "$(rows "$out" 'sorted({r["op"] for r in R})')" "['MatMul', 'Neg', 'ReLU', 'Sigmoid']"
kernels_with 'mindspore:\n  - AllReduce\n  - Gather' "$ms_python" $app
is 'collectives only: no kernel, no folder' "$(ls "$out" 2>/dev/null)" ''
# A release that is not known: the same libraries under another number.
site=$("$ms_python" -c 'import mindspore, os; print(os.path.dirname(os.path.dirname(mindspore.__file__)))' 2>/dev/null)
mkdir -p "$tmp/other/mindspore"
for f in "$site"/mindspore/*; do ln -s "$f" "$tmp/other/mindspore/"; done
rm "$tmp/other/mindspore/version.py" "$tmp/other/mindspore/lib"
cp -rs "$site/mindspore/lib" "$tmp/other/mindspore/lib"
rm "$tmp"/other/mindspore/_c_expression*.so
cp "$site"/mindspore/_c_expression*.so "$tmp/other/mindspore/"
echo "__version__ = '3.99.0'" >"$tmp/other/mindspore/version.py"
timeout -k 5 600 "$ms_python" $app >"$tmp/plain" 2>"$tmp/plain.err" </dev/null
kernels_with 'mindspore:\n  - "*"' PYTHONPATH="$tmp/other" "$ms_python" $app
ok 'unknown release: the same results' cmp "$tmp/plain" "$tmp/with"
is 'unknown release: no kernels' "$status $(ls "$out" 2>/dev/null)" '0 '
like 'unknown release: one line says so' "$(libprobe_lines "$tmp/with.err")" '3.99.0: the layout of this release is unknown'
PYTHONPATH="$tmp/other" PROBE_WRAP_OPS="$tmp/list.yaml" timeout -k 5 600 "$probe" check --all -- "$ms_python" $app >"$tmp/check" 2>&1 </dev/null
like 'unknown release: probe check' "$(grep -a mindspore.kernels "$tmp/check")" failed

# A table with one wrong offset is noticed on objects of known content, before anything of the program is read by it.
tree=$tmp/tree
mkdir "$tree"
cp -a Makefile VERSION README.md configs docs man preload tests tools wrappers "$tree"
def=wrappers/mindspore/layout/kernel_layouts.def
cp -a "$B/obj" "$B/gen" "$B/genwrap" "$tree/" && mkdir "$tree/build" && mv "$tree/obj" "$tree/gen" "$tree/genwrap" "$tree/build"
timeout -k 5 600 "$ms_python" $app >"$tmp/plain" 2>"$tmp/plain.err" </dev/null
wrong_field() { # FIELD: 8 more than it is; wild: the way to the data goes over the number of bytes, which is no address
	python3 - "$def" "$tree/$def" "$ms_version" "$1" <<-'END'
		import re, sys
		text = open(sys.argv[1]).read()
		row = text.index('"%s"' % sys.argv[3])
		name = {"wild": "data"}.get(sys.argv[4], sys.argv[4])
		at = re.compile(r"\.%s = (?:\{\{)?(?:\d+, (?=\d+, 0))?(\d+)" % name).search(text, row)
		wrong = re.compile(r"\.bytes = \{\{\d+, (\d+)").search(text, row)[1] if sys.argv[4] == "wild" else str(int(at[1]) + 8)
		open(sys.argv[2], "w").write(text[:at.start(1)] + wrong + text[at.end(1):])
	END
	env -u MAKEFLAGS -u MFLAGS make -C "$tree" -s DEPS=0 SAN= B=build build/libprobe.so >"$tmp/make.log" 2>&1
	is "wrong $1: built" "$? $(cmp -s "$def" "$tree/$def" || echo changed)" '0 changed'
}
right=$lib
for field in data bytes dtype shape primitive_name wild; do
	wrong_field $field
	lib=$tree/build/libprobe.so
	kernels_with 'mindspore:\n  - "*"' "$ms_python" $app
	is "wrong $field: ends well, no kernels" "$status $(ls "$out" 2>/dev/null)" '0 '
	ok "wrong $field: the same results" cmp "$tmp/plain" "$tmp/with"
	like "wrong $field: one line says so" "$(libprobe_lines "$tmp/with.err")" 'objects do not match the headers of this release'
	[ $field = shape ] && {
		new_out
		ms_with 2 tests/apps/train_ms.py --steps 2
		is "wrong $field: collectives" "$(rows "$out" '[sorted(Counter(r["op"] for r in calls(on(d))).items()) for d in dirs]')" \
			"[[('all_reduce', 8), ('broadcast', 4)], [('all_reduce', 8), ('broadcast', 4)]]"
		is "wrong $field: meta.json" "$(python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); print(m["layout_facts"]["mindspore.kernels"], m["layout_facts"]["mindspore.collectives"])' "$out"/rank0/meta.json)" \
			'failed; off: kernels of MindSpore, and steps by its optimizers verified'
		like "wrong $field: ... in words" "$(cat "$out"/rank0/meta.json)" 'not match the headers of this release: no kernels'
	}
	lib=$right
done
# Facts that only names and numbers of the training need are verified by the answers of MindSpore's own functions.
printf '%s\n' 'names: true' 'scalars: [loss, grad-norm]' >"$tmp/names.yaml"
kernels_with 'mindspore:\n  - "*"' PROBE_CONFIG="$tmp/names.yaml" "$ms_python" $app
is 'right fields: names' "$status $(cat "$out"/*/names.csv | grep -c weight)" '0 2'
for field in args arg_bytes arg_object info_name py_tensor node_name; do
	# 2.7 has nothing that could be asked for it.
	[[ $field = info_name && $ms_version = 2.7.* ]] && continue
	wrong_field $field
	lib=$tree/build/libprobe.so
	kernels_with 'mindspore:\n  - "*"' PROBE_CONFIG="$tmp/names.yaml" "$ms_python" $app
	ok "wrong $field: the same results" cmp "$tmp/plain" "$tmp/with"
	is "wrong $field: kernels, but no names" \
		"$status $(rows "$out" 'any(r["op"] == "MatMul" for r in R)') $(cat "$out"/*/names.csv 2>/dev/null | grep -c weight) $(python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); print(m["layout_facts"]["mindspore.kernels"], m["layout_facts"]["mindspore.tensors"].split(";")[0])' "$out"/*/meta.json)" \
		'0 True 0 verified failed'
	lib=$right
done

# Dumps.
printf '%s\n' 'format: [dump]' 'task: tensor' 'level: L1' 'file_format: npy' >"$tmp/dump.yaml"
kernels_with 'mindspore:\n  - "*"' PROBE_CONFIG="$tmp/dump.yaml" "$ms_python" $app --truth "$tmp/truth"
ok 'dump: results, losses and weights' cmp "$tmp/plain" "$tmp/with"
ok "dump: names of MindSpore's functions, and tensors as it has them" "$ms_python" tests/long/ms_dump_truth.py "$out" "$tmp/truth"

finish
