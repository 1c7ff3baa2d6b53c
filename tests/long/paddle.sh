#!/usr/bin/env bash
# PaddlePaddle and JAX, from PyPI, with 2 processes on the CPU: results unchanged. Paddle's collectives go through gloo's functions, which
# it binds by name: each is recorded. JAX has gloo inside its library, without names: nothing is recorded, and nothing is harmed.
# Its collectives by MPI (MPItrampoline, which is in it, over MPIwrapper, which is built here: MPIWRAPPER=FOLDER of its source) are called by
# a library opened with RTLD_DEEPBIND, past any preload, which is reported; one that needs libprobe.so before its MPI is recorded.
# PADDLE_PYTHON, JAX_PYTHON: a Python with them; else they are installed into $B/long (2 GB).
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"

# NAME PACKAGE [PYTHON]: $python has it, or nothing does.
find_python() {
	python=${3:-$(realpath "$B")/long/$1/bin/python}
	[ -n "${3:-}" ] || [ -x "$python" ] || { python3 -m venv "${python%/bin/python}" && "$python" -m pip install --quiet "$2" numpy; } >"$tmp/pip" 2>&1
	"$python" -c "import ${1}" >/dev/null 2>&1
}

# FILE [NAME=VALUE ...] PROGRAM: as 2 processes; what the ranks print, sorted.
two() {
	local file=$1 port=$((20000 + RANDOM % 20000)) r pids=()
	shift
	for r in 0 1; do
		env OMP_NUM_THREADS=1 RANK=$r COORDINATOR=127.0.0.1:$port PADDLE_TRAINER_ID=$r PADDLE_TRAINERS_NUM=2 PADDLE_DISTRI_BACKEND=gloo \
			PADDLE_TRAINER_ENDPOINTS=127.0.0.1:$port,127.0.0.1:$((port + 1)) PADDLE_CURRENT_ENDPOINT=127.0.0.1:$((port + r)) \
			PADDLE_MASTER=127.0.0.1:$((port + 2)) "${@:1:$#-1}" timeout 300 "$python" "${@: -1}" >"$file.$r" 2>"$file.err.$r" </dev/null &
		pids+=($!)
	done
	status=0
	for r in "${pids[@]}"; do
		wait "$r" || status=$?
	done
	cat "$file".[01] | grep '^rank ' | sort >"$file"
	cat "$file".err.[01] >"$file.err"
	echo $status >"$file.status"
}

# The numbers in the output, sorted and counted: mpirun mixes the ranks' lines.
by_rank() { # FILE
	grep -oE '0x[0-9.a-fp+-]+' "$1" | sort | uniq -c
}

by_wrapper() { # FLAVOUR NAME [FLAGS OF THE LINKER]
	cmake -S "$(realpath "$MPIWRAPPER")" -B "$tmp/wrapper/$1-$2/build" -DCMAKE_BUILD_TYPE=Release -DMPI_C_COMPILER=mpicc."$1" \
		-DMPI_CXX_COMPILER=mpicxx."$1" -DMPI_Fortran_COMPILER=mpif90."$1" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_MODULE_LINKER_FLAGS="${3:-}" \
		-DCMAKE_SHARED_LINKER_FLAGS="${3:-}" -DCMAKE_INSTALL_PREFIX="$tmp/wrapper/$1-$2" >"$tmp/wrapper.log" 2>&1 &&
		make -C "$tmp/wrapper/$1-$2/build" install >>"$tmp/wrapper.log" 2>&1
}

jax_by_mpi() { # run_plain | run_with, FLAVOUR WRAPPER
	"$1" "$2" 2 OMP_NUM_THREADS=1 COORDINATOR=127.0.0.1:$((20000 + RANDOM % 20000)) JAX_COLLECTIVES=mpi \
		MPITRAMPOLINE_LIB="$tmp/wrapper/$2-$3/lib/libmpiwrapper.so" "$python" tests/apps/py/jax_calls.py
}

