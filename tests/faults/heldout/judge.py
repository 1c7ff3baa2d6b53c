# SPDX-License-Identifier: Apache-2.0
"""A report against the truth that the program wrote."""
import re

from sites import ENDS, HANGS, KINDS, PAIRS, RECORDS, TIMING, TIMING_KINDS, find_source


def first_finding(findings, fault):
    """The first fault or warning; if there is none, the first note that names ranks. Timing is judged apart."""
    hidden = RECORDS + ([] if fault in TIMING else [k for k in TIMING_KINDS if k != "stall" or fault not in HANGS])
    seen = [f for f in findings if f["kind"] not in hidden]
    main = [f for f in seen if f["severity"] in ("bad", "warn")]
    notes = [f for f in seen if f["severity"] == "note" and f["ranks"]]
    return (main + notes or [None])[0]


def other_lines(program, lines):
    """The receives of the message that is sent in one of these lines: those with its tag."""
    path = find_source(program)
    if not path.endswith(".c"):
        return []
    text = open(path).read().split("\n")
    sent = re.search(r"SEND\(.*, (\d+|is_air \? 41 : 42), (MPI_COMM_WORLD|own|other)", text[lines[0] - 1])
    if not sent:
        return []
    tag = sent.group(1)
    tag = r"is_air \? 42 : 41" if tag.startswith("is_air") else tag
    return [i + 1 for i, line in enumerate(text) if re.search(rf"MPI_(I?[Rr]ecv|Probe)\(.*\b{tag}, ", line)]


def judge(run, report):
    """(verdict, what is not right, the first finding)."""
    truth, fault = run["truth"], run["fault"]
    f = first_finding(report["findings"], fault)
    if f is None:
        return "silent", ["all"], None
    ranks, culprit, off = f["ranks"] or [], truth["rank"], []
    if f["kind"] not in KINDS[fault]:
        off.append("kind")
    if not (ranks == [culprit] or fault in PAIRS and culprit in ranks and len(ranks) == 2):
        off.append("rank")
    if run.get("marker") != "none":
        near = 1 if fault in ENDS + HANGS else 0
        if fault not in TIMING and (f["step"] is None or abs(f["step"] - truth["step"]) > near):
            off.append("step")
    # Where parameters part, and of a scalar, there is no call.
    if fault not in ENDS + HANGS + TIMING + ["drift", "loss"]:
        lines = list(range(truth["lines"][0], truth["lines"][1] + 1)) + other_lines(run["program"], truth["lines"])
        if f["line"] not in lines:
            off.append("line")
    if not off:
        return "exact", off, f
    if ranks and culprit not in ranks:
        return "wrong", off, f
    if "kind" in off and "rank" in off and f["severity"] == "bad" and f["kind"] not in ("hang", "deadlock"):
        return "wrong", off, f
    return "partly", off, f


def accusations(report):
    """(of faults, of timing) in a run without a fault: what is bad, and what names ranks."""
    found = [f for f in report["findings"] if f["kind"] not in RECORDS and (f["severity"] == "bad" or f["ranks"])]
    return [f for f in found if f["kind"] not in TIMING_KINDS], [f for f in found if f["kind"] in TIMING_KINDS]
