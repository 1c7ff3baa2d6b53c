#!/usr/bin/env bash
# Calls of modules: seen without a trace in the program; phase `evaluation`; step_boundary; activations and their gradients.
# timeout: 900
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: calls of modules'

scene() { # FILE NAME [NAME=VALUE ...]
	local file=$1 name=$2
	shift 2
	env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONHASHSEED=0 "$@" timeout -k 5 300 "$python" tests/apps/py/module_calls.py \
		"$name" >"$tmp/$file" 2>"$tmp/$file.err" </dev/null
}

with() { # NAME [NAME=VALUE ...]
	local name=$1
	shift
	new_out
	scene with "$name" "$@" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib"
	is "$name: ends well" "$?, $(tail -1 "$tmp/with")" "0, $name: ok" || tail -5 "$tmp/with.err" | sed 's/^/#   /'
}

fact() {
	rows "$out" 'M["rank0"].get("layout_facts", {}).get("torch.module")'
}

scene plain same
with same PROBE_STEP_BOUNDARY=iteration
is 'same: the hook was there' "$(fact)" verified
is 'same: nothing of it shows' "$(diff "$tmp/plain" "$tmp/with" | head -20)" ''
with phases PROBE_STEP_BOUNDARY=iteration
is 'phases: of training, evaluation and recomputation, each under its own name' \
	"$(rows "$out" 'sorted({(r["count"], r["phase"]) for r in R if r["dtype"] == "float64" and int(r["seq"]) > 1})')" \
	"[('1', 'evaluation'), ('1', 'forward'), ('2', 'evaluation'), ('2', 'forward'), ('3', 'backward'), ('3', 'forward')]"
for s in iteration functions; do
	with $s PROBE_STEP_BOUNDARY=iteration
	is "$s: what follows an optimizer belongs to the step that ended" \
		"$(rows "$out" '[(int(r["count"]) - 1, int(r["step"])) for r in R if r["io"] == "in" and r["count"] != str(int(r["step"]) + 1)]')" '[]'
	is "$s: and there were many" "$(rows "$out" 'len(calls(R)) > 14')" True
done

# Activations and gradients: what hooks of Python saw in a run of their own.
scene plain values VALUES_TRUTH="$tmp/truth"
with values PROBE_KINDS='[actv, actv_grad]'
is 'values: the program computes the same' "$(diff "$tmp/plain" "$tmp/with")" ''
is 'values: rows are those that hooks saw, to 6 digits, from the second step on' "$(python3 tests/e2e/actv_truth.py "$tmp/truth" "$out/rank0")" \
	'the same'
with values PROBE_KINDS='[actv, actv_grad]' PROBE_STEP_BOUNDARY=iteration STALE_WRAPPER=1
is 'values: and where only the wrapper around the model was left in evaluation mode' \
	"$(python3 tests/e2e/actv_truth.py "$tmp/truth" "$out/rank0")" 'the same'

# The parts that communicators play.
new_out
TORCH_LIMIT=300 torchrun_with 2 tests/apps/py/trainings.py roles
is 'roles: ends well' "$status" 0
is 'parallel.json: the part of each communicator' "$(python3 -c 'import csv, json, sys
for r in "01":
    names = {c["comm"]: c["name"] for c in csv.DictReader(open(f"{sys.argv[1]}/rank{r}/comms.csv"))}
    print(*sorted((names[c["comm"]], c["role"], c["ranks"], c["mesh"]) for c in json.load(open(f"{sys.argv[1]}/rank{r}/parallel.json"))["communicators"]))' "$out")" \
	"$(for r in 0 1; do echo "('0', 'data', '0-1', '') ('1', 'tensor', '0-1', 'tp') ('2', 'pipeline', '0-1', '') ('3', 'exchange', '0-1', '')"; done)"
said=$("$probe" report "$out")
like 'an all-to-all without experts is called so' "$said" 'all-to-all group of ranks 0-1'
for r in data tensor pipeline; do
	like "the report calls it by that: $r" "$said" "$r-parallel group $([ $r != tensor ] || echo 'tp ')of ranks 0-1"
done
contract roles "$out"
finish
