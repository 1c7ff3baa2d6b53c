#!/usr/bin/env bash
# `probe compare`: folders that differ in places that compare_folders.py chose (one value, a call more, a call less, NaN, an
# argument, names), and what it says of them; tables, --json, exit status. tests/long/compare_peer.sh has msprobe's own
# `compare` as the truth. Prints TAP.
# beside:
. "$(dirname "$0")/lib.sh"

f=$tmp/f
python3 tests/e2e/compare_folders.py "$f" || { fail 'the folders are made'; finish; }

compare() { # [OPTIONS] A B: what it said in $said, its status in $status
	said=$("$probe" compare "${@:1:$#-2}" "$f/${*: -2:1}" "$f/${*: -1}" 2>&1)
	status=$?
}

json() { # EXPRESSION over d
	python3 -c 'import json, sys
d = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1" <<<"$said"
}

# ---- output folders ----

compare good same
is 'the same: status' $status 0
like 'equal runs are reported as equal' "$said" 'No difference in 720 values of 240 calls'
compare --json good changed
is 'one output: status' $status 1
is 'one output: step, rank, call, item' "$(json '[d["first"][k] for k in ("step", "rank", "call", "item")]')" "[1, 1, 'Distributed.all_reduce.17.forward', 'output 0']"
is 'one output: nothing else' "$(json 'd["differing"], d["only_a"], d["only_b"], d["paired"]')" '(1, 0, 0, 240)'
is 'its line and communicator' "$(json 'd["first"]["line"], d["first"]["comm_seq"], d["first"]["communicator"]')" "('train.py:20 step', 57, 'MPI_COMM_WORLD of ranks 0-1')"
is 'its inputs are the same: it is the origin' "$(json 'd["origin"] == d["first"]')" True
compare --json good fewer
is 'a call less: which, and no other' "$(json '[(r["rank"], r["only_a"], r["only_b"], r["differing"] - 3 * r["only_a"]) for r in d["ranks"]]')" '[(0, 1, 0, 0), (1, 0, 0, 0)]'
is 'a call less: its number' "$(json 'd["first"]["call"], d["first"]["comm_seq"]')" "('Distributed.all_reduce.5.forward', 45)"
compare --json good more
is 'a call more' "$(json '[(r["only_a"], r["only_b"], r["differing"]) for r in d["ranks"]]')" '[(0, 1, 0), (0, 0, 0)]'
compare --json good fewer_changed
is 'a call less, and one changed after it' "$(json 'd["first"]["call"], d["origin"]["step"], d["origin"]["call"], d["differing"]')" \
	"('Distributed.all_reduce.5.forward', 2, 'Distributed.all_reduce.8.forward', 4)"
compare good nan
is 'NaN in B alone: status' $status 1
like 'NaN in B alone' "$said" 'step 0, rank 0, Distributed.all_reduce.3.forward, output 0'
compare --json good poisoned
is 'NaN that rank 1 puts into a collective: its input, not the result of rank 0' \
	"$(json '[d["first"][k] for k in ("step", "rank", "call", "item", "text")], d["origin"]')" \
	"([1, 1, 'Distributed.all_reduce.7.forward', 'input 0', '0 NaN, in B 1'], None)"
compare --json short short_late
is 'calls that were written 75 steps late are paired' \
	"$status $(json '[(r["calls_a"], r["calls_b"], r["paired"], r["differing"]) for r in d["ranks"]], d["first"]')" \
	'0 ([(800, 800, 800, 0), (800, 800, 800, 0)], None)'
compare --json short_late short_late_changed
is 'calls that were written late: the one that differs, by the number that the rank gave it' \
	"$(json '[d["first"][k] for k in ("step", "rank", "call", "item")], d["differing"], d["paired"]')" \
	"([200, 1, 'Distributed.all_reduce.1.forward', 'output 0'], 1, 1600)"
compare --exact good spelled
is 'two texts of one number are equal' "$status" 0
compare --json good redop
is 'an argument' "$(json 'd["first"]["item"], d["first"]["text"], d["blamed"]["result"]')" "('input redop', 'sum, in B max', 'error')"
compare good one_rank
like 'a rank less' "$said" 'only A has rank 1'
compare --exact --json crc crc_changed
is 'checksums: the one that differs' "$(json 'd["first"]["call"], d["first"]["text"].startswith("checksum "), d["error"], d["differing"]')" \
	"('Distributed.all_reduce.17.forward', True, 1, 1)"
