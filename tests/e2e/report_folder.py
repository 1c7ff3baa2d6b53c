# SPDX-License-Identifier: Apache-2.0
"""Output folders of which a test writes every number by hand, for what `probe report` says of them."""
import json
import os

import columns

BEGIN = 1700000000000000000
HEADER = columns.names("calls")
WORLD = "11111111111111a1"


class Rank:
    def __init__(self, top, rank, world, comms=True, **meta):
        self.dir, self.rank, self.world, self.seq, self.lines = f"{top}/rank{rank}", rank, world, 0, []
        os.makedirs(self.dir)
        self.meta = dict(format=1, state="finished", owner=dict(host="a", boot_id="b", pid_ns=1, pid=1, start_time=1),
                         journal_path="", run="", rank=rank, world_size=world, first_record_ns=BEGIN,
                         last_record_ns=BEGIN + 10**9, own_time=dict(in_calls_s=0, writer_s=0),
                         steps=dict(current=1, source="api")) | meta
        if comms:
            with open(self.dir + "/comms.csv", "w") as f:
                print(",".join(columns.names("comms")), file=f)
                print(f"{WORLD},mpi,{world},{rank},world,,MPI_COMM_WORLD,0-{world - 1}", file=f)

    def call(self, op, rows, start=0, dur=1000, **more):
        """rows: (io, {column: value}) each; more: columns of all of them."""
        self.seq += 1
        row = dict(step=0, seq=self.seq, lib="mpi", api="MPI_" + op, op=op, comm=WORLD, rank=self.rank, size=self.world,
                   start_ns=BEGIN + start, dur_ns=dur, thread=1) | more
        for io, columns in rows or [("", {})]:
            tensor = dict(io=io, index=0, dtype="float32", count=2, bytes=8, min=1, max=2, nans=0, infs=0) if io else {}
            self.lines.append(",".join(str((row | tensor | columns).get(key, "")) for key in HEADER))

    def write(self, **meta):
        with open(self.dir + "/calls_0-99.csv", "w") as f:
            print(",".join(HEADER), *self.lines, sep="\n", file=f)
        self.meta |= dict(calls=dict(seen=self.seq, recorded=self.seq)) | meta
        with open(self.dir + "/meta.json", "w") as f:
            json.dump(self.meta, f)
