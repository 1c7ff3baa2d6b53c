# SPDX-License-Identifier: Apache-2.0
"""A sum over 2 processes by JAX on the CPU, printed in hexadecimal: RANK (or the one that mpirun gives), COORDINATOR (host:port),
JAX_COLLECTIVES (gloo or mpi)."""
import atexit
import os

if os.environ.get("JAX_COLLECTIVES") == "mpi":
    # It would free its communicators after MPI_Finalize, and fail: exit functions run in reverse order.
    atexit.register(os._exit, 0)

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", os.environ.get("JAX_COLLECTIVES", "gloo"))
rank = int(next(os.environ[r] for r in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK") if r in os.environ))
jax.distributed.initialize(os.environ["COORDINATOR"], 2, rank)
mesh = Mesh(np.array(jax.devices()), ("ranks",))
own = NamedSharding(mesh, PartitionSpec("ranks"))
numbers = np.arange(8, dtype=np.float32).reshape(2, 4) / 3
x = jax.make_array_from_callback((2, 4), own, lambda part: numbers[part])
add = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "ranks"), mesh=mesh, in_specs=PartitionSpec("ranks"), out_specs=PartitionSpec()))
for _ in range(3):
    total = add(x)
print(f"rank {rank}", *(float(v).hex() for v in np.asarray(total.addressable_data(0)).ravel()), flush=True)
