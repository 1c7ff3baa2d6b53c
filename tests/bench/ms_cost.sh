#!/usr/bin/env bash
# What libprobe costs a MindSpore training (ms_cost.py), as ratios within one run: without the preload and with it in turn, of each
# the shortest step, for other programs only make steps longer. Sourced by bench.sh, or run by itself:
# tests/bench/ms_cost.sh [BUILD-DIR]; the Python is $PROBE_TEST_MINDSPORE or build/msvenv/bin/python. ROUNDS, STEPS.
. "$(dirname "${BASH_SOURCE[0]}")/alone.sh"

# KIND: one run of that kind; its shortest step into $dir/ms.KIND, one line a round
ms_run() {
	local kind=$1 vars=(OMP_NUM_THREADS=1) launch=("$ms_python") args=("${STEPS:-12}")
	rm -rf "$dir/ms_probe" "$dir/ms_logs"
	[[ $kind == plain* ]] || vars+=(LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/ms_probe")
	[ "$kind" != nothing ] || vars+=(PROBE_WRAP_OPS="$dir/ms_nothing.yaml")
	[ "$kind" != norm_graph ] || vars+=(PROBE_CONFIG="$dir/ms_norm.yaml")
	[[ $kind != *_graph ]] || args+=(graph)
	[ "$kind" != kernels ] || vars+=(PROBE_WRAP_OPS="$dir/ms_kernels.yaml")
	if [[ $kind == *_dp ]]; then
		args+=(dp)
		launch=("${ms_python%/*}/msrun" --worker_num=2 --local_worker_num=2 --join=True --log_dir="$dir/ms_logs"
			--master_port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')")
	fi
	env PATH="${ms_python%/*}:$PATH" "${vars[@]}" timeout -k 5 600 "${launch[@]}" tests/bench/ms_cost.py "${args[@]}" >"$dir/ms.said" 2>&1 </dev/null
	cat "$dir/ms.said" "$dir"/ms_logs/worker_0.log 2>/dev/null | awk '$1 == "least" {print $2; exit}' >>"$dir/ms.$kind"
}

ms_least() {
	sort -g "$dir/ms.$1" 2>/dev/null | head -1
}

ms_ratio() { # KIND PLAIN
	[ -s "$dir/ms.$1" ] && [ -s "$dir/ms.$2" ] && calc "$(ms_least "$1") / $(ms_least "$2")" %.3f
}

ms_bench() {
	local i k
	printf 'mpi:\n  - MPI_Bcast\n' >"$dir/ms_nothing.yaml"
	printf 'mindspore:\n  - "*"\n' >"$dir/ms_kernels.yaml"
	printf '%s\n' 'metrics: [local_norm]' "wrap_ops: $dir/ms_nothing.yaml" >"$dir/ms_norm.yaml"
	for ((i = 0; i < ${ROUNDS:-3}; i++)); do
		for k in plain nothing kernels plain_dp comm_dp plain_graph norm_graph; do
			ms_run "$k"
		done
	done
	title "MindSpore: a step of a network of 5 M parameters ($(calc "$(ms_least plain) * 1000" %.0f) ms; 2 ranks: $(calc "$(ms_least plain_dp) * 1000" %.0f) ms)"
	row "libprobe loaded, nothing selected" "$(ms_ratio nothing plain)" x '<=1.01'
	row "all kernels, statistics, stacks" "$(ms_ratio kernels plain)" x '<=1.3'
	row "2 ranks: collectives, statistics, stacks" "$(ms_ratio comm_dp plain_dp)" x '<=1.02'
	row "GRAPH mode: local_norm of each parameter" "$(ms_ratio norm_graph plain_graph)" x
}

ms_python=''
for p in "${test_mindspore:-}" "$B/msvenv/bin/python"; do
	if [ -n "$p" ] && "$p" -c 'import mindspore' >/dev/null 2>&1; then
		ms_python=$p
		break
	fi
done
if [ -n "$ms_python" ]; then
	ms_bench
else
	printf '\nMindSpore: no Python that has it (PROBE_TEST_MINDSPORE, make msvenv)\n'
fi
