#!/usr/bin/env bash
# What libprobe costs a PyTorch training (torch_cost.py), as ratios within one run: without the preload and with it in turn,
# of each the shortest step, for other programs only make steps longer. Sourced by bench.sh, or run by itself:
# tests/bench/torch_cost.sh [BUILD-DIR]; the Python is $PROBE_TEST_PYTHON, build/ptvenv/bin/python or python3. ROUNDS, STEPS;
# KINDS="plain_ddp comm_ddp": only these rows.
. "$(dirname "${BASH_SOURCE[0]}")/alone.sh"

torch_python=''
for p in "${test_python:-}" "$B/ptvenv/bin/python" python3; do
	if [ -n "$p" ] && "$p" -c 'import torch.distributed as d; assert d.is_gloo_available()' 2>/dev/null; then
		torch_python=$p
		break
	fi
done

declare -A torch_lost=()

# KIND [STEPS]: one run of that kind; its shortest step into $dir/torch.KIND, and the seconds in libprobe of a rank, all of
# them, into $dir/torch.KIND.own, one line a round. With STEPS: into torch.KIND.short and torch.KIND.short.own.
torch_run() {
	local kind=$1 to="$dir/torch.$1${2:+.short}" vars=(A=1) args=("${2:-${STEPS:-6}}") launch=("$torch_python")
	rm -rf "$dir/torch_probe" "$dir/msprobe"
	[[ $kind == plain* || $kind == msprobe ]] || vars=(LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/torch_probe")
	case $kind in
	nothing) vars+=(PROBE_WRAP_OPS="$dir/torch_nothing.yaml") ;;
	ops) vars+=(PROBE_WRAP_OPS=configs/presets/ops.yaml PROBE_JOURNAL_MIB=64) ;;
	nan) vars+=(PROBE_WRAP_OPS=configs/presets/nan.yaml PROBE_JOURNAL_MIB=64) ;;
	nodes) vars+=(PROBE_BACKWARD=true PROBE_WRAP_OPS="$dir/torch_nodes.yaml" PROBE_JOURNAL_MIB=64) ;;
	ops_nodes) vars+=(PROBE_BACKWARD=true PROBE_WRAP_OPS=configs/presets/ops.yaml PROBE_JOURNAL_MIB=64) ;;
	state*)
		vars+=(PROBE_PRESET=state PROBE_KINDS=param_origin,param_updated,grad_unreduced,grad_reduced)
		[ "$kind" = state ] || vars+=(PROBE_STEP_INTERVAL=50 PROBE_START_STEP=50)
		;;
	numbers) vars+=(PROBE_WRAP_OPS="$dir/torch_nothing.yaml" PROBE_SCALARS=true PROBE_METRICS=true PROBE_PEAK_FLOPS=1e12) ;;
	scalars) vars+=(PROBE_WRAP_OPS="$dir/torch_nothing.yaml" PROBE_SCALARS=true PROBE_PEAK_FLOPS=1e12) ;;
	flops) vars+=(PROBE_WRAP_OPS="$dir/torch_nothing.yaml" PROBE_SCALARS=hfu PROBE_PEAK_FLOPS=1e12 PROBE_FLOPS_INTERVAL=1) ;;
	actv) vars+=(PROBE_WRAP_OPS="$dir/torch_nothing.yaml" PROBE_KINDS=actv PROBE_TARGETS="$(ten_modules)") ;;
	*_chain)
		args+=(nodes)
		vars+=(OMP_NUM_THREADS=1 PROBE_BACKWARD=true PROBE_WRAP_OPS="$dir/torch_nodes.yaml" PROBE_JOURNAL_MIB=64)
		;;
	msprobe)
		mkdir -p "$dir/msprobe"
		args+=(msprobe "$dir/msprobe")
		;;
	*_ddp)
		args+=(ddp)
		launch=("$torch_python" -m torch.distributed.run --standalone --nproc_per_node 2)
		vars+=(OMP_NUM_THREADS=1)
		;;
	esac
	env GLOO_SOCKET_IFNAME=lo "${vars[@]}" "${launch[@]}" tests/bench/torch_cost.py "${args[@]}" 2>"$dir/torch.err" </dev/null |
		awk -v f="$to" '$1 == "least" {print $2 >>f} $1 == "cpu" {print $2 >>(f ".cpu")}'
	cat "$dir"/torch_probe/*/meta.json 2>/dev/null | sed -n 's/.*"own_time": {"in_calls_s": \([0-9.e-]*\), "writer_s": \([0-9.e-]*\)}.*/\1 \2/p' |
		awk '{s += $1 + $2} END {if (NR) print s / NR}' >>"$to.own"
	[ "$kind" = plain ] || [ -n "${2:-}" ] || torch_lost[$kind]=$(cat "$dir"/torch_probe/*/meta.json 2>/dev/null |
		sed -n 's/.*"journal_full": \([0-9]*\).*/\1/p')
}

least() {
	sort -g "$dir/torch.$1" 2>/dev/null | head -1
}

# Ten of its modules, of layers 0 and 1.
ten_modules() {
	printf 'blocks.%s,' 0.n1 0.qkv 0.out 0.up 0.down 1.n1 1.qkv 1.out 1.up | sed 's/$/blocks.1.down/'
}

