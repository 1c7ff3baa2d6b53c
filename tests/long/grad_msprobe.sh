#!/usr/bin/env bash
# Task grad_probe against mindstudio-probe 8.1.0: the same program and configuration file once under its PrecisionDebugger and once under
# libprobe; its GradComparator takes our folders, finds no difference to its own, and of two runs it has the numbers of `probe compare --grad`.
# Format api of that release's monitor (26.2.0 has none): the numbers that it hands on are those of probe_stats_next().
# In a virtual environment of its own in $B/long, or with PROBE_TEST_MSPROBE8, a Python that has mindstudio-probe 8.1.0 and torch.
# timeout: 1200
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/msprobe.sh
python_with 'msprobe 8.1.0' "${test_msprobe8:-}" msprobe8 torch==2.13.0 mindstudio-probe==8.1.0
. tests/e2e/torch.sh
test_python=$python REAL_COMPILER=1
torch_python msprobe
app=tests/apps/py/grads.py
for level in L0 L1 L2; do
	for who in peer ours; do
		mkdir -p "$tmp/$level.$who"
		printf '{"task": "grad_probe", "dump_path": "%s", "rank": [], "step": [], "level": "L1", "grad_probe": {"grad_level": "%s", "param_list": [], "bounds": [-1, -0.001, 0, 1]}}\n' \
			"$tmp/$level.$who" "$level" >"$tmp/$level.$who.json"
	done
	TORCH_LIMIT=600 torchrun_plain 2 $app --msprobe "$tmp/$level.peer.json"
	new_out
	TORCH_LIMIT=600 torchrun_with 2 PROBE_CONFIG="$tmp/$level.ours.json" $app
	is "$level: it is the same run" "$(diff <(grep -E '^[01] [0-9]' "$tmp/plain") "$tmp/with")" ''
	for r in 0 1; do
		"$python" tests/long/grad_msprobe.py same "$tmp/$level.ours/rank$r" "$tmp/$level.peer/rank$r" >"$tmp/said" 2>&1
		is "$level, rank $r: the same tables and signs ($(tail -1 "$tmp/said"))" "$? $(grep -v ^compared "$tmp/said")" '0 '
	done
done
# Its tables may begin with a byte order mark, and their lines end as those of DOS.
table_of() {
	sed -e '1s/^\xef\xbb\xbf//' -e 's/\r$//' "$1"
}
new_out
sed "s#L1.ours#L1.other#" "$tmp/L1.ours.json" >"$tmp/other.json"
TORCH_LIMIT=600 torchrun_with 2 PROBE_CONFIG="$tmp/other.json" $app --seed 5
"$python" tests/long/grad_msprobe.py compare "$tmp/L1.ours" "$tmp/L1.other" "$tmp/theirs" >"$tmp/said" 2>&1
is 'GradComparator takes our folders' $? 0
"$python" tests/long/grad_msprobe.py compare "$tmp/L1.ours" "$tmp/L1.peer" "$tmp/mixed" >"$tmp/said" 2>&1
is '... and ours beside its own' "$? $(table_of "$tmp"/mixed/rank0/similarities.csv | cut -d, -f2- | tail -n +2 | tr ',' '\n' | sort -u)" '0 1.0'
"$probe" compare --grad -o "$tmp/mine" "$tmp/L1.ours" "$tmp/L1.other" >"$tmp/said" 2>&1
for r in 0 1; do
	is "rank $r: the numbers of probe compare --grad" "$(table_of "$tmp/mine/rank$r/similarities.csv" | sort)" \
		"$(table_of "$tmp/theirs/rank$r/similarities.csv" | sort)"
done

# Its own writer of format api has not the argument that its monitor passes to it, so that the script puts one in its place.
app=tests/apps/py/monitored.py
for who in peer ours; do
	echo '{"targets": {}, "print_struct": false, "ops": ["norm", "min", "max", "mean"], "wg_distribution": true, "mv_distribution": true,' \
		'"param_distribution": true, "format": "api", "ndigits": 9}' >"$tmp/$who.api.json"
done
TORCH_LIMIT=600 torchrun_plain 2 MONITOR_OUTPUT_DIR="$tmp/mon" $app 0 3 "$tmp/peer" msprobe "$tmp/peer.api.json"
new_out
TORCH_LIMIT=600 torchrun_with 2 PROBE_CONFIG="$tmp/ours.api.json" $app 0 3 "$tmp/ours" api
is 'format api: it is the same training' "$(grep -E '^[0-9]+ [0-9.e-]+$' "$tmp/plain")" "$(cat "$tmp/with")"
is 'format api: each number that the monitor hands on, of each rank' "$("$python" - "$tmp" <<'PY'
import math, sys


def numbers(who, rank):
    rows = [line.replace("module.", "").split() for line in open(f"{sys.argv[1]}/{who}.api{rank}")]
    return {tuple(r[:4]): float(r[4]) for r in rows}


for rank in 0, 1:
    peer, ours = numbers("peer", rank), numbers("ours", rank)
    print(len(peer), len(peer.keys() - ours.keys()), [k for k in peer.keys() & ours.keys() if not math.isclose(peer[k], ours[k], rel_tol=2e-6, abs_tol=1e-8)][:3])
PY
)" $'256 0 []\n256 0 []'
finish
