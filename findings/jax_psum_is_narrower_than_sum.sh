#!/usr/bin/env bash
# JAX 0.10.2 (CPU, 4 devices of one process): the same numbers added by jnp.sum of a sharded array and by lax.psum over the devices.
#
# Question: do jnp.sum and jnp.mean of an array sharded over devices agree with psum and pmean of its shards?
# Guess:    yes: a sharded jnp.sum is compiled to what psum does.
# Real:     no. jnp.sum widens int8 to int32 and adds float16 in float32; psum stays in the type of the array. 100 + 100 + 100 + 1 is
#           301 and 45, the mean of four float16 numbers 40000 is 40000 and inf.
# Matters:  pmean of float16 gradients overflows at a fraction of the type's range, and a check by jnp.mean does not show it.
. "$(dirname "$0")/lib.sh"
cat >"$work/program.py" <<'P'
from four_devices import jax, shard, over
import numpy as np
import jax.numpy as jnp
def compare(values, kind, whole, apart):
    sharded = shard(np.asarray(values, kind))
    each = over(apart)(sharded)
    one = jax.jit(whole)(sharded)
    print(f"{values} {np.dtype(kind)}: jnp.{whole.__name__} {float(one)} ({one.dtype}), lax.{apart.__name__} {float(np.asarray(each)[0])} ({each.dtype})")
compare([100, 100, 100, 1], np.int8, jnp.sum, jax.lax.psum)
compare([200, 100, 0, 0], np.uint8, jnp.sum, jax.lax.psum)
compare([2048, 1, 1, 1], np.float16, jnp.sum, jax.lax.psum)
compare([40000, 40000, 40000, 40000], np.float16, jnp.mean, jax.lax.pmean)
compare([256, 1, 1, 1], jnp.bfloat16, jnp.sum, jax.lax.psum)
P
run_four_devices "$work/program.py"
expect_output "$work/seen" <<'S'
[100, 100, 100, 1] int8: jnp.sum 301.0 (int32), lax.psum 45.0 (int8)
[200, 100, 0, 0] uint8: jnp.sum 300.0 (uint32), lax.psum 44.0 (uint8)
[2048, 1, 1, 1] float16: jnp.sum 2052.0 (float16), lax.psum 2048.0 (float16)
[40000, 40000, 40000, 40000] float16: jnp.mean 40000.0 (float16), lax.pmean inf (float16)
[256, 1, 1, 1] bfloat16: jnp.sum 260.0 (bfloat16), lax.psum 260.0 (bfloat16)
S
