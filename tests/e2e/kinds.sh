# Trainings whose kinds are known by other means; sourced after lib.sh and torch.sh.
#
#   kinds_case OPTIMIZER [APP ARGUMENTS] -- [NAME=VALUE ...] -- KIND ...
#       runs tests/apps/py/train_state.py on two ranks without the preload, where it writes the truth, and with it into a new
#       $out; tests that both print the same, that the output keeps to its contract, and that each kind agrees to 6 digits
#   kinds_agree TEXT [--micro] KIND ...       the last one, once more

all_kinds=param_origin,param_updated,grad_unreduced,grad_reduced,exp_avg,exp_avg_sq,mg_direction,ur_distribution,update_ratio

kinds_agree() {
	local text=$1 rc
	shift
	"$python" tests/e2e/kinds_truth.py "$out" "$tmp/truth" "$@" >"$tmp/diff" 2>&1
	rc=$?
	echo "# $(tail -1 "$tmp/diff")"
	is "$text" "$([ $rc = 0 ] || cat "$tmp/diff")$rc" 0
}

kinds_case() {
	local name=$1 app=tests/apps/py/train_state.py args=(--optimizer "$1") vars=()
	shift
	while [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	shift
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	rm -rf "$tmp/truth"
	mkdir -p "$tmp/truth"
	new_out
	torchrun_plain 2 $app --truth "$tmp/truth" "${args[@]}"
	torchrun_with 2 PROBE_KINDS="$all_kinds" ${vars[@]+"${vars[@]}"} $app "${args[@]}"
	same_output "$name"
	contract "$name" "$out"
	kinds_agree "$name: each value of $*" "$@"
}
