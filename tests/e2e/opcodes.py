# SPDX-License-Identifier: Apache-2.0
"""
Compares the table of instructions of wrappers/python/loops.c with this interpreter's own: opcodes.py FILE. Prints what differs.
"""
import dis
import opcode
import re
import sys

minor = sys.version_info[1]
entries, numbers = opcode._inline_cache_entries, dis._all_opmap
text = open(sys.argv[1]).read()
found = re.search(r"\{\.minor = %d, \.extended = \{(.*?)\}, \.backward = \{(.*?)\}, \.caches = \{(.*?)\}\}" % minor, text, re.S)
extended, backward = ([int(x) for x in found[i].split(",")] for i in (1, 2))
ranges = [
    (int(first), int(last or first), 255 if n == "UNKNOWN" else int(n))
    for first, last, n in re.findall(r"\[(\d+)(?: \.\.\. (\d+))?\] = (\w+)", found[3])
]


def is_replaced(name):
    return name.startswith("INSTRUMENTED_") or name in ("ENTER_EXECUTOR", "TRACE_RECORD")


def caches(name):
    if is_replaced(name):
        return 255
    base = dis.deoptmap.get(name, name)
    if hasattr(entries, "get"):
        return entries.get(base, 0)
    return entries[opcode.opmap[base]] if base in opcode.opmap else 0


compared = 0
for name, number in numbers.items():
    if number > 255:
        continue
    compared += 1
    have = next((c for first, last, c in ranges if first <= number <= last), 0)
    if have != caches(name):
        print(f"{name} {number}: {have} cache entries in the table, {caches(name)} in {sys.version.split()[0]}")
    if ("JUMP_BACKWARD" in name and not is_replaced(name)) != (number in backward):
        print(f"{name} {number}: backward in one of the two")
    if name.startswith("EXTENDED_ARG") and number not in extended:
        print(f"{name} {number}: not in the table")
print(f"compared: {compared > 100}")
