#!/usr/bin/env bash
# JAX 0.10.2 (CPU, 4 devices of one process): maxima over devices where one device's number is NaN.
#
# Question: jnp.max of an array is NaN if an element is. Is it still so if the array is sharded over devices, and for lax.pmax?
# Guess:    yes: how an array is laid out over devices does not change a result.
# Real:     NaN is lost wherever it is: pmax, pmin and a jitted jnp.max of the sharded array give the largest number.
#           jnp.argmax of the same array gives the place of the NaN, and psum gives NaN.
# Matters:  a jnp.max(jnp.abs(gradient)) that guards a step works on one device and not on four.
. "$(dirname "$0")/lib.sh"
cat >"$work/program.py" <<'P'
from four_devices import jax, shard, over
import numpy as np
import jax.numpy as jnp
for bad in range(4):
    values = np.arange(4, dtype=np.float32)
    values[bad] = np.nan
    sharded = shard(values)
    first = lambda f: np.asarray(over(f)(sharded))[0]
    print(f"NaN on device {bad}: jnp.max of one device {jnp.max(values)}, sharded {jax.jit(jnp.max)(sharded)}, argmax {jax.jit(jnp.argmax)(sharded)},",
          f"pmax {first(jax.lax.pmax)}, pmin {first(jax.lax.pmin)}, psum {first(jax.lax.psum)}")
P
run_four_devices "$work/program.py"
expect_output "$work/seen" <<'S'
NaN on device 0: jnp.max of one device nan, sharded 3.0, argmax 0, pmax 3.0, pmin 1.0, psum nan
NaN on device 1: jnp.max of one device nan, sharded 3.0, argmax 1, pmax 3.0, pmin 0.0, psum nan
NaN on device 2: jnp.max of one device nan, sharded 3.0, argmax 2, pmax 3.0, pmin 0.0, psum nan
NaN on device 3: jnp.max of one device nan, sharded 2.0, argmax 3, pmax 2.0, pmin 0.0, psum nan
S
