# Running the NCCL programs of tests/apps on the double of libnccl.so.2; sourced by tests/e2e/test_nccl*.sh after lib.sh.
#
#   nccl_run FILE RANKS [NAME=VALUE ...] PROGRAM [ARGS]
#                                     one process a rank; stdout to FILE, stderr to FILE.err, both sorted, statuses to
#                                     FILE.status. PROGRAM: a name of $B/apps/nccl, or a path
#   nccl_plain ..., nccl_with ...     as run_plain and run_with: $tmp/plain, $tmp/with under the preload into $out

ids=0

nccl_run() {
	local file=$1 ranks=$2 vars=() prog pids=() r
	shift 2
	while [[ $1 == *=* ]]; do
		vars+=("$1")
		shift
	done
	prog=$1
	shift
	[[ $prog == */* ]] || prog=$B/apps/nccl/$prog
	ids=$((ids + 1))
	for ((r = 0; r < ranks; r++)); do
		env RANK=$r WORLD_SIZE="$ranks" APP_ID="$tmp/id$ids" "${vars[@]}" timeout -k 5 60 "$prog" "$@" \
			>"$file.$r" 2>"$file.err.$r" </dev/null &
		pids+=($!)
	done
	status=0
	for r in "${pids[@]}"; do
		wait "$r" || status=$?
	done
	sort "$file".[0-9] >"$file"
	sort "$file".err.[0-9] >"$file.err"
	rm -f "$file".[0-9] "$file".err.[0-9]
	echo $status >"$file.status"
}

nccl_plain() {
	nccl_run "$tmp/plain" "$@"
}

# timeout is preloaded too, and does nothing that is recorded.
nccl_with() {
	local ranks=$1
	shift
	nccl_run "$tmp/with" "$ranks" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@"
}