compare --exact good same
like 'without checksums it says so' "$said" 'no checksums'
is 'a step alone' "$(compare --step 2 --json good changed; json 'd["first"], d["paired"]')" '(None, 80)'

# ---- threads that interleave: communicators that look alike are distinguished by their ids ----

compare --json threads threads_moved
is 'threads: equal calls in another order' "$status $(json 'd["paired"], d["differing"], d["only_a"], d["only_b"], d["first"]')" '0 (48, 0, 0, 0, None)'
compare --json threads threads_changed
is 'threads: the one value that differs' "$(json '[d["first"][k] for k in ("comm_seq", "item")], d["differing"], d["only_a"], d["only_b"]')" "([2, 'output 0'], 1, 0, 0)"
compare --json threads threads_other_ids
is 'threads: without common ids, in the same order' "$status $(json 'd["paired"], d["differing"], d["only_a"], d["only_b"], d["first"]')" '0 (48, 0, 0, 0, None)'
compare --json threads threads_one_other_id
is 'threads: the value that differs, if one communicator has another id' \
	"$(json '[d["first"][k] for k in ("comm_seq", "item")], d["paired"], d["differing"], d["only_a"], d["only_b"]')" "([2, 'output 0'], 48, 1, 0, 0)"
compare --json threads threads_one_more
is 'threads: the value that differs, if B has one communicator more' \
	"$(json 'd["paired"], d["differing"], d["only_a"], d["only_b"]')" "(48, 1, 0, 12)"

# ---- key max_overhead on one side: what it did not record is no difference ----

for pair in 'few_values whole' 'whole few_values' 'few_calls whole' 'whole few_calls' 'few_calls few_values'; do
	compare $pair
	is "max_overhead: $pair: status" $status 0
	like "max_overhead: $pair: no difference" "$said" 'No difference in [0-9,]+ values of [0-9,]+ calls'
	like "max_overhead: $pair: what was not compared is in a note" "$said" 'not compared[^:]*max_overhead: [0-9,]+ (value|call)'
	compare --json $pair
	is "max_overhead: $pair: same" "$(json 'd["same"], d["differing"], d["only_a"], d["only_b"], d["under_half_paired"], d["first"]')" '(True, 0, 0, 0, False, None)'
	compare --exact $pair
	is "max_overhead: $pair: --exact" $status 0
done
compare --json few_values whole
is 'max_overhead: the values that one side lacks are counted' "$(json 'd["unrecorded_values"], d["unrecorded_a"], d["unrecorded_b"]')" '(160, 0, 0)'
compare --json few_calls whole
is 'max_overhead: the calls that one side lacks are counted' "$(json 'd["paired"], d["unrecorded_a"], d["unrecorded_b"]')" '(220, 0, 260)'
compare --json few_changed whole
is 'max_overhead: a call that was recorded, and differs' "$status $(json '[d["first"][k] for k in ("step", "rank", "comm_seq", "item")], d["differing"]')" "1 ([2, 1, 104, 'output 0'], 1)"
compare --json few_values whole_small_changed
is 'max_overhead: a small value that differs' "$status $(json '[d["first"][k] for k in ("step", "rank", "comm_seq", "item")], d["differing"]')" "1 ([1, 0, 46, 'output 0'], 1)"
compare --json few_values whole_large_changed
is 'max_overhead: a value that differs where one side has none' "$status $(json 'd["same"], d["first"]')" '0 (True, None)'
compare --json few_calls whole_skips
is 'max_overhead: a call that the whole run lacks' "$status $(json '[d["first"][k] for k in ("step", "rank", "comm_seq")], d["only_a"], d["only_b"]')" '1 ([2, 0, 104], 1, 0)'
compare --json few_calls whole_skips_early
is 'max_overhead: a call that lacks where all was recorded' "$status $(json '[d["first"][k] for k in ("step", "rank", "comm_seq")], d["only_a"], d["only_b"]')" '1 ([0, 0, 24], 1, 0)'
"$probe" compare --html "$tmp/few.html" "$f/few_calls" "$f/whole" >/dev/null
is 'max_overhead: the page has no norm over a part of the calls' "$(python3 - "$tmp/few.html" <<'PY'
import json, re, sys
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', open(sys.argv[1]).read(), re.S)[1])
print(sorted({(c["s"], x) for c in data["curves"] for x in c["x"]}))
PY
)" '[(0, 0), (1, 0), (1, 1), (1, 2)]'

