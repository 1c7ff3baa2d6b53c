# SPDX-License-Identifier: Apache-2.0
"""
Threads of a free-threaded CPython that call MPI at the same time, each on a communicator of its own, by ctypes, on one rank.
Prints the number of calls; exit status 77 without Open MPI or where the interpreter has a GIL.

    free_threads.py THREADS CALLS
"""
import ctypes
import sys
import threading

if getattr(sys, "_is_gil_enabled", lambda: True)():
    sys.exit(77)
try:
    ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
except OSError:
    sys.exit(77)
mpi = ctypes.CDLL(None)  # the global scope: what the dynamic linker would bind
threads, calls = int(sys.argv[1]), int(sys.argv[2])


def handle(symbol):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, symbol)))


SELF, INT, SUM = handle("ompi_mpi_comm_self"), handle("ompi_mpi_int"), handle("ompi_mpi_op_sum")
level = ctypes.c_int()
mpi.MPI_Init_thread(None, None, 3, ctypes.byref(level))
if level.value != 3:
    sys.exit(77)
comms = [ctypes.c_void_p() for _ in range(threads)]
for comm in comms:
    mpi.MPI_Comm_dup(SELF, ctypes.byref(comm))
start = threading.Barrier(threads)
wrong = []


def work(k):
    given, got = (ctypes.c_int * 8)(*range(k, k + 8)), (ctypes.c_int * 8)()
    start.wait()
    for _ in range(calls):
        mpi.MPI_Allreduce(ctypes.byref(given), ctypes.byref(got), 8, INT, SUM, comms[k])
        if list(got) != list(given):
            wrong.append(k)


running = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
for t in running:
    t.start()
for t in running:
    t.join()
mpi.MPI_Finalize()
print("free threads:", len(wrong), "wrong of", threads * calls)
