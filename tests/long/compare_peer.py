# SPDX-License-Identifier: Apache-2.0
"""Pairs of dumps that differ at random, for compare_peer.sh: `make DIR`, `peer DIR` (with msprobe's Python), `diff DIR PROBE`."""
import copy
import csv
import glob
import json
import math
import os
import random
import subprocess
import sys

csv.field_size_limit(1 << 30)


def tensor(dice, shape, dtype="torch.float32", grad=False):
    value = dice.uniform(0.1, 3)
    if "int" in dtype:
        return dict(type="torch.Tensor", dtype=dtype, shape=list(shape), Max=7, Min=-2, Mean=None, Norm=None, requires_grad=grad)
    return dict(type="torch.Tensor", dtype=dtype, shape=list(shape), Max=value, Min=-value, Mean=value / 7, Norm=value * 5, requires_grad=grad)


def scalar(kind, value):
    return dict(type=kind, value=value)


GROUP = dict(type="torch.ProcessGroup", group_ranks=[0, 1], group_id="77849d8c")
REDOP = scalar("torch.distributed.ReduceOp", "RedOpType.SUM")


def entries(dice):
    """Every form that an entry of a dump.json has."""
    data = {}
    for i in range(4):
        x = tensor(dice, (4, 3))
        data[f"Tensor.__add__.{i}.forward"] = dict(input_args=[x, scalar("int", i)], input_kwargs={}, output=[tensor(dice, (4, 3))])
        data[f"Functional.linear.{i}.forward"] = dict(
            input_args=[tensor(dice, (4, 3)), tensor(dice, (5, 3), grad=True)], input_kwargs=dict(bias=None), output=[tensor(dice, (4, 5), grad=True)])
        data[f"Module.layers.{i}.fc.Linear.forward.0"] = dict(
            input_args=[x], input_kwargs={}, output=[tensor(dice, (4, 5))], parameters=dict(weight=tensor(dice, (5, 3)), bias=tensor(dice, (5,))))
    data["Torch.view.0.forward"] = dict(input_args=[tensor(dice, (2, 6)), dict(type="torch.Size", value=[3, 4])], input_kwargs={}, output=[tensor(dice, (3, 4))])
    data["Tensor.__getitem__.0.forward"] = dict(
        input_args=[tensor(dice, (6,)), dict(type="slice", value=[0, 3, None])], input_kwargs={}, output=[tensor(dice, (3,))])
    data["Torch.empty.0.forward"] = dict(input_args=[scalar("int", 4)], input_kwargs=dict(device=scalar("str", "cpu")), output=[tensor(dice, (4,))])
    data["Tensor.to.0.forward"] = dict(input_args=[tensor(dice, (6,)), scalar("str", "cuda:0")], input_kwargs={}, output=[tensor(dice, (6,))])
    data["Torch.argmax.0.forward"] = dict(input_args=[tensor(dice, (6,))], input_kwargs=dict(keepdim=scalar("bool", True)), output=[tensor(dice, (1,), "torch.int64")])
    data["Distributed.all_reduce.0.forward"] = dict(input_args=[tensor(dice, (4,))], input_kwargs=dict(op=REDOP, group=GROUP), output=[tensor(dice, (4,)), REDOP, GROUP])
    data["Distributed.all_gather.0.forward"] = dict(
        input_args=[None, tensor(dice, (2,))], input_kwargs=dict(group=GROUP), output=[[tensor(dice, (2,)), tensor(dice, (2,))], tensor(dice, (2,)), GROUP])
    data["Distributed.broadcast.0.forward"] = dict(input_args=[tensor(dice, (4,))], input_kwargs=dict(src=scalar("int", 0)), output=[tensor(dice, (4,)), scalar("int", 0)])
    data["Distributed.batch_isend_irecv.0.forward"] = dict(
        input_args=[[dict(class_type="torch.distributed.P2POp", tensor=tensor(dice, (4,)), op="isend", peer=1, tag=0, group_id="77849d8c")]],
        input_kwargs={}, output=[tensor(dice, (4,))])
    for i in (3, 1, 0, 2):
        data[f"Functional.linear.{i}.backward"] = dict(input=[tensor(dice, (4, 5))], output=[tensor(dice, (5,)), None, tensor(dice, (5, 3))])
    for i in range(4):
        data[f"Module.layers.{i}.fc.Linear.backward.0"] = dict(input=[tensor(dice, (4, 5))], output=[tensor(dice, (4, 3))])
        data[f"Module.layers.{i}.fc.Linear.parameters_grad"] = dict(weight=[tensor(dice, (5, 3))], bias=[tensor(dice, (5,))])
    return data


def leaves(value, see):
    if isinstance(value, dict):
        if "type" in value:
            see(value)
        else:
            for v in value.values():
                leaves(v, see)
    elif isinstance(value, list):
        for v in value:
            leaves(v, see)


