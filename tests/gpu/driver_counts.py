#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes a libcuda.so.1 that counts the calls of each function and passes them on to the real one:

    driver_counts.py make REAL FOLDER    FOLDER/libcuda.so.1, to be put first in LD_LIBRARY_PATH
    driver_counts.py compare FEW MANY    of two files of counts: what the second has more

It counts who finds functions by their names in the library, as libprobe does. CUDA's runtime asks cuGetProcAddress, which gives it the
real ones. DRIVER_COUNTS names the file that the counts are written to at the end.

compare: exit 1 if a function that may wait for the device was called more often, or nothing was launched.
"""
import os
import subprocess
import sys

WAITS = ("Synchronize", "EventQuery", "StreamQuery", "StreamWaitEvent", "MemAlloc", "MemFree", "MemHostAlloc", "MemHostRegister", "MemHostUnregister",
         "ModuleLoad", "ModuleUnload", "CtxCreate", "CtxDestroy", "StreamCreate", "StreamDestroy", "EventCreate", "EventDestroy")

C = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
extern void *targets[];
extern unsigned long counts[];
static const char *const names[] = {%s};
__attribute__((constructor)) static void start(void)
{
	void *real = dlopen("%s", RTLD_NOW | RTLD_LOCAL);
	for (unsigned i = 0; real && i < %d; i++)
		targets[i] = dlsym(real, names[i]);
}
__attribute__((destructor)) static void stop(void)
{
	const char *to = getenv("DRIVER_COUNTS");
	FILE *f = to ? fopen(to, "w") : NULL;
	for (unsigned i = 0; f && i < %d; i++)
		if (counts[i])
			fprintf(f, "%%s %%lu\n", names[i], counts[i]);
	if (f)
		fclose(f);
}
"""


def make(real, folder):
    real = os.path.realpath(real)
    listed = subprocess.run(["nm", "-D", "--defined-only", real], check=True, capture_output=True, text=True).stdout.split("\n")
    names = sorted({f[2].split("@")[0] for f in (line.split() for line in listed) if len(f) == 3 and f[1] in "TWi"})
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "counts.c"), "w") as f:
        f.write(C % (", ".join('"%s"' % n for n in names), real, len(names), len(names)))
    with open(os.path.join(folder, "entries.S"), "w") as f:
        f.write("\t.text\n")
        for i, n in enumerate(names):
            f.write(f"\t.globl {n}\n\t.type {n}, @function\n{n}:\n\tlock incq counts+{8 * i}(%rip)\n\tjmp *targets+{8 * i}(%rip)\n")
        f.write('\t.hidden counts, targets\n\t.comm counts, %d, 8\n\t.comm targets, %d, 8\n' % (8 * len(names), 8 * len(names)))
        f.write('\t.section .note.GNU-stack, "", %progbits\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libcuda.so.1", "-o", os.path.join(folder, "libcuda.so.1"),
                    os.path.join(folder, "counts.c"), os.path.join(folder, "entries.S"), "-ldl"], check=True)


def compare(few, many):
    def read(path):
        with open(path) as f:
            return {n: int(c) for n, c in (line.split() for line in f)}
    a, b = read(few), read(many)
    more = {n: b[n] - a.get(n, 0) for n in b if b[n] > a.get(n, 0)}
    waits = {n: c for n, c in more.items() if any(w in n for w in WAITS)}
    print("# more calls:", " ".join(f"{n}:{c}" for n, c in sorted(more.items())) or "none")
    if waits:
        print("# of these may wait:", " ".join(waits))
    return bool(waits) or not more.get("cuLaunchKernel")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("make", "compare"):
        sys.exit(__doc__)
    sys.exit(make(*sys.argv[2:]) if sys.argv[1] == "make" else compare(*sys.argv[2:]))
