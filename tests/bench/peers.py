# SPDX-License-Identifier: Apache-2.0
"""
What libprobe and other tools cost of a training step: `peers.py LIBRARY [STEPS]` runs the training of torch_cost.py in one process for each
row below; they take turns, a step each. Prints, for each row, the ratio of the median step to that without any tool, in processor time of the
process (all threads) and in wall time, and the quartiles of the ratios of neighbouring steps. A tool that is not installed is skipped.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WARM = 3
PRESETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../configs/presets")
STATE = {"PROBE_PRESET": "state", "PROBE_KINDS": "param_origin,param_updated,grad_unreduced,grad_reduced"}
# Keys of libprobe, None: without it; and the tool that the process uses itself.
ROWS = {
    "plain": (None, ""),
    "plain, again": (None, ""),
    "libprobe, default": ({}, ""),
    "libprobe, preset nan": ({"PROBE_WRAP_OPS": f"{PRESETS}/nan.yaml", "PROBE_JOURNAL_MIB": "64"}, ""),
    "libprobe, preset ops": ({"PROBE_WRAP_OPS": f"{PRESETS}/ops.yaml", "PROBE_JOURNAL_MIB": "64"}, ""),
    "libprobe, state each step": (STATE, ""),
    "torch.profiler, shapes": (None, "profiler"),
    "torch.profiler, shapes, exported": (None, "export"),
    "msprobe, L1 statistics": (None, "msprobe"),
    "msprobe, monitor": (None, "monitor"),
}


def write_json(name, content):
    with open(name, "w", encoding="utf-8") as f:
        json.dump(content, f)
    os.chmod(name, 0o640)
    return name


def wrap_step(tool, model, optimizer, step):
    """The step as the tool runs it."""
    import torch
    if tool in ("profiler", "export"):
        def profiled():
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as p:
                step()
            if tool == "export":
                p.export_chrome_trace("trace.json")
        return profiled
    if tool == "msprobe":
        from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(config_path=write_json("config.json", {
            "task": "statistics", "dump_path": os.path.abspath("dump"), "rank": [], "step": [], "level": "L1",
            "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}))

        def dumped():
            debugger.start(model=model)
            step()
            debugger.stop()
            debugger.step()
        return dumped
    if tool == "monitor":
        os.environ["MONITOR_OUTPUT_DIR"] = os.path.abspath("monitor")
        from msprobe.pytorch import TrainerMon
        TrainerMon(write_json("config.json", {
            "targets": {}, "format": "csv", "wg_distribution": True, "param_distribution": True, "ops": ["min", "max", "mean", "norm"],
            "ndigits": 6}), params_have_main_grad=False).set_monitor(model, optimizer)
    return step


def train(tool):
    import torch
    import torch.nn.functional as F
    import torch_cost
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch_cost.Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        ids = torch.randint(torch_cost.WORDS, (torch_cost.BATCH, torch_cost.ROOM + 1))
        optimizer.zero_grad()
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()

    run = wrap_step(tool, model, optimizer, step)
    answer = os.fdopen(int(os.environ["PEERS_ANSWER"]), "w")
    answer.write("ready\n")
    answer.flush()
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        answer.write(f"{time.process_time() - cpu} {time.perf_counter() - wall}\n")
        answer.flush()


class Child:
    """A training in its own process and folder. The tools print what they like: times come by a pipe of their own."""

    def __init__(self, library, folder, keys, tool):
        os.mkdir(folder)
        self.folder = folder
        env = dict(os.environ, OMP_NUM_THREADS="1")
        if keys is not None:
            env.update({"LD_PRELOAD": library, "PROBE_OUTPUT_DIR": f"{folder}/probe"}, **keys)
        read, write = os.pipe()
        env["PEERS_ANSWER"] = str(write)
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "train", tool], env=env, cwd=folder, pass_fds=[write],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        os.close(write)
        self.answers = os.fdopen(read)

    def is_ready(self):
        return self.answers.readline() == "ready\n"

    def step(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return tuple(map(float, self.answers.readline().split()))

    def bytes(self):
        """Of all files that it has written, without libprobe's journal."""
        return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(self.folder) for name in names if name != "journal.bin")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    library, steps = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 24
    with tempfile.TemporaryDirectory() as folder:
        children = {row: Child(library, f"{folder}/{i}", *how) for i, (row, how) in enumerate(ROWS.items())}
        ready = {row: c.is_ready() for row, c in children.items()}
        for row in [row for row, is_ready in ready.items() if not is_ready]:
            children.pop(row).end()
        taken = {row: [] for row in children}
        for step in range(steps + WARM):
            for row, c in children.items():
                times = c.step()
                if step >= WARM:
                    taken[row].append(times)
        for c in children.values():
            c.end()
        written = {row: c.bytes() / (steps + WARM) for row, c in children.items()}
    base, *_ = taken.values()
    print(f"  {steps} steps each; a plain step: {statistics.median(t[0] for t in base) * 1e3:.0f} ms of processor time;"
          f" load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors")
    for row, t in taken.items():
        line = f"  {row:34}"
        for way, name in enumerate(("processor", "wall")):
            q = statistics.quantiles([a[way] / b[way] for a, b in zip(t, base)], n=4)
            ratio = statistics.median(x[way] for x in t) / statistics.median(x[way] for x in base)
            line += f"  {name} {ratio:.3f} ({q[0]:.3f} to {q[2]:.3f})"
        print(f"{line}  {written[row] / 1e3:8.0f} kB a step")
    for row in ROWS.keys() - taken.keys():
        print(f"  {row:34}  not measured: it did not start")


if sys.argv[1] == "train":
    train(sys.argv[2])
else:
    main()
