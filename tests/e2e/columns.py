# SPDX-License-Identifier: Apache-2.0
"""Columns and words as the `probe` under test prints them (`probe columns`): written down in one place."""
import os
import subprocess


def names(table):
    """calls, stack_info, comms, modules, flags, phases ..."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    probe = os.path.join(root, os.environ.get("B") or "build", "probe")
    return subprocess.run([probe, "columns", "--names", table], check=True, capture_output=True, text=True).stdout.strip().split(",")
