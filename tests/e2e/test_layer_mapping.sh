#!/usr/bin/env bash
# `probe compare --layer-mapping`: two dumps of one model whose parts have other names in B. The pairs are written here by hand;
# tests/long/compare_peer.sh has msprobe's own mapping as the truth. Prints TAP.
# beside:
. "$(dirname "$0")/lib.sh"

python3 - "$tmp" <<'END2' || { fail 'the dumps are made'; finish; }
import json, os, sys
def write(folder, names, drop=()):
    """names: call -> the call it is in."""
    tensor = dict(type="torch.Tensor", dtype="torch.float32", shape=[2], Max=1.0, Min=0.0, Mean=0.5, Norm=1.0, requires_grad=False)
    names = {n: p for n, p in names.items() if n not in drop}
    data = {n: dict(input_args=[tensor], input_kwargs={}, output=[tensor]) for n in names}
    stack = {n: ["File /w/t.py, line 9, in forward, \n g()"] for n in names}
    os.makedirs(folder)
    for file, value in (("dump", dict(task="statistics", level="mix", framework="pytorch", data=data)), ("construct", names), ("stack", stack)):
        with open(f"{folder}/{file}.json", "w") as f:
            json.dump(value, f)
def model(layers, attention):
    top = {}
    for i in range(2):
        block = f"Module.{layers}.{i}.Block.forward.0"
        inside = f"Module.{layers}.{i}.{attention}.Attention.forward.0"
        top[f"Functional.linear.{2 * i}.forward"] = top[f"Functional.linear.{2 * i + 1}.forward"] = inside
        top[f"Torch.add.{i}.forward"] = top[inside] = block
        top[block] = None
    leaf = "Module.tail.first.second.Leaf.forward.0"
    top["Torch.mul.0.forward"] = leaf
    top[leaf] = None
    return top
top = sys.argv[1]
write(top + "/A", model("decoder", "attn"))
write(top + "/B", model("encoder.body", "self_attn"))
write(top + "/less", model("encoder.body", "self_attn"), drop=["Functional.linear.1.forward", "Module.encoder.body.1.self_attn.Attention.forward.0"])
END2
cat >"$tmp/rules" <<'END2'
TopLayer:
  decoder: encoder.body
Block:
  attn: self_attn
END2
pairs() { # RULES A B: "name in A > name in B" of all calls
	rm -rf "$tmp/o"
	said=$("$probe" compare --layer-mapping "$1" -o "$tmp/o" "$2" "$3" 2>&1)
	status=$?
	python3 -c 'import csv, glob, sys
seen = []
for r in csv.DictReader(open(glob.glob(sys.argv[1] + "/o/*.csv")[0])):
    seen.append(r["NPU Name"] + " > " + r["Bench Name"])
print("\n".join(sorted(n for n in seen if ".output." in n)).replace(".output.0", ""))' "$tmp" 2>&1
}
want="Functional.linear.0.forward > Functional.linear.0.forward
Functional.linear.1.forward > Functional.linear.1.forward
Functional.linear.2.forward > Functional.linear.2.forward
Functional.linear.3.forward > Functional.linear.3.forward
Module.decoder.0.Block.forward.0 > Module.encoder.body.0.Block.forward.0
Module.decoder.0.attn.Attention.forward.0 > Module.encoder.body.0.self_attn.Attention.forward.0
Module.decoder.1.Block.forward.0 > Module.encoder.body.1.Block.forward.0
Module.decoder.1.attn.Attention.forward.0 > Module.encoder.body.1.self_attn.Attention.forward.0
Module.tail.first.second.Leaf.forward.0 > Module.tail.first.second.Leaf.forward.0
Torch.add.0.forward > Torch.add.0.forward
Torch.add.1.forward > Torch.add.1.forward
Torch.mul.0.forward > Torch.mul.0.forward"
is 'each call has its namesake' "$(pairs "$tmp/rules" "$tmp/A" "$tmp/B")" "$want"
is 'the other way round nothing but the tail has one' "$(pairs "$tmp/rules" "$tmp/B" "$tmp/A" | grep -v '> N/A')" \
	'Module.tail.first.second.Leaf.forward.0 > Module.tail.first.second.Leaf.forward.0
Torch.mul.0.forward > Torch.mul.0.forward'
is 'without rules, too' "$(pairs auto "$tmp/A" "$tmp/B" | grep -vc '> N/A')" 2
is 'equal names need no rules' "$(pairs auto "$tmp/A" "$tmp/A" | awk -F' > ' '$1 == $2' | wc -l)" 12
is 'the second call of a layer that has one less in B has none' "$(pairs "$tmp/rules" "$tmp/A" "$tmp/less" | grep '> N/A')" \
	'Functional.linear.1.forward > N/A
Module.decoder.1.attn.Attention.forward.0 > N/A'
# The last of two rules of one class is as good as the first.
printf 'Block:\n  other: x\n  attn: self_attn\nTopLayer:\n  tail.first: nothing\n  decoder: encoder.body\n' >"$tmp/more"
like 'the longest name of a class that fits is taken' "$(pairs "$tmp/more" "$tmp/A" "$tmp/B" | tr '\n' ';')" 'Module.decoder.1.attn.Attention.forward.0 > Module.encoder.body.1.self_attn.Attention.forward.0;'
like 'what is renamed to nothing has no namesake' "$(pairs "$tmp/more" "$tmp/A" "$tmp/B" | tr '\n' ';')" 'Module.tail.first.second.Leaf.forward.0 > N/A;'
printf 'Block\n' >"$tmp/wrong"
pairs "$tmp/wrong" "$tmp/A" "$tmp/B" >/dev/null
is 'rules that are no map: status' $status 2
like 'rules that are no map: where' "$said" "$tmp/wrong:1: "
finish
