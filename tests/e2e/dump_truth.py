# step0/rank*/ of a dump against what tests/apps/py/dumped.py kept. Arguments: output folder, truth, pt, npy or none, sum (none md5 xor).
import json
import math
import sys
import zlib

import torch

out, truth, form, summary = sys.argv[1:5]
if form == "npy":
    import numpy


def load(file, like):
    if form == "pt":
        return torch.load(file, weights_only=True)
    t = torch.from_numpy(numpy.load(file))
    return t.to(like.dtype) if like.dtype == torch.bfloat16 else t


def raw(t):
    return bytes(t.contiguous().reshape(-1).view(torch.uint8).tolist())


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and raw(a) == raw(b)


def leaf(entry, side, place):
    x = entry[side]
    for p in place:
        x = x[p]
    return x.get("tensor", x)


seen = 0
for rank in 0, 1:
    folder = f"{out}/step0/rank{rank}"
    dump, stack, construct = (json.load(open(f"{folder}/{n}.json")) for n in ("dump", "stack", "construct"))
    assert dump["framework"] == "pytorch", dump["framework"]
    names = [n for names, _ in stack.values() for n in names]
    assert sorted(names) == sorted(dump["data"]) == sorted(construct), (names, list(dump["data"]))
    assert all(f"{sys.argv[5]}, line " in frames[0] for _, frames in stack.values()), stack
    for name, entry in dump["data"].items():
        assert None not in entry["input_args"], name
    for name, side, place, file, dtype, shape, most, least, grad in json.load(open(f"{truth}/{rank}.json")):
        x, want = leaf(dump["data"][name], side, place), torch.load(f"{truth}/{file}")
        assert (x["dtype"], x["shape"], x["requires_grad"]) == (dtype, shape, grad), (name, x)
        if summary != "xor":
            assert (x["Max"], x["Min"]) == (most, least), (name, x, most, least)
            if most is None:
                assert x["Mean"] is None and x["Norm"] is None, (name, x)
            elif dtype in ("torch.float32", "torch.float16") and shape:
                norm, digits = want.double().norm().item(), 1.2e-7 if dtype == "torch.float32" else 1e-3
                assert norm < math.inf and abs(x["Norm"] - norm) <= digits * norm, (name, x)
            if dtype == "torch.int64":
                assert x["Mean"] is None and x["Norm"] is None, (name, x)
        if summary == "md5":
            assert x["md5"] == f"{zlib.crc32(raw(want)):08x}", (name, x)
        if summary == "xor" and most is not None:
            b, v = raw(want) + bytes(-len(raw(want)) % 8), 0
            for i in range(0, len(b), 8):
                v ^= int.from_bytes(b[i : i + 8], "little")
            assert x["md5"] == f"0x{v:016x}" and "Max" not in x, (name, x, v)
        if form != "none" and most is not None:
            assert same(load(f"{folder}/dump_tensor_data/{x['data_name']}", want), want), (name, x)
            assert x["data_name"] == f"{name}.{side[:5] if side[0] == 'i' else side}.{'.'.join(map(str, place))}.{form}"
        seen += 1
    group = dump["data"]["Distributed.all_reduce.0.forward"]["input_kwargs"]["group"]
    assert group == {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": f"{zlib.crc32(b'[0, 1]'):08x}"}, group
    if form == "pt":
        for name, x in json.load(open(f"{folder}/debug.json"))["data"].items():
            kind = name.split("_", 1)[1].split(".")[0]
            want = torch.load(f"{truth}/{rank}.saved.{kind}.pt")
            assert same(torch.load(f"{folder}/dump_tensor_data/{x['data_name']}", weights_only=True), want), name
            seen += 1
print(seen)
