#!/usr/bin/env bash
# Chrome traces of `probe export` in the programs that read them: HTA (Holistic Trace Analysis) and torch_tb_profiler, in a
# virtual environment of their own in $B/long. pandas 3 breaks most of HTA 0.5.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
venv=$(realpath "$B")/long/trace-readers
mkdir -p "${venv%/*}"
{ [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; } >"$tmp/pip" 2>&1 &&
	"$venv/bin/pip" install --quiet 'pandas<3' HolisticTraceAnalysis==0.5.0 torch_tb_profiler >>"$tmp/pip" 2>&1 || {
	skip 'the programs that read traces' "$(tail -1 "$tmp/pip")"
	finish
}
gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
$gen -r 4 -s 60 -c 5 -g 2 -l 3:900000 "$tmp/run"
ok 'a file for each rank' "$probe" export --format trace --per-rank --step 10-20 -o "$tmp/traces" "$tmp/run"

cat >"$tmp/run_hta.py" <<'PY'
import sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_dir=sys.argv[1])
print("steps", [int(s) for s in a.get_profiler_steps()])
t = a.get_temporal_breakdown(visualize=False)
print("ranks", [int(r) for r in t["rank"]])
print("late", int(t.sort_values("non_compute_time(us)")["rank"].iloc[0]))
for name in ("get_comm_comp_overlap", "get_gpu_kernel_breakdown", "get_idle_time_breakdown", "get_cuda_kernel_launch_stats"):
    print(name, len(getattr(a, name)(visualize=False)) > 0)
print("get_queue_length_summary", a.get_queue_length_summary() is not None)
PY
"$venv/bin/python" "$tmp/run_hta.py" "$tmp/traces" >"$tmp/hta" 2>"$tmp/hta.err" || fail 'HTA ends' "$(tail -5 "$tmp/hta.err")"
like 'HTA: steps (the last one it leaves out)' "$(cat "$tmp/hta")" 'steps \[10, 11, 12, 13, 14, 15, 16, 17, 18, 19\]'
like 'HTA: ranks' "$(cat "$tmp/hta")" 'ranks \[0, 1, 2, 3\]'
like 'HTA: the rank that waits least is the late one' "$(cat "$tmp/hta")" 'late 3'
is 'HTA: all analyses work' "$(grep -c ' True$' "$tmp/hta")" 5

cat >"$tmp/run_tb.py" <<'PY'
import sys
from torch_tb_profiler.io import Cache
from torch_tb_profiler.profiler.loader import RunLoader
if __name__ == "__main__":
    run = RunLoader("run", sys.argv[1], Cache()).load()
    for (worker, _), p in sorted(run.profiles.items()):
        print(worker, *(v.display_name for v in p.views))
PY
"$venv/bin/python" "$tmp/run_tb.py" "$tmp/traces" >"$tmp/tb" 2>"$tmp/tb.err" || fail 'torch_tb_profiler ends' "$(tail -5 "$tmp/tb.err")"
is 'torch_tb_profiler: workers and views' "$(cat "$tmp/tb")" "$(for r in 0 1 2 3; do echo "rank$r Overview Operator Kernel Trace"; done)"
finish
