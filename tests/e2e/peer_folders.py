# SPDX-License-Identifier: Apache-2.0
"""Folders of trainings with PyTorch, made by hand: peer_folders.py DIR makes

DIR/actors     a learner, whose optimizer ends steps, and two actors that have none: broadcast, and a message to the learner;
               rank 1 sends a NaN in step 6
DIR/late       the same, of which nothing is wrong
DIR/limit      a pipeline of 3 ranks: rank 0 uses another tag in step 6, and all give up when their time is over
DIR/closed     rank 0 gives up waiting for rank 1, which comes later, sends, and is told that the connection is closed
DIR/ended      rank 0 gives up, and a launcher ends the others a second later; rank 2 was in no call
DIR/handled    the same ends, but all fail at once: no rank was blocked
"""
import os
import sys

from report_folder import WORLD, BEGIN, Rank

S = 10**9


def step_of(meta):
    return dict(steps=dict(current=12 if meta else 0, source="optimizer" if meta else "none"))


def left(at, how="exception", code=1):
    return dict(end=dict(how=how, code=code, signal=None, inside=None, text="RuntimeError: given up", at_ns=BEGIN + at))


def actors(top, wrong):
    ranks = [Rank(top, r, 3, first_record_ns=BEGIN, last_record_ns=BEGIN + 12 * S, **step_of(r == 0)) for r in range(3)]
    for i in range(12):
        for k in ranks:
            step = i if k.rank == 0 else 0
            at = i * S + k.rank * 1000
            k.call("broadcast", [("in" if k.rank == 0 else "out", dict(mean=i))], at, comm_seq=i, step=step, root=0, lib="c10d")
            if k.rank:
                bad = dict(nans=1) if wrong and k.rank == 1 and i == 6 else {}
                k.call("send", [("in", dict(mean=i + k.rank) | bad)], at + S // 2, comm_seq=i, step=step, peer=0, tag=0, lib="c10d")
            else:
                for p in (1, 2):
                    bad = dict(nans=1) if wrong and p == 1 and i == 6 else {}
                    k.call("recv", [("out", dict(mean=i + p) | bad)], at + S // 2 + p * 5000, comm_seq=i, step=step, peer=p, tag=0, lib="c10d")
    for k in ranks:
        k.write()


def pipeline(top, how):
    ranks = [Rank(top, r, 3, first_record_ns=BEGIN, last_record_ns=BEGIN + 40 * S, **step_of(True)) for r in range(3)]
    common = dict(lib="c10d")
    long, flags = (20 * S, "async;error:1") if how != "handled" else (S // 1000, "async;error:1")
    for i in range(7):
        last = i == 6
        for k in ranks:
            at, more = i * S + k.rank * 10**7, dict(step=i) | common
            if how == "ended" and last:
                if not k.rank:
                    k.call("send", [("in", {})], at, 20 * S, peer=1, tag=0, comm_seq=i, flags="async;error:1", **more)
                continue
            if how == "closed":
                back = dict(tag=1, comm_seq=i) | more
                if k.rank < 2:
                    k.call("recv", [] if last and not k.rank else [("out", {})], at, 20 * S if last and not k.rank else 1000, peer=k.rank + 1,
                           flags="async;error:1" if last and not k.rank else "", **back)
                if k.rank:
                    start, dur, flags = (at, 1000, "") if not last else (27 * S + 10**8, 1000, "unwound") if k.rank == 1 else (at, 26 * S, "async;error:1")
                    k.call("send", [("in", {})], start, dur, peer=k.rank - 1, flags=flags, **back)
                continue
            if k.rank:
                if last:
                    k.call("recv", [], at, long, peer=k.rank - 1, tag=0, comm_seq=i, flags=flags, **more)
                    continue
                k.call("recv", [("out", {})], at, peer=k.rank - 1, tag=0, comm_seq=i, **more)
            if k.rank < 2:
                odd = last and k.rank == 0
                k.call("send", [("in", {})], at + 5000, long if odd else 1000, peer=k.rank + 1, tag=7 if odd else 0, comm_seq=0 if odd else i,
                       flags=flags if odd else "", **more)
    ends = {"closed": (26 * S + 10**7, 27 * S + 2 * 10**8, 28 * S)}.get(how, (6 * S + long + 10**8,) * 3)
    for k in ranks:
        if how == "ended":
            k.write(**left(26 * S + 10**8, "exit") if not k.rank else dict(state="recovered", last_record_ns=BEGIN + 28 * S,
                    end=dict(how="signal", code=None, signal=None, inside=None, text="", at_ns=0)))
            continue
        k.write(**left(ends[k.rank] + k.rank * 10**6, "exit" if how == "closed" else "exception"))


top = sys.argv[1]
for name in ("actors", "late", "limit", "closed", "ended", "handled"):
    os.makedirs(f"{top}/{name}")
    if name in ("actors", "late"):
        actors(f"{top}/{name}", name == "actors")
    else:
        pipeline(f"{top}/{name}", name)
