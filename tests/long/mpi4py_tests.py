#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi4py's own tests (its folder test/), whose verdicts each rank writes to a file of its own.

    MPI4PY_VERDICTS=PREFIX mpi4py_tests.py FOLDER

Without test_spawn: Open MPI 4.1 stands still in it by itself.
"""
import os
import runpy
import sys

from mpi4py import MPI

sys.stderr = open(f"{os.environ['MPI4PY_VERDICTS']}.{MPI.COMM_WORLD.Get_rank()}", "w", buffering=1)
sys.argv = [os.path.join(sys.argv[1], "runtests.py"), "--no-builddir", "--verbose", "--exclude", "spawn"]
runpy.run_path(sys.argv[0], run_name="__main__")
