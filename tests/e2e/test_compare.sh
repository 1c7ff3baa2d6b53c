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
like 'the same: said' "$said" 'No difference in 720 values of 240 calls'
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
is 'a call less, and one changed behind it' "$(json 'd["first"]["call"], d["origin"]["step"], d["origin"]["call"], d["differing"]')" \
	"('Distributed.all_reduce.5.forward', 2, 'Distributed.all_reduce.8.forward', 4)"
compare good nan
is 'NaN in B alone: status' $status 1
like 'NaN in B alone' "$said" 'step 0, rank 0, Distributed.all_reduce.3.forward, output 0'
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
is 'without the mapping' $status 1
compare --json dump_ranks dump_ranks_b
is 'dumps: which rank' "$(json '[(r["rank"], r["differing"]) for r in d["ranks"]]')" '[(0, 0), (1, 2), (2, 0)]'
compare dump/step0/rank0/dump.json dump_changed/step0/rank0/dump.json
like 'single files' "$said" 'Torch.sin.2.forward'

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
wrong 'nothing in it' 'holds nothing that can be compared' "$f/good" "$tmp/m"
mkdir -p "$tmp/bad/step0/rank0"
echo '{"task": "statistics", "data": {"Torch.add.0.forward": {"input_args": [' >"$tmp/bad/step0/rank0/dump.json"
wrong 'a dump that was cut' 'dump.json: byte [0-9]*: the end is missing' "$tmp/bad" "$f/dump"
echo 'a: [b]' >"$tmp/map.yaml"
wrong 'a mapping' 'map.yaml:1: accepted are lines' --data-mapping "$tmp/map.yaml" "$f/dump" "$f/dump"
finish
