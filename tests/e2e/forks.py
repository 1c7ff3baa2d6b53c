# SPDX-License-Identifier: Apache-2.0
"""
Runs PyTorch programs without starting Python and importing torch for each: imports it once and forks. Requests come on
stdin, each a count and that number of strings, all ended by NUL: FILE RANKS SECONDS [NAME=VALUE ...] SCRIPT [ARGS ...]. The
script's stdout goes to FILE, its stderr to FILE.err. RANKS: 0 for one process as it is, else that number with torchrun's
variables. The answer is a line with the status, as a shell has it: 1 if any rank failed.
"""
import ctypes
import gc
import io
import os
import runpy
import signal
import socket
import sys
import time

import torch  # noqa: F401
import torch.distributed  # noqa: F401
import torch.nn.parallel  # noqa: F401


def read_string():
    s = bytearray()
    while (c := sys.stdin.buffer.read(1)) != b"\0":
        if not c:
            sys.exit(0)
        s += c
    return os.fsdecode(bytes(s))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def become(file, variables, argv):
    """The rest of the process is the script's, with the interpreter's own end; it does not outlive the one that forked."""
    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
    for name, fd, how in ((file, 1, os.O_WRONLY | os.O_APPEND), (file + ".err", 2, os.O_WRONLY | os.O_APPEND),
                          (os.devnull, 0, os.O_RDONLY)):
        f = os.open(name, how)
        os.dup2(f, fd)
        os.close(f)
    os.environ.update(variables)
    sys.argv = argv
    sys.path[0] = os.path.dirname(os.path.abspath(argv[0]))
    runpy.run_path(argv[0], run_name="__main__")
    # The interpreter's own end does not flush what only a cycle of objects refers to (CPython 3.13).
    for f in gc.get_objects():
        if type(f) is io.TextIOWrapper and not f.closed and f.writable():
            f.flush()


def wait_for(pids, seconds):
    end = time.monotonic() + seconds
    left, status = set(pids), 0
    while left:
        for p in list(left):
            done, how = os.waitpid(p, os.WNOHANG)
            if done:
                left.remove(p)
                code = os.waitstatus_to_exitcode(how)
                code = 128 - code if code < 0 else code
                status = status or (code if len(pids) == 1 else min(code, 1))
        if time.monotonic() > end:
            for p in left:
                os.kill(p, signal.SIGKILL)
            status = 124
            end = time.monotonic() + 60
        time.sleep(0.01)
    return status


while True:
    request = [read_string() for _ in range(int(read_string()))]
    file, ranks, seconds, *rest = request
    variables = {}
    while "=" in rest[0]:
        name, value = rest.pop(0).split("=", 1)
        variables[name] = value
    for f in (file, file + ".err"):
        open(f, "w").close()
    pids = []
    port = str(free_port())
    for rank in range(max(1, int(ranks))):
        if int(ranks):
            variables.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=ranks, LOCAL_WORLD_SIZE=ranks,
                             MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        pid = os.fork()
        if pid == 0:
            break
        pids.append(pid)
    else:
        print(wait_for(pids, float(seconds)), flush=True)
        continue
    break
become(file, variables, rest)