# ---- numbers of steps, parameters ----

with_numbers() { # FOLDER RATE-OF-STEP-2 NORM-OF-STEP-1
	cp -r "$f/good" "$f/$1"
	printf '%s\n' step,name,value,wall_ns 0,iteration-time,$RANDOM,0 1,learning-rate,0.1,0 "2,learning-rate,$2,0" 2,loss,0.5,0 >"$f/$1/rank1/scalars_0-99.csv"
	printf '%s\n' vpp_stage,name,step,min,max,mean,norm,shape,dtype "0,layer.weight,1,-1,1,0,$3,[2],torch.float32" 0,layer.weight,2,-1,1,0,9,[2],torch.float32 \
		>"$f/$1/rank1/param_updated_0-99.csv"
}
with_numbers numbers 0.05 2
with_numbers numbers_spelled 5e-2 2.0
with_numbers other_rate 0.1 2
with_numbers other_weight 0.05 3
compare numbers numbers_spelled
is 'the same numbers: status' $status 0
unlike 'times differ in each run, and are not compared' "$said" 'that differs'
compare --json numbers other_rate
is 'a schedule that is lost: the number, its step and rank' "$status $(json '[d["number"][k] for k in ("name", "step", "rank", "a", "b")], d["kind"]')" \
	"1 (['learning-rate', 2, 1, 0.05, 0.1], None)"
compare numbers other_weight
like 'a parameter: name, kind, step' "$said" 'First parameter or gradient that differs: layer.weight, param_updated, norm, step 1, rank 1: 2, in B 3'

# A training without calls: its numbers alone are compared.
for n in numbers numbers_spelled other_rate other_weight; do
	mkdir "$f/no_calls.$n"
	cp -r "$f/$n/rank1" "$f/no_calls.$n/"
	rm "$f/no_calls.$n"/rank1/calls_*
done
compare no_calls.numbers no_calls.numbers_spelled
is 'no_calls_and_the_same_numbers_is_exit_0' "$status $(grep -c '^No difference in [1-9][0-9]* numbers' <<<"$said")" '0 1'
compare no_calls.numbers no_calls.other_rate
is 'no_calls_and_another_rate_is_exit_1' "$status $(grep -c 'First number of a step that differs: learning-rate, step 2, rank 1: 0.05, in B 0.1' <<<"$said")" '1 1'
compare --json no_calls.numbers no_calls.other_weight
is 'no_calls_and_another_weight_is_exit_1' "$status $(json '[d["kind"][k] for k in ("step", "rank", "a", "b")], d["same"]')" '1 ([1, 1, 2, 3], False)'

# ---- too little in common ----

compare --step 50 good same
is 'nothing_in_common_is_exit_2' $status 2
like 'nothing_in_common_is_said' "$said" 'nothing was compared: A has 0 calls in these steps and ranks, B has 0'
unlike 'nothing_in_common_is_no_success' "$said" 'No difference'
compare --json --step 50 good same
is 'nothing_in_common_is_exit_2_with_json' "$status $(sed 1d <<<"$said" | grep -c '"same": false')" '2 1'
compare good unmarked
is 'steps_on_one_side_only_are_refused' $status 2
like 'steps_on_one_side_only_are_said' "$said" 'the steps of [^ ]*/good are marked, the steps of [^ ]*/unmarked are not'
compare --json one_rank four_ranks
is 'a_quarter_of_the_ranks_in_common_is_in_json' "$(json 'd["under_half_paired"], d["paired"]')" '(True, 120)'
compare good four_ranks
like 'ranks_that_only_one_run_has_count' "$said" '^A '
compare one_rank four_ranks
like 'a_quarter_of_the_ranks_in_common_is_said_first' "$said" '^Only 120 of 120 calls in A and 120 of 480 in B could be paired'

