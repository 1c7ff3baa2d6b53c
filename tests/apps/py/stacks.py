# SPDX-License-Identifier: Apache-2.0
"""
Calls MPI from many kinds of Python frames and writes down for each call, by its element count, what the interpreter
itself says of the stack. Needs no package: MPI is called by ctypes, on one rank. Python 3.8 and later.

    stacks.py TRUTH.json

Each scene is played twice, first without looking at the stack: frames that were never looked at are laid out
otherwise (3.11 and later make frame objects only on demand).
"""
import asyncio
import ctypes
import functools
import json
import sys
import threading

for name in ("libmpi.so.40", "libmpi.so.12"):
    try:
        ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        break
    except OSError:
        pass
mpi = ctypes.CDLL(None)  # the global scope: what the dynamic linker would bind
if name != "libmpi.so.40":
    sys.exit(77)


def handle(symbol):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, symbol)))


mpi.MPI_Init(None, None)
WORLD, INT, SUM = handle("ompi_mpi_comm_world"), handle("ompi_mpi_int"), handle("ompi_mpi_op_sum")
ints = (ctypes.c_int * 100000)()
out = (ctypes.c_int * 100000)()
count = 0
look = False
truth = {}
lock = threading.Lock()


def note():
    """The stack of the caller, as (file, line, name), innermost first; counts the call that is about to be made."""
    global count
    count += 1
    if look:
        f, frames = sys._getframe(1), []
        while f:
            frames.append((f.f_code.co_filename, f.f_lineno, getattr(f.f_code, "co_qualname", f.f_code.co_name)))
            f = f.f_back
        truth[count] = frames
    return count


def reduce():
    return mpi.MPI_Allreduce(ctypes.byref(ints), ctypes.byref(out), note(), INT, SUM, WORLD)


def recurse(n):
    return recurse(n - 1) if n else reduce()


def lines(
    n,
):
    """A call over several lines, and code far from the beginning of its function."""
    x = 0
    x += 1
    x += 1 if n else 2

    y = [
        x,
        reduce(),
        (lambda: reduce())(),
        *[reduce() for _ in range(2)],
    ]
    # a gap
    #
    #
    try:
        z = {k: reduce() for k in "ab"}
        raise ValueError(y, z)
    except ValueError:
        reduce()
    finally:
        reduce()
    with lock:
        reduce()
    return sum(reduce() for _ in range(2))


class Layer:
    class Inner:
        def __call__(self):
            def closure():
                return reduce() + x

            x = 1
            return closure()

    @property
    def weight(self):
        return reduce()

    @staticmethod
    def static():
        yield from Layer.generate()

    @classmethod
    def generate(cls):
        for _ in range(3):
            yield reduce()

    def __del__(self):
        reduce()


async def coroutine(n):
    if n:
        await asyncio.sleep(0)
        return await coroutine(n - 1)
    return reduce()


@functools.lru_cache(maxsize=None)
def cached(_):
    return sorted([2, 1], key=lambda v: reduce())  # C code in between


def classes():
    layer = Layer()
    layer.weight
    list(Layer.static())
    Layer.Inner()()
    del layer
    cached(look)
    asyncio.new_event_loop().run_until_complete(coroutine(3))


def made_anew():
    """Code objects that come and go, very likely at the same addresses: a stack must not be taken for an earlier one."""
    for i in range(60):
        space = {"reduce": reduce}
        exec(compile("\n" * (i % 7) + f"def made_{i % 10}():\n    return reduce()\n", f"/made/{i % 3}.py", "exec"), space)
        space[f"made_{i % 10}"]()
        del space


def odd_names():
    for name, file in (("größe", "/pfad/größe.py"), ("関数", "/路径/関数.py"), ("f", "/emoji/\U0001f600.py"),
                       ("g", 'with "quotes", commas.py'), ("h", "/latin/\xe9.py")):
        space = {"reduce": reduce}
        exec(compile(f"def {name}():\n    return reduce()\n", file, "exec"), space)
        space[name]()


def in_thread():
    t = threading.Thread(target=recurse, args=(3,))
    t.start()
    t.join()


def wide(n):
    """Line tables with large steps, and instructions after EXTENDED_ARG."""
    body = "".join(f"    x{i} = {i}\n" for i in range(400)) + "\n" * 300 + "    return reduce()\n"
    space = {"reduce": reduce}
    exec(compile("def wide():\n" + body, "/wide.py", "exec"), space)
    space["wide"]()


for look in (False, True):
    start = count
    for scene in (lambda: recurse(0), lambda: recurse(30), lambda: lines(1), classes, made_anew, odd_names, in_thread,
                  lambda: wide(1)):
        for _ in range(2):
            scene()
    half = count - start
for n in list(truth):
    # The same place; asking for the stack makes no difference to the lines above.
    truth[n - half] = truth[n]
look = False
recurse(300)  # deeper than what is kept
mpi.MPI_Finalize()
with open(sys.argv[1], "w") as f:
    json.dump({"calls": truth, "deep": count, "version": sys.version.split()[0]}, f)
print("stacks: ok,", count, "calls")
