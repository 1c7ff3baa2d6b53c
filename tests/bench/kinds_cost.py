# SPDX-License-Identifier: Apache-2.0
"""
What each kind of values costs of a step: `kinds_cost.py LIBRARY [STEPS]` runs one training in several processes, one without libprobe and
one for each row below, which take turns: a step each. In each step of theirs the values are measured (interval 1). Prints, for each row, the
ratio of the median step to that without libprobe, in processor time of the process (all threads) and in wall time, the quartiles of the
ratios of neighbouring steps, and the ratio of processor times at the default interval: of a step that measures, and those between. Other
programs on the machine change wall time, and less so processor time.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

# What is asked for, and one in how many steps is measured by default.
EVERY = {"PROBE_ATTENTION_INTERVAL": "1"}
ROWS = {
    "without libprobe": (None, 1),
    "without libprobe, again": (None, 1),
    "libprobe, no kinds": ({}, 1),
    "N2 max_attention_logit": ({"PROBE_KINDS": "max_attention_logit", **EVERY}, 10),
    "N3 attention_entropy, softmax_max": ({"PROBE_KINDS": "attention_entropy,softmax_max", **EVERY}, 10),
    "N4 sr, kernel_norm": ({"PROBE_METRICS": "stable_rank", "PROBE_STABLE_RANK_INTERVAL": "1"}, 100),
    "N5 router_similarity, expert_entropy": ({"PROBE_KINDS": "router_similarity,expert_entropy"}, 1),
    "N6 tokens_per_expert, expert_balance": ({"PROBE_KINDS": "tokens_per_expert,expert_balance"}, 1),
    "N7 watch_functions": ({"PROBE_WATCH_FUNCTIONS": "python:kinds_cost.py:note_loss"}, 1),
    "N8 micro-loss, micro-norm": ({"PROBE_METRICS": "local_loss,device_local_norm", "PROBE_MONITOR_MBS_GRAD": "true"}, 1),
}


def note_loss(loss, name):
    return loss


def train():
    import torch
    import torch.nn.functional as F
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(0)
    width, heads, tokens, batch, experts = 128, 4, 128, 4, 8

    class Attention(nn.Module):
        def __init__(self, fused):
            super().__init__()
            self.fused, self.qkv, self.out = fused, nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            q, k, v = self.qkv(x).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            if self.fused:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                y = (q @ k.transpose(-1, -2) / (width // heads) ** 0.5).softmax(-1) @ v
            return x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.top_k, self.gate = 2, nn.Linear(width, experts, bias=False)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            p = self.gate(x).softmax(-1).topk(2, -1)[0].sum(-1, keepdim=True)
            return x + p * self.down(F.gelu(self.up(x)))

    net = nn.Sequential(Attention(True), Experts(), Attention(False), Experts())
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    data = torch.randn(2, batch, tokens, width)
    print("ready", flush=True)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        for x in data:  # two micro steps
            loss = net(x).square().mean() / 2
            note_loss(loss, "lm")
            loss.backward()
        opt.step()
        opt.zero_grad()
        print(time.process_time() - cpu, time.perf_counter() - wall, flush=True)


def main():
    library, steps = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
    folder, children = tempfile.TemporaryDirectory(), {}
    for i, (row, (keys, _)) in enumerate(ROWS.items()):
        env = dict(os.environ, OMP_NUM_THREADS="1")
        if keys is not None:
            env.update({"LD_PRELOAD": library, "PROBE_OUTPUT_DIR": f"{folder.name}/{i}"}, **keys)
        children[row] = subprocess.Popen([sys.executable, __file__, "train"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for c in children.values():
        c.stdout.readline()
    taken = {row: [] for row in ROWS}
    for step in range(steps + 3):
        for row, c in children.items():
            c.stdin.write("go\n")
            c.stdin.flush()
            times = tuple(map(float, c.stdout.readline().split()))
            if step >= 3:  # the first ones warm up
                taken[row].append(times)
    for c in children.values():
        c.stdin.close()
        c.wait()
    base, *_ = taken.values()
    print(f"{steps} steps each; a step without libprobe: {statistics.median(t[0] for t in base) * 1e3:.1f} ms of processor time;"
          f" load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors")
    for row, t in taken.items():
        line = f"{row:35}"
        for way, name in enumerate(("processor", "wall")):
            each = [a[way] / b[way] for a, b in zip(t, base)]
            q = statistics.quantiles(each, n=4)
            ratio = statistics.median(x[way] for x in t) / statistics.median(x[way] for x in base)
            line += f"  {name} {ratio:.3f} ({q[0]:.3f} to {q[2]:.3f})"
            if not way:
                usual = 1 + (ratio - 1) / ROWS[row][1]
        print(f"{line}  one in {ROWS[row][1]}: {usual:.3f}")


train() if sys.argv[1] == "train" else main()