# ---- weights on their way from a training to what serves them ----

PYTHONPATH=tests/e2e python3 tests/e2e/weights_folders.py "$f/weights" >"$tmp/want" || fail 'the folders of weights are made'
compare --weights --json weights/train weights/serve
is 'weights: what became of each' "$status $(json '"\n".join(sorted(w["name"] + " " + w["verdict"] for w in d["weights"]))')" "1 $(cat "$tmp/want")"
is 'weights: when they were sent and received' "$(json '[(w["sent"], w["received"], w["loaded"]) for w in sorted(d["weights"], key=lambda w: w["name"])]')" \
	"[(2, 2, None), (1, 1, None), (2, 2, None), (2, None, None), (2, None, None), (1, 1, None)]"
is 'weights: their checksums are those of the bytes' "$(json '[(w["crc32"], w["crc32_b"]) for w in d["weights"] if w["name"] == "model.c.weight"] == [tuple("%08x" % __import__("zlib").crc32(v) for v in (b"c2", b"c1"))]')" True
compare --weights weights/train weights/serve
like 'weights: in words' "$status $said" '^1 6 weights of A: 2 same .B has it.; 1 skipped .*; 1 stale .*; 1 differs .*; 1 missing'
like 'weights: the one that the last transfer skipped' "$said" 'model.b.weight +skipped'
unlike 'weights: those that are the same have no line' "$said" 'model.a.weight'
compare --weights --step 1 weights/train weights/same
is 'weights: all arrived' "$status" 0
compare --weights weights/train weights/unsummed
like 'weights: without checksums there is nothing to compare' "$status $said" '^2 .*no row has a checksum; record with PROBE_CHECKSUM=crc32'

# ---- tables ----

compare -o "$tmp/o" good changed
is 'a table for each rank' "$(cd "$tmp/o" && echo compare_result_rank{0,1}_*.csv | wc -w)" 2
is 'its rows' "$(cat "$tmp"/o/compare_result_rank1_*.csv | python3 -c 'import csv, sys
r = list(csv.DictReader(sys.stdin))
w = [x for x in r if x["Result"] != "pass"]
print(len(r), [(x["NPU Name"], x["Step"], x["Result"], float(x["NormRelativeErr"][:-1])) for x in w])')" \
	"360 [('Distributed.all_reduce.17.forward.output.0', '1', 'warning', 25.0)]"
compare -o "$tmp/o" good changed
is 'nothing is overwritten' "$(cd "$tmp/o" && ls | wc -l)" 4
compare -o "$tmp/m" --merge good changed
is 'one table for all' "$(cut -d, -f1,2 "$tmp"/m/compare_result_merged_*.csv | sort -u | tr '\n' ' ')" '0,0 0,1 1,0 1,1 2,0 2,1 Step,Rank '

# ---- dumps ----

# Only views were recorded, and one of them differs: that counts.
python3 - "$f" <<'PY'
import json, shutil, sys
for side in "ab":
    to = f"{sys.argv[1]}/views_{side}"
    shutil.copytree(f"{sys.argv[1]}/dump/step0", f"{to}/step0")
    for n in ("stack",):
        text = open(f"{to}/step0/rank0/{n}.json").read()
        open(f"{to}/step0/rank0/{n}.json", "w").write(text.replace("Torch.sin.", "Torch.view."))
    d = json.load(open(f"{to}/step0/rank0/dump.json"))
    d["data"] = {k.replace("Torch.sin.", "Torch.view."): v for k, v in d["data"].items() if k.startswith("Torch.sin.")}
    if side == "b":
        list(d["data"].values())[1]["output"][0]["Norm"] = 77.5
    json.dump(d, open(f"{to}/step0/rank0/dump.json", "w"))
PY
compare views_a views_b
like 'views alone: what differs is reported' "$said" 'No difference in [0-9]+ values of [0-9]+ calls.*1 value differs in memory that torch.empty'
compare --json views_a views_b
is 'views alone: counted' "$(json 'd["differing"], d["unwritten"]')" '(0, 1)'
compare dump dump_same
is 'dumps: the same' $status 0
compare --json dump dump_changed
is 'dumps: the first' "$(json '[d["first"][k] for k in ("call", "item", "line", "step", "rank")]')" \
	"['Torch.sin.2.forward', 'output 0', 'train.py:$((7 + 330)) step', 0, 0]"
