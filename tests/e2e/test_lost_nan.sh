#!/usr/bin/env bash
# A NaN that goes into a reduction by the least or largest value is lost on some ranks or on all, by library, count, place and rank; what gloo
# does to AVG, bool and the tensors of the others. The table in docs/reference/compatibility.md, library by library, and what `probe report` makes of it.
# beside:
. "$(dirname "$0")/lib.sh"

# LINES of "op type count place source bits" on stdin: for max and min each.
facts() {
	python3 -c '
import sys
table = {}
for line in sys.stdin:
    op, dtype, count, place, source, bits = line.split()
    table.setdefault((op, dtype, int(count), int(place)), []).append(bits)
lost = [k for k, v in table.items() if k[0] != "sum" and any("0" in bits for bits in v)]
one = [k for k in table if k[0] != "sum" and k[2] == 1]
print("sum_keeps", all(set(bits) == {"1"} for k, v in table.items() if k[0] == "sum" for bits in v))
print("all_lose_some", len(lost) == len([k for k in table if k[0] != "sum"]))
print("one_element", *sorted({" ".join(table[k]) for k in one}))
print("ranks_agree", all(len(set(bits)) == 1 for k, v in table.items() if k[2] == 1001 for bits in v), all(len(set(bits)) == 1 for k, v in table.items() for bits in v))
print("middle_ones", sorted({v[1] for k, v in table.items() if k[0] != "sum" and k[2] in (1, 64)}))'
}

# One element, of 3 ranks: what each rank has when rank 0, 1, 2 puts it in. Whether all ranks have the same: with 1001 elements, always.
openmpi='one_element 111 000 000
ranks_agree True True'
mpich='one_element 001 000 110
ranks_agree True False'
for f in $flavours; do
	mpi_run $f 3 mpi_lost_nan >"$tmp/$f" 2>"$tmp/$f.err"
	said=$(facts <"$tmp/$f")
	is "$f: sum_carries_a_nan" "$(grep sum_keeps <<<"$said")" 'sum_keeps True'
	is "$f: max_and_min_lose_some_at_every_count_and_place" "$(grep all_lose <<<"$said")" 'all_lose_some True'
	case $f in
	openmpi | mpich) is "$f: which_ranks_have_it_of_one_element" "$(grep -E 'one_element|ranks_agree' <<<"$said")" "${!f}" ;;
	esac
	# What the report says agrees with what the program saw.
	new_out
	run_with $f 3 mpi_lost_nan max 1 2
	without=$(grep -c none "$tmp/with")
	like "$f: the_finding_says_how_many_results_have_none" "$("$probe" report --json "$out" | python3 -c 'import json, sys
print([f["text"] for f in json.load(sys.stdin)["findings"] if f["kind"] == "nan"][0])')" "rank 2: 1 NaN of 1 .*; the result of $without of 3 ranks has no NaN: max does not carry it"
	is "$f: no_other_fault_is_found" "$("$probe" report --json "$out" | python3 -c 'import json, sys
print([f["kind"] for f in json.load(sys.stdin)["findings"] if f["severity"] == "bad"])')" "['nan']"
done
[ -n "$flavours" ] || skip 'MPI' 'no MPI, or its programs are not built (make apps)'

# Ranks that go on with different results: what differs from then on follows from it, and is no rank's fault.
cat >"$tmp/make.py" <<'PY'
import random, sys
sys.path.insert(0, "tests/e2e")
from report_folder import Rank

top, parted = sys.argv[1], sys.argv[2] == "parted"
ranks = [Rank(top, r, 4) for r in range(4)]
def row(name, n=64):
    dice = random.Random(name)
    return dict(count=n, bytes=4 * n, min=-dice.random(), max=dice.random(), mean=dice.random() / 8, norm=2 + dice.random())
