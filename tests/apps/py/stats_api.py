# SPDX-License-Identifier: Apache-2.0
"""
A training that asks libprobe for what it knows (probe.h, by ctypes), and compares with what it computes itself.

Prints one line for each thing that is so; without the preload "absent".
"""
import ctypes
import math

import torch

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters())
before = {}
for step in range(3):
    before = {n: p.detach().double().norm().item() for n, p in model.named_parameters()}
    loss = model(torch.randn(5, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

lib = ctypes.CDLL(None)
if not hasattr(lib, "probe_stats_get"):
    print("absent")
    raise SystemExit
step, value = ctypes.c_long(-1), ctypes.c_double()


def get(kind, name, op):
    rc = lib.probe_stats_get(kind.encode(), name.encode(), op.encode(), ctypes.byref(step), ctypes.byref(value))
    return (step.value, value.value) if rc == 0 else None


for name, norm in before.items():
    got = get("param_origin", name, "norm")
    print(name, got is not None and got[0] == 2 and math.isclose(got[1], norm, rel_tol=1e-6))
got = get("scalars", "loss", "value")
print("loss", got is not None and math.isclose(got[1], loss.item(), rel_tol=1e-6))
print("what is not there", get("param_origin", "nobody", "norm"), get("param_origin", "0.weight", "median"))
at, texts, n, seen = ctypes.c_ulong(0), [ctypes.c_char_p() for _ in range(3)], 0, set()
while lib.probe_stats_next(ctypes.byref(at), *[ctypes.byref(t) for t in texts], ctypes.byref(step), ctypes.byref(value)) == 1:
    kind, name, op = [t.value.decode() for t in texts]
    n += 1
    seen.add(kind)
    again = get(kind, name, op)
    if again is None or again[0] != step.value or not (again[1] == value.value or math.isnan(value.value)):
        print("differs", kind, name, op, again, value.value)
print("kinds", sorted(seen), n > 20)
