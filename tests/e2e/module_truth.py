# A dump of level L0 (or mix) of tests/apps/py/moduled.py against what msprobe 26.2.0 wrote of it. `record DUMP`: a line for each value of
# step 1, rank 1, and each parent in construct.json; `check DUMP FILE ...`: all of them are in these dumps, step by step and rank by rank.
import json
import sys


def values(x, path, out):
    if isinstance(x, dict) and ("dtype" in x or "value" in x):
        out[path] = x
    elif isinstance(x, dict):
        for k, v in x.items():
            values(v, f"{path}.{k}", out)
    elif isinstance(x, list):
        for i, v in enumerate(x):
            values(v, f"{path}.{i}", out)
    return out


def load(folder):
    dump, construct = (json.load(open(f"{folder}/{n}.json")) for n in ("dump", "construct"))
    assert dump["framework"] == "pytorch", dump["framework"]
    return dump["data"], construct


def line(x):
    if "value" in x:
        return f"{x['type']} {x['value']}"
    numbers = " ".join("null" if x[k] is None else f"{x[k]:.6g}" for k in ("Max", "Min", "Mean", "Norm"))
    return f"{x['dtype']} {'x'.join(map(str, x['shape']))} {x['requires_grad']} {numbers}"


def near(a, b):
    a, b = a.split(), b.split()
    return a[:3] == b[:3] and len(a) == len(b) and all(
        x == y or abs(float(x) - float(y)) <= 2e-5 * max(1, abs(float(x))) for x, y in zip(a[3:], b[3:])
    )


if sys.argv[1] == "record":
    data, construct = load(f"{sys.argv[2]}/step1/rank1")
    for name, entry in data.items():
        if name.startswith("Module."):
            for path, x in values(entry, "", {}).items():
                print(f"{name} {path[1:]} {line(x)}")
    for name, parent in construct.items():
        # Its parents of backward passes are those that had not been left, not those around.
        if name.startswith("Module.") and ".forward." in name and (not parent or ".forward." in parent):
            print(f"parent {name} {parent}")
    sys.exit()
data, construct = load(f"{sys.argv[2]}/step1/rank1")
missing = 0
for text in open(sys.argv[3]):
    first, name, rest = text.rstrip("\n").split(" ", 2)
    if first == "parent":
        assert str(construct[name]) == rest, (name, construct.get(name), rest)
        continue
    got = values(data.get(first, {}), "", {}).get("." + name)
    if got is None or not near(line(got), rest):
        missing += 1
        print(first, name, got and line(got), "not", rest)
assert not missing
# All entries have a place in the structure, all calls a stack in the program's file, and nothing is told of twice.
for step in 0, 1:
    for rank in 0, 1:
        folder = f"{sys.argv[2]}/step{step}/rank{rank}"
        data, construct = load(folder)
        stack = json.load(open(f"{folder}/stack.json"))
        assert set(data) - set(construct) == {n for n in data if ".parameters_grad." in n}, set(data) ^ set(construct)
        assert all(p is None or p in construct for p in construct.values())
        names = [n for group, _ in stack.values() for n in group]
        assert len(names) == len(set(names)) and {n for n in data if ".forward" in n} == set(names)
        assert all("moduled.py, line " in "".join(f) for n, f in stack.values() if n[0].startswith("Module."))
        # Of the optimizer's step, at level mix.
        assert {construct[n] for n in construct if n.startswith("Tensor.add_.")} <= {"optimizer"}
        for name, parent in construct.items():
            if name.startswith("Functional.linear.") and name.endswith(".forward"):
                assert ".Linear.forward." in parent, (name, parent)
            if ".Linear.forward." in name and ".mlp." in name:
                assert ".mlp.Sequential.forward." in parent, (name, parent)
print("ok")
