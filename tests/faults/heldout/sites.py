# SPDX-License-Identifier: Apache-2.0
"""The programs of this room, the sites at which each can have a fault, and the kinds of findings that name a fault."""
import glob
import os

HERE = os.path.dirname(os.path.abspath(__file__))

REDUCED = "nan inf big zero blank stale skip extra less more dtype op flip".split()
SCALAR = "nan inf big zero blank stale skip extra more dtype op flip".split()
ROOTED = "nan inf big zero blank stale skip extra dtype op root".split()
BROADCAST = "skip extra dtype root flip".split()
GATHERED = "nan inf big zero blank stale skip extra dtype".split()
MESSAGE = "nan inf big zero blank stale skip less more dtype tag".split()
PROCESS = "kill exit1 abort segv sleep spin stop slow".split()

# data: the order or the number of calls depends on data. ranks: how many it can have, if not any number. only: sites that one rank in N
# has, the first of each N.
PROGRAMS = {
    "stencil": dict(data=True, sites={
        "halo_up": MESSAGE, "halo_down": MESSAGE, "change": SCALAR, "steepest": SCALAR, "work": GATHERED + ["flip"],
        "move_down": ["nan", "skip", "tag", "less"], "move_up": ["nan", "skip", "tag", "less"], "compute": PROCESS, "balance": PROCESS}),
    "krylov": dict(data=True, sites={
        "end_right": MESSAGE, "end_left": MESSAGE, "deflate": REDUCED, "residual": SCALAR,
        "dots": ["nan", "inf", "big", "skip", "dtype", "op", "stale"], "report": ROOTED, "precondition": PROCESS, "assemble": PROCESS}),
    "spectral": dict(data=False, sites={
        "dt": BROADCAST, "there": GATHERED + ["less"], "back": GATHERED + ["less"], "energy": ROOTED, "filter": PROCESS + SCALAR,
        "transform": PROCESS}),
    "montecarlo": dict(data=True, sites={
        "start": ["skip", "extra"], "tally": REDUCED, "hits": GATHERED + ["root"], "source": BROADCAST, "control": PROCESS}),
    "kmeans": dict(data=True, sites={
        "sums": REDUCED, "counts": REDUCED, "agree": SCALAR, "inertia": ROOTED, "distances": GATHERED, "new_centre": BROADCAST,
        "centres": ["drift"], "sums_counts": ["order"], "assign": PROCESS, "report": PROCESS}),
    "gossip": dict(data=True, sites={
        "push": MESSAGE, "sent": ["skip", "extra", "dtype", "op"], "error": SCALAR + PROCESS, "gradient": PROCESS}),
    "coupled": dict(data=False, sites={
        "wind": SCALAR, "current": MESSAGE, "heat": SCALAR, "flux": MESSAGE, "year": SCALAR, "air": PROCESS, "ocean": PROCESS,
        "couple": PROCESS}),
    "particles": dict(data=True, sites={
        "settings": ["skip", "dtype", "root"], "density": GATHERED, "migrate": ["nan", "inf", "big", "skip", "extra", "dtype"] + PROCESS,
        "energy": REDUCED, "force": PROCESS}),
    "roles": dict(data=True, sites={
        "norm": SCALAR, "save": MESSAGE, "restore": ["nan", "skip", "tag", "less"], "vote": SCALAR, "work": PROCESS, "keeper": PROCESS}),
    "ringsum": dict(data=False, sites={
        "up": MESSAGE, "down": MESSAGE, "up_copy": MESSAGE, "down_copy": MESSAGE, "loss": SCALAR, "norm": ["skip", "extra", "dtype", "op"],
        "weights": ["drift"], "backward": PROCESS, "check": PROCESS}),
    "feeder": dict(data=True, sites={
        "amount": ["skip", "extra", "dtype", "root"], "batch": ["nan", "inf", "big", "zero", "skip", "extra", "less", "dtype", "root"],
        "deal": ["nan", "inf", "big", "zero", "stale", "skip", "extra", "dtype", "root"], "in_node": REDUCED, "heads": REDUCED,
        "spread": ["skip", "extra", "dtype"], "score": ["skip", "extra", "dtype", "op"], "loss": ROOTED, "load": PROCESS,
        "train": PROCESS, "evaluate": PROCESS}),
    "stages": dict(data=True, sites={
        "pass": ["nan", "inf", "big", "zero", "blank", "skip", "dtype", "tag"], "answer": MESSAGE, "kept": SCALAR,
        "report": [f for f in ROOTED if f != "op"], "filter": PROCESS}),
    "graph": dict(data=True, sites={
        "ghosts": ["nan", "inf", "big", "zero", "blank", "stale", "skip", "extra", "dtype"], "load": ["nan", "inf", "skip", "extra", "dtype"],
        "change": SCALAR, "steepest": ROOTED, "update": PROCESS, "move": PROCESS}),
    "balance": dict(data=True, sites={
        "before": REDUCED, "upto": REDUCED, "whole": REDUCED, "amounts": ["skip", "extra", "dtype"],
        "items": ["nan", "inf", "big", "skip", "extra", "dtype"], "counted": ["skip", "extra"], "fullest": ROOTED, "weigh": PROCESS,
        "move": PROCESS}),
    # In late/: written after the rules, by an author who had not read them; rules have been repaired with them since.
    "knapsack": dict(data=True, sites={
        "ask": ["tag", "dtype"], "give": MESSAGE, "credit": ["nan", "inf", "big", "zero", "blank", "skip", "tag", "dtype"],
        "finished": ["skip", "tag"], "best": SCALAR, "expanded": ROOTED, "expand": PROCESS, "agree": PROCESS}),
    "quicksort": dict(data=True, sites={
        "before": REDUCED, "samples": [f for f in ROOTED if f not in ("op", "root")], "pivot": ["skip", "extra", "dtype", "flip"],
        "counts": ["skip", "extra", "dtype"], "items": ["nan", "inf", "big", "skip", "extra", "dtype"], "split": ["extra"],
        "after": REDUCED, "order": SCALAR, "fullest": ROOTED, "level": PROCESS, "check": PROCESS}),
    "overlap": dict(data=False, sites={
        "panel": "nan inf big zero blank stale skip extra less more dtype root".split(), "norms": [f for f in REDUCED if f != "flip"],
        "check": [f for f in SCALAR if f not in ("flip", "zero", "blank")], "multiply": PROCESS}),
    "tempering": dict(data=True, sites={
        "energy": MESSAGE, "chain": MESSAGE, "betas": "nan inf big skip extra dtype root flip".split(),
        "histogram": REDUCED, "lowest": ROOTED, "mean": SCALAR, "sweep": PROCESS, "change": PROCESS}),
    # In fresh/: by an author who had not read the rules, which have been repaired with these programs since.
    "wavefront": dict(data=True, ranks=[4, 4, 6], sites={
        "face_x": MESSAGE, "face_y": MESSAGE, "change": SCALAR, "rates": BROADCAST, "moments": REDUCED, "peak": SCALAR,
        "moments_peak": ["order"], "balance": ROOTED, "source": PROCESS, "sweep": PROCESS}),
    "multigrid": dict(data=True, only={"coarse_norm": 2, "coarse": 2}, sites={
        "halo_up": MESSAGE, "halo_down": MESSAGE, "medium": BROADCAST, "norm": SCALAR,
        "collect": "nan inf big zero blank stale skip extra dtype".split(), "spread": ["skip", "extra", "dtype"],
        "coarse_norm": ["nan", "skip", "extra", "op"], "loads": GATHERED + ["flip"], "energy": ROOTED, "assemble": PROCESS,
        "smooth": PROCESS, "coarse": ["sleep", "spin", "kill", "slow"]}),
    # Distances are infinite before a vertex is reached, so that these change nothing in "lengths".
    "frontier": dict(data=True, sites={
        "start": BROADCAST, "changed": SCALAR, "few": "nan inf big zero blank tag dtype".split(), "counts": ["skip", "extra", "dtype"],
        "pairs": ["nan", "inf", "big", "skip", "extra", "dtype"],
        "lengths": ["nan", "zero", "blank", "stale", "skip", "extra", "dtype", "flip"],
        "bins": REDUCED, "far": SCALAR, "audit": ["skip", "extra", "dtype"], "sums": ROOTED, "round": PROCESS, "sum": PROCESS}),
    # In later/: by an author who had not read the rules, and no rule has been repaired with them.
    "elements": dict(data=True, ranks=[4, 4, 6], sites={
        "columns": "nan inf big zero blank stale skip".split(), "rows": "nan inf big zero blank stale skip".split(),
        "amplitudes": BROADCAST, "project": [f for f in REDUCED if f != "stale"],
        "extend": [f for f in REDUCED if f not in ("stale", "less")], "residual": SCALAR, "curvature": SCALAR, "moved": SCALAR,
        "errors": ROOTED, "image": [f for f in ROOTED if f != "op"], "source": PROCESS, "operator": PROCESS}),
    "treecode": dict(data=True, sites={
        "time": SCALAR, "busiest": SCALAR, "work": SCALAR, "busiest_work": ["order"], "histogram": REDUCED,
        "counts": ["skip", "extra", "dtype"], "bodies": "nan inf big skip extra dtype".split(), "cells": GATHERED,
        "ghosts": "nan inf big zero blank tag dtype".split(), "sums": ROOTED,
        "image": "nan inf big skip extra dtype root".split(), "force": PROCESS, "migrate": PROCESS}),
    # In unseen/: by an author who had not read the rules, and no rule has been repaired with them.
    "refine": dict(data=True, sites={
        "time": SCALAR, "peak": SCALAR, "time_peak": ["order"], "steepness": "nan inf big zero blank skip extra dtype".split(),
        "moved": "nan inf big zero blank skip extra dtype".split(), "ghosts": GATHERED,
        "passed": [f for f in MESSAGE if f != "stale"], "bins": REDUCED, "sums": ROOTED,
        "image": "nan inf big zero skip extra dtype root".split(), "regrid": PROCESS, "first": PROCESS, "second": PROCESS}),
    # Lengths of "dots" grow from 1, and messages of the edges are persistent requests.
    "implicit": dict(data=True, sites={
        "left": "nan inf big zero blank stale skip".split(), "right": "nan inf big zero blank stale skip".split(), "norm": SCALAR,
        "dots": [f for f in REDUCED if f not in ("stale", "less")], "errors": ROOTED, "control": BROADCAST, "means": REDUCED,
        "ranges": REDUCED, "feed": ["drift"], "profile": GATHERED + ["root"], "attempt": PROCESS, "inner": PROCESS}),
    "ensemble": dict(data=True, ranks=[4, 4, 6], only={"reports": 99, "offer": 2, "offered": 2}, sites={
        "edge_left": MESSAGE, "edge_right": MESSAGE, "counts": ["skip", "extra", "dtype", "root"],
        "reports": "nan inf big zero blank skip extra dtype root".split(), "mean": REDUCED,
        "covariances": [f for f in REDUCED if f != "stale"], "score": ROOTED, "inflation": BROADCAST,
        "misfits": [f for f in ROOTED if f != "root"], "chosen": ["skip", "extra", "dtype"], "joined": GATHERED, "offer": MESSAGE,
        "taken": ["skip", "extra", "dtype"], "climate": GATHERED + ["flip"], "forecast": PROCESS, "observe": PROCESS,
        "assimilate": PROCESS, "offered": ["sleep", "spin", "kill", "slow"]}),
    # In unseen2/: by another author who had not read the rules, and no rule has been repaired with them. A plane of the grid of
    # "lattice", and a row of that of "pivots", has two ranks.
    "lattice": dict(data=True, ranks=[4, 4, 6], sites={
        "face_below": [f for f in MESSAGE if f != "stale"], "face_above": [f for f in MESSAGE if f != "stale"], "speed": SCALAR,
        "moments": [f for f in REDUCED if f != "flip"], "force": BROADCAST, "flows": REDUCED, "profile": GATHERED + ["root"], "image": GATHERED + ["root"], "collide": PROCESS, "stream": PROCESS,
        "control": PROCESS}),
    "hashjoin": dict(data=True, sites={
        "query": BROADCAST, "numbers": SCALAR, "candidates": GATHERED + ["flip"], "sizes": ["skip", "extra", "dtype"],
        "copied": "nan inf big zero blank skip extra dtype".split(), "histogram": REDUCED, "counts": ["skip", "extra", "dtype"],
        "rows": "nan inf big zero blank skip extra dtype".split(), "left": SCALAR, "groups": ROOTED, "fullest": SCALAR,
        "top": [f for f in ROOTED if f != "op"], "audit": REDUCED, "plan": PROCESS, "shuffle": PROCESS, "join": PROCESS}),
    # A panel is one block of rows shorter each time, and only the ranks of one column of the grid have it.
    "pivots": dict(data=True, ranks=[4, 4, 6], sites={
        "frequency": BROADCAST, "candidates": GATHERED + ["flip"], "pivots": BROADCAST,
        "panel": "nan inf big zero blank skip extra less dtype root".split(), "swap": MESSAGE,
        "upper": "nan inf big zero blank skip extra less dtype root flip".split(), "partial": ROOTED,
        "solved": ["skip", "extra", "dtype", "flip"], "solution": REDUCED, "products": REDUCED, "residual": SCALAR,
        "growth": SCALAR, "field": [f for f in ROOTED if f != "op"], "panel_ends": PROCESS, "update": PROCESS, "solve": PROCESS}),
}
# loss: recorded with preset `state`.
TORCH = "nan inf big zero stale skip extra less dtype op drift loss kill exit1 raise sleep slow".split()
TORCH_PROGRAMS = {
    "seqpar": dict(data=False, sites={"": TORCH}), "joined": dict(data=True, sites={"": TORCH}),
    # Ranks of local SGD part by design, and a stage of a pipeline has no loss of its own.
    "localsgd": dict(data=False, sites={"": [f for f in TORCH if f != "drift"]}), "experts": dict(data=True, sites={"": TORCH}),
    "tied": dict(data=False, sites={"": [f for f in TORCH if f != "loss"]}),
    # A policy's first loss is 0 whatever it is multiplied with; sharded weights are on one rank each.
    "rollout": dict(data=True, sites={"": [f for f in TORCH if f != "loss"]}),
    "sharded": dict(data=True, sites={"": [f for f in TORCH if f != "drift"]}), "ringattn": dict(data=True, sites={"": TORCH}),
    # In later/. No rank of a pipeline has another one's weights.
    "tensorpar": dict(data=True, ranks=[2, 4], sites={"": TORCH}), "recommend": dict(data=True, ranks=[2, 3, 4], sites={"": TORCH}),
    "adapters": dict(data=True, sites={"": TORCH}),
    "onef1b": dict(data=True, ranks=[2, 3, 4], sites={"": [f for f in TORCH if f not in ("drift", "loss")]}),
    # In unseen/. Each weight of the denoiser is broadcast by its owner after each step.
    "contrast": dict(data=True, ranks=[2, 3, 4], sites={"": TORCH}), "rivals": dict(data=True, sites={"": TORCH}),
    "denoise": dict(data=True, ranks=[2, 3, 4], sites={"": [f for f in TORCH if f != "drift"]}),
    # In unseen2/. Weights are gathered from the parts of all ranks after each step, or are each rank's own.
    "halograph": dict(data=True, ranks=[2, 3, 4], sites={"": TORCH}),
    "buckets": dict(data=True, ranks=[2, 3, 4], sites={"": [f for f in TORCH if f != "drift"]}),
    "decentral": dict(data=True, ranks=[2, 3, 4], sites={"": [f for f in TORCH if f != "drift"]})}

