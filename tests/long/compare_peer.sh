#!/usr/bin/env bash
# `probe compare` against msprobe's own `compare` of the same folders: columns, pairs, differences and results, of dumps that
# differ at random in every form that an entry has, and of their tensors; in a virtual environment of its own in $B/long, or with
# PROBE_TEST_MSPROBE, a Python that has mindstudio-probe 26.2.0 and torch.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/msprobe.sh
msprobe_python
python3 tests/long/compare_peer.py make "$tmp/pairs" || { fail 'the dumps are made'; finish; }
"$python" tests/long/compare_peer.py tensors "$tmp/pairs" >"$tmp/peer" 2>&1 || fail 'tensors are written' "$(tail -5 "$tmp/peer")"
"$python" tests/long/compare_peer.py peer "$tmp/pairs" >"$tmp/peer" 2>&1 || fail 'msprobe compares' "$(tail -5 "$tmp/peer")"
python3 tests/long/compare_peer.py diff "$tmp/pairs" "$probe" >"$tmp/diff" 2>&1 || fail 'both have tables' "$(tail -5 "$tmp/diff")"
"$python" tests/long/compare_peer.py layers "$tmp/layers" "$probe" >>"$tmp/diff" 2>"$tmp/layers.err" || fail 'layers are mapped' "$(tail -5 "$tmp/layers.err")"
while read -r line; do
	case $line in
	ok*) pass "${line#ok - }" ;;
	not*) fail "${line#not ok - }" "$(grep -A5 -F -- "$line" "$tmp/diff" | sed 1d)" ;;
	esac
done <"$tmp/diff"
finish
