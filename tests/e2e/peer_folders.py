# SPDX-License-Identifier: Apache-2.0
"""Folders of trainings with PyTorch, made by hand: peer_folders.py DIR makes

DIR/actors     a learner, whose optimizer ends steps, and two actors that have none: broadcast, and a message to the learner;
               rank 1 sends a NaN in step 6
DIR/late       the same, of which nothing is wrong
DIR/limit      a pipeline of 3 ranks: rank 0 uses another tag in step 6, and all give up when their time is over
DIR/closed     rank 0 gives up waiting for rank 1, which comes later, sends, and is told that the connection is closed
DIR/ended      rank 0 gives up, and a launcher ends the others a second later; rank 2 was in no call
DIR/handled    the same ends, but all fail at once: no rank was blocked
DIR/overtaken  a rank that takes whatever has come: one message comes a step later, all are received
DIR/counter    ranks that take work from a counter in a window; in step 9 rank 1 takes one piece more than ever, and rank 2 reduces by max
DIR/unsent     rank 0 skipped a message in step 8: from then on each receive takes the next step's message
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


def messages(top, how):
    """Rank 0 sends rank 1 two messages in each step, a size and what has it."""
    steps, odd = 16, 8
    ranks = [Rank(top, r, 3, first_record_ns=BEGIN, last_record_ns=BEGIN + (steps + 1) * S, **step_of(True)) for r in range(3)]
    sent, received = [0, 0], [0, 0]

    def message(k, i, tag, at):
        if k.rank == 0:
            k.call("send", [("in", dict(mean=1 + sent[tag] / 7))], at, peer=1, tag=tag, step=i, comm_seq=sent[tag])
            sent[tag] += 1
        else:
            k.call("recv", [("out", dict(mean=1 + received[tag] / 7))], at, peer=0, tag=tag, step=i, comm_seq=received[tag])
            received[tag] += 1

    for i in range(steps):
        for tag in (0, 1):
            at = i * S + tag * S // 4
            if how == "overtaken" or i != odd or tag:
                message(ranks[0], i, tag, at)
            if how == "overtaken":
                for _ in range(0 if (i, tag) == (odd, 0) else 2 if (i, tag) == (odd + 1, 0) else 1):
                    message(ranks[1], i, tag, at + S // 8)
            elif not (i == steps - 1 and tag == 0):
                # The receive that lacks its message waits for the next step's.
                message(ranks[1], i, tag, at + S // 8 + (S if i >= odd else 0))
        if how == "overtaken":
            for k in ranks:
                k.call("all_reduce", [("in", dict(mean=i + k.rank)), ("out", dict(mean=i))], i * S + S // 2, step=i, comm_seq=i)
    for k in ranks:
        k.write()


def counter(top):
    ranks = [Rank(top, r, 3, first_record_ns=BEGIN, last_record_ns=BEGIN + 13 * S, **step_of(True)) for r in range(3)]
    for i in range(12):
        for k in ranks:
            odd = i == 9 and k.rank == 2
            for turn in range(4 if i == 9 and k.rank == 1 else 3):
                at = i * S + turn * S // 10 + k.rank * 1000
                k.call("win_lock", [], at, peer=0, step=i, comm_seq=4 * i + turn, flags="local")
                k.call("win_unlock", [], at + 2000, peer=0, step=i, comm_seq=4 * i + turn, flags="local")
            k.call("all_reduce", [("in", dict(mean=i + k.rank)), ("out", dict(mean=i))], i * S + S // 2, step=i, comm_seq=i,
                   redop="max" if odd else "sum")
    for k in ranks:
        k.write()


top = sys.argv[1]
for name in ("actors", "late", "limit", "closed", "ended", "handled", "overtaken", "unsent", "counter"):
    os.makedirs(f"{top}/{name}")
    if name in ("actors", "late"):
        actors(f"{top}/{name}", name == "actors")
    elif name in ("overtaken", "unsent"):
        messages(f"{top}/{name}", name)
    elif name == "counter":
        counter(f"{top}/{name}")
    else:
        pipeline(f"{top}/{name}", name)
