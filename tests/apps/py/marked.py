# SPDX-License-Identifier: Apache-2.0
"""
Calls a function in a loop, from one line, and in each call makes collectives from several lines and loops of its own. Each
collective has as many elements as the number of the call plus one. Needs no package: MPI is called by ctypes, on one rank.

    marked.py CALLS
"""
import ctypes
import sys

try:
    ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
except OSError:
    sys.exit(77)
mpi = ctypes.CDLL(None)  # the global scope: what the dynamic linker would bind


def handle(symbol):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, symbol)))


mpi.MPI_Init(None, None)
WORLD, INT, SUM = handle("ompi_mpi_comm_world"), handle("ompi_mpi_int"), handle("ompi_mpi_op_sum")
ints, out = (ctypes.c_int * 1000)(), (ctypes.c_int * 1000)()
made = 0


def here(n):
    global made
    made += 1
    return mpi.MPI_Allreduce(ctypes.byref(ints), ctypes.byref(out), n + 1, INT, SUM, WORLD)


def numbers(n):
    for i in range(n):
        yield i


class Model:
    def __init__(self):
        self.total, self.seen = 0.0, {}

    def add(self, x):
        self.total += x
        return self.total > 0


model = Model()


def train_step(n):
    """What real steps have: loops, conditions, attributes, globals, comparisons, exceptions, and calls of many kinds."""
    for layer in range(3):
        here(n)
    left = 2
    while left and model.add(0.5):
        left -= 1
        for part in numbers(2):
            if part == n % 2:
                continue
            here(n)
    try:
        model.seen[n] = [part * 2 for part in (1, 2, 3)]
        a, b = model.seen[n][0], len(model.seen)
        if a < b and isinstance(model, Model):
            raise KeyError(n)
    except KeyError as error:
        model.seen["last"] = f"{error}"
    here(n)
    with open("/dev/null") as nothing:
        model.text = nothing.read() + str(n)
    here(n)


def training(calls):
    here(0)  # what comes before the first step belongs to it
    for n in range(calls):
        train_step(n)


training(int(sys.argv[1]))
mpi.MPI_Finalize()
print(f"marked: ok, {made} collectives")
