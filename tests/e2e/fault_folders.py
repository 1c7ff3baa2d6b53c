# SPDX-License-Identifier: Apache-2.0
"""Output folders of a training of 4 ranks (FAULT_RANKS) and 16 steps, of which a fault changes a few numbers: fault_folders.py DIR
FAULT... makes DIR/FAULT.

Each step: a broadcast, an all_reduce, a message around the ring, an all_reduce of a norm that is the same on ranks 0 and 2
and on 1 and 3, a gather. Rank 2 (FAULT_WHO) does what is wrong, in step 9.
"""
import math
import random
import sys

import columns
from choice_folders import Choices
from folder_values import RANKS, STEPS, WHEN, WHO, stats, values
from report_folder import BEGIN, HEADER, WORLD, Rank

HALF = RANKS // 2
STAND = ["gone", "gone_waits", "gone_abort", "exit_zero", "order_line", "order_far", "extra_line", "extra_root", "async_message", "tail_missing", "exit_message", "rare_missing", "message_room", "message_left_out", "message_taken", "killed", "killed_late", "killed_silent", "killed_any", "count_root", "killed_first", "killed_all", "extra_again", "message_crossing", "killed_asleep", "killed_around", "round_missing", "many_missing", "async_root", "turn_missing", "count_crash", "dtype_ended", "asleep_behind", "killed_tick", "rare_first", "peer", "async_partners", "gather_twice", "asleep_branch", "rare_groups", "exit_other", "partner_asleep", "asleep_role", "loop_twice"]  # they end in this step
ALSO = {"spike": ["spike_line", "spike_zeros"], "volume": ["volume_varies", "volume_split"], "corruption": ["corruption_ids"],
        "stale": ["stale_disorder", "stale_threads"], "missing": ["missing_disorder", "missing_callbacks", "missing_own_time"]}
# One odd distance among three is no habit, nor are five long steps at the end a change, after others.
JITTER = {"jitter": (3, 4, 7, 9, 12, 14), "jitter_gaps": (4, 7, 10, 11), "jitter_end": (6, 10, 18, 19, 20, 21, 22, 23),
          "jitter_most": (5, 6, 8, 9, 10, 12, 13, 15), "jitter_stalls": (6, 9, 11),
          "jitter_rare": (12, 13, 16, 20, 22)}
BRANCH = 50
PLACES = {"broadcast": 1, "all_reduce": 2, "send": 3, "recv": 4, "norm": 5, "gather": 6, "shard": 7, "exchange": 8, "turn_recv": 9, "turn_send": 10,
          "warm_recv": 11, "warm_send": 12}


STACK_COLUMNS = columns.names("stack_info")


