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
