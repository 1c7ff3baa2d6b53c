#!/usr/bin/env bash
# Ray from PyPI on this machine: two workers that join a Gloo group are recorded where runtime_env preloads the library, for the job and for
# single tasks (docs/how-to/ray.md), and the report has no fault. Prints TAP.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'Ray'

venv=$(realpath "$B")/ray-venv
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
if ! "$venv/bin/python" -c 'import ray' 2>/dev/null && ! "$venv/bin/pip" install --quiet ray; then
	skip 'Ray' 'it cannot be had'
	finish
fi
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
cat >"$tmp/driver.py" <<'PY'
import os, sys
import ray
form, library, out = sys.argv[1:]
env = {"env_vars": {"LD_PRELOAD": library, "PROBE_OUTPUT_DIR": out}}
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, **({"runtime_env": env} if form == "job" else {}))


def work(rank, store):
    import torch
    import torch.distributed as dist
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    t = torch.full((4,), float(rank + 1))
    for _ in range(5):
        dist.all_reduce(t)
    dist.barrier()
    dist.destroy_process_group()
    return t[0].item()


task = ray.remote(work) if form == "job" else ray.remote(runtime_env=env)(work)
print(ray.get([task.remote(r, out + ".store") for r in range(2)]))
PY
for form in job task; do
	new_out
	mkdir "$tmp/home.$form"
	HOME=$tmp/home.$form PYTHONPATH=$site RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1 timeout 600 "$python" "$tmp/driver.py" $form "$lib" "$out" >"$tmp/ray.out" 2>"$tmp/ray.err"
	is "$form: status" $? 0
	# 1 + 2, doubled four times.
	like "$form: what the workers have computed" "$(cat "$tmp/ray.out")" '\[48\.0, 48\.0\]' || tail -5 "$tmp/ray.err" | sed 's/^/# /'
	is "$form: a folder for each rank" "$(cd "$out" 2>/dev/null && ls -d rank* | tr '\n' ' ')" 'rank0 rank1 '
	is "$form: five all_reduce on each" "$(rows "$out" '" ".join(f + ":" + str(sum(r["op"] == "all_reduce" for r in calls(on(f)))) for f in ("rank0", "rank1"))')" 'rank0:5 rank1:5'
	is "$form: no fault" "$("$probe" report --json "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["verdict"]["faults"])')" 0
done
finish