# UCX, below MPICH, catches a crash, and the process stays for longer than a run: the others are blocked.
# The kinds that name a fault. If the calls disagree and the ranks are two, nothing tells which one is right.
KINDS = {
    "nan": ["nan"], "inf": ["inf"], "big": ["spike"], "zero": ["zero"], "blank": ["zero"], "stale": ["stale"],
    "flip": ["corruption", "not_sum"], "drift": ["diverged", "replicas"], "loss": ["odd_loss"], "order": ["order"], "skip": ["skip"], "extra": ["skip"],
    "less": ["mismatch"], "more": ["mismatch"], "dtype": ["mismatch"], "op": ["mismatch"], "root": ["mismatch"], "tag": ["tag"],
    "kill": ["died"], "exit1": ["died"], "abort": ["died"], "segv": ["died", "hang", "stopped"], "raise": ["died"], "sleep": ["hang"], "stop": ["hang"],
    "spin": ["hang", "stall"], "slow": ["slow", "straggler"]}
PAIRS = ["flip", "drift", "less", "more", "dtype", "op", "root"]
ENDS = ["kill", "exit1", "abort", "segv", "raise"]
HANGS = ["sleep", "stop", "spin"]
TIMING = ["slow"]
TIMING_KINDS = ["slow", "straggler", "jitter", "stall", "link"]
# Findings about the records, not about the program.
RECORDS = ["ranks", "journal", "files", "killed", "ended", "unseen", "lost", "unmeasured", "damaged", "removed", "skipped", "reported",
           "invisible", "empty", "steps", "clocks", "cost"]


def find_source(program):
    """The program's file in this room or a room in it."""
    return [p for kind in ("c", "py") for p in glob.glob(f"{HERE}/**/{program}.{kind}", recursive=True)][0]