is 'dumps: how many' "$(json 'd["differing"], d["not_finite"]')" '(2, 1)'
compare --json dump dump_fewer
is 'dumps: a call less does not shift the others' "$(json 'd["only_a"], d["only_b"], d["paired"], d["first"]["call"]')" "(1, 0, 29, 'Torch.add.2.forward')"
compare --by-name --json dump dump_fewer
is 'by name it does' "$(json 'd["only_a"], d["differing"] > 20')" '(1, True)'
compare --json dump dump_scalar
is 'dumps: a scalar' "$(json 'd["blamed"]["item"], d["blamed"]["text"]')" "('input 1', '6, in B -1')"
compare --json --data-mapping "$f/mapping.yaml" dump dump_renamed
is 'dumps: other names' "$(json 'd["paired"], d["differing"], d["same"]')" '(30, 0, True)'
compare dump dump_renamed
is 'without_the_mapping_nothing_is_compared' $status 2
compare --json dump_ranks dump_ranks_b
is 'dumps: which rank' "$(json '[(r["rank"], r["differing"]) for r in d["ranks"]]')" '[(0, 0), (1, 2), (2, 0)]'
compare dump/step0/rank0/dump.json dump_changed/step0/rank0/dump.json
like 'single files' "$said" 'Torch.sin.2.forward'

# ---- the tensors themselves ----

t=$tmp/t
python3 tests/e2e/compare_tensors.py "$t" || fail 'the tensors are written'
f=$t
compare a a_again
is 'tensors: the same' $status 0
compare -o "$tmp/ot" a b
is 'tensors: metrics as of exact sums' "$(python3 -c 'import csv, glob, json, sys
truth = json.load(open(sys.argv[1] + "/truth.json"))["rows"]
rows = [r for r in csv.DictReader(open(glob.glob(sys.argv[2] + "/*.csv")[0])) if not r["NPU Name"].startswith("Torch.f.2.")]
for r, w in zip(rows, truth):
    for k, v in zip(("Cosine", "EucDist", "MaxAbsErr"), w):
        assert abs(float(r[k]) - v) <= 1e-11 * max(1, abs(v)), (r["NPU Name"], k, r[k], v)
print(len(rows), len(truth))' "$t" "$tmp/ot" 2>&1)" '6 6'
# A measure of the user's own, by a command that gets both files; their folder's name has all that a shell reads in it.
cp -r "$t/b" "$t/it's \$HOME;b"
printf '%s\n' 'cmp -s "$1" "$2" && echo same || echo "other, and: $(basename "$2")"' 'echo a second line' >"$tmp/measure"
compare -o "$tmp/om" --metric "sh $tmp/measure" a "it's \$HOME;b"
is 'tensors: a command of the user measures each pair' "$(python3 -c 'import csv, glob, sys
print([(r["NPU Name"], r["Metric"]) for r in csv.DictReader(open(glob.glob(sys.argv[1] + "/*.csv")[0])) if r["Metric"] != "same"])' "$tmp/om")" \
	"$(python3 -c 'print([(f"Torch.f.{i}.forward.output.0", f"other, and: Torch.f.{i}.forward.output.0.npy") for i in (1, 2, 3)])')"
compare -o "$tmp/of" --metric 'exit 3;' a b
is 'tensors: a command that fails is reported' "$(python3 -c 'import csv, glob, sys
print({r["Metric"] for r in csv.DictReader(open(glob.glob(sys.argv[1] + "/*.csv")[0]))})' "$tmp/of")" "{'failed: exit 3'}"
compare --metric true a b
is 'tensors: a measure needs a table' $status 2
compare --json a b
is 'tensors: the first' "$(json 'd["first"]["call"], d["first"]["item"], d["differing"]')" "('Torch.f.1.forward', 'output 0', 3)"
is 'tensors: the rules' "$(json 'd["blamed"]["call"], d["warning"] + d["error"]')" "('Torch.f.3.forward', 1)"

