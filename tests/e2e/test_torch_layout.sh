#!/usr/bin/env bash
# Collectives of tensors that lie in memory in another order than that of their indices.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: memory layouts'
app=tests/apps/py/layouts.py

json() { # FILE EXPRESSION over r
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

torchrun_plain 2 $app alike
new_out
torchrun_with 2 $app alike
same_output 'alike'
is 'flagged: transposed and channels last; not: rows, the first half, a column of one' \
	"$(rows "$out" 'sorted({(r["op"], r["shape"], "permuted" in r["flags"].split(";")) for r in R if r["op"] != "all_gather"})')" \
	"[('all_reduce', '1x3', False), ('all_reduce', '2x3', False), ('all_reduce', '2x3', True), ('all_reduce', '6', False), ('broadcast', '1x2x2x2', True)]"
"$probe" report --json "$out" >"$tmp/r.json" 2>/dev/null
is 'the ranks lay them out alike: no finding' "$(json "$tmp/r.json" '[f["kind"] for f in r["findings"] if f["severity"] != "note"]')" '[]'

torchrun_plain 2 $app apart
new_out
torchrun_with 2 $app apart
same_output 'apart'
"$probe" report --json "$out" >"$tmp/r.json" 2>/dev/null
is 'rank 1 in another layout: a mismatch' "$(json "$tmp/r.json" '[(f["kind"], f["what"], f["comm_seq"]) for f in r["findings"] if f["severity"] != "note"][0]')" "('mismatch', 'layout', 18)"
like 'in words, with the line' "$("$probe" report "$out" 2>/dev/null)" \
	"do not agree on the memory layout of call #18 .*rank 1's elements are in the order of another dimension first .transposed, or channels last..*layouts.py:2[0-9]"

torchrun_plain 2 $app gaps
is 'gaps: PyTorch itself adds the wrong elements' "$(grep -c '^. 3 .* 81.0 ' "$tmp/plain")" 2
new_out
torchrun_with 2 $app gaps
same_output 'gaps'
is 'flagged' "$(rows "$out" 'sorted({(r["step"], r["comm_seq"]) for r in R if "gaps" in r["flags"].split(";")})')" "[('0', '21')]"
"$probe" report --json "$out" >"$tmp/r.json" 2>/dev/null
is 'the sum is wrong, and why' "$(json "$tmp/r.json" '[(f["kind"], f["comm_seq"], "strided view" in f["text"]) for f in r["findings"] if f["severity"] != "note"]')" "[('not_sum', 21, True)]"
finish
