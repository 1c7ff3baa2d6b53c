# SPDX-License-Identifier: Apache-2.0
"""Tensors in files that are written byte by byte here, and what is to be said of them: python3 compare_tensors.py DIR."""
import json
import math
import os
import random
import struct
import sys

top = sys.argv[1]


def npy(path, values, shape, code="f4"):
    header = f"{{'descr': '<{code}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{code == 'f4' and 'f' or 'd'}", *values))


def single(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def dump(name, outputs):
    folder = f"{top}/{name}/step0/rank0"
    os.makedirs(folder + "/dump_tensor_data")
    data = {}
    for i, (given, values) in enumerate(outputs):
        entry = f"Torch.f.{i}.forward"
        for part, v in (("input.0", given), ("output.0", values)):
            npy(f"{folder}/dump_tensor_data/{entry}.{part}.npy", v, (len(v),))
        leaf = [dict(type="torch.Tensor", dtype="torch.float32", shape=[len(v)], Max=max(v), Min=min(v), Mean=sum(v) / len(v),
                     Norm=math.sqrt(math.fsum(x * x for x in v)), requires_grad=False, data_name=f"{entry}.{p}.npy")
                for p, v in (("input.0", given), ("output.0", values))]
        data[entry] = dict(input_args=leaf[:1], input_kwargs={}, output=leaf[1:])
    with open(folder + "/dump.json", "w") as f:
        json.dump(dict(task="tensor", level="L1", framework="pytorch", data=data), f)


dice = random.Random(2)
base = [([single(dice.gauss(0, 1)) for _ in range(500)], [single(dice.gauss(0, 2)) for _ in range(700)]) for _ in range(4)]
other = [(a[:], b[:]) for a, b in base]
other[1] = (other[1][0], [single(x * (1 + 0.0005 * dice.random())) for x in other[1][1]])
other[2][1][5] = float("nan")
other[3] = (other[3][0], other[3][1][::-1])
dump("a", base)
dump("a_again", base)
dump("b", other)


def metrics(x, y):
    dot, nx, ny = math.fsum(a * b for a, b in zip(x, y)), math.fsum(a * a for a in x), math.fsum(b * b for b in y)
    cos = round(dot / math.sqrt(nx * ny), 12)
    return [round(cos, 6) if cos > 0.9999 else cos, math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(x, y))), round(max(abs(a - b) for a, b in zip(x, y)), 12)]


def safetensors(path, tensors):
    at, header, parts = 0, {"__metadata__": {"format": "pt"}}, []
    for name, (code, shape, raw) in tensors.items():
        header[name] = dict(dtype=code, shape=shape, data_offsets=[at, at + len(raw)])
        at += len(raw)
        parts.append(raw)
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def bf16(values):
    return b"".join(struct.pack("<f", v)[2:] for v in values)


x = [single(dice.gauss(0, 1)) for _ in range(60)]
y = [single(v * 1.25) for v in x]
os.makedirs(top + "/shards_a")
os.makedirs(top + "/shards_b")
weights = {"w": ("F32", [6, 10], struct.pack("<60f", *x)), "half": ("BF16", [4], bf16([1.5, -2, 0.25, 8])), "n": ("I64", [], struct.pack("<q", 7))}
safetensors(top + "/a.safetensors", weights)
safetensors(top + "/b.safetensors", weights | {"w": ("F32", [6, 10], struct.pack("<60f", *y)), "more": ("F16", [2], b"\0\0\0\x3c")})
safetensors(top + "/shape.safetensors", weights | {"w": ("F32", [10, 6], struct.pack("<60f", *x))})
safetensors(top + "/other_names.safetensors", {"x." + name: tensor for name, tensor in weights.items()})
# The same parameters in other shards.
safetensors(top + "/shards_a/model-1.safetensors", {"w": weights["w"]})
safetensors(top + "/shards_a/model-2.safetensors", {"half": weights["half"], "n": weights["n"]})
safetensors(top + "/shards_b/model.safetensors", weights)
with open(top + "/cut.safetensors", "wb") as f:
    f.write(open(top + "/a.safetensors", "rb").read()[:-20])
with open(top + "/truth.json", "w") as f:
    json.dump(dict(rows=[metrics(*pair) for i in (0, 1, 3) for pair in zip(base[i], other[i])], l2=metrics(x, y)[1]), f)