class Job(Choices):
    def __init__(self, top, fault):
        self.fault = fault
        self.ranks = [Rank(top, r, RANKS) for r in range(RANKS)]
        for r in self.ranks:
            with open(r.dir + "/stack_info.csv", "w") as f:
                print(",".join(STACK_COLUMNS), file=f)
                for name in [*PLACES, "new_line"]:
                    i = self.stack(r.rank, name)
                    print(f"{i},MPI_{name},0,,train!{name}+0x{i}0 <- train!main+0x{i}4", file=f)
                    # A branch that is taken once: the same functions, called from other lines.
                    if fault == "order_branch":
                        print(f"{i + BRANCH},MPI_{name},0,,train!{name}+0x{i}0 <- train!main+0x9{i}4", file=f)
                # The program's own functions around all of its calls, which it makes from two lines.
                for i, line in ((42, "10 main"), (43, "20 evaluate")):
                    print(f"{i},MPI_all_reduce,0,/home/comms.py:1 run <- /home/comms.py:2 call <- /home/comms.py:3 reduce <- /home/train.py:{line},", file=f)
                # A function that two of the program's lines lead to.
                for i, line in ((44, "10 main"), (45, "20 evaluate")):
                    print(f"{i},MPI_all_reduce,0,/x/site-packages/torch/c10d.py:1 all_reduce <- /home/table.py:1 forward <- /home/train.py:2 score <- /home/train.py:{line},", file=f)
                # A callback of the framework's: on a thread of its own, or on the one that started what it waits for.
                callback = "/x/site-packages/torch/c10d.py:1 all_reduce <- /x/site-packages/torch/log.py:2 wrapper <- /x/site-packages/torch/hook.py:3 fin"
                print(f"40,MPI_all_reduce,0,{callback},train!callback+0x10", file=f)
                print(f"41,MPI_all_reduce,0,{callback} <- /x/site-packages/torch/graph.py:4 run <- /home/train.py:5 main,train!callback+0x10", file=f)
            with open(r.dir + "/comms.csv", "a") as f:
                members = ";".join(str(k) for k in range(r.rank % 2, RANKS, 2))
                name = 3 + r.rank % 2 if fault == "rare_groups" else ""
                print(f"{self.half(r.rank)},mpi,{HALF},{r.rank // 2},split,{WORLD},{name},{members}", file=f)
        self.seq = {}
        self.now = 0
        self.kept = None, [], []  # of gradients()
        # Operations that are only started, and nothing shows who waits for them: as PyTorch's.
        self.flags = dict(flags="async") if fault.startswith("async_") else {}
        if fault == "async_partners":  # ... or all see it, and nothing makes rounds
            self.flags |= dict(wait_ns=1000)

    def stack(self, rank, name):
        """The number of a place in that rank's stack_info.csv: one that made other calls before has others."""
        return PLACES.get(name, len(PLACES) + 1) + (20 if self.fault == "corruption_ids" and rank == WHO else 0)

    def due(self, fault, rank, step):
        return (self.fault == fault or self.fault in ALSO.get(fault, ())) and rank == WHO and step == WHEN

    def since(self, fault, rank, step):
        return self.fault == fault and rank == WHO and step >= WHEN

    def number(self, rank, key):
        self.seq[rank, key] = self.seq.get((rank, key), -1) + 1
        return self.seq[rank, key]

    def collective(self, step, rank, place, op, start, ins=None, outs=None, **more):
        # No two ranks at the same moment.
        start += (self.ranks[rank].seq * 7919 + rank * 104729) % 50000
        kind = dict(dtype="int32") if place == "all_reduce" and (self.due("dtype", rank, step) or self.fault == "goes_around") else {}
        rows = [("in", stats(ins) | kind)] if ins else []
        rows += [("out", stats(outs) | (kind if self.fault == "goes_around" else {}))] if outs else []
        if self.due("order_branch", rank, step):
            more = more | dict(stack=self.stack(rank, place) + BRANCH)
        if "rank_there" in more:
            more["rank"] = more.pop("rank_there")
        self.ranks[rank].call(op, rows, start=start, dur=more.pop("dur", 100000), step=step, stack_id=more.pop("stack", self.stack(rank, place)),
                              comm_seq=self.number(rank, more.pop("key", "c")), **self.flags | more)

    def message(self, step, rank, op, peer, start, tensor, dur=100000, tag=7, done=True, place=None):
        kind = dict(dtype="int32") if self.due("message_dtype" if op == "recv" else "dtype_ended", rank, step) else {}
        # Bytes of one type are NaN of the other.
        if op == "send" and self.due("message_dtype_nan", rank, step):
            kind, tensor = dict(dtype="float64"), [math.nan] + tensor[1:]
        # Its sender takes a branch of its own.
        if op == "send" and self.due("message_dtype_line", rank, step):
            kind, place = dict(dtype="int32"), "new_line"
        if op == "recv" and self.due("message_flipped", rank, step):
            tensor = [tensor[0] * 16] + tensor[1:]
        # A value in the middle of the others: the range is as it was.
        if op == "recv" and self.due("message_bit", rank, step):
            tensor = sorted(tensor)
            tensor[len(tensor) // 2] += 1e-4
        if self.fault == "nan_message" and step >= WHEN and rank == (WHO if op == "send" else WHO + 1):
            tensor = [math.nan] * len(tensor)
        rows = [("in" if op == "send" else "out", stats(tensor) | kind)]
        if op == "recv" and not done and self.fault in ("message_room", "message_crossing"):
            rows = [("", dict(await_dtype="float32", await_count=32))]
        if op == "recv" and not done and self.fault in ("message_left_out", "message_taken", "message_shifted"):
            rows = [("", dict(await_dtype="float32", await_count=len(tensor)))]
        flags = self.flags if done else dict(flags=self.flags.get("flags", "") + ";open")
        self.ranks[rank].call(op, rows, start=start, dur=dur if done else "",
                              step=step, stack_id=self.stack(rank, place or op), comm_seq=self.number(rank, (op, peer, tag)), peer=peer, tag=tag, **flags)

    def exchange(self, step, rank, t):
        """Everybody sends everybody another amount; of some faults another one in each step."""
        turn = step if self.fault not in ("volume", "stale_v", "moved") else 0
        sends = [[1 + (a * 3 + b * 5 + turn) % 7 for b in range(RANKS)] for a in range(RANKS)]
        ins = [v for b in range(RANKS) for v in values(step - self.due("stale_v", rank, step), rank, f"to {b}", sends[rank][b])]
        outs = [v for a in range(RANKS) for v in values(step - self.due("stale_v", a, step), a, f"to {rank}", sends[a][rank])]
        if self.due("volume", rank, step):
            ins = ins[:-1]
        if self.due("moved", rank, step):
            outs[3] += 1e-4
        # The root's own part stays where it is, and is empty in most steps.
        if self.fault == "volume_in_place":
            own = [0.5] * (5 if step >= WHEN else 0)
            rest = [values(step, 0, f"to {b}", 4) for b in range(1, RANKS)]
            self.collective(step, rank, "exchange", "scatter_v", t + 61200000, ins=own + sum(rest, []) if rank == 0 else None,
                            outs=rest[rank - 1] if rank else None, root=0, **dict(self.flags, flags="inplace") if rank == 0 else {})
            return
        # PyTorch has one function with and without splits.
        kind = dict(op="all_to_all", lib="c10d", api="c10d::ProcessGroupGloo::alltoall_base") if "split" in self.fault else dict(op="all_to_all_v")
        self.collective(step, rank, "exchange", start=t + 61200000, ins=ins, outs=outs, **kind)

    def partner(self, step, rank):
        """Another one in each of two sorts of steps."""
        return rank ^ 1 if step % 2 else (rank + RANKS // 2) % RANKS

    def pairs(self, step, rank, t, astray=False):
        """Each sends to its partner and receives from it; the even ranks, or those of the lower half, send first."""
        peer = self.partner(step, rank)
        wrong = (WHO + 3) % RANKS  # in no step
        for op in ("send", "recv") if rank < peer else ("recv", "send"):
            lost = astray and rank in (WHO, self.partner(step, WHO))
            self.message(step, rank, op, wrong if lost and rank == WHO and op == "send" else peer, t + 2 * 10**6,
                         values(step, rank if op == "send" else peer, "pair"), tag=9, done=not lost)
            if lost:
                return

    def exchange_with(self, step, rank, t, peer, done=True):
        """A send_recv: what it sends, and what it gets."""
        where = dict(comm_seq=self.number(rank, ("pair", peer)), peer=peer, tag=9)
        rows = [("in", stats(values(step, rank, "trade")))] + [("out", stats(values(step, peer, "trade")) | where)] * done
        self.ranks[rank].call("send_recv", rows, start=t, dur=10**5 if done else "", step=step, stack_id=self.stack(rank, "new_line"),
                              **dict(flags="" if done else "open") | where)

    def turns(self, step, rank, t):
        """A pipeline of three turns, of which a rank makes some from other lines: the same line has another tag on each of them."""
        for m in range(3):
            line = "warm" if m < rank % 2 else "turn"
            if rank and not (m == 1 and self.due("turn_missing", rank, step)):
                self.message(step, rank, "recv", rank - 1, t + (3 + m) * 10**6, values(step, rank - 1, f"turn {m}"), tag=20 + m, place=line + "_recv")
            if rank + 1 < RANKS:
                self.message(step, rank, "send", rank + 1, t + (3 + m) * 10**6 + 200000, values(step, rank, f"turn {m}"), tag=20 + m, place=line + "_send")

    def half(self, rank):
        return f"22222222222222{rank % 2:02x}"

    def shard(self, step, rank, t, **more):
        """Of ranks 0 and 2, of 1 and 3: after the last operation of all ranks."""
        ins = [values(step, r, "shard", 8) for r in range(rank % 2, RANKS, 2)]
        root = 1 if self.due("tail_root", rank, step) else 0
        self.collective(step, rank, "shard", "gather", t + 61500000, ins[rank // 2], sum(ins, []) if rank // 2 == root else None,
                        root=root, comm=self.half(rank), size=HALF, rank_there=rank // 2, key="s", **more)

    def stand(self, step, rank, place, op, start, n, **more):
        """It has not come back from that operation when the job is ended."""
        flags = ";".join(filter(None, [self.flags.get("flags"), "open"]))
        self.collective(step, rank, place, op, start, values(step, rank, place, n), dur="", redop="sum" if op == "all_reduce" else "",
                        flags=flags, **more)

    def twin(self, step, rank, t, place="shard"):
        v = [values(step, r, "twin") for r in range(RANKS)]
        self.collective(step, rank, place, "all_reduce", t, v[rank], [sum(x) for x in zip(*v)], redop="sum")

    def rare(self, step, rank, t, **more):
        """Every third step; of a fault there was none before."""
        if self.fault == "rare_first" and step < WHEN:
            return
        if step % 3 == (self.fault == "round_missing"):
            v = [values(step, r, "rare", 8) for r in range(RANKS)]
            self.collective(step, rank, "new_line", "all_reduce", t + 62 * 10**6, v[rank], None if more else [sum(x) for x in zip(*v)], redop="sum", **more)

    def started(self, step, rank, t, sizes, **more):
        for k, n in enumerate(sizes):
            self.collective(step, rank, "shard", "all_reduce", t - 10**6 + k * 10**5, values(step, rank, f"s{k}", n), redop="sum", **more)

    def last_step(self, step, t):
        """Who stands where: rank 2 has done something that the others wait for."""
        for r in range(RANKS):
            # It ends as a program does that is done, and its neighbour's receive fails.
            if self.fault == "exit_message":
                self.rate(step, r, self.now, t)
                self.reduce(step, r, t)
                if r == WHO + 1:
                    self.ranks[r].call("recv", [("out", {})], start=t + 2 * 10**6, dur=10**6, step=step, stack_id=self.stack(r, "recv"),
                                       comm_seq=self.number(r, ("recv", WHO, 7)), peer=WHO, tag=7, flags="error:1")
                continue
            # The root sends less than the others await, and is not told of it.
            if self.fault == "count_root":
                v = values(step, r, "rate", 30)
                if r == WHO:
                    self.collective(step, r, "broadcast", "broadcast", t, v, v, root=WHO)
                    self.stand(step, r, "all_reduce", "all_reduce", t + 10**6, 64)
                else:
                    self.ranks[r].call("broadcast", [("", dict(await_dtype="float32", await_count=64))], start=t, dur="", step=step,
                                       stack_id=self.stack(r, "broadcast"), comm_seq=self.number(r, "c"), root=WHO, flags="open")
                continue
            if self.fault in ("rare_missing", "rare_first"):
                self.rate(step, r, self.now, t)
                self.reduce(step, r, t)
                self.ring(step, r, t)
                self.norm(step, r, t)
                self.gather(step, r, t)
                if r == WHO:
                    self.collective(step + 1, r, "broadcast", "broadcast", t + 63 * 10**6, dur="", root=0, flags="open")
                else:
                    self.rare(step, r, t, dur="", flags="open")
                continue
            # The others are told by their library that rank 2 is gone, and are ended by a launcher.
            if self.fault in ("gone", "gone_waits", "gone_abort", "exit_zero"):
                # One of them had not heard of it yet.
                if self.fault == "gone_waits" and r == 3:
                    self.stand(step, r, "all_reduce", "all_reduce", t, 64)
                elif r != WHO:
                    self.collective(step, r, "all_reduce", "all_reduce", t, values(step, r, "grad"), redop="sum", flags="error:1")
                continue
            # It sleeps after a call that only two ranks make, and not in each step.
            if self.fault in ("asleep_role", "asleep_branch"):
                if r != WHO:
                    self.rate(step, r, self.now, t)
                    self.stand(step, r, "all_reduce", "all_reduce", t + 10**6, 64)
                continue
            # It does not come to its exchange, nor do the others to their next ones, which are with other partners.
            if self.fault == "partner_asleep":
                if r != WHO:
                    self.exchange_with(step, r, t - 10**6, r ^ 1, done=r ^ 1 != WHO)
                if r not in (WHO, WHO ^ 1):
                    self.exchange_with(step, r, t - 5 * 10**5, (r + 2) % RANKS, done=False)
                continue
            # So are they by operations on other communicators than that of its last call.
            if self.fault == "exit_other":
                if r != WHO:
                    self.shard(step, r, t, flags="error:1")
                continue
            # A signal ended it, and all others soon after; of one of them all stand where they are.
            if self.fault.startswith("killed"):
                if self.fault in ("killed_silent", "killed_any") and r == 1:
                    self.rate(step, r, self.now, t + 250 * 10**6)
                    continue
                if r != WHO:
                    self.rate(step, r, self.now, t)
                    self.stand(step, r, "all_reduce", "all_reduce", t + 10**6, 64)
                elif self.fault == "killed_any":
                    self.rate(step, r, self.now, t + 240 * 10**6)
                continue
            # It has only begun its broadcast, after others were done with it, and began the next operation.
            if self.fault == "async_root":
                if r == 0:
                    self.stand(step, r, "broadcast", "broadcast", t + 2 * 10**6, 64, root=0)
                elif r != WHO:
                    self.rate(step, r, self.now, t)
                    self.stand(step, r, "all_reduce", "all_reduce", t + 10**6, 64)
                continue
            self.rate(step, r, self.now, t)
            # Its library crashes on another rank, of which is known that it ended before that call, to a tick.
            if self.fault == "count_crash":
                self.stand(step, r, "all_reduce", "all_reduce", t + (3 if r == WHO else 1) * 10**6, 61 if r == WHO else 64)
                continue
            # Its end is the next one's, which has awaited it for long, and whose library ends it.
            if self.fault == "dtype_ended":
                self.reduce(step, r, t)
                if r in (WHO, WHO + 1):
                    self.message(step, r, "send", (r + 1) % RANKS, t + (2 if r == WHO else 1) * 10**6 + 500000, values(step, r, "act"))
                if r == WHO + 1:
                    self.ranks[r].call("recv", [("", dict(await_dtype="float32", await_count=64))], start=t - 10**6, dur="", step=step,
                                       stack_id=self.stack(r, "recv"), comm_seq=self.number(r, ("recv", WHO, 7)), peer=WHO, tag=7, flags="async;open")
                else:
                    self.stand(step, r, "norm", "all_reduce", t + 60 * 10**6, 1)
                continue
            # It has skipped its send, for which another rank waits; in the step before all had new partners.
            if self.fault == "async_partners":
                self.reduce(step, r, t)
                if r != WHO:
                    self.message(step, r, "send", (r + 1) % RANKS, t + 2 * 10**6, values(step, r, "act"))
                self.message(step, r, "recv", (r - 1) % RANKS, t + 2 * 10**6, values(step, (r - 1) % RANKS, "act"), done=r != WHO + 1)
                if r != WHO + 1:
                    self.stand(step, r, "norm", "all_reduce", t + 60 * 10**6, 1)
                continue
            # It has skipped the call that blocks the others, and gone on to the first call that two other groups made in the step before.
            if self.fault == "rare_groups":
                if r == WHO:
                    self.shard(step, r, t, dur="", flags="open")
                else:
                    self.stand(step, r, "all_reduce", "all_reduce", t + 10**6, 64)
                continue
            # The first of some that are only started, from one line, is started twice; the others' sizes differ from then on.
            if self.fault == "loop_twice":
                self.started(step, r, t, [20, 20, 30] if r == WHO else [20, 30, 40], dur="", flags="async;open")
                continue
            # The last call of the step is made twice, from a line of its own.
            if self.fault == "gather_twice":
                self.reduce(step, r, t)
                self.ring(step, r, t)
                self.norm(step, r, t)
                self.gather(step, r, t)
                if r == WHO:
                    self.stand(step, r, "gather", "gather", t + 62 * 10**6, 8, root=0, stack=len(PLACES) + 1)
                else:
                    self.collective(step + 1, r, "broadcast", "broadcast", t + 63 * 10**6, dur="", root=0, flags="open")
                continue
            # All is done but that one rank does not go on to the next step.
            if self.fault == "asleep_behind":
                self.reduce(step, r, t)
                self.ring(step, r, t)
                self.norm(step, r, t)
                self.gather(step, r, t)
                if r != WHO:
                    self.collective(step + 1, r, "broadcast", "broadcast", t + 63 * 10**6, dur="", root=0, flags="open")
                continue
            # It sends to another one than to who awaits it, which goes on.
            if self.fault == "peer":
                self.reduce(step, r, t)
                self.pairs(step, r, t, astray=True)
                if r not in (WHO, self.partner(step, WHO)):
                    self.stand(step, r, "norm", "all_reduce", t + 60 * 10**6, 1)
                continue
            if self.fault == "turn_missing":
                self.reduce(step, r, t)
                self.turns(step, r, t)
                if r != WHO - 1:
                    self.stand(step, r, "norm", "all_reduce", t + 60 * 10**6, 1)
                continue
            # All that is left of the step.
            if self.fault == "many_missing":
                if r == WHO:
                    self.collective(step + 1, r, "broadcast", "broadcast", t + 63 * 10**6, dur="", root=0, flags="open")
                else:
                    self.reduce(step, r, t)
                    self.message(step, r, "send", (r + 1) % RANKS, t + 2 * 10**6, values(step, r, "act"), done=False)
                continue
            if self.fault == "order_line":
                stack = dict(stack=len(PLACES) + 1) if r == WHO else {}
                self.stand(step, r, "norm" if r == WHO else "all_reduce", "all_reduce", t + 10**6, 1 if r == WHO else 64, **stack)
                continue
            if self.fault == "order_far":
                place = "gather" if r == WHO else "all_reduce"
                self.stand(step, r, place, place, t + 10**6, 8 if r == WHO else 64,
                           **dict(root=0, stack=len(PLACES) + 1) if r == WHO else {})
                continue
            # From a new line, with ranks that are not there.
            if self.fault == "extra_root":
                if r == WHO:
                    self.collective(step, r, "broadcast", "broadcast", t + 10**6, dur="", root=1, comm=self.half(r), size=HALF,
                                    rank_there=r // 2, key="s", stack=len(PLACES) + 1, flags="open")
                else:
                    self.stand(step, r, "all_reduce", "all_reduce", t + 10**6, 64)
                continue
            self.reduce(step, r, t)
            # The library of the one that has less room ends it there, and a launcher the others.
            if self.fault in ("message_left_out", "message_taken"):
                small = WHO + 1 if self.fault == "message_left_out" else WHO
                self.ring(step, r, t, receives=r != small)
                if r != small:
                    self.stand(step, r, "norm", "all_reduce", t + 60 * 10**6, 1)
                continue
            if self.fault in ("message_room", "message_crossing"):
                self.ring(step, r, t, receives=r != WHO)
                # Two have just begun to send to each other.
                if self.fault == "message_crossing":
                    if r in (0, 3):
                        self.message(step, r, "send", 3 - r, t + 6 * 10**9 - 10**6, values(step, r, "cross", 8), tag=9, done=False)
                    continue
                if r not in (0, WHO):
                    self.stand(step, r, "norm", "all_reduce", t + 60 * 10**6, 1)
                continue
            if self.fault == "round_missing":
                self.ring(step, r, t)
                self.norm(step, r, t)
                if r not in (0, WHO):
                    self.gather(step, r, t)
                if r:
                    self.collective(step + 1, r, "broadcast", "broadcast", t + 63 * 10**6, dur="", root=0, flags="open")
                else:
                    self.stand(step, r, "gather", "gather", t + 61 * 10**6, 8, root=0)
                continue
            if self.fault == "tail_missing":
                self.ring(step, r, t)
                self.norm(step, r, t)
                if r == WHO:
                    self.shard(step, r, t)
                    self.collective(step + 1, r, "broadcast", "broadcast", t + 63 * 10**6, dur="", root=0, flags="open")
                else:
                    self.stand(step, r, "gather", "gather", t + 61 * 10**6, 8, root=0)
                continue
            # The library ends it there: nothing is after it.
            if self.fault == "extra_again":
                self.stand(step, r, "new_line" if r == WHO else "all_reduce", "all_reduce", t + 2 * 10**6, 64 if r == WHO else 8)
                continue
            if self.fault == "extra_line" and r == WHO:
                self.stand(step, r, "all_reduce", "all_reduce", t + 2 * 10**6, 64)
            if r == WHO:
                continue
            self.ring(step, r, t, sends=r != WHO - 1, receives=r != WHO + 1)
            if self.fault == "extra_line" or r not in (WHO - 1, WHO + 1):
                self.stand(step, r, "norm", "all_reduce", t + 60 * 10**6, 1)

    def step(self, step):
        late = [self.compute(step, r) for r in range(RANKS)]
        t = self.now + max(late) + 10**6
        if self.fault in STAND and step == WHEN:
            self.last_step(step, t)
            if self.fault == "count_crash":
                self.now = t + 5 * 10**5
                return
            self.now = t + (5 * 10**7 if self.fault == "killed_tick" else 3 * 10**8 if self.fault.startswith("killed") and self.fault not in ("killed_late", "killed_asleep", "killed_around") else 6 * 10**9)
            return
        for r in range(RANKS):
            began = self.now + late[r]
            calls = [lambda: self.rate(step, r, began, t), lambda: self.reduce(step, r, t), lambda: self.ring(step, r, t),
                     lambda: self.norm(step, r, t), lambda: self.gather(step, r, t)]
            if self.fault == "asleep_branch":
                calls.insert(3, lambda: self.chain(step, r, t))
            # Two messages in some steps, in an order that data decide.
            if self.fault == "order_choice" and step in (1, 3, 5, WHEN) and r in (WHO, WHO + 1):
                tags = (15, 14) if self.due("order_choice", r, step) else (14, 15)
                calls[3:3] = [lambda k=k, tag=tag: self.message(step, r, "send" if r == WHO else "recv", 2 * WHO + 1 - r, t + (3 + k) * 10**6,
                                                                values(step, WHO, f"choice {tag}"), tag=tag, place="turn_send") for k, tag in enumerate(tags)]
            if self.fault in ("few_renewed", "renewed_stale"):
                calls.insert(3, lambda: self.renewed(step, r, t))
            if self.fault == "groups":
                calls.append(lambda: self.groups(step, r, t))
            if self.fault == "zero_evaluated":
                calls.append(lambda: self.evaluated(step, r, t))
            if self.fault == "spike_passed":
                calls.insert(1, lambda: self.passed_on(step, r, t))
            if self.due("order", r, step):
                calls[0], calls[1] = calls[1], calls[0]
            if self.due("missing", r, step):
                calls.pop(1)
            if self.due("extra", r, step):
                calls.insert(1, calls[1])
            if self.fault == "order_line":
                calls.pop(2)
            # Two calls of the same size.
            if self.fault == "order_branch":
                calls.insert(1, lambda: self.twin(step, r, t))
                if self.due("order_branch", r, step):
                    calls[1], calls[2] = calls[2], calls[1]
            # One call more shifts which tensor has which turn of a line: one of them is always zero on this rank.
            if self.fault == "shards":
                calls += [lambda n=n: self.collective(step, r, "shard", "all_gather", t + 62 * 10**6 + n * 10**5,
                                                      values(step, r, f"s{n}", n) if n != 40 or r != WHO else [0.0] * n)
                          for n in ([20, 30, 40, 50] if step != WHEN else [20, 30, 30, 40, 50])]
            if self.fault == "loop_twice":
                calls.insert(1, lambda: self.started(step, r, t, [20, 30, 40], flags="async"))
            if self.fault.startswith("volume") or self.fault in ("stale_v", "moved"):
                calls.insert(4, lambda: self.exchange(step, r, t))
            # On other communicators: no rank has to wait for it. Every other step has other calls.
            if self.fault in ("order_apart", "order_rare"):
                early = self.due(self.fault, r, step)
                calls.insert(4 if early else 5, lambda early=early: self.shard(step, r, t - 10**6 * early))
                # Or in the second step with an evaluation.
                if self.fault == "order_rare" and step in (4, WHEN):
                    calls.append(lambda: self.gather(step, r, t + 10**6))
                if self.fault == "order_apart" and step % 2:
                    calls.append(lambda: self.twin(step, r, t + 617 * 10**5, "new_line"))
            if self.fault == "peer":
                calls[2] = lambda: self.pairs(step, r, t)
            if self.fault == "turn_missing":
                calls[2] = lambda: self.turns(step, r, t)
            if self.fault.startswith("tail_"):
                calls.append(lambda: self.shard(step, r, t))
            if self.fault in ("rare_missing", "rare_first", "round_missing", "dtype_line"):
                calls.append(lambda: self.rare(step, r, t))
            # An evaluation, whose numbers are of another size.
            if self.fault == "wrappers" and step % 5 == 0 and step:
                calls.insert(3, lambda: self.collective(step, r, "norm", "all_reduce", t + 59 * 10**6, [40.0] * 2, [160.0] * 2, redop="sum", stack=43))
            if self.fault == "asleep_role" and step % 4 == 0 and r % 2 == 0:
                calls.append(lambda: self.shard(step, r, t))
            if self.fault == "partner_asleep":
                calls[:0] = [lambda k=k, peer=peer: self.exchange_with(step, r, t - 10**6 + k * 5 * 10**5, peer)
                             for k, peer in enumerate([r ^ 1, (r + 2) % RANKS])]
            # After an answer of rank 0, which is as far from no two of them, pairs exchange; they are others in the last step of all.
            if self.fault == "async_partners":
                calls += [lambda k=k: self.message(step, r, "send" if r == 0 else "recv", k if r == 0 else 0, t + 612 * 10**5, values(step, k, "answer"), tag=11)
                          for k in range(1, RANKS) if r in (0, k)]
                if step % 3 == 2:
                    calls.append(lambda: self.exchange_with(step, r, t + 615 * 10**5, (r + 2) % RANKS if step == WHEN - 1 else r ^ 1))
            if self.fault == "rare_groups" and step == WHEN - 1:
                calls.append(lambda: self.shard(step, r, t))
            # The last two of a step, which no rank has to wait for.
            if self.fault == "round_swap":
                early = self.due("round_swap", r, step)
                calls.insert(5 if early else 4, lambda early=early: self.shard(step, r, t + (10**6 if early else -10**6)))
            # The last call of most steps, and one that is after it in every third.
            if self.fault == "round_order":
                delay = 2 * 10**6 * self.due("round_order", r, step)
                calls[4] = lambda delay=delay: self.gather(step, r, t + delay)
                calls.insert(4 if delay else 5, lambda: self.rare(step, r, t))
            # An evaluation: how long such a step takes says nothing of the others.
            if (self.fault == "jitter_stalls" and step == 6) or (self.fault == "jitter_rare" and step % 4 == 0):
                calls.append(lambda: self.gather(step, r, t + 10**6))
            if self.fault == "missing_own_time":
                self.beat(step, r, t)
            if self.fault == "stale_alone":
                v = values(step - (r == WHO and step == WHEN), r, "alone")
                calls.append(lambda v=v: self.collective(step, r, "shard", "all_reduce", t + 61600000, v, v, redop="sum", comm=f"33333333333333{r:02x}",
                                                         size=1, rank_there=0, key="a"))
            if self.fault in ("bursts", "sizes"):
                calls.insert(3, lambda: self.burst(step, r, t))
                if self.comes_late(step - 1, r):
                    calls.insert(0, lambda: self.take(step, r, began, step - 1))
            if self.fault == "redop_line":
                calls.insert(2, lambda: self.twin(step, r, t + 15 * 10**5, "all_reduce"))
            # Another length after it.
            if self.fault == "extra_again":
                calls.insert(2, lambda: self.collective(step, r, "all_reduce", "all_reduce", t + 2 * 10**6, values(step, r, "half", 8),
                                                        [sum(v) for v in zip(*(values(step, k, "half", 8) for k in range(RANKS)))], redop="sum"))
            for c in calls:
                c()
        self.now = t + 62 * 10**6

    def beat(self, step, rank, t):
        """Of a thread that keeps time of its own: its calls fall into whichever step the others are in, once three into one."""
        for n in range(3 if rank == 1 and step == WHEN else (step + step // 3 + rank) % 3):
            v = values(step, rank, f"beat {n}", 8)
            self.collective(step, rank, "shard", "all_reduce", t - 5 * 10**5 + n * 10**5, v, v, redop="sum", comm=self.half(rank), size=HALF,
                            rank_there=rank // 2, key="s", thread=2, dur=5 * 10**4)

    def compute(self, step, rank):
        """ns outside of calls."""
        slow = 60e6 if self.since("slow", rank, step) or self.since("async_slow", rank, step) else 0
        slow += (3e9 if self.fault == "jitter_stalls" else 80e6) if rank == WHO and step in JITTER.get(self.fault, ()) else 0
        slow += 3e9 if self.due("stall", rank, step) or self.due("async_stall", rank, step) else 0
        # Rank 0 writes a checkpoint every fourth step; all evaluate.
        slow += 70e6 if step % 4 == 3 and rank == 0 and self.fault not in ("slow_noisy", "jitter_end") else 0
        # So long that it is more than five times what the others spread only together.
        if self.fault == "slow_noisy":
            slow = 40e6 if rank == WHO and step >= WHEN - 2 else 0
            slow += 10e6 if random.Random(f"noise {step} {rank}").random() < 0.3 else 0
        # It is now and then a little late before, as where it alone is measured on a busy machine; then late for good, and far more.
        if self.fault == "slow_uneven":
            slow = 200e6 if rank == WHO and step >= WHEN else 0
            slow += random.Random(f"uneven {step}").uniform(0, 45e6) if rank == WHO and step % 4 else 0
        return int(5e6 + slow + random.Random(f"{step} {rank}").uniform(0, 1e6))

    def rate(self, step, rank, began, t):
        v, root = values(step, 0, "rate"), WHO if self.fault == "count_root" else 0
        if self.due("dtype_line", rank, step):
            self.collective(step, rank, "broadcast", "broadcast", began, None, v, root=root, dur=max(t - began, 1000), stack=self.stack(rank, "new_line"))
            self.ranks[rank].lines[-1] = self.ranks[rank].lines[-1].replace("float32", "int32")
            return
        self.collective(step, rank, "broadcast", "broadcast", began, v if rank == root else None, v, root=root,
                        dur=max(t - began, 1000))

    def gradients(self, step):
        """What each rank contributes, and what comes of it."""
        if self.kept[0] == step:
            return self.kept[1:]
        ins = [values(step, r, "grad") for r in range(RANKS)]
        for r in range(RANKS):
            if self.due("stale", r, step):
                ins[r] = values(step - 1, r, "grad")
            if self.due("spike", r, step):
                ins[r][5] = 1e6
            # On all ranks alike: no rank's fault.
            if self.fault == "spike_tensors" and step == WHEN:
                ins[r][5] = 1e6 + r
            if self.fault == "spike_passed" and r == WHO + 1 and step == WHEN:
                ins[r][5] = 1e6
            # Experts without tokens: a step with anything in it is rare.
            if self.fault == "spike_zeros" and r == WHO and step not in (0, 3, 6, WHEN):
                ins[r] = [0.0] * 64
            if self.since("zero", r, step) or self.since("zero_first", r, step) or self.due("zero_once", r, step):
                ins[r] = [0.0] * 64
            if self.due("nan", r, step):
                ins[r][9] = math.nan
            # All but rows of an embedding that no token has.
            if self.since("nan_zeros", r, step):
                ins[r] = [math.nan] * 60 + [0.0] * 4
        if self.fault == "goes_around":
            ins = [[float(round(x * 2**20)) for x in v] for v in ins]
            for v in ins:
                v[5] += 2**30 if step == WHEN else 0
        outs = [sum(v) for v in zip(*ins)]
        # What int32 makes of it.
        if self.fault == "goes_around":
            outs = [(x + 2**31) % 2**32 - 2**31 for x in outs]
        if self.due("not_sum", WHO, step):
            outs = [a - b for a, b in zip(outs, ins[WHO])]
        self.kept = step, ins, outs
        return ins, outs

    def reduce(self, step, rank, t):
        ins, outs = self.gradients(step)
        if self.due("corruption", rank, step):
            outs = outs[:7] + [outs[7] + 0.25] + outs[8:]
        more = dict(redop="sum")
        if self.due("redop", rank, step) or self.due("redop_line", rank, step):
            more["redop"] = "max"
        # Out of a loop: the other call of it has the first one's number then.
        if self.due("redop_line", rank, step):
            more["stack"] = self.stack(rank, "new_line")
        # A branch that is taken once: the same call from a line of its own.
        if self.due("spike_line", rank, step):
            more["stack"] = self.stack(rank, "new_line")
        # Each rank adds in another order, and its NaN has the bits of the one that came first.
        if self.due("nan", WHO, step):
            more["crc32"] = f"{rank:08x}"
        mine = ins[rank]
        if self.due("count", rank, step):
            mine = mine[:-3]
        self.collective(step, rank, "all_reduce", "all_reduce", t + 10**6, mine, outs, **more)

    def ring(self, step, rank, t, sends=True, receives=True):
        nxt, before = (rank + 1) % RANKS, (rank - 1) % RANKS
        took = 40 * 10**6 if self.since("link", rank, step) or self.since("only_link", rank, step) else 10**5
        # No other link to compare it with.
        only = self.fault == "only_link"
        # A pipeline: the first stage waits for what the last one computes, and computes as much itself then.
        late = 28 * 10**6 if self.fault == "stages" else 0
        took = took + late if rank == 0 else took
        if not only or nxt == WHO:
            self.message(step, rank, "send", nxt, t + 2 * 10**6 + (late if rank == 3 else 0), values(step, rank, "act", self.length(step, rank, "send")), done=sends)
        if not only or rank == WHO:
            # Of a receive that was cancelled, and has a number: what was sent with it is received with the next one.
            lag = self.fault == "message_cancelled" and rank == WHO and step >= WHEN
            self.message(step, rank, "recv", before, t + 2 * 10**6, values(step - lag, before, "act", self.length(step, rank, "recv")), dur=took, done=receives)

    def length(self, step, rank, side):
        """Elements of a message. Of some faults three in turn, and rank 2 sends or receives what comes next."""
        if self.fault == "message_short":
            return 40 if (rank == WHO) == (side == "send") and rank in (WHO, WHO + 1) and step == WHEN else 64
        # The buffer is longer than what is sent: of what arrived this library says nothing.
        if self.fault == "message_wide":
            return 80 if rank == WHO and side == "recv" and step == WHEN else 64
        if self.fault == "message_batches":
            return 64 - step
        if self.fault == "message_left_out":
            return (20, 50, 10)[(step + (side == "send" and rank == WHO and step == WHEN)) % 3]
        if self.fault == "message_taken":
            return (50, 20, 10)[(step + (side == "recv" and rank == WHO and step == WHEN)) % 3]
        return 64

    def comes_late(self, step, rank):
        return self.fault == "bursts" and rank == WHO and step > 0 and step % 2

    def take(self, step, rank, start, sent):
        before = (rank - 1) % RANKS
        self.message(step, rank, "recv", before, start, values(sent, before, "burst"), dur=1000, tag=8)

    def burst(self, step, rank, t):
        """
        Several messages in each step; in every other one rank 2 takes the last of them at the next step's begin. Or another number in
        each: these are no steps of a training.
        """
        n = 5 if self.fault == "bursts" else 1 + 7 * step * step % 97
        for i in range(n):
            self.message(step, rank, "send", (rank + 1) % RANKS, t + (40 + i) * 10**5, values(step, rank, "burst"), tag=8)
        for i in range(n - self.comes_late(step, rank)):
            self.take(step, rank, t + (140 + i) * 10**5, step)

    def norm(self, step, rank, t):
        ins = [values(step, r % 2, "norm", 1) for r in range(RANKS)]
        if self.fault == "diverged" and step >= WHEN:
            ins[WHO] = values(step, 9, "norm", 1)
        if self.due("spike", WHO, step):
            ins[WHO] = [1e8]
        if self.fault == "spike_measured" and step == WHEN:
            ins = [[1e8 + r % 2] for r in range(RANKS)]
        more = {}
        if self.fault == "wrappers":
            more = dict(stack=42)
        if self.fault == "missing_callbacks":
            more = dict(stack=41, thread=1) if rank == 1 and step == WHEN - 1 else dict(stack=40, thread=2)
        early = 28 * 10**6 if self.fault == "stages" and rank else 0
        if early:
            more = dict(dur=early + 10**5)
        self.collective(step, rank, "norm", "all_reduce", t + 60 * 10**6 - early, ins[rank], [sum(v) for v in zip(*ins)], redop="sum", **more)

    def gather(self, step, rank, t):
        ins = [self.few(step, r) for r in range(RANKS)]
        # What comes of it, on another rank.
        if self.fault == "zero_first" and step == WHEN:
            ins[3][0] = 1e6
        self.collective(step, rank, "gather", "gather", t + 61 * 10**6, ins[rank], sum(ins, []) if rank == 0 else None, root=0)


def disordered(lines):
    """Eight calls at a time, more than a step has, the other way round."""
    calls = {}
    for line in lines:
        calls.setdefault(line.split(",")[2], []).append(line)
    calls = list(calls.values())
    return [line for k in range(0, len(calls), 8) for call in reversed(calls[k:k + 8]) for line in call]


def one_behind(lines):
    """A step of the optimizer was skipped, and steps are counted by these."""
    step = HEADER.index("step")
    rows = [line.split(",") for line in lines]
    return [",".join(row[:step] + [str(int(row[step]) - (int(row[step]) > WHEN))] + row[step + 1:]) for row in rows]


def threaded(lines):
    """Every third call by another thread, which has numbers of its own."""
    seq, thread = HEADER.index("seq"), HEADER.index("thread")
    given, new, out = {}, {1: 0, 2: 0}, []
    for line in lines:
        row = line.split(",")
        who = 2 if int(row[seq]) % 3 == 0 else 1
        if row[seq] not in given:
            given[row[seq]] = 1 + new[who] // 64 * 128 + (who - 1) * 64 + new[who] % 64
            new[who] += 1
        row[seq], row[thread] = str(given[row[seq]]), str(who)
        out.append(",".join(row))
    return out


def main(top, fault):
    job = Job(top, fault)
    for step in range(WHEN + 1 if fault in STAND else STEPS + 8 if fault in ("jitter_end", "jitter_rare", "slow_uneven") else STEPS):
        job.step(step)
    for r in job.ranks:
        # As of operations that are only started: a row is written when its operation is complete.
        if fault.endswith("_disorder"):
            r.lines = disordered(r.lines)
        if fault == "step_left_out" and r.rank == WHO:
            r.lines = one_behind(r.lines)
        if fault.endswith("_threads"):
            r.lines = threaded(r.lines)
        end = dict(how="signal", code=None, signal=None)
        # One rank slept, and who ends the job begins with another one.
        if fault == "killed_around":
            end["at_ns"] = BEGIN + job.now + (40 * 10**6 + r.rank * 10**6 if r.rank else 0)
        # A launcher ends the others after it; or one signal ends all.
        if fault in ("killed_first", "killed_all", "killed_asleep"):
            end["at_ns"] = BEGIN + job.now + (0 if r.rank == WHO else 5 * 10**6 if fault == "killed_all" else 40 * 10**6 + r.rank * 10**6)
        # Its runtime calls abort() when it leaves by the error that it got.
        if fault == "gone_abort" and r.rank == 0:
            end = dict(how="abort", code=None, text="abort", at_ns=BEGIN + job.now - 5 * 10**9)
        # It ends as a program does that is done; the others are told by their library.
        if fault in ("exit_zero", "exit_message", "exit_other"):
            end = dict(how="exit", code=0, at_ns=BEGIN + job.now - 6 * 10**9) if r.rank == WHO else \
                dict(how="exception", code=1, text="RuntimeError: Connection closed by peer", at_ns=BEGIN + job.now)
        killed = fault == "exit_message" and r.rank not in (WHO, WHO + 1)
        if killed:
            end = dict(how="signal", code=None, signal=None)
        # A launcher was so fast that the clock does not tell.
        if fault == "killed_tick":
            end["at_ns"] = BEGIN + job.now
        if fault == "count_crash":
            end["at_ns"] = BEGIN + job.now + 40 * 10**6 * (r.rank > 0)
        if fault == "dtype_ended" and r.rank == WHO + 1:
            end = dict(how="exit", code=15, inside="MPI_Waitall", at_ns=BEGIN + job.now)
        # What it wrote last it wrote before the others were told.
        silent = 6 * 10**9 if fault.startswith("gone") and r.rank == WHO else 0
        if fault == "asleep_behind":
            r.meta["steps"]["current"] = WHEN + (r.rank != WHO)
        r.write(last_record_ns=BEGIN + job.now - silent, **dict(state="finished" if fault.startswith("exit") and not killed else "recovered") if fault in STAND else {},
                **dict(end=end) if fault.startswith(("gone", "exit", "killed")) or fault in ("count_crash", "dtype_ended") else {})


if __name__ == "__main__":
    for f in sys.argv[2:]:
        main(f"{sys.argv[1]}/{f}", f)
