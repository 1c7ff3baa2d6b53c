# SPDX-License-Identifier: Apache-2.0
"""
A training that knows its metrics: `metrics.py FILE` writes `step name value` of each step; prints its losses. `metrics.py FILE ranks`:
with weights that are stacks of matrices and turned ones, their stable ranks by NumPy's singular values, and
histograms.
"""
import sys

import numpy
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
more = {}
if "ranks" in sys.argv:
    more = {"experts": torch.randn(3, 5, 4), "turned": torch.randn(6, 3).t(), "bare": torch.randn(7), "wide": torch.randn(40, 300).bfloat16()}
    for name, t in more.items():
        net.register_parameter(name, torch.nn.Parameter(t))
opt = torch.optim.AdamW(net.parameters(), lr=0.01)


def ranks_of(name, w):
    """Of a weight: (tag, value)."""
    each = [(name, w)] if w.ndim == 2 else [(f"{name}/expert_{i}", m) for i, m in enumerate(w)]
    of = {}
    for part, m in each:
        s = numpy.linalg.svd(m.detach().double().numpy(), compute_uv=False)
        of[part] = (s ** 2).sum() / s[0] ** 2, s[0] ** 2
    if w.ndim == 3:
        for how in (max, min, lambda v: sum(v) / len(v)):
            word = how.__name__ if how in (max, min) else "mean"
            of[f"{name}/expert_{word}"] = tuple(how([of[p][k] for p, _ in each]) for k in (0, 1))
    return [(f"{tag}/{part}", v[k]) for part, v in of.items() for k, tag in enumerate(("weight_stable_rank", "weight_eigenvalue"))]


with open(sys.argv[1], "w") as f:
    for step in range(5):
        local = []
        for _ in range(2):
            loss = net(torch.randn(4, 8)).square().mean()
            loss = loss + sum(net.get_parameter(n).float().square().mean() for n in more)
            local.append(loss.item())
            (loss / 2).backward()
        grads = {n: p.grad.double().norm().item() for n, p in net.named_parameters()}
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        opt.step()
        for name, p in net.named_parameters():
            print(step, f"local_norm/{name}", grads[name], file=f)
            print(step, f"adam_m_norm/{name}", opt.state[p]["exp_avg"].double().norm().item(), file=f)
            print(step, f"adam_v_norm/{name}", opt.state[p]["exp_avg_sq"].double().norm().item(), file=f)
            for tag, value in ranks_of(name, p) if more and p.ndim in (2, 3) else ():
                print(step, tag, value, file=f)
            if more:
                count = p.numel()
                bins = 2 if count <= 5 else 3 if count <= 10 else count // 10 + 1 if count <= 880 else 90
                print(step, f"histogram/{name}", ",".join(map(str, numpy.histogram(p.detach().double().numpy(), bins=bins)[0])), file=f)
        print(step, "device_local_norm", sum(g * g for g in grads.values()) ** 0.5, file=f)
        print(step, "weight_norm", sum(p.double().square().sum().item() for p in net.parameters()) ** 0.5, file=f)
        print(step, "local_lm_loss", sum(local) / 2, file=f)
        print(step, "device_accum_local_lm_loss", sum(local), file=f)
        opt.zero_grad()
        print(repr(local))
