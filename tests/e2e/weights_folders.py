# SPDX-License-Identifier: Apache-2.0
"""
Folders for `probe compare --weights`: FOLDER/train gives weights to FOLDER/serve in steps 1 and 2. Each value is bytes of its own,
whose CRC-32 is zlib's; what became of each weight is known here and printed: name and verdict, sorted.
"""
import json
import os
import sys
import zlib

import columns

top = sys.argv[1]
header = columns.names("calls")


def crc(value):
    return f"{zlib.crc32(value.encode()):08x}"


def write(folder, rank, rows):
    d = f"{top}/{folder}/rank{rank}"
    os.makedirs(d)
    with open(d + "/calls_0-99.csv", "w") as f:
        print(",".join(header), file=f)
        for seq, (step, lib, op, io, name, value) in enumerate(rows):
            row = dict(step=step, seq=seq + 1, lib=lib, api=op, op=op, io=io, index=0, dtype="float32", count=16, bytes=64, rank=rank,
                       start_ns=1700000000000000000 + seq, dur_ns=5, thread=1, name=name, crc32=crc(value) if value else "")
            if lib == "c10d":
                row.update(comm="a111111111111111", comm_seq=seq, size=2)
            print(",".join(str(row.get(key, "")) for key in header), file=f)
    meta = dict(format=1, state="finished", owner=dict(host="a", boot_id="b", pid_ns=1, pid=1, start_time=1), journal_path="", run="",
                rank=rank, world_size=2, calls=dict(seen=len(rows), recorded=len(rows)))
    json.dump(meta, open(d + "/meta.json", "w"))


sent, received, want = [], [], {}
# name, its values in steps 1 and 2 (None: not sent), what serve receives in each (a name: as sent)
for name, one, two, got in (("model.a.weight", "a1", "a2", "12"),  # both arrive
                            ("model.b.weight", "b1", None, "1"),  # the second transfer skipped it
                            ("model.c.weight", "c1", "c2", "1"),  # what arrives in step 2 is the old value
                            ("model.d.weight", "d1", "d2", "")):  # never arrives
    for step, value in (1, one), (2, two):
        if value:
            sent.append((step, "c10d", "broadcast", "in", name, value))
            received.append((step, "c10d", "broadcast", "out", "", one if str(step) not in got and got else value if got else name + "?"))
want.update({"model.a.weight": "same", "model.b.weight": "skipped", "model.c.weight": "stale", "model.d.weight": "missing"})
# Converted on the way: other bytes under its name.
sent.append((2, "c10d", "broadcast", "in", "model.e.weight", "e2"))
received.append((2, "aten", "copy_", "out", "model.e.weight", "e2 as bfloat16"))
want["model.e.weight"] = "differs"
# Not sent in the last transfer, and seen unchanged since: B has it.
sent[:0] = [(1, "c10d", "broadcast", "in", "model.f.weight", "f1")]
sent.append((2, "aten", "linear", "in", "model.f.weight", "f1"))
received.append((1, "c10d", "broadcast", "out", "", "f1"))
want["model.f.weight"] = "same"
# Gradients and buckets are no weights.
sent += [(2, "c10d", "all_reduce", "in", "model.a.weight.grad", "g"), (2, "c10d", "all_reduce", "in", "bucket1", "h")]
write("train", 0, sent)
write("train", 1, [(2, "aten", "linear", "in", "model.a.weight", "a2")])  # a replica
write("serve", 0, received)
write("same", 0, [(step, lib, op, "out", name, value) for step, lib, op, io, name, value in sent])
write("unsummed", 0, [(1, "c10d", "broadcast", "out", "", "")])
print("\n".join(f"{k} {v}" for k, v in sorted(want.items())))
