#!/usr/bin/env bash
# Names and kinds of parameters that lie in parts over the ranks (FSDP1, FSDP2, gradients in a buffer as Megatron keeps them),
# against what the training finds out about itself without libprobe; what FSDP's reduce_scatter carries. Losses, weights,
# gradients and random states are bit for bit those of a run without the preload.
# timeout: 900
# long: FSDP1 with use_orig_params
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
. tests/e2e/kinds.sh
torch_python 'kinds of sharded parameters'
app=tests/apps/py/shard_state.py
kinds=(param_origin param_updated grad_unreduced grad_reduced exp_avg exp_avg_sq mg_direction ur_distribution update_ratio)

shard_case() { # HOW [NAME=VALUE ...]
	local how=$1
	shift
	rm -rf "$tmp/truth"
	mkdir -p "$tmp/truth"
	new_out
	torchrun_plain 2 $app --truth "$tmp/truth" --clip --steps 3 "$how"
	torchrun_with 2 PROBE_KINDS="$all_kinds" PROBE_NAMES=true PROBE_SCALARS=grad-norm "$@" $app --clip --steps 3 "$how"
	same_output "$how"
	contract "$how" "$out"
	is "$how: the total norm that clipping has found" "$(norms)" "[True, True] [3, 3]"
	kinds_agree "$how: each value of ${kinds[*]}" "${kinds[@]}"
}

# Per rank: whether grad-norm agrees with the norm of the whole model's gradients, and the number of values.
norms() {
	rows "$out" "(lambda t: (print([all(abs(float(v['value']) / t[int(v['folder'][4:])][int(v['step'])] - 1) < 1e-5 for v in V if v['folder'] == d) for d in sorted(dirs)], [sum(v['folder'] == d for v in V) for d in sorted(dirs)]), '')[1])([{r[2]: r[4]['value'] for r in json.load(open('$tmp/truth/rank%d.json' % k)) if r[0] == 'norm'} for k in (0, 1)])" | sed '/^$/d'
}

# Parts of a bucket with their offsets, gradients only; there is padding between them.
parts() { # NAME OF A GRADIENT IN IT
	rows "$out/rank0" "[(n['name'], n['offset'], n['count']) for n in N if n['what'] == 'part' and n['bucket'] == [m['bucket'] for m in N if m['what'] == 'part' and m['name'] == '$1'][0]]"
}
carried() {
	rows "$out" "sorted({(r['phase'], r['io']) for r in R if r['op'] == 'reduce_scatter' and r['name'].startswith('bucket')}), all(r['name'] for r in R if r['op'] == 'reduce_scatter' and r['io'] == 'in')"
}

shard_case fsdp2
is 'fsdp2: each reduce_scatter carries a bucket' "$(carried)" "([('backward', 'in')], True)"
is 'fsdp2: for each rank its rows of each parameter' "$(parts out.bias.grad)" \
	"[('inp.weight.grad', '0', '20'), ('inp.weight.grad', '32', '15'), ('inp.bias.grad', '20', '4'), ('inp.bias.grad', '52', '3'), ('out.weight.grad', '24', '7'), ('out.bias.grad', '31', '1')]"
is 'fsdp2: names, shapes of the local part' "$(rows "$out/rank1" '[(n["name"], n["shape"], n["flags"]) for n in N if n["what"] == "param" and n["name"] == "layers.2.up.weight"][-1]')" \
	"('layers.2.up.weight', '10x7', 'shard')"

shard_case fsdp1
is 'fsdp1: each reduce_scatter carries a bucket' "$(carried)" "([('backward', 'in')], True)"
is 'fsdp1: the parameters of a flat one, one after the other' "$(parts out.bias.grad)" \
	"[('inp.weight.grad', '0', '35'), ('inp.bias.grad', '35', '7'), ('out.weight.grad', '42', '7'), ('out.bias.grad', '49', '1')]"
[ -z "${LONG:-}" ] || shard_case fsdp1_orig
shard_case megatron

finish
