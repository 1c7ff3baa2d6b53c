# SPDX-License-Identifier: Apache-2.0
"""
A training that knows its metrics: `metrics.py FILE` writes `step name value` of each step; prints its losses.
"""
import sys

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
with open(sys.argv[1], "w") as f:
    for step in range(5):
        local = []
        for _ in range(2):
            loss = net(torch.randn(4, 8)).square().mean()
            local.append(loss.item())
            (loss / 2).backward()
        grads = {n: p.grad.double().norm().item() for n, p in net.named_parameters()}
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        opt.step()
        for name, p in net.named_parameters():
            print(step, f"local_norm/{name}", grads[name], file=f)
            print(step, f"adam_m_norm/{name}", opt.state[p]["exp_avg"].double().norm().item(), file=f)
            print(step, f"adam_v_norm/{name}", opt.state[p]["exp_avg_sq"].double().norm().item(), file=f)
        print(step, "device_local_norm", sum(g * g for g in grads.values()) ** 0.5, file=f)
        print(step, "weight_norm", sum(p.double().square().sum().item() for p in net.parameters()) ** 0.5, file=f)
        print(step, "local_lm_loss", sum(local) / 2, file=f)
        print(step, "device_accum_local_lm_loss", sum(local), file=f)
        opt.zero_grad()
        print(repr(local))
