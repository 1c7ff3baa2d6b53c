#!/usr/bin/env bash
# JAX 0.10.2, CPU, 3 processes: step counters and times of all processes.
#
# Question: process_allgather() and broadcast_one_to_all() get NumPy arrays of int64 and float64 (a time in nanoseconds, a number of
#           tokens of 2^40, 1/3). What do all processes receive?
# Guess:    the numbers, or an error: they are NumPy arrays, and no computation is asked for.
# Real:     the low 32 bits, without a warning: 2^40 is 0, a time in nanoseconds some other time. 1/3 has 24 bits. With
#           JAX_ENABLE_X64=1 all numbers are right.
# Matters:  a program that compares clocks or token counts over all hosts this way compares remainders; equal remainders look like agreement.
. "$(dirname "$0")/lib.sh"
environment jax jax==0.10.2 numpy==2.4.6
cat >"$work/program.py" <<'P'
import sys
import jax, numpy
from jax.experimental import multihost_utils
rank = int(sys.argv[1])
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{sys.argv[2]}", 3, rank)
tokens = multihost_utils.broadcast_one_to_all(numpy.int64(2**40))
times = multihost_utils.process_allgather(numpy.int64(1_790_000_000_000_000_000 + rank))
third = multihost_utils.process_allgather(numpy.float64(1 / 3))
if rank == 0:
    print("tokens, 1099511627776:", int(tokens))
    print("times, 1790000000000000000 and following:", times.tolist())
    print("a third:", repr(float(third[1])))
P
for x64 in 0 1; do
	echo "JAX_ENABLE_X64=$x64"
	port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
	for rank in 1 2 0; do
		JAX_ENABLE_X64=$x64 timeout 120 "$python" "$work/program.py" $rank $port 2>>"$work/errors" &
	done
	wait
done | grep -v '^\[Gloo\]' >"$work/seen"
echo "warnings: $(grep -c Warning "$work/errors")" >>"$work/seen"
expect_output "$work/seen" <<'S'
JAX_ENABLE_X64=0
tokens, 1099511627776: 0
times, 1790000000000000000 and following: [603127808, 603127809, 603127810]
a third: 0.3333333432674408
JAX_ENABLE_X64=1
tokens, 1099511627776: 1099511627776
times, 1790000000000000000 and following: [1790000000000000000, 1790000000000000001, 1790000000000000002]
a third: 0.3333333333333333
warnings: 0
S
