#!/usr/bin/env bash
# The layout facts, the operators, the collectives, names, kinds, scalars and activations with the newest PyTorch on PyPI, in a virtual environment of its own
# in $B/long (several GB: PyPI's wheels are those for CUDA; TORCH_INDEX=https://... takes another index).
# timeout: 5400
. "$(dirname "$0")/../e2e/lib.sh"
venv=$(realpath "$B")/long/torch-newest
mkdir -p "${venv%/*}"
{ python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --upgrade torch numpy expecttest ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}; } >"$tmp/pip" 2>&1 || {
	skip 'the newest PyTorch' "$(tail -1 "$tmp/pip")"
	finish
}
echo "# PyTorch $("$venv/bin/python" -c 'import torch; print(torch.__version__)')"
for t in layout_facts torch_ops torch_ddp torch_names torch_kinds torch_scalars torch_actv torch_shards; do
	PROBE_TEST_PYTHON=$venv/bin/python timeout -k 5 1500 tests/e2e/test_$t.sh >"$tmp/$t"
	is "$t" "$(grep -E '^not ok' "$tmp/$t" || tail -1 "$tmp/$t" | grep -c '^1\.\.')" 1
done
finish
