# SPDX-License-Identifier: Apache-2.0
"""Output folders of programs with loops in their steps (layers, micro-batches, iterations), and one fault in each: loop_folders.py DIR
FAULT... makes DIR/FAULT.

4 ranks, 16 steps; rank 2 does what is wrong, in step 9.
"""
import math
import sys

import fault_folders
from fault_folders import BEGIN, RANKS, WHEN, WHO, Job, values

STEPS, US = 16, 1000
LINES = {name: i + 1 for i, name in enumerate(("dt", "first_halo", "halo", "norm", "gather", "scatter", "send", "recv", "once"))}
ENDED = ("touched", "refused", "refused_inf", "refused_crash", "refused_gather", "start_missing", "tag_line", "half_turn", "half_again", "iteration_missing", "round_again", "rare_missing", "message_shifted", "grown_count", "control_missing", "choice_waits", "turn_waits", "pass_twice")
UNMARKED = ("slow_between", "writes_between", "jitter_between", "round_again", "bursts_zero", "spike_residual")
GRAPH = "44444444444444a4"


class Loops(Job):
    def __init__(self, top, fault):
        super().__init__(top, fault)
        self.sent, self.taken = [], [0] * RANKS  # of pairs_of_two()
        for r in self.ranks:
            with open(r.dir + "/stack_info.csv", "w") as f:
                print(",".join(fault_folders.STACK_COLUMNS), file=f)
                for name, i in LINES.items():
                    print(f"{i},MPI_{name},0,,solve!{name}+0x{i}0 <- solve!main+0x{i}4", file=f)

    def all_of(self, step, op, place, n, turn=0, outs=None, who=range(RANKS), **more):
        """An operation of all ranks, or of those in who; outs: what each gets, by rank."""
        v = [values(step, r, f"{place} {turn}", n) for r in range(RANKS)]
        self.now += 50 * US
        for r in who:
            out = outs(v, r) if outs else [sum(x) for x in zip(*v)]
            self.collective(step, r, place, op, self.now, v[r], out, stack=LINES[place], dur=30 * US, **more)
        self.now += 50 * US

    def stands(self, step, rank, op, place, n, flags="open", **more):
        self.collective(step, rank, place, op, self.now, values(step, rank, place, n) if n else None, dur="", stack=LINES[place], flags=flags, **more)

    def one_message(self, step, rank, op, peer, n, what, tag, place=None, flags=None, **more):
        self.flags = dict(flags=flags) if flags else {}
        self.message(step, rank, op, peer, self.now, values(more.get("sent", step), what, f"message {more.get('turn', tag)}", n), done=not flags or "open" not in flags, tag=tag)
        line = self.ranks[rank].lines[-1].split(",")
        line[fault_folders.HEADER.index("stack_id")] = str(LINES[place or op])
        line[fault_folders.HEADER.index("api")] = more.get("api", "MPI_" + op)
        line[fault_folders.HEADER.index("flags")] = flags or ""
        for column in ("dur_ns", "wait_ns"):
            line[fault_folders.HEADER.index(column)] = str(more.get(column, line[fault_folders.HEADER.index(column)]))
        self.ranks[rank].lines[-1] = ",".join(line)
        self.flags = {}

    # ---- programs ----

    def solver(self, step):
        """A time step: its length, then iterations, as many as it takes; the halo is an operation of a communicator of its own."""
        bad, due = self.fault, step == WHEN
        v = [values(step, r, "dt", 1) for r in range(RANKS)]
        if bad == "min_missing" and due:
            v[WHO] = [-3.0]
        if bad == "nan_min" and due:
            v[WHO] = [math.nan]
        least = [min(x for x in sum(v, []) if x == x)]
        self.now += 2000 * US
        # One rank computes longer between two time steps, or does so from the beginning, as who writes the output.
        late = {"slow_between": step >= WHEN, "writes_between": True, "jitter_between": step in (6, 9, 10, 13)}.get(bad, False)
        if bad == "iteration_missing" and due:
            for r in range(RANKS):
                if r == WHO:
                    self.stands(step, r, "neighbor_all_to_all", "first_halo", 32, comm=GRAPH, key="g")
                else:
                    self.stands(step, r, "all_reduce", "dt", 1, redop="min")
            return
        for r in range(RANKS):
            out = least if not due or bad not in ("nan_min", "min_missing") else \
                v[WHO] if bad == "nan_min" and r >= WHO else [min(x[0] for k, x in enumerate(v) if k != WHO and x == x)]
            begun = self.now + 60000 * US * (late and r == WHO)
            self.collective(step, r, "dt", "all_reduce", begun, v[r], out, stack=LINES["dt"], dur=self.now + (60030 if late else 30) * US - begun, redop="min")
        self.now += 60000 * US if late else 0
        if bad == "round_again" and due:
            for r in range(RANKS):
                self.now += 10 * US
                if r == WHO:
                    self.stands(step, r, "all_reduce", "dt", 1, redop="min")
                else:
                    self.stands(step, r, "neighbor_all_to_all", "first_halo", 32, comm=GRAPH, key="g")
            return
        self.all_of(step, "neighbor_all_to_all", "first_halo", 32, comm=GRAPH, key="g")
        for k in range(20 + step * 7 % 11):
            self.all_of(step, "neighbor_all_to_all", "halo", 32, k, comm=GRAPH, key="g")
            v = [[x * 10.0 ** -(k // 2) for x in values(step, r, f"norm {k}", 1)] for r in range(RANKS)]
            if bad == "spike_residual" and due and k == 15:
                v[WHO] = [1e4]
            self.now += 50 * US
            for r in range(RANKS):
                self.collective(step, r, "norm", "all_reduce", self.now, v[r], [sum(x) for x in zip(*v)], stack=LINES["norm"], dur=30 * US, redop="sum")

    def layers(self, step):
        """Of each of five layers a gather, and a reduce_scatter after it."""
        bad, due = self.fault, step == WHEN
        for layer in range(5):
            if due and bad in ("half_turn", "half_again") and layer == 2:
                # Rank 2 goes on with the next layer's gather, or repeats this one's; the call that it starts then is not made by others.
                for r in range(RANKS):
                    turn = layer + (bad == "half_turn") if r == WHO else layer
                    op, place = ("all_gather", "gather") if r == WHO else ("reduce_scatter", "scatter")
                    self.all_of(step, "all_gather", "gather", 16, layer, lambda v, r: sum(v, []), who=[r])
                    self.all_of(step, op, place, 16, turn, lambda v, r: [], who=[r], flags="async;open", **dict(redop="sum") if r != WHO else {})
                    op, place = ("reduce_scatter", "scatter") if r == WHO else ("all_gather", "gather")
                    self.all_of(step, op, place, 16, layer + 1, lambda v, r: [], who=[r], flags="async;open", **dict(redop="sum") if r == WHO else {})
                return
            self.all_of(step, "all_gather", "gather", 16, layer, lambda v, r: sum(v, []))
            self.all_of(step, "reduce_scatter", "scatter", 16, layer, lambda v, r: [sum(x) for x in zip(*v)][r::RANKS], redop="sum")
        self.all_of(step, "all_reduce", "norm", 1, redop="sum")

    def refuses(self, step, place, op, ended="error:2", **more):
        """A call with terms that its library refuses: the rank goes on, and its next operation is the others' one before."""
        self.now += 50 * US
        for r in range(RANKS):
            if r == WHO:
                none = dict(count=0, bytes=0, min="", max="", nans="", infs="")
                self.ranks[r].call(op, [("in", none)], start=self.now, dur="" if ended == "open" else US, step=step, stack_id=LINES[place],
                                   comm_seq=self.number(r, "c"), flags=ended, **more)

    def reduces(self, step):
        """A sum and a norm, and three gathers, as of checkpoints."""
        bad, due = self.fault, step == WHEN
        self.all_of(step, "all_reduce", "first_halo", 64, redop="sum")
        # Its journal was touched long after it had died; the others were told by their library.
        if bad == "touched" and due:
            for r in range(RANKS):
                if r != WHO:
                    self.collective(step, r, "norm", "all_reduce", self.now, values(step, r, "norm", 1), stack=LINES["norm"], redop="sum", flags="error:1")
            return
        # Its library crashes in it.
        if bad == "refused_crash" and due:
            self.refuses(step, "norm", "all_reduce", "open", redop="sum")
            for r in range(RANKS):
                if r != WHO:
                    self.stands(step, r, "all_reduce", "norm", 1, redop="sum")
            return
        if bad in ("refused", "refused_inf") and due:
            self.refuses(step, "norm", "all_reduce", redop="sum")
            for r in range(RANKS):
                # What it reduces next is the others' part of this one.
                if r != WHO and bad == "refused_inf":
                    self.collective(step, r, "norm", "all_reduce", self.now - US, values(step, r, "norm", 1), [math.inf], stack=LINES["norm"], dur=30 * US, redop="sum")
                if r == WHO or bad == "refused_inf":
                    self.stands(step, r, "gather", "gather", 8, root=0)
                else:
                    self.stands(step, r, "all_reduce", "norm", 1, redop="sum")
            return
        self.all_of(step, "all_reduce", "norm", 1, redop="sum")
        if bad == "refused_gather" and due:
            for k in range(3):
                for r in range(RANKS):
                    if r == WHO and k == 0:
                        self.refuses(step, "gather", "gather", root=0)
                    elif r == 0 and k == 2:
                        self.stands(step, r, "gather", "gather", 8, root=0)
                    else:
                        turn = [k if r != WHO else k - 1 for r in range(RANKS)]
                        v = [values(step, q, f"gather {turn[q]}", 8) for q in range(RANKS)]
                        right = [values(step, q, f"gather {k}", 8) for q in range(RANKS)]
                        # What others send for the operation comes before it is the root's turn: it joins those of one turn.
                        self.collective(step, r, "gather", "gather", self.now - 90 * US * (r not in (0, WHO)), v[r], sum(right, []) if r == 0 else None,
                                        stack=LINES["gather"], dur=30 * US, root=0)
                self.now += 50 * US
            for r in range(1, RANKS):
                self.stands(step, r, "all_reduce", "once", 8, redop="sum")
            return
        for k in range(3):
            self.all_of(step, "gather", "gather", 8, k, lambda v, r: sum(v, []) if r == 0 else None, root=0)
        self.all_of(step, "all_reduce", "once", 8, redop="sum")

    def stages(self, step):
        """Three messages to the next rank, which are only started, each with its tag, and a sum of all."""
        bad, due = self.fault, step == WHEN
        who = due and bad in ("start_missing", "tag_line")
        for m in range(3):
            self.now += 100 * US
            for r in range(RANKS):
                nxt, before = (r + 1) % RANKS, (r - 1) % RANKS
                lost = who and m == 1
                if r == WHO and lost and bad == "start_missing":
                    continue
                # The message of the turn before, whose buffer was not filled; in the last turn the loop may have converged.
                stale = r == WHO and due and (m, bad) in ((1, "stale_turn"), (2, "last_turn"))
                n = 40 if r == WHO and due and m == 1 and bad == "short_line" else 64
                n = 40 + step * 7 % 5 - (r == WHO and due and m == 1) if bad == "lengths" else n
                flags = "async;open" if who and (m == 1 and r == WHO or m == 2 and r == WHO) else "async"
                own_line = ("send", "dt", "halo")[m] if bad == "start_missing" else "send"
                new = r == WHO and m == 1 and due and bad in ("short_line", "tag_line")
                tag = 9 if bad in ("stale_turn", "stale_turns", "last_turn") else 20 + m + (1 if new and bad == "tag_line" else 0)
                again = bad == "stale_turns" and m == 1 and r == WHO and step % 3 == 0
                # Who sends waits for it when it has long arrived.
                for _ in range(2 if bad == "start_again" and due and m == 1 and r == WHO else 1):
                    self.one_message(step, r, "send", nxt, n, r, tag, place="once" if new else own_line, turn=m - (stale or again), flags=flags,
                                     api="MPI_Isend" if new else "MPI_Send_init", **dict(dur_ns=5000 * US, wait_ns=1) if bad == "start_again" else {})
        for m in range(3):
            for r in range(RANKS):
                before = (r - 1) % RANKS
                lost = who and r == WHO + 1 and m >= 1
                tag = 9 if bad in ("stale_turn", "stale_turns", "last_turn") else 20 + m
                stale = before == WHO and (due and (m, bad) in ((1, "stale_turn"), (2, "last_turn")) or bad == "stale_turns" and m == 1 and step % 3 == 0)
                n = 40 if before == WHO and due and m == 1 and bad == "short_line" else 64
                n = 40 + step * 7 % 5 if bad == "lengths" else n
                # It is blocked in the first of them.
                if who and m == 2 and r == WHO + 1:
                    continue
                self.one_message(step, r, "recv", before, n, before, tag, turn=m - stale, flags="open" if lost else "async", api="MPI_Recv_init",
                                 sent=step - (bad == "start_again" and before == WHO and m == 1 and step > WHEN))
        if who:
            # It waits for what comes back, the next one for its message, and so on around.
            for r in range(RANKS):
                if r not in (WHO, WHO + 1):
                    self.stands(step, r, "all_reduce", "norm", 1, redop="sum")
                elif r == WHO:
                    self.one_message(step, r, "recv", WHO + 1, 64, WHO + 1, 77, place="recv", flags="open")
            return
        if bad in ("start_missing", "tag_line"):
            self.one_message(step, WHO + 1, "send", WHO, 64, WHO + 1, 77)
            self.one_message(step, WHO, "recv", WHO + 1, 64, WHO + 1, 77)
        self.all_of(step, "all_reduce", "norm", 1, redop="sum")

    def pairs_of_two(self, step):
        """Two exchange in each iteration, and all reduce; a receive takes what was sent first of what has not been received."""
        for k in range(5 + step * 7 % 4):
            self.sent.append((step, k))
            self.now += 50 * US
            for r in range(RANKS):
                if not (self.fault == "halo_missing" and r == WHO and step == WHEN and k == 2):
                    sent, turn = self.sent[self.taken[r]]
                    self.taken[r] += 1
                    self.one_message(step, r, "recv", r ^ 1, 64, r ^ 1, 9, turn=turn, sent=sent)
                self.one_message(step, r, "send", r ^ 1, 64, r, 9, turn=k)
            self.all_of(step, "all_reduce", "norm", 1, k, redop="sum")

    def answers(self, step):
        """Three messages to rank 3, of lengths that vary, with an answer to each. Rank 2 does not send the first one of a step."""
        due = step == WHEN
        lengths = [40 + (5 * step + 7 * m) % 11 for m in range(3)]
        for m, n in enumerate(lengths[:1] if due else lengths):
            self.now += 100 * US
            if not due:
                self.one_message(step, WHO, "send", WHO + 1, n, WHO, 20, turn=m)
                self.one_message(step, WHO + 1, "recv", WHO, n, WHO, 20, turn=m)
                self.one_message(step, WHO + 1, "send", WHO, n, WHO + 1, 21, turn=m + 3)
            self.one_message(step, WHO, "recv", WHO + 1, n, WHO + 1, 21, turn=m + 3, flags="async;open" if due else "async")
        if due:
            self.one_message(step, WHO, "send", WHO + 1, lengths[1], WHO, 20, flags="open")
            self.one_message(step, WHO + 1, "recv", WHO, lengths[0], WHO, 20, flags="open")
            return
        self.all_of(step, "all_reduce", "norm", 1, redop="sum")

    def replicas(self, step):
        """Two ranks reduce what both have, and all a number that comes of it; the other two wait there."""
        self.now += 500 * US
        v = [values(step, r, "tie", 16) for r in (0, WHO)]
        out = [sum(x) for x in zip(*v)]
        for k, r in enumerate((0, WHO)):
            flipped = [out[0], out[1] + 0.5] + out[2:] if r == WHO and step == WHEN else out
            self.collective(step, r, "once", "all_reduce", self.now, v[k], flipped, stack=LINES["once"], dur=30 * US, redop="sum", comm=self.half(r), size=2, rank_there=k,
                            key="s")
        both = values(step, 0, "both", 1)
        n = [[both[0] + (r == WHO and step >= WHEN)] if r in (0, WHO) else values(step, r, "norm", 1) for r in range(RANKS)]
        for r in range(RANKS):
            begun = self.now + (-300 if r not in (0, WHO) else 50) * US
            self.collective(step, r, "norm", "all_reduce", begun, n[r], [sum(x) for x in zip(*n)], stack=LINES["norm"], dur=self.now + 80 * US - begun, redop="sum")
        self.now += 100 * US

    def saves(self, step):
        """Two sums, the second of a tensor; every fifth step five layers are gathered: as many calls as there are steps."""
        self.now += 2000 * US
        self.all_of(step, "all_reduce", "norm", 1, redop="sum")
        for k in range(3):
            v = [values(step, r, f"once {k}", 32) for r in range(RANKS)]
            if step >= WHEN and k == 1:
                v[WHO] = [0.0] * 32
            self.now += 50 * US
            for r in range(RANKS):
                self.collective(step, r, "first_halo", "all_reduce", self.now, v[r], [sum(x) for x in zip(*v)], stack=LINES["first_halo"], dur=30 * US, redop="sum")
        self.all_of(step, "all_reduce", "dt", 2, redop="sum")
        for layer in range(5 if step % 5 == 4 else 0):
            self.all_of(step, "gather", "gather", 8, layer, lambda v, r: sum(v, []) if r == 0 else None, root=0)

    def grows(self, step):
        """Three turns, each with an exchange, a sum of one number more than the one before, and a norm."""
        for k in range(3):
            self.all_of(step, "neighbor_all_to_all", "halo", 32, k, comm=GRAPH, key="g")
            if self.fault == "grown_count" and step == WHEN:
                for r in range(RANKS):
                    self.stands(step, r, "all_reduce", "norm", 1 + (r == WHO), redop="sum")
                return
            self.all_of(step, "all_reduce", "norm", k + 1, k, redop="sum")
            self.all_of(step, "all_reduce", "dt", 1, k, redop="sum")

    def controlled(self, step):
        """Messages, a sum at rank 0, which says in a broadcast whether the step counts, and a sum of all."""
        due = step == WHEN
        for k in range(2):
            for r in range(RANKS):
                self.one_message(step, r, "recv", (r - 1) % RANKS, 8, (r - 1) % RANKS, 9, flags="async", turn=k, api="MPI_Irecv")
                self.one_message(step, r, "send", (r + 1) % RANKS, 8, r, 9, flags="async", turn=k, api="MPI_Isend")
        self.all_of(step, "reduce", "once", 3, outs=lambda v, r: [sum(x) for x in zip(*v)] if r == 0 else None, redop="sum", root=0)
        who = [r for r in range(RANKS) if not due or r != WHO]
        self.all_of(step, "broadcast", "scatter", 3, outs=lambda v, r: v[0], who=who, root=0)
        if due:
            # Rank 2 begins the step once more, and waits for what no rank sends.
            for k in range(2):
                self.one_message(step, WHO, "recv", WHO - 1, 8, WHO - 1, 9, flags="async;open", turn=2 + k, api="MPI_Irecv")
                self.one_message(step, WHO, "send", WHO + 1, 8, WHO, 9, flags="async", turn=2 + k, api="MPI_Isend")
            for r in who:
                self.stands(step, r, "all_reduce", "dt", 1, redop="sum")
            return
        self.all_of(step, "all_reduce", "dt", 1, redop="sum")

    def chooses(self, step):
        """In some steps ranks 0 and 2 share something before all gather. In the last one rank 3 does not go on, for which rank 2 waits."""
        due = step == WHEN
        self.all_of(step, "all_reduce", "norm", 1, redop="sum")
        shared = due or step in (3, 6)
        v = [values(step, r, "shared", 16) for r in (0, WHO)]
        for k, r in enumerate((0, WHO) if shared else ()):
            self.collective(step, r, "once", "all_reduce", self.now, v[k], [sum(x) for x in zip(*v)], stack=LINES["once"], dur=30 * US, redop="sum",
                            comm=self.half(r), size=2, rank_there=k, key="s")
        self.now += 100 * US
        if due:
            self.one_message(step, WHO, "recv", WHO + 1, 8, WHO + 1, 9, flags="open")
            for r in (0, 1):
                self.stands(step, r, "all_reduce", "dt", 1, redop="sum")
            return
        if shared or step % 2:
            self.all_of(step, "all_gather", "gather", 4, outs=lambda v, r: sum(v, []))
        self.one_message(step, WHO, "recv", WHO + 1, 8, WHO + 1, 9)
        self.one_message(step, WHO + 1, "send", WHO, 8, WHO + 1, 9)
        self.all_of(step, "all_reduce", "dt", 1, redop="sum")

    def exchanges(self, step):
        """Pairs exchange at two lines in each turn, of which steps have different numbers; a broadcast and a sum of all. Rank 3 stops in its
        first turn of two, and rank 2 waits for it in the next one."""
        turns = 2 + step % 3
        for turn in range(turns):
            self.now += 100 * US
            for take, give in (("first_halo", "halo"), ("recv", "send")):
                waits = step == WHEN and turn == 1
                for r in range(2 if waits else RANKS):
                    self.one_message(step, r, "recv", r ^ 1, 8, r ^ 1, 9, place=take, flags="async", turn=turn, api="MPI_Irecv")
                    self.one_message(step, r, "send", r ^ 1, 8, r, 9, place=give, flags="async", turn=turn, api="MPI_Isend")
                if waits and give == "halo":
                    self.one_message(step, WHO, "recv", WHO + 1, 8, WHO + 1, 9, place=take, flags="async;open", turn=turn, api="MPI_Irecv")
                    self.one_message(step, WHO, "send", WHO + 1, 8, WHO, 9, place=give, flags="async", turn=turn, api="MPI_Isend")
        due = step == WHEN
        self.all_of(step, "broadcast", "scatter", 3, outs=lambda v, r: v[0], who=range(2 if due else RANKS), root=0)
        for r in (0, 1) if due else ():
            self.stands(step, r, "all_reduce", "norm", 1, redop="sum")
        if not due:
            self.all_of(step, "all_reduce", "norm", 1, redop="sum")

    def passes(self, step):
        """Backward passes, of which steps have different numbers, with a reduction in each; in every other step a sum of nine numbers; one
        more pass. Rank 2 reduces twice in a pass, which never happened."""
        turns = 1 + step * 5 % 3
        for turn in range(turns):
            twice = step == WHEN and self.fault == "pass_twice"
            self.all_of(step, "all_reduce", "norm", 16, turn, redop="sum", phase="backward", micro_step=turn + 1)
            if twice:
                for r in range(RANKS):
                    mine = r == WHO
                    self.stands(step, r, "all_reduce", "norm" if mine else "gather", 16 if mine else 9, redop="sum", phase="backward" if mine else "forward", micro_step=turn + 1)
                return
        if step % 2:
            self.all_of(step, "all_reduce", "gather", 9, redop="sum", phase="forward", micro_step=turns)
        self.all_of(step, "all_reduce", "once", 12, redop="sum", phase="backward", micro_step=turns + 1)

    def tells(self, step):
        """From step 4 on, three messages to the next rank, all of one length, or the third is the rest; then a sum of all. One of rank 2 is
        shorter: it had five before it at its place in the step, and seventeen of its line."""
        for m in range(3 if step >= 4 else 0):
            self.now += 100 * US
            rest = 40 if self.fault == "clean_rest" and m == 2 else 64
            for r in range(RANKS):
                for op, to, sender in (("send", (r + 1) % RANKS, r), ("recv", (r - 1) % RANKS, (r - 1) % RANKS)):
                    n = 40 if self.fault == "short_early" and step == WHEN and m == 1 and sender == WHO else rest
                    self.one_message(step, r, op, to, n, sender, 9, turn=m)
        self.all_of(step, "all_reduce", "norm", 1, redop="sum")

    def diagnoses(self, step):
        """Iterations, as many as it takes, and after them a diagnosis every third step, which rank 2 leaves out once: it begins the next step."""
        self.now += 500 * US
        self.all_of(step, "all_reduce", "dt", 1, redop="min", outs=lambda v, r: min(v))
        for k in range(6 + step * 7 % 5):
            for r in range(RANKS):
                self.one_message(step, r, "recv", (r - 1) % RANKS, 8, (r - 1) % RANKS, 9, flags="async", turn=k, api="MPI_Irecv")
                self.one_message(step, r, "send", (r + 1) % RANKS, 8, r, 9, flags="async", turn=k, api="MPI_Isend")
            self.all_of(step, "all_reduce", "halo", 1, k, redop="sum")
            self.all_of(step, "all_reduce", "norm", 1, k, redop="sum")
        due = step % 3 == 0
        if due and step != WHEN:
            self.all_of(step, "reduce", "once", 8, outs=lambda v, r: [sum(x) for x in zip(*v)] if r == 0 else None, redop="sum", root=0)
        for r in range(RANKS) if step == WHEN else []:
            if r == WHO:
                self.stands(step + 1, r, "all_reduce", "dt", 1, redop="min")
            elif r == 3:
                self.collective(step, r, "once", "reduce", self.now, values(step, r, "once", 8), stack=LINES["once"], dur=30 * US, redop="sum", root=0)
                self.stands(step + 1, r, "all_reduce", "dt", 1, redop="min")
            else:
                self.stands(step, r, "reduce", "once", 8, redop="sum", root=0)


PROGRAM = {"slow_between": Loops.solver, "writes_between": Loops.solver, "jitter_between": Loops.solver, "nan_min": Loops.solver, "min_missing": Loops.solver, "clean_solver": Loops.solver, "iteration_missing": Loops.solver, "spike_residual": Loops.solver,
           "round_again": Loops.solver, "half_turn": Loops.layers, "half_again": Loops.layers, "touched": Loops.reduces, "refused": Loops.reduces, "refused_inf": Loops.reduces, "corruption_first": Loops.replicas, "start_again": Loops.stages, "refused_crash": Loops.reduces, "refused_gather": Loops.reduces,
           "start_missing": Loops.stages, "tag_line": Loops.stages, "short_line": Loops.stages, "lengths": Loops.stages, "halo_missing": Loops.pairs_of_two, "stale_turn": Loops.stages, "stale_turns": Loops.stages, "last_turn": Loops.stages,
           "bursts_zero": Loops.saves, "message_shifted": Loops.answers, "rare_missing": Loops.diagnoses,
           "grown_count": Loops.grows, "control_missing": Loops.controlled, "choice_waits": Loops.chooses, "turn_waits": Loops.exchanges, "pass_twice": Loops.passes, "clean_passes": Loops.passes, "short_early": Loops.tells, "clean_rest": Loops.tells}


def main(top, fault):
    job = Loops(top, fault)
    for step in range(WHEN + 1 if fault in ENDED else STEPS):
        PROGRAM[fault](job, step)
    job.now += 6 * 10**9 if fault in ENDED else 0
    for r in job.ranks:
        if fault in UNMARKED:
            r.meta["steps"]["source"] = "none"
            r.lines = ["0" + line[line.index(","):] for line in r.lines]
        with open(r.dir + "/comms.csv", "a") as f:
            print(f"{GRAPH},mpi,{RANKS},{r.rank},dist_graph,{fault_folders.WORLD},,0-{RANKS - 1}", file=f)
        end = dict(how="exit", code=1, signal=None, inside="MPI_all_reduce", at_ns=BEGIN + job.now) if r.rank == WHO else \
            dict(how="signal", code=None, signal=None, at_ns=BEGIN + job.now + 40 * 10**6)
        # Its library ends the one that has less room.
        if fault == "message_shifted":
            end = dict(how="abort", code=None, signal=None, at_ns=BEGIN + job.now) if r.rank == WHO + 1 else \
                dict(how="signal", code=None, signal=None, at_ns=BEGIN + job.now + 40 * 10**6)
        if fault == "touched":
            end = dict(how="signal", code=None, signal=None, at_ns=BEGIN + job.now + 3600 * 10**9) if r.rank == WHO else \
                dict(how="exception", code=1, text="RuntimeError: Connection closed by peer", at_ns=BEGIN + job.now)
        r.write(last_record_ns=BEGIN + job.now, **dict(state="finished" if fault == "touched" and r.rank != WHO else "recovered") if fault in ENDED else {},
                **dict(end=end) if fault in ("refused_crash", "touched", "message_shifted") else {})


if __name__ == "__main__":
    for f in sys.argv[2:]:
        main(f"{sys.argv[1]}/{f}", f)
