# Running PyTorch programs; sourced by tests/e2e/test_torch_*.sh behind lib.sh.
#
#   torch_python              sets $python to a Python with PyTorch 2: $PROBE_TEST_PYTHON, or build/ptvenv/bin/python; ends the
#                             script with a skipped test where there is none
#   torchrun_plain RANKS [NAME=VALUE ...] SCRIPT [ARGS]    stdout, sorted, in $tmp/plain, stderr in $tmp/plain.err, $status
#   torchrun_with RANKS ...   the same under the preload into $out: $tmp/with, $tmp/with.err
#   same_output TEXT          both printed the same and ended the same way

torch_python() {
	local p
	for p in "$test_python" "$B/ptvenv/bin/python" python3; do
		[ -n "$p" ] && "$p" -c 'import torch, torch.distributed as d; assert d.is_gloo_available() and torch.__version__ >= "2"' \
			2>/dev/null || continue
		python=$p
		torch_version=$("$p" -c 'import torch; print(torch.__version__)')
		return
	done
	skip "$1" 'no Python with PyTorch (set PROBE_TEST_PYTHON)'
	finish
}

torchrun_to() { # FILE RANKS [NAME=VALUE ...] SCRIPT [ARGS]
	local file=$1 ranks=$2 vars=()
	shift 2
	while [[ $1 == *=* ]]; do
		vars+=("$1")
		shift
	done
	vars=(OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo "${vars[@]}" timeout -k 5 "${TORCH_LIMIT:-120}" "$python")
	case $torch_version in
	1.*) ranks_by_hand "$ranks" "$@" >"$file" 2>"$file.err" </dev/null ;;
	*) env "${vars[@]}" -m torch.distributed.run --standalone --nproc_per_node "$ranks" "$@" >"$file" 2>"$file.err" </dev/null ;;
	esac
	status=$?
	sort -o "$file" "$file"
	echo $status >"$file.status"
}

# As torchrun starts them; that of 1.13 fails on Python 3.11 by itself. Uses vars, of torchrun_to.
ranks_by_hand() { # RANKS SCRIPT [ARGS]
	local ranks=$1 port pids=() rc=0 i
	shift
	port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	for ((i = 0; i < ranks; i++)); do
		env RANK=$i LOCAL_RANK=$i WORLD_SIZE="$ranks" LOCAL_WORLD_SIZE="$ranks" MASTER_ADDR=127.0.0.1 \
			MASTER_PORT="$port" "${vars[@]}" "$@" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || rc=1
	done
	return $rc
}

torchrun_plain() {
	torchrun_to "$tmp/plain" "$@"
}

torchrun_with() {
	local ranks=$1
	shift
	torchrun_to "$tmp/with" "$ranks" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@"
}

same_output() {
	local differ
	differ=$(diff "$tmp/plain" "$tmp/with" && diff "$tmp/plain.status" "$tmp/with.status")
	if [ -z "$differ" ]; then
		pass "$1: the same output with and without the preload"
	else
		fail "$1: the same output with and without the preload" "$differ"$'\n'"$(tail -15 "$tmp/with.err")"
	fi
}
