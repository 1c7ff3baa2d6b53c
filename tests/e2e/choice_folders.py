# SPDX-License-Identifier: Apache-2.0
"""Calls of fault_folders.py that data decide on: who sends, how often a loop runs, and buffers of few numbers."""
import math

from folder_values import RANKS, WHEN, WHO, values


def count_items(step, rank):
    at = [int(4 * x) % 8 for x in values(step, rank, "items", 12)]
    return [float(at.count(k)) for k in range(8)]


class Choices:
    def passed_on(self, step, rank, t):
        """In every third step rank 2 gives rank 3 something, which that rank's gradient is computed of."""
        for r, op, peer in ((WHO, "send", WHO + 1), (WHO + 1, "recv", WHO)):
            if rank == r and step % 3 == 0:
                given = values(step, WHO, "given")
                self.message(step, rank, op, peer, t + 10**5, [1e6] + given if step == WHEN else given, tag=13, place="turn_" + op)

    def chain(self, step, rank, t):
        """Ranks decide by their data who gives its neighbour something: rank 0 in the first steps, then rank 1."""
        giver = 0 if step in (1, 3, 5) else 1 if step == WHEN - 1 else None
        if giver is not None and rank in (giver, giver + 1):
            op = "send" if rank == giver else "recv"
            self.message(step, rank, op, 2 * giver + 1 - rank, t + 3 * 10**6, values(step, giver, "chain"), tag=12, place="turn_" + op)

    def renewed(self, step, rank, t):
        """A loop on communicators that it makes itself, two in each step, from more lines than the step has."""
        for n in range(2):
            for k, place in enumerate(("shard", "exchange", "turn_recv", "turn_send", "warm_recv", "warm_send", "new_line")):
                v = [values(step, r, f"renewed {n} {k}", 8) for r in range(RANKS)]
                # What it gave to the last communicator of the step before.
                if n == 0 and k == 3 and self.due("renewed_stale", WHO, step):
                    v[WHO] = values(step - 1, WHO, f"renewed 1 {k}", 8)
                self.collective(step, rank, place, "all_reduce", t + 3 * 10**6 + (7 * n + k) * 10**5, v[rank], [sum(x) for x in zip(*v)], redop="sum",
                                comm=f"{step * 2 + n + 1:016x}", key=("renewed", step, n))

    def groups(self, step, rank, t):
        """One line that reduces on three communicators in each step, in a loop over them."""
        for g in range(3):
            v = [values(step - self.due("groups", r, step) * (g == 1), r, f"group {g}", 8) for r in range(RANKS)]
            self.collective(step, rank, "shard", "all_reduce", t + 614 * 10**5 + g * 10**5, v[rank], [sum(x) for x in zip(*v)], redop="sum",
                            comm=f"{'4' * 15}{g}", key=("group", g))

    def evaluated(self, step, rank, t):
        """A line that training and evaluation have in common. Every sixth step evaluates before it trains."""
        for stack, what in ((45, "held"), (44, "learnt"))[step % 6 != 5:]:
            v = [[0.0] * 64 if stack == 44 and self.since("zero_evaluated", r, step) else values(step, r, what) for r in range(RANKS)]
            self.collective(step, rank, "norm", "all_reduce", t + 614 * 10**5 + stack * 10**4, v[rank], [sum(x) for x in zip(*v)], redop="sum", stack=stack)

    def few(self, step, rank):
        """Eight numbers: what a rank contributes to the gather at the step's end."""
        again = self.due("few_stale", rank, step) or self.due("few_limit", rank, step)
        mine = values(step - 1 if again else min(step, WHEN) if self.since("few_rest", rank, step) else step, rank, "gather", 8)
        if self.due("few_zero", rank, step) or self.due("few_renewed", rank, step) or self.since("few_zeros", rank, step):
            return [0.0] * 8
        # Of another rank they were the same twice before: they are at a limit there.
        if self.fault == "few_limit" and rank == 1 and step in (4, 5):
            return values(4, rank, "gather", 8)
        # Twelve items, counted in eight classes: the counts change, and their sum never does.
        if self.fault == "few_items":
            return [0.0] * 8 if self.since("few_items", rank, step) else count_items(step, rank)
        # Each rank has numbers of its own size: far above its own, and above what all others leave likely.
        if self.fault == "few_sizes":
            return [x * math.exp(3 * rank) * (10**6 if self.due("few_sizes", rank, step) else 1) for x in mine]
        # Parts that are halved again and again.
        if self.fault == "few_halves":
            return [2.0 ** (-10 - (7 * (step - self.due("few_halves", rank, step)) + 3 * rank + 5 * k) % 17) for k in range(2)]
        # How much work each rank has, and its mean: both are the same again if no item moved.
        if self.fault == "few_means":
            work, items = (int(n * (2 + abs(x))) for n, x in zip((900, 10), values(step - self.due("few_means", rank, step), rank, "gather", 2)))
            return [float(work), work / items]
        # The items of a rank, and what they add up to: there are fewer and fewer, in one step none, and then some again.
        if self.fault == "few_fewer":
            items = abs(WHEN - step) if rank == WHO else 20 + step
            return [float(items), *(-1e-3 * sum(abs(x) for x in values(step, rank, f"sum {k}", items)) for k in range(2))]
        # Two of four repeat something in one step.
        if self.fault == "few_common":
            return values(step - (step == WHEN and rank in (0, WHO)), rank, "gather", 8)
        # The data decide the length: it is another one in two of three steps.
        if self.fault == "length_stale":
            block, last = divmod(step + 1, 3)
            return values(step - self.due("length_stale", rank, step), rank, "gather", 24 + 8 * ((2 * block + (last == 2)) % 3))
        # How many of something each rank has.
        if self.fault == "few_counts":
            return [0.0] * 8 if self.due("few_counts", rank, step) else [float(int(3 * x)) for x in values(step - (step == 5), rank, "gather", 8)]
        return mine