def mutate(dice, data, share):
    data = copy.deepcopy(data)

    def one(x):
        if dice.random() > share:
            return
        if "md5" in x:
            x["md5"] = "0123abcd"
        elif "Max" in x:
            kind = dice.choice(["scale", "scale", "tiny", "nan", "inf", "-inf", "int64", "float16", "shape", "grad", "none", "zero", "bool", "int"])
            if kind in ("scale", "tiny", "zero"):
                times = dict(tiny=1 + 1e-7, zero=0.0).get(kind) if kind != "scale" else dice.choice([1.01, 2, 0.3, 1.6, 15])
                for s in ("Max", "Min", "Mean", "Norm"):
                    if isinstance(x[s], float):
                        x[s] *= times
            elif kind in ("nan", "inf", "-inf"):
                for s in dice.sample(("Max", "Min", "Mean", "Norm"), 2):
                    x[s] = float(kind)
            elif kind in ("int64", "float16"):
                x["dtype"] = "torch." + kind
            elif kind == "shape":
                x["shape"] = x["shape"] + [1]
            elif kind == "grad":
                x["requires_grad"] = not x["requires_grad"]
            elif kind == "none":
                x["Mean"] = x["Norm"] = None
            elif kind == "bool":
                x |= dict(Max=True, Min=False)
            else:
                x |= dict(Max=5, Min=-2)
        elif x.get("type") in ("int", "str", "bool"):
            x["value"] = dice.choice([3, 2.5, "abc", True, None, "cuda:0", "npu:1"])
    leaves(data, one)
    return data


def with_checksums(dice, data, stats=True):
    data = copy.deepcopy(data)

    def one(x):
        if "Max" in x:
            if not stats:
                for s in ("Max", "Min", "Mean", "Norm"):
                    del x[s]
            x["md5"] = f"{dice.getrandbits(32):08x}"
    leaves(data, one)
    return data


def save(folder, data, stack):
    os.makedirs(folder)
    with open(folder + "/dump.json", "w") as f:
        json.dump(dict(task="statistics", level="mix", framework="pytorch", dump_data_dir=None, data=data), f, indent=1)
    if stack:
        names = [n for n in data if "forward" in n]
        with open(folder + "/stack.json", "w") as f:
            json.dump({str(i): [[n], [f"File /w/train.py, line {i}, in <module>, \n x = y['a'] \n"]] for i, n in enumerate(names)}, f, indent=1)


def make(top):
    for i in range(24):
        dice = random.Random(i)
        a = entries(dice)
        if i % 6 == 4:
            a = with_checksums(dice, a, i % 12 == 4)
        if i % 6 == 5:
            a = mutate(dice, a, 0.2)
        b = mutate(dice, a, 0.1 * (i % 5))
        if i % 4 == 3:
            a = {n: v for n, v in a.items() if dice.random() > 0.1}
            b = {n: v for n, v in b.items() if dice.random() > 0.1}
        save(f"{top}/{i}/A/step0/rank0", a, i % 3)
        save(f"{top}/{i}/B/step0/rank0", b, i % 3)


def peer(top):
    from msprobe.msprobe import main
    for i in range(24):
        sys.argv = ["msprobe", "compare", "-tp", f"{top}/{i}/A/step0", "-gp", f"{top}/{i}/B/step0", "-o", f"{top}/{i}/peer"]
        try:
            main()
        except SystemExit:
            pass


def number(text):
    try:
        return float(text.strip().rstrip("%"))
    except ValueError:
        return None


def same(x, y):
    a, b = number(x), number(y)
    if x == y or a is None or b is None:
        return x == y
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def diff(top, probe):
    for i in range(24):
        subprocess.run([probe, "compare", "--by-name", "-o", f"{top}/{i}/ours", f"{top}/{i}/A/step0", f"{top}/{i}/B/step0"], capture_output=True)
        theirs, ours = (list(csv.reader(open(glob.glob(f"{top}/{i}/{who}/*.csv")[0]))) for who in ("peer", "ours"))
        wrong = [] if theirs[0] == ours[0] and len(theirs) == len(ours) else [f"columns {theirs[0] == ours[0]}, rows {len(theirs)} {len(ours)}"]
        for x, y in zip(theirs[1:], ours[1:]):
            wrong += [f"{x[0]}, {h}: {u[:60]} {v[:60]}" for h, u, v in zip(theirs[0], x, y) if not same(u, v)]
        print(f"{'not ok' if wrong else 'ok'} - pair {i}: {len(theirs) - 1} rows as msprobe has them")
        for line in wrong[:5]:
            print("#", line)


dict(make=make, peer=peer, diff=diff)[sys.argv[1]](*sys.argv[2:])
