#!/usr/bin/env bash
# PoCL 3.0-rc2 (PyPI: pocl-binary-distribution 3.0), CPU: an OpenCL kernel that may return before its first barrier.
#
# Question: 8 lanes. If n is 0, all lanes return at once; else each writes its number into local memory, waits at a barrier, adds its
#           neighbour's number to its own, and lane 0 stores its sum. n is the same for all lanes, so that all of them come to the
#           barrier or none does, as the standard demands. What is stored for n = 1?
# Guess:    1 + 2 = 3: the return is taken by no lane.
# Real:     without optimization 3. With it (the default) the store before the return is made and nothing else: lane 0 has returned. Without
#           the return it is 3 either way.
# Matters:  kernels of statistics that look first whether there is anything to do are computed wrongly on the CPU on which they are
#           tested, without an error.
. "$(dirname "$0")/lib.sh"
environment pocl pyopencl==2026.1.4 pocl-binary-distribution==3.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import numpy as np
import pyopencl as cl
SOURCE = """
kernel void add(global uint *out, uint n)
{
	local uint number[8];
	uint lane = get_local_id(0), mine = lane + 1;
	%s
	number[lane] = mine;
	barrier(CLK_LOCAL_MEM_FENCE);
	mine += number[(lane + 1) %% 8];
	if (lane == 0) {
		out[0] = mine;
		out[1] = 5;
	}
}
"""
RETURN = "if (n == 0) { if (lane == 0) out[2] = 7; return; }"
device = [d for p in cl.get_platforms() if "Portable" in p.name for d in p.get_devices()][0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
print("PoCL", device.platform.version.split()[3])
for name, line in ("with the return", RETURN), ("without", ""):
    for options in "-cl-opt-disable", "":
        kernel = cl.Program(context, SOURCE % line).build([options] if options else []).add
        out = np.zeros(3, np.uint32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=out)
        kernel(queue, (8,), (8,), buffer, np.uint32(1))
        cl.enqueue_copy(queue, out, buffer)
        print(f"{name}, {options or 'optimized'}: {out.tolist()}")
P
# The package's own PoCL, not the system's.
export OCL_ICD_VENDORS=$(dirname "$(find "${python%/bin/python}" -name pocl.icd | head -1)")
POCL_CACHE_DIR=$work/cache "$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
PoCL 3.0-rc2
with the return, -cl-opt-disable: [3, 5, 0]
with the return, optimized: [0, 0, 7]
without, -cl-opt-disable: [3, 5, 0]
without, optimized: [3, 5, 0]
S