compare --ckpt a.safetensors a.safetensors
is 'a checkpoint: the same' $status 0
compare --ckpt --json a.safetensors b.safetensors
is 'a checkpoint: status' $status 1
is 'a checkpoint: the expected values' "$(json 'sorted(d), d["w"]["numel"], d["w"]["shape"], d["half"], abs(d["w"]["cos"] - 1) < 1e-12')" \
	"(['half', 'n', 'w'], 60, [6, 10], {'l2': 0.0, 'cos': 1.0, 'numel': 4, 'shape': [4]}, True)"
is 'a checkpoint: l2' "$(json "abs(d['w']['l2'] - $(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["l2"])' "$t/truth.json")) < 1e-12")" True
compare --ckpt a.safetensors b.safetensors
like 'a checkpoint: parameters that only one has' "$said" 'only in B: +more'
compare --ckpt a.safetensors shape.safetensors
like 'a checkpoint: other shapes' "$said" 'w .*other shapes'
compare --ckpt shards_a shards_b
like 'other shards of the same' "$said" '3 parameters in A, 3 in B, 3 paired, 3 of them equal'
compare --ckpt a.safetensors other_names.safetensors
is 'checkpoints_without_a_common_name_are_exit_2' $status 2
compare --ckpt a.safetensors cut.safetensors
is 'a checkpoint that was cut: status' $status 2
like 'a checkpoint that was cut' "$said" 'cut.safetensors: is truncated'
compare --ckpt -o "$tmp/oc" a.safetensors b.safetensors
ok 'its table' python3 -m json.tool "$tmp/oc/ckpt_similarity.json"
if [ -n "$test_python" ] && "$test_python" - "$t" 2>"$tmp/torch.err" <<'PY'
import collections, sys, torch
top = sys.argv[1]
g = torch.Generator().manual_seed(0)
state = collections.OrderedDict(w=torch.randn(50, 40, generator=g), b=torch.randn(30, generator=g).bfloat16(), h=torch.randn(7, generator=g).half(),
                                view=torch.randn(10, 12, generator=g).t()[2:7], n=torch.tensor(3), p=torch.nn.Parameter(torch.randn(4, generator=g)))
torch.save(dict(model=state, optim=dict(state={0: dict(m=torch.randn(5, generator=g))}, lr=0.1), args=("x", None, 1 << 70)), top + "/a.pt")
state["w"] = state["w"] + 0.5
torch.save(dict(model=state, optim=dict(state={0: dict(m=torch.zeros(5))}, lr=0.2), args=()), top + "/b.pt")
torch.save(dict(state), top + "/legacy.pt", _use_new_zipfile_serialization=False)


class Run:
    def __reduce__(self):
        return (open, (top + "/ran", "w"))


torch.save(dict(w=torch.ones(3), evil=Run()), top + "/evil.pt")
PY
then
	rm -f "$t/ran"
	compare --ckpt --json a.pt b.pt
	is 'torch.save(): parameters' "$(json 'sorted(d)')" \
		"['model.b', 'model.h', 'model.n', 'model.p', 'model.view', 'model.w', 'optim.state.0.m']"
	is 'torch.save(): l2' "$(json 'abs(d["model.w"]["l2"] - 0.5 * 2000 ** 0.5) < 1e-5, [k for k in sorted(d) if d[k]["l2"]], d["model.view"]["shape"]')" \
		"(True, ['model.w', 'optim.state.0.m'], [5, 10])"
	compare --ckpt evil.pt evil.pt
	is 'nothing of a file is run' "$status $([ -e "$t/ran" ] || echo not)" '0 not'
	compare --ckpt legacy.pt a.pt
	like 'the form before 1.6' "$said" 'before PyTorch 1.6; save it again'
else
	skip 'torch.save()' "${test_python:+$(tail -1 "$tmp/torch.err")}${test_python:-no PyTorch}"
fi

# ---- signs of gradients, and what runs began with ----

mkdir -p "$t"/{ga,gb}/rank0/step{0,3}
python3 - "$t" <<'PY'
import struct, sys
def npy(path, bits):
    header = "{'descr': '|b1', 'fortran_order': False, 'shape': (%d,), }" % len(bits)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(bits))