# Seconds that a pass over all weights for their stable ranks has taken, as meta.json says: with ranks after each step.
stable_rank_seconds() {
	rm -rf "$dir/torch_probe"
	env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/torch_probe" PROBE_WRAP_OPS="$dir/torch_nothing.yaml" PROBE_METRICS=stable_rank \
		PROBE_STABLE_RANK_INTERVAL=1 "$torch_python" tests/bench/torch_cost.py 2 >/dev/null 2>&1 </dev/null
	sed -n 's/.*"stable_rank": {"rounds": \([0-9]*\), "seconds": \([0-9.]*\),.*/\1 \2/p' "$dir"/torch_probe/*/meta.json 2>/dev/null |
		awk '{printf "%.3f", $2 / $1}'
}

ratio() { # KIND PLAIN: how much longer a step is, as a factor
	[ -s "$dir/torch.$1" ] && [ -s "$dir/torch.$2" ] && calc "$(least "$1") / $(least "$2")" %.3f
}

# KIND PLAIN: three more views of the same cost, since a whole step is long and the machine's speed is not constant. The
# ratios of each round's neighbours: median, least and most; of the processor time of all threads, the writer's too; what
# libprobe's own clock saw inside its calls and its writer, of the shortest step. Reading the symbols of all modules and the first
# stacks is done once, and takes as long as many steps: so from each run a run of one step is subtracted.
views() {
	[ -s "$dir/torch.$1" ] && [ -s "$dir/torch.$2" ] || return
	printf '       of one round: %s; processor time %s; inside libprobe %s\n' \
		"$(paste "$dir/torch.$1" "$dir/torch.$2" | awk 'NF == 2 {printf "%.3f\n", $1 / $2}' | sort -g |
			awk '{v[NR] = $1} END {printf "%s (%s to %s)", v[int((NR + 1) / 2)], v[1], v[NR]}')" \
		"$(ratio "$1.cpu" "$2.cpu")" "$(paste "$dir/torch.$1.own" "$dir/torch.$1.short.own" 2>/dev/null |
			awk -v n="$((${STEPS:-6} - 1))" 'NF == 2 {print ($1 - $2) / n, $2}' | sort -g |
			awk -v step="$(least "$1")" '{v[NR] = $1; once[NR] = $2} END {if (NR) {m = int((NR + 1) / 2)
				printf "%.2f %%; %.3f s in a run of one step", v[m] / step * 100, once[m]} else printf "nothing"}')"
}

torch_bench() {
	local kinds=(plain nothing nan ops nodes ops_nodes state state_50 scalars flops numbers actv) k i rank
	printf 'mpi:\n  - MPI_Bcast\n' >"$dir/torch_nothing.yaml"
	printf 'aten:\n  - "*Backward*"\n' >"$dir/torch_nodes.yaml"
	! "$torch_python" -c 'import msprobe.pytorch' 2>/dev/null || kinds+=(msprobe)
	for ((i = 0; i < ${ROUNDS:-3}; i++)); do
		for k in ${KINDS:-"${kinds[@]}" plain_ddp comm_ddp plain_chain nodes_chain}; do
			torch_run "$k"
			[[ $k == plain* || $k == msprobe ]] || torch_run "$k" 1
		done
	done
	title "PyTorch $("$torch_python" -c 'import torch; print(torch.__version__)'): a step of a transformer of 10 M parameters ($(calc "$(least plain) * 1000" %.0f) ms; DDP on 2 ranks: $(calc "$(least plain_ddp) * 1000" %.0f) ms)"
	row "libprobe loaded, nothing selected" "$(ratio nothing plain)" x '<=1.01'
	views nothing plain
	row "DDP: collectives, statistics, stacks" "$(ratio comm_ddp plain_ddp)" x '<=1.02'
	views comm_ddp plain_ddp
	row "preset nan" "$(ratio nan plain)" x
	views nan plain
	row "preset ops, ${torch_lost[ops]:-?} records lost" "$(ratio ops plain)" x '<=1.3'
	views ops plain
	row "backward: true, nodes alone" "$(ratio nodes plain)" x
	views nodes plain
	row "preset ops and backward: true" "$(ratio ops_nodes plain)" x
	views ops_nodes plain
	row "parameters and gradients before and after, by name, each step" "$(ratio state plain)" x '<=1.05'
	views state plain
	# Of 50 steps one is measured.
	row "... every 50th step" "$([ -s "$dir/torch.state" ] && [ -s "$dir/torch.state_50" ] &&
		calc "(49 * $(least state_50) + $(least state)) / 50 / $(least plain)" %.4f)" x '<=1.005'
	row "all scalars, each step" "$(ratio scalars plain)" x '<=1.01'
	views scalars plain
	row "all scalars and metrics, each step" "$(ratio numbers plain)" x '<=1.01'
	views numbers plain
	row "floating-point operations counted in each step" "$(ratio flops plain)" x '<=1.01'
	views flops plain
	rank=$([ -n "${KINDS:-}" ] || stable_rank_seconds)
	row "stable_rank of all weights, of 100 steps' time" \
		"$([ -n "$rank" ] && [ -s "$dir/torch.plain" ] && calc "$rank / (100 * $(least plain)) * 100" %.3f)" % '<=1'
	row "activations of 10 modules, each step" "$(ratio actv plain)" x '<=1.05'
	views actv plain
	row "   added to a node of one element ($(calc "$(least plain_chain) * 1e6" %.2f) us without)" \
		"$(calc "($(least nodes_chain) - $(least plain_chain)) * 1e6" %.2f)" us
	if [ -s "$dir/torch.msprobe" ]; then
		row "msprobe's L1 statistics" "$(ratio msprobe plain)" x
		row 'preset ops: added, as a share of what msprobe L1 adds' \
			"$(calc "($(least ops) - $(least plain)) / ($(least msprobe) - $(least plain))" %.2f)" x '<=0.33'
	else
		row "msprobe's L1 statistics (pip install mindstudio-probe)" '' x
	fi
}

if [ -n "$torch_python" ]; then
	torch_bench
else
	printf '\nPyTorch: no Python that has it (PROBE_TEST_PYTHON, make ptvenv)\n'
fi
