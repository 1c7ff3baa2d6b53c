# SPDX-License-Identifier: Apache-2.0
"""The processes of a run, found by its output folder."""
import os
import signal
import subprocess
import time


def find_ranks(out):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"PROBE_OUTPUT_DIR={out}".encode() in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def end_ranks(out, launchers):
    """Kills the ranks, waits until none is left, and then for the launchers, 10 s each."""
    for pid in find_ranks(out):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    end = time.time() + 10
    while find_ranks(out) and time.time() < end:
        time.sleep(0.05)
    for p in launchers:
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