if find_python paddle paddlepaddle "${PADDLE_PYTHON:-}"; then
	two "$tmp/plain" A=1 tests/apps/py/paddle_calls.py
	is 'Paddle: the program itself' $status 0
	new_out
	two "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" tests/apps/py/paddle_calls.py
	same_result "Paddle $("$python" -c 'import paddle; print(paddle.__version__)' 2>/dev/null | tail -1)"
	contract 'Paddle' "$out" --partial
	is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
	# What the program asks for, in floats; DataParallel broadcasts weights and bias at first, and adds up all 18 gradients in each step.
	is 'each collective, by its bytes' \
		"$(rows "$out" '[(r["api"][6:], int(r["bytes"]) // 4) for r in on("rank0") if r["io"] == "out"]')" \
		"[('allreduce', 6), ('broadcast', 4), ('allgather', 6), ('reduce', 5), ('scatter', 2), ('broadcast', 16), ('broadcast', 2), ('allreduce', 18), ('allreduce', 18), ('allreduce', 18)]"
	is 'the same numbers on both ranks' "$(rows "$out" '[[(r["op"], r["comm_seq"]) for r in calls(on(d))] for d in ("rank0", "rank1")][0] == [(r["op"], r["comm_seq"]) for r in calls(on("rank1"))]')" True
else
	skip 'PaddlePaddle' "it cannot be installed: $(tail -1 "$tmp/pip" 2>/dev/null)"
fi

if find_python jax jax "${JAX_PYTHON:-}"; then
	two "$tmp/plain" A=1 tests/apps/py/jax_calls.py
	is 'JAX: the program itself' $status 0
	new_out
	two "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" tests/apps/py/jax_calls.py
	sums=$(by_rank "$tmp/plain")
	same_result "JAX $("$python" -c 'import jax; print(jax.__version__)')"
	is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
	is 'its collectives have no names that could be bound' "$(ls "$out" 2>/dev/null)" ''

	# ---- by MPI ----
	for f in $flavours; do
		[ -n "${MPIWRAPPER:-}" ] || { skip "$f: JAX's collectives by MPI" 'no MPIWRAPPER'; continue; }
		by_wrapper "$f" plain || { skip "$f: JAX's collectives by MPI" "MPIwrapper cannot be built: $(tail -1 "$tmp/wrapper.log")"; continue; }
		jax_by_mpi run_plain "$f" plain
		[ "$(cat "$tmp/plain.status")" = 0 ] || { skip "$f: JAX's collectives by MPI" "it fails without us: $(tail -1 "$tmp/plain.err")"; continue; }
		is "$f: JAX by MPI: the same sums as by gloo" "$(by_rank "$tmp/plain")" "$sums"
		new_out
		jax_by_mpi run_with "$f" plain
		is "$f: JAX by MPI: the same sums with the preload" "$(by_rank "$tmp/with")" "$sums"
		like "$f: JAX by MPI: it is reported that nothing is recorded" "$(cat "$tmp/with.err")" 'loaded with RTLD_DEEPBIND: calls .* are not recorded'
		by_wrapper "$f" needing "-Wl,--no-as-needed $lib" || { fail "$f: JAX by MPI: a wrapper that needs libprobe.so"; continue; }
		new_out
		jax_by_mpi run_with "$f" needing
		is "$f: JAX by MPI, a wrapper that needs libprobe.so: the same sums" "$(by_rank "$tmp/with")" "$sums"
		contract "$f: JAX by MPI" "$out" --partial
		is "$f: JAX by MPI: each of 3 sums of 4 floats is recorded, on both ranks" \
			"$(rows "$out" '[[(r["api"], r["redop"], r["dtype"], r["count"], float(r["max"])) for r in on(d) if r["io"] == "out"] == [("MPI_Allreduce", "sum", "float32", "4", 3.33333325)] * 3 for d in ("rank0", "rank1")]')" '[True, True]'
	done
else
	skip 'JAX' "it cannot be installed: $(tail -1 "$tmp/pip" 2>/dev/null)"
fi
finish