for step in range(10):
    for r in ranks:
        at, nan = step * 10**8 + r.rank * 1000, parted and step == 6
        given = row(f"in {step} {r.rank}") | (dict(nans=1) if nan and r.rank == 2 else {})
        given |= dict(max=r.rank / 8)
        r.call("all_reduce", [("in", given), ("out", row(f"out {step}") | dict(max=3 / 8) | (dict(nans=1) if nan and r.rank < 2 else {}))],
               start=at, dur=10**6, step=step, comm_seq=2 * step, redop="max")
        scales = [row(f"scale {step} {step > 5 and k > 1}") for k in range(4)]
        r.call("all_reduce", [("in", scales[r.rank]), ("out", row(f"sum {step}") | dict(mean=sum(s["mean"] for s in scales)))],
               start=at + 2 * 10**6, dur=10**6, step=step, comm_seq=2 * step + 1, redop="sum")
for r in ranks:
    r.write()
PY
export PYTHONDONTWRITEBYTECODE=1
kinds() { "$probe" report --json "$1" | python3 -c 'import json, sys
print([f["kind"] for f in json.load(sys.stdin)["findings"] if f["severity"] == "bad"])'; }
python3 "$tmp/make.py" "$tmp/parted" parted
is 'what_follows_from_a_lost_nan_is_not_diverged' "$(kinds "$tmp/parted")" "['nan']"
like 'ranks_that_go_on_with_different_results_are_told' "$("$probe" report "$tmp/parted")" \
	'the result of 2 of 4 ranks has no NaN: max does not carry it, and ranks go on with different results'
python3 "$tmp/make.py" "$tmp/apart" apart
is 'without_a_nan_it_is_diverged' "$(kinds "$tmp/apart")" "['diverged']"

# ---- gloo ----
. tests/e2e/torch.sh
torch_python 'gloo'
torchrun_plain 3 tests/apps/py/lost_nan.py
said=$(grep -E '^(max|min|sum) float32' "$tmp/plain" | facts)
is 'gloo: sum_carries_a_nan' "$(grep sum_keeps <<<"$said")" 'sum_keeps True'
is 'gloo: max_and_min_lose_some_at_every_count_and_place' "$(grep all_lose <<<"$said")" 'all_lose_some True'
is 'gloo: which_ranks_have_it_of_one_element' "$(grep -E 'one_element|ranks_agree' <<<"$said")" "$openmpi"
is 'gloo: avg_of_float16_overflows_as_the_sum_does' "$(grep '^avg float16' "$tmp/plain")" 'avg float16 [inf, inf, inf]'
is 'gloo: avg_of_integers_raises_with_the_sum_in_the_tensor' "$(grep '^avg int32' "$tmp/plain")" "avg int32 [('raises', 12), ('raises', 12), ('raises', 12)]"
is 'gloo: sum_of_bool_leaves_bytes_of_3' "$(grep '^sum bool' "$tmp/plain")" 'sum bool [[3, 3, 3, 3], [3, 3, 3, 3], [3, 3, 3, 3]]'
like 'gloo: reduce_leaves_half_made_sums_with_the_others' "$(grep '^reduce' "$tmp/plain")" '^reduce \[\[111.0\], \[[0-9.]+, [0-9., ]+\], \[[0-9.]+, [0-9., ]+\]\]'

new_out
torchrun_with 3 tests/apps/py/lost_nan.py 4
like 'gloo: the_finding_says_how_many_results_have_none' "$(grep -h result "$tmp/with") $("$probe" report "$out")" \
	'result \[False, False, False\].* step 0, rank 1: 1 NaN of 8 float32 elements .*; the result of 3 of 3 ranks has no NaN: max does not carry it'
is 'gloo: a_tensor_of_half_made_sums_is_no_result' "$(rows "$out" '[len([r for r in R if r["op"] == "reduce" and r["io"] == "out" and r["rank"] == str(k)]) for k in range(3)]')" '[1, 0, 0]'
is 'gloo: an_average_that_raised_has_no_result' "$(rows "$out" '{(r["io"], "error" in r["flags"]) for r in R if r["redop"] == "avg" and r["dtype"] == "int32"}')" "{('in', True)}"
is 'gloo: bytes_of_3_are_true' "$(rows "$out" 'sorted({(r["io"], r["min"], r["max"], r["mean"]) for r in R if r["dtype"] == "bool" and r["op"] == "all_reduce"})')" \
	"[('in', '1', '1', '1'), ('out', '1', '1', '1')]"
finish
