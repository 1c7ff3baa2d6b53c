# Running MindSpore programs; sourced by scripts after lib.sh.
#
#   mindspore_python          sets $ms_bin, the bin folder of a Python with MindSpore: of $PROBE_TEST_MINDSPORE (a Python), or what
#                             `make msvenv` installs; ends the script with a skipped test where neither can be had
#   ms_plain RANKS [NAME=VALUE ...] SCRIPT [ARGS]    by msrun without the preload: what the ranks print, sorted, in $tmp/plain, what
#                             went wrong in $tmp/plain.err, $status
#   ms_with RANKS ...         the same under the preload into $out: $tmp/with, $tmp/with.err
# same_result of lib.sh compares them.

mindspore_python() {
	if [ -n "$test_mindspore" ]; then
		ms_bin=$(cd "$(dirname "$test_mindspore")" && pwd)
	else
		make --no-print-directory msvenv >"$tmp/msvenv" 2>&1 || {
			skip "$1" "no MindSpore (PROBE_TEST_MINDSPORE, make msvenv): $(tail -1 "$tmp/msvenv")"
			finish
		}
		ms_bin=$(realpath "$B")/msvenv/bin
	fi
	"$ms_bin/python" -c 'import mindspore' >"$tmp/ms_import" 2>&1 || {
		skip "$1" "MindSpore cannot be imported: $(tail -1 "$tmp/ms_import")"
		finish
	}
	ms_version=$("$ms_bin/python" -c 'import mindspore; print(mindspore.__version__)' 2>/dev/null | tail -1)
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

ms_run() { # FILE RANKS [NAME=VALUE ...] [COMMAND ... msrun] SCRIPT [ARGS]: msrun itself without its options, where a command starts it
	local file=$1 ranks=$2 vars=() before=()
	shift 2
	while [[ $1 == *=* ]]; do
		vars+=("$1")
		shift
	done
	if [[ " $* " == *" msrun "* ]]; then
		while [ "$1" != msrun ]; do
			before+=("$1")
			shift
		done
		shift
	fi
	rm -rf "$file.logs"
	env PATH="$ms_bin:$PATH" OMP_NUM_THREADS=1 ${vars[@]+"${vars[@]}"} timeout -k 5 "${MS_LIMIT:-600}" ${before[@]+"${before[@]}"} "$ms_bin/msrun" \
		--worker_num="$ranks" --local_worker_num="$ranks" --master_port="$(free_port)" --log_dir="$file.logs" --join=True \
		"$@" >"$file.msrun" 2>"$file.err" </dev/null
	status=$?
	cat "$file.logs"/worker_*.log 2>/dev/null | grep -E '^(step|rank) ' | sort >"$file"
	cat "$file.logs"/worker_*.log "$file.logs"/scheduler.log >>"$file.err" 2>/dev/null
	echo $status >"$file.status"
}

ms_plain() {
	ms_run "$tmp/plain" "$@"
}

ms_with() {
	local ranks=$1
	shift
	ms_run "$tmp/with" "$ranks" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@"
}
