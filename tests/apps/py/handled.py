"""Exceptions that are caught, and what Python says of them; ends by sys.exit(3) in a handler. One rank, MPI by ctypes."""
import ctypes
import gc
import sys
import traceback
import weakref

try:
    ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
except OSError:
    sys.exit(77)
mpi = ctypes.CDLL(None)
mpi.MPI_Init(None, None)
mpi.MPI_Barrier(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))))
ctypes.CDLL("libutil.so.1")  # the loader is asked for something when recording has begun
dead = []


class Own(ValueError):
    def __str__(self):
        print("asked for its text")
        return "own"

    def __eq__(self, other):
        raise AssertionError("compared")

    __hash__ = None

    def __del__(self):
        dead.append(self.args)


class OwnExit(SystemExit):
    def __init__(self, code, more):
        super().__init__(code)
        self.more = more


def fail(depth):
    if depth:
        return fail(depth - 1)
    raise Own("bad", 7, [1], "\udc80")


def show(n):
    try:
        fail(n)
    except Own as e:
        was = sys.getrefcount(e), sys.getrefcount(e.__traceback__)
        text = traceback.format_exc()
        same = text == traceback.format_exc()
        try:
            raise OwnExit(9, n)
        except SystemExit as s:
            print(type(s).__name__, s.args, s.code, s.more, type(s.__context__).__name__, s.__traceback__ is not None)
        try:
            sys.exit("words")
        except SystemExit as s:
            print(s.args, s.code, s.__context__ is e)
        for wrong in ({"code": 1},):
            try:
                SystemExit(**wrong)
            except TypeError as t:
                print(t)
        print(same, text.count("\n"), was == (sys.getrefcount(e), sys.getrefcount(e.__traceback__)))


for n in (0, 3, 40):
    show(n)
    print("gone", dead)
e = SystemExit(1, 2)
SystemExit.__init__(e, 5)
print(e.code, e.args, SystemExit().code, SystemExit(4).code, traceback.format_exception_only(SystemExit, e))
r = weakref.ref(OwnExit(1, 2))
print(r(), gc.collect() >= 0, sys.exc_info())
traceback.print_exception(ValueError, ValueError("never raised"), None, file=sys.stdout)
print("init", SystemExit.__init__.__objclass__.__name__, SystemExit.__init__.__name__)
mpi.MPI_Finalize()
try:
    fail(2)
except Own:
    sys.exit(3)
