#!/usr/bin/env bash
# Other tools beside libprobe, as `make bench PEERS=1` prints them: one loop of small all-reduces under each MPI tool in turn, and one
# training step under each of PyTorch's (peers.py). Sourced by bench.sh, or run by itself: tests/bench/peers.sh [BUILD-DIR]. Nothing is
# installed outside of BUILD-DIR/peers: EZTrace and its libraries are Debian's packages, unpacked there; msprobe is installed into a
# virtual environment there, which sees PyTorch of $PROBE_TEST_PYTHON or build/ptvenv. What cannot be installed is skipped.
# MPIP=/path/libmpiP.so: mpiP too. ROUNDS (7), CALLS (50000), STEPS (24); PARTS="mpi torch".
. "$(dirname "${BASH_SOURCE[0]}")/alone.sh"

peers=$B/peers

get_eztrace() {
	local root=$peers/eztrace
	[ ! -e "$root/usr/lib" ] || return 0
	command -v apt-get >/dev/null && command -v dpkg >/dev/null && mkdir -p "$root" || return 1
	(cd "$root" && apt-get download libeztrace0 libopen-trace-format2-10 libomp5-14 && for f in *.deb; do dpkg -x "$f" .; done) \
		>"$peers/eztrace.log" 2>&1
}

# Prints the Python, which has PyTorch, and msprobe if that can be installed.
get_python() {
	local p base=''
	for p in "${test_python:-}" "$B/ptvenv/bin/python" python3; do
		[ -z "$p" ] || ! "$p" -c 'import torch' 2>/dev/null || { base=$p && break; }
	done
	[ -n "$base" ] || return 1
	if [ ! -e "$peers/venv/bin/python" ]; then
		"$base" -m venv "$peers/venv" >"$peers/venv.log" 2>&1 || { echo "$base" && return; }
		# All that PyTorch needs is where the other environment has it.
		"$base" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
			>"$("$peers/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/base.pth"
		"$peers/venv/bin/pip" install -q mindstudio-probe==26.2.0 --no-deps >>"$peers/venv.log" 2>&1 &&
			"$peers/venv/bin/pip" install -q einops matplotlib openpyxl packaging pandas psutil pytz pyyaml tqdm tensorboard \
				>>"$peers/venv.log" 2>&1
	fi
	echo "$peers/venv/bin/python"
}

# KIND: one run of the loop, a line `thread process finalize finalize_cpu bytes` into $dir/mpi.KIND; all in ns a call, ms, bytes a call
peer_loop() {
	local kind=$1 vars=() libs=$peers/eztrace/usr/lib/$(uname -m)-linux-gnu n=${CALLS:-50000} out
	rm -rf "$dir/peer_out"
	mkdir -p "$dir/peer_out"
	case $kind in
	plain*) ;;
	eztrace) vars=(LD_LIBRARY_PATH="$libs" EZTRACE_LIBRARY_PATH="$libs" EZTRACE_TRACE_DIR="$dir/peer_out" LD_PRELOAD="$libs/libeztrace-mpich.so") ;;
	mpip) vars=(MPIP="-f $dir/peer_out" LD_PRELOAD="$MPIP") ;;
	*) vars=(LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/peer_out") ;;
	esac
	case $kind in
	disabled) vars+=(PROBE_DISABLE=1) ;;
	bare*) vars+=(PROBE_STATISTICS=false PROBE_STACK=false) ;;
	esac
	[[ $kind != *compact ]] || vars+=(PROBE_FORMAT=compact)
	out=$(env "${vars[@]}" "$B/bench/mpich/mpi_loop" $n 2>>"$dir/peers.err" | awk '$1 == "thread" {print $2, $4, $6, $8}')
	[ -z "$out" ] || echo "$out $(find "$dir/peer_out" -type f -name "${peer_files[$kind]:-calls_*}" -printf '%s\n' |
		awk -v n=$((n + 1000)) '{b += $1} END {print b / n}')" >>"$dir/mpi.$kind"
}

# KIND COLUMN: median over the rounds of the difference to the plain run of the same round, its quartiles
peer_added() {
	paste -d' ' "$dir/mpi.$1" "$dir/mpi.plain" | awk -v c="$2" 'NF == 10 {print $c - $(5 + c)}' | sort -g |
		awk '{v[NR] = $1} END {if (NR) printf "%.0f (%.0f to %.0f)", v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 3) / 4)]}'
}

peer_median() { # KIND COLUMN PRINTF
	awk -v c="$2" '{print $c}' "$dir/mpi.$1" | sort -g | awk -v p="$3" '{v[NR] = $1} END {if (NR) printf p, v[int((NR + 1) / 2)]}'
}

peers_mpi() {
	local kinds=(plain plain_again disabled bare bare_compact default default_compact) i k
	declare -A peer_files=([eztrace]='*' [mpip]='*')
	get_eztrace && kinds+=(eztrace)
	[ -z "${MPIP:-}" ] || kinds+=(mpip)
	for ((i = 0; i < ${ROUNDS:-7}; i++)); do
		for k in "${kinds[@]}"; do
			peer_loop "$k"
		done
	done
	title "MPICH, one rank, ${CALLS:-50000} all-reduces of two floats, ${ROUNDS:-7} rounds in turn: added to a plain call's $(peer_median plain 1 %.0f) ns (quartiles); load $(cut -d' ' -f1 /proc/loadavg)"
	printf '  %-18s %26s %26s %10s %14s %14s\n' '' 'calling thread, ns' 'whole process, ns' 'bytes' 'Finalize, ms' 'its cpu, ms'
	for k in "${kinds[@]:1}"; do
		printf '  %-18s %26s %26s %10s %14s %14s\n' "$k" "$(peer_added $k 1)" "$(peer_added $k 2)" "$(peer_median $k 5 %.0f)" \
			"$(peer_median $k 3 %.1f)" "$(peer_median $k 4 %.1f)"
	done
}

peers_torch() {
	local python
	python=$(get_python) || { row 'PyTorch (PROBE_TEST_PYTHON names a Python that has it)' '' x && return; }
	title "PyTorch, the step of torch_cost.py, processes take turns, a step each; load $(cut -d' ' -f1 /proc/loadavg)"
	"$python" tests/bench/peers.py "$lib" "${STEPS:-24}" 2>>"$dir/peers.err"
}

mkdir -p "$peers"
for part in ${PARTS:-mpi torch}; do
	"peers_$part"
done
