# SPDX-License-Identifier: Apache-2.0
"""Starts the command `probe` in place of Python."""

import os
import sys

from libprobe import command


def main():
    os.execv(command(), ["probe", *sys.argv[1:]])


if __name__ == "__main__":
    main()