for step, wrong in ((0, 1), (3, 20)):
    for name, n in (("fc.weight", 100), ("fc.bias", 60)):
        npy(f"{sys.argv[1]}/ga/rank0/step{step}/{name}.npy", [i % 2 for i in range(n)])
        npy(f"{sys.argv[1]}/gb/rank0/step{step}/{name}.npy", [(i % 2) ^ (i < wrong) for i in range(n)])
PY
compare --grad -o "$tmp/og" ga gb
is 'signs: status' $status 1
is 'signs: the table' "$(tr '\n' ' ' <"$tmp/og/rank0/similarities.csv")" 'step,0,3 fc.bias,0.9833333333333333,0.6666666666666666 fc.weight,0.99,0.8 summary,0.9875,0.75 '
compare --grad ga ga
is 'signs: the same' $status 0
f=$tmp/f
compare --config-check good same
is 'what runs began with: the same' $status 0
like 'what is not compared is reported' "$said" 'not in the records.*seeds'
sed -i 's/"world_size": 2/"world_size": 2, "version": "7.7", "config": {"stack": "off"}/' "$f/same/rank1/meta.json"
printf 'vpp_stage,name,step,norm,shape,dtype\n0,a.w,0,%s,2,float32\n0,a.w,1,%s,2,float32\n' 1.5 2 >"$f/good/rank0/param_origin_0-99.csv"
printf 'vpp_stage,name,step,norm,shape,dtype\n0,a.w,0,%s,2,float32\n0,a.w,1,%s,2,float32\n' 1.25 2 >"$f/same/rank0/param_origin_0-99.csv"
compare --config-check --json good same
is 'what runs began with' "$(json 'd["ranks"][1]["configuration and record"]["differ"], d["ranks"][0]["first weights"]["differ"]')" \
	"([{'name': 'version', 'a': None, 'b': '7.7'}, {'name': 'config.stack', 'a': None, 'b': 'off'}], [{'name': 'a.w', 'a': '0 1.5 2 float32', 'b': '0 1.25 2 float32'}])"

# ---- what is wrong ----

wrong() { # TEXT PATTERN ARGS...
	local text=$1 pattern=$2
	shift 2
	said=$("$probe" compare "$@" 2>&1)
	status=$?
	is "$text: status" $status 2
	like "$text" "$said" "$pattern"
}
wrong 'one operand' 'two folders are needed' "$f/good"
wrong 'no such folder' 'nonesuch: No such file' "$f/good" "$f/nonesuch"
wrong 'nothing in it' 'contains nothing to compare' "$f/good" "$tmp/m"
mkdir -p "$tmp/bad/step0/rank0"
echo '{"task": "statistics", "data": {"Torch.add.0.forward": {"input_args": [' >"$tmp/bad/step0/rank0/dump.json"
wrong 'a dump that was cut' 'dump.json: byte [0-9]*: the file is truncated' "$tmp/bad" "$f/dump"
echo 'a: [b]' >"$tmp/map.yaml"
wrong 'a mapping' 'map.yaml:1: accepted: lines' --data-mapping "$tmp/map.yaml" "$f/dump" "$f/dump"
# ---- what a program saved itself, in processes without a rank ----

cat >"$tmp/saved.py" <<'PY'
import ctypes, sys
lib = ctypes.CDLL(None)
for name, factor in ("same", 1), ("other", int(sys.argv[1])):
    data = (ctypes.c_float * 6)(*[factor * i for i in range(6)])
    assert lib.probe_save(name.encode(), data, b"float32", b"2,3") == 0
PY
for n in 1 2; do
	env -u RANK LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$f/saved$n" PROBE_FORMAT=dump PROBE_LEVEL=debug PROBE_TASK=tensor python3 "$tmp/saved.py" $n
done
for at in '' /step0; do
	compare saved1$at saved2$at
	like "probe_save(), of two processes$at" "$status $said" '^0 .*First difference: step 0, other.0.debug, value: norm 7\.416.*, in B 14\.83'
done
compare saved1 saved1
unlike 'probe_save(), of one' "$status $said" 'First difference'

finish
