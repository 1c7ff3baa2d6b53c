#!/usr/bin/env bash
# JAX 0.10.2 with PyTorch 2.13.0, CPU: jax.device_put() of a batch whose memory is used again.
#
# Question: a loader fills one buffer again and again. Batch 1 is handed to jax.device_put(), and asarray(), then the buffer is filled with
#           batch 2. What do the JAX arrays hold? The buffer is a tensor of PyTorch, or an array of NumPy.
# Guess:    batch 1: JAX arrays are immutable, and the call puts the data on the device.
# Real:     asarray() has batch 1. device_put() has batch 2 if the buffer begins at a multiple of 64 bytes, as all tensors of PyTorch and all
#           arrays of memory-mapped .npy files do, and batch 1 if it does not, as large arrays of NumPy on Linux.
#           may_alias=False ("will be copied", its documentation says) changes nothing. asarray() is the way to copy.
# Matters:  a pipeline that was right with NumPy's buffers trains on later batches, or on halves of two, once a tensor or a mapped
#           file is the buffer. The arrays change after they were used, so checksums of one array differ between two looks.
. "$(dirname "$0")/lib.sh"
environment jaxtorch jax==0.10.2 torch==2.13.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import os, sys
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np, torch
room = np.zeros(4096, np.uint8)
start = -room.ctypes.data % 64
np.save(sys.argv[1], np.zeros(256, np.float32))
buffers = {"PyTorch": torch.zeros(256).numpy(), "mapped .npy": np.load(sys.argv[1], mmap_mode="r+"),
           "NumPy, 64-byte boundary": room[start:start + 1024].view(np.float32),
           "NumPy, 16 bytes further": room[start + 16:start + 1040].view(np.float32)}
for name, buffer in buffers.items():
    for way, put in [("asarray", jnp.asarray), ("device_put", jax.device_put),
                     ("device_put, may_alias=False", lambda x: jax.device_put(x, may_alias=False))]:
        buffer[:] = 1
        batch = put(buffer).block_until_ready()
        buffer[:] = 2
        print(f"{name}, {way}: batch {float(batch[0]):.0f}")
P
"$python" -W ignore "$work/program.py" "$work/file.npy" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
PyTorch, asarray: batch 1
PyTorch, device_put: batch 2
PyTorch, device_put, may_alias=False: batch 2
mapped .npy, asarray: batch 1
mapped .npy, device_put: batch 2
mapped .npy, device_put, may_alias=False: batch 2
NumPy, 64-byte boundary, asarray: batch 1
NumPy, 64-byte boundary, device_put: batch 2
NumPy, 64-byte boundary, device_put, may_alias=False: batch 2
NumPy, 16 bytes further, asarray: batch 1
NumPy, 16 bytes further, device_put: batch 1
NumPy, 16 bytes further, device_put, may_alias=False: batch 1
S
