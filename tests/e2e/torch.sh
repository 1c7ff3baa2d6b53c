# Running PyTorch programs; sourced by tests/e2e/test_torch_*.sh after lib.sh.
#
#   torch_python              sets $python to a Python with PyTorch 2: $PROBE_TEST_PYTHON, or build/ptvenv/bin/python; ends the
#                             script with a skipped test where there is none. PyTorch's compiler is imported only where it is
#                             used (quick/sitecustomize.py), but with LONG=1, or REAL_COMPILER=1 before this
#   python_plain FILE [NAME=VALUE ...] SCRIPT [ARGS]       without the preload: stdout in FILE, stderr in FILE.err, $status.
#                             One Python imports torch for all of these and forks (forks.py); LONG=1 starts each
#   torchrun_plain RANKS [NAME=VALUE ...] SCRIPT [ARGS]    stdout, sorted, in $tmp/plain, stderr in $tmp/plain.err, $status;
#                             forked as above
#   torchrun_with RANKS ...   the same under the preload into $out: $tmp/with, $tmp/with.err. Ranks are started as torchrun
#                             starts them; TORCHRUN=1 or LONG=1: by torchrun, which is one more import of torch
#   same_output TEXT          both printed the same and ended the same way

# Without importing it, which takes as long as many a test.
torch_version_of='import importlib.util as u, runpy; print(runpy.run_path(u.find_spec("torch").origin[:-len("__init__.py")] + "version.py")["__version__"])'

torch_python() {
	local p
	for p in "$test_python" python3; do
		torch_version=$([ -z "$p" ] || "$p" -c "$torch_version_of" 2>/dev/null)
		[[ $torch_version =~ ^[2-9] ]] || continue
		# Tests run it from other folders, too.
		case $p in
		/* | python3) python=$p ;;
		*) python=$PWD/$p ;;
		esac
		export PYTHONDONTWRITEBYTECODE=1 # below tests/
		[ -n "${LONG:-}${REAL_COMPILER:-}" ] || export PYTHONPATH=$PWD/tests/e2e/quick${PYTHONPATH:+:$PYTHONPATH}
		return
	done
	skip "$1" 'no Python with PyTorch (set PROBE_TEST_PYTHON)'
	finish
}

# The Python that forks, of $python; it is started if need be. Its answer goes to $status.
ask_forks() { # FILE RANKS SECONDS [NAME=VALUE ...] SCRIPT [ARGS]
	if [ "${forks_of:-}" != "$python" ]; then
		coproc FORKS {
			exec env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo "$python" tests/e2e/forks.py 2>"$tmp/forks.err"
		}
		started+=("$FORKS_PID")
		exec {forks_in}>&"${FORKS[1]}" {forks_out}<&"${FORKS[0]}"
		forks_of=$python
	fi
	status=none
	(printf '%s\0' $# "$@") >&"$forks_in" && read -r status <&"$forks_out" || {
		forks_of=
		echo "no answer of tests/e2e/forks.py: $(cat "$tmp/forks.err")" >"$1.err"
	}
}

python_plain() { # FILE [NAME=VALUE ...] SCRIPT [ARGS]
	run_script "$1" 0 "${@:2}"
}

# Without the preload forked, but where LONG=1 has each started; ranks by hand, or by torchrun, which has options of its own.
run_script() { # FILE RANKS [NAME=VALUE ...] SCRIPT [ARGS]
	local file=$1 ranks=$2 vars=() how
	shift 2
	while [[ $1 == *=* ]]; do
		vars+=("$1")
		shift
	done
	local given=(${vars[@]+"${vars[@]}"})
	how=$(way_to_start "$ranks" "$1" ${vars[@]+"${vars[@]}"})
	if [ $how = forked ]; then
		ask_forks "$file" "$ranks" "${TORCH_LIMIT:-120}" ${vars[@]+"${vars[@]}"} "$@"
		# A process that was forked can stand still before its first line, with a lock that another thread of its parent held.
		[ "$status" != 124 ] || start_script "$([ "$ranks" = 0 ] && echo alone || echo by_hand)" "$file" "$ranks" "$@"
	else
		start_script $how "$file" "$ranks" "$@"
		# Threads of Gloo that still hold a Work touch Python when it is gone (PyTorch's issues 190489, 179291): with us or without.
		local again
		for again in 1 2 3; do
			[ "$status" != 0 ] && grep -q 'terminate called without an active exception' "$file.err" || break
			echo "# PyTorch has aborted by itself at its end: once more ($again)" >&2
			[[ " ${vars[*]-} " != *' LD_PRELOAD='* ]] || rm -rf "${out:?}"
			vars=(${given[@]+"${given[@]}"})
			start_script $how "$file" "$ranks" "$@"
		done
	fi
	[ "$ranks" = 0 ] || sort -o "$file" "$file"
	echo $status >"$file.status"
}

start_script() { # HOW FILE RANKS SCRIPT [ARGS]; uses vars, of run_script
	local how=$1 file=$2 ranks=$3
	shift 3
	vars=(OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo ${vars[@]+"${vars[@]}"} timeout -k 5 "${TORCH_LIMIT:-300}" "$python")
	case $how in
	alone) env "${vars[@]}" "$@" ;;
	by_hand) ranks_by_hand "$ranks" "$@" ;;
	torchrun) env "${vars[@]}" -m torch.distributed.run --standalone --nproc_per_node "$ranks" "$@" ;;
	esac >"$file" 2>"$file.err" </dev/null
	status=$?
}

way_to_start() { # RANKS SCRIPT [NAME=VALUE ...]
	local real=${LONG:-}
	[[ " ${*:3}" != *' LD_PRELOAD='* ]] || real=1
	if [ "$1" != 0 ] && [[ $torch_version != 1.* ]] && [[ -n ${TORCHRUN:-}${LONG:-} || $2 == -* ]]; then
		echo torchrun
	elif [ -z "$real" ]; then
		echo forked
	elif [ "$1" = 0 ]; then
		echo alone
	else
		echo by_hand
	fi
}

# As torchrun starts them; that of 1.13 fails on Python 3.11 by itself. Uses vars, as above.
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
	run_script "$tmp/plain" "$@"
}

torchrun_with() {
	local ranks=$1
	shift
	run_script "$tmp/with" "$ranks" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@"
}

same_output() {
	local differ
	differ=$(diff "$tmp/plain" "$tmp/with" && diff "$tmp/plain.status" "$tmp/with.status" && ran "$tmp/plain")
	if [ -z "$differ" ]; then
		pass "$1: the same output with and without the preload"
	else
		fail "$1: the same output with and without the preload" "$differ"$'\n'"$(tail -15 "$tmp/with.err")"
	fi
}
