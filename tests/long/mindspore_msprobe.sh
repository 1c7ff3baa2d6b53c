#!/usr/bin/env bash
# The same MindSpore program under msprobe 26.2.0 and under libprobe, with the same configuration file: msprobe's own `compare` takes both
# dumps, and every value of what both have by the same name agrees; of two dumps of libprobe it finds no difference. In a virtual
# environment of its own in $B/long, or with PROBE_TEST_MINDSPORE, a Python that has mindspore 2.10 and mindstudio-probe 26.2.0.
# timeout: 2400
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/msprobe.sh
python_with 'msprobe of MindSpore' "${test_mindspore:-}" ms_msprobe mindspore==2.10.0 'numpy<2' mindstudio-probe==26.2.0
"$python" -c 'import mindspore, importlib.metadata as m; m.version("mindstudio-probe")' >"$tmp/pip" 2>&1 || {
	skip 'msprobe of MindSpore' "$(tail -1 "$tmp/pip")"
	finish
}
app=tests/apps/py/ms_guide.py
for who in peer ours other; do
	mkdir -p "$tmp/$who"
	printf '{"task": "statistics", "dump_path": "%s", "rank": [], "step": [], "level": "L1", "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}\n' \
		"$tmp/$who" >"$tmp/$who.json"
done
export OMP_NUM_THREADS=1
timeout -k 5 600 "$python" $app "$tmp/peer.json" >"$tmp/plain" 2>"$tmp/plain.err" </dev/null || fail 'msprobe has a dump' "$(tail -3 "$tmp/plain.err")"
for who in ours other; do
	timeout -k 5 600 env RANK_ID=0 RANK_SIZE=1 LD_PRELOAD="$lib" PROBE_CONFIG="$tmp/$who.json" "$python" $app >"$tmp/with" 2>"$tmp/with.err" </dev/null
	ok "$who: losses and results as with msprobe" diff <(grep '^step' "$tmp/plain") "$tmp/with"
done
# A process without a rank has proc<pid>/ there, and rank0/ here.
mv "$tmp"/peer/step0/proc* "$tmp/peer/step0/rank0"
compare() { # A B: the table of step 0
	timeout -k 5 600 "$python" -c 'import sys; from msprobe.msprobe import main; sys.exit(main())' compare -tp "$tmp/$1/step0" -gp "$tmp/$2/step0" -o "$tmp/$1.$2" \
		>"$tmp/told" 2>&1 || fail "compare takes $1 and $2" "$(tail -3 "$tmp/told")"
	"$python" - "$tmp/$1.$2"/compare_result*.csv <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8-sig")))
both = [r for r in rows if r["NPU Name"] != "N/A" and r["Bench Name"] != "N/A"]
def differ(a, b):
    try:
        return abs(float(a) - float(b)) > 1e-6 * max(1, abs(float(b)))
    except (TypeError, ValueError):
        return a != b


far = [(r["NPU Name"], op) for r in both for op in ("max", "min", "mean", "l2norm") if differ(r.get(f"NPU {op}"), r.get(f"Bench {op}"))]
checked = sum(r.get(f"NPU {op}") not in (None, "N/A") for r in both for op in ("max", "min", "mean", "l2norm"))
far += [] if checked > 2 * len(both) else [f"only {checked} values"]
print("all" if len(both) == len(rows) else "some", sorted({r["NPU Name"].rsplit(".", 4)[0] for r in both})[:9], {r["Result"] for r in both}, far)
PY
}
is "msprobe's dump and libprobe's: the values of each function that both name alike" "$(compare peer ours)" \
	"some ['Functional.cross_entropy', 'Functional.matmul', 'Functional.relu', 'Functional.sigmoid'] {'pass'} []"
is 'two dumps of libprobe: no difference' "$(compare ours other | sed 's/\[.*\] {/{/')" "all {'pass'} []"
finish
