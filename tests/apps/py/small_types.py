"""Views of all 256 bytes as each type of PyTorch that has a byte or less, and what numbers they are by its own conversion."""

import json
import sys

import torch

byte = torch.arange(256, dtype=torch.uint8)
halves = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
truth = []
for name in sys.argv[2:]:
    kind = getattr(torch, name)
    if name == "float4_e2m1fn_x2":
        values = [-halves[n & 7] if n & 8 else halves[n & 7] for b in range(256) for n in (b & 15, b >> 4)]
        numbers = torch.tensor(values, dtype=torch.float64)
    elif name.startswith("float"):
        numbers = byte.view(kind).to(torch.float32).double()
    else:
        numbers = None
    copy = byte.view(kind).detach()
    row = {"dtype": name, "count": copy.numel(), "bytes": copy.numel() * copy.element_size()}
    if numbers is not None:
        good = numbers[~numbers.isnan()]
        row |= {"nans": int(numbers.isnan().sum()), "infs": int(good.isinf().sum()), "min": f"{good.min().item():.9g}", "max": f"{good.max().item():.9g}"}
    truth.append(row)
with open(sys.argv[1], "w") as f:
    json.dump(truth, f)
