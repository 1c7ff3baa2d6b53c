#!/usr/bin/env bash
# Checkpoints judged while the job runs (key health_checkpoint), against what the training knows itself.
# timeout: 900
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: health of checkpoints'

one() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	rm -rf "$tmp/ckpts"
	env OMP_NUM_THREADS=1 "$@" timeout -k 5 150 "$python" tests/apps/py/ckpts.py "$tmp/ckpts" "$tmp/numbers" >"$file" 2>"$file.err" </dev/null
	echo $? >"$file.status"
}

new_out
one "$tmp/plain"
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_HEALTH_CHECKPOINT=true PROBE_CKPT_PATTERN="$tmp/ckpts"
same_output 'a training that writes checkpoints'
# 99-half.pt, which is never complete, has a line and no entry.
cat >"$tmp/entries.py" <<'PY'
import json, sys
text = open(sys.argv[1]).read()
have = {e["ckpt_name"]: e["is_health"] for e in json.loads(text)}
want = {n: int(float(v) >= 1) for n, s, v in map(str.split, open(sys.argv[2]))}
print(text == json.dumps(json.loads(text), indent=4), have == want or (have, want), sorted(set(want.values())))
PY
is 'health_ckpts.json: each complete one, in the form of MindSpore Transformers' "$(python3 "$tmp/entries.py" "$out/health_ckpts.json" "$tmp/numbers")" 'True True [0, 1]'
is 'health/rank0.jsonl: step and value of each' "$(python3 - "$out/health/rank0.jsonl" "$tmp/numbers" <<'PY'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
have = {l["ckpt_name"]: (l["step"], l["embedding_local_norm"]) for l in lines[1:]}
have.pop("99-half.pt")
print(lines[0]["rank"], [(n, s, v, have.get(n)) for n, s, v in map(str.split, open(sys.argv[2]))
                         if not (have.get(n) and have[n][0] == int(s) and abs(have[n][1] / float(v) - 1) < 1e-5)], len(have))
PY
)" "0 [] $(wc -l <"$tmp/numbers")"
is 'ckpt_status beside folders of torch.distributed.checkpoint' "$(cat "$tmp"/ckpts/*dcp.ckpt_status | sort | uniq -c | tr -s ' \n' ' ')" \
	"$(awk '$1 ~ /dcp/ { print "{\"ckpt_status\": " ($3 >= 1) "}" }' "$tmp/numbers" | sort | uniq -c | tr -s ' \n' ' ')"
is 'the scalar of each step, and its line in the log' "$(grep -c embedding_local_norm "$out"/*/scalars_0-99.csv) $(grep -c '^embedding_local_norm: [0-9.e+-]*$' "$out"/*/monitor.log)" '16 16'
is 'of gradients nothing else is written' "$(find "$out" -name 'grad*')" ''
"$probe" ckpt --json "$out" >"$tmp/json" 2>"$tmp/e"
is 'probe ckpt says the same of them, without their names' "$? $(python3 -c 'import json, sys
have = {c["ckpt_name"]: c["is_health"] for c in json.load(open(sys.argv[1]))["checkpoints"] if c["complete"]}
print(have == {n: int(float(v) >= 1) for n, s, v in map(str.split, open(sys.argv[2]))} or have)' "$tmp/json" "$tmp/numbers")" '1 True'
is '... and which is the newest healthy one' "$("$probe" ckpt "$out" --latest-healthy)" "$tmp/ckpts/$(awk '$3 < 1 { n = $1 } END { print n }' "$tmp/numbers")"

# MindSpore Transformers' layout: its output folder, which its configuration makes ours as well, has the checkpoints below it. What lies in
# folders that we made there ourselves is no checkpoint, whatever its name.
mkdir -p "$tmp/job/output/rank0.7" "$tmp/job/output/tensorboard"
cat >"$tmp/mf.yaml" <<'YAML'
output_dir: ./output
use_checkpoint_health_monitor: True
monitor_config:
  monitor_on: True
  embedding_local_norm_threshold: 1.0
YAML
cat >"$tmp/own.py" <<'PY'
import runpy, sys, threading, time
def put():
    time.sleep(2)
    for f in ("rank0.7/journal.bin", "tensorboard/weights.pt"):
        open("output/" + f, "w").write("x")
threading.Thread(target=put, daemon=True).start()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
PY
here=$PWD
(cd "$tmp/job" && OMP_NUM_THREADS=1 PROBE_CONFIG="$tmp/mf.yaml" LD_PRELOAD="$lib" timeout -k 5 150 "$python" "$tmp/own.py" \
	"$here/tests/apps/py/ckpts.py" output/checkpoint/rank_0 "$tmp/numbers" >"$tmp/with" 2>"$tmp/with.err" </dev/null)
is 'checkpoints below the output folder are judged, what is our own there is not' "$(python3 "$tmp/entries.py" "$tmp/job/output/health_ckpts.json" "$tmp/numbers" 2>&1 | tail -1)" 'True True [0, 1]'
is '... nothing else has a line' "$(cut -d'"' -f4 "$tmp"/job/output/health/rank0.jsonl | grep -c 'journal\|weights.pt')" 0

# The step of a checkpoint does not depend on the rate of our own ticks: here CLOCK_MONOTONIC, by which they are measured, runs
# for us at two thirds of the speed of the clock that files have their times from.
cat >"$tmp/slow.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
	static long long first;
	long long ns;
	int err = (int)syscall(SYS_clock_gettime, id, t);

	Dl_info by;

	/* Only for us: Python sleeps until a time of this clock. */
	if (err || id != CLOCK_MONOTONIC || !dladdr(__builtin_return_address(0), &by) || !strstr(by.dli_fname, "libprobe"))
		return err;
	ns = t->tv_sec * 1000000000ll + t->tv_nsec;
	if (!first)
		first = ns;
	ns = first + (ns - first) * 2 / 3;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}
C
${CC:-cc} -shared -fPIC -O1 -o "$tmp/slow.so" "$tmp/slow.c"
new_out
one "$tmp/with" LD_PRELOAD="$tmp/slow.so $lib" PROBE_OUTPUT_DIR="$out" PROBE_HEALTH_CHECKPOINT=true PROBE_CKPT_PATTERN="$tmp/ckpts"
is "ticks of another rate than the files' clock: the same steps" "$(python3 - "$out/health/rank0.jsonl" "$tmp/numbers" <<'PY'
import json, sys
have = {l["ckpt_name"]: l["step"] for l in map(json.loads, open(sys.argv[1])) if "step" in l}
want = {n: int(s) for n, s, v in map(str.split, open(sys.argv[2]))}
print({n: (s, have.get(n)) for n, s in want.items() if have.get(n) != s}, len(want) > 4)
PY
)" '{} True'

# No parameter is an embedding: said once, with those that may be; nothing is judged.
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_HEALTH_CHECKPOINT=true PROBE_CKPT_PATTERN="$tmp/ckpts" PROBE_HIDDEN_SIZE=7 PROBE_VOCAB_SIZE=3
is 'no embedding: one warning with candidates, no entry' "$(grep -c 'libprobe: .*no parameter is an embedding.*candidates: embed_tokens.weight, head.weight' "$tmp/with.err") $(ls -d "$out"/health* 2>/dev/null)" '1 '
# By its size, by its norm, and by an alert.
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_HEALTH_CHECKPOINT=true PROBE_CKPT_PATTERN="$tmp/ckpts/*.pt" PROBE_HIDDEN_SIZE=8 \
	PROBE_VOCAB_SIZE=20 PROBE_HEALTH_NORM=l2 PROBE_EMBEDDING_LOCAL_NORM_THRESHOLD=1e9 PROBE_ALERTS='[{rule: spike, kind: loss, threshold: 50}]'
is 'hidden_size, vocab_size, health_norm, a pattern' "$(python3 - "$out/health/rank0.jsonl" "$tmp/numbers" <<'PY'
import json, sys
have = {l["ckpt_name"]: l["embedding_local_norm"] for l in map(json.loads, open(sys.argv[1])) if "step" in l}
want = {n: float(v) ** .5 for n, s, v in map(str.split, open(sys.argv[2])) if n.endswith(".pt")}
print(sorted(have) == sorted(list(want) + ["99-half.pt"]), all(abs(have[n] / v - 1) < 1e-5 for n, v in want.items()))
PY
)" 'True True'

# Two ranks; one of them is unhealthy, the other writes.
cat >"$tmp/two.py" <<'PY'
import os, sys, time, torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
m = torch.nn.ModuleDict({"embed": torch.nn.Embedding(10, 4), "head": torch.nn.Linear(4, 1)})
p = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(m["embed"], m["head"]))
o = torch.optim.SGD(p.parameters(), lr=1e-3)
for step in range(6):
    loss = p(torch.randint(10, (4,))).square().mean() * (1e4 if rank == 1 and step == 3 else 1e-3)
    o.zero_grad()
    loss.backward()
    o.step()
    dist.barrier()  # a checkpoint belongs to a step that all ranks have ended
    time.sleep(0.05)
    if step % 2 and rank == 0:
        torch.save(m.state_dict(), f"{sys.argv[1]}/{step}.pt")
    dist.barrier()
    # A file has the time of the kernel's last tick: a step that ends within that tick, too, cannot be told from one before the file.
    time.sleep(0.05)
for _ in range(300):  # the ranks look at each other's files: until all entries, of both ranks' verdicts, are there
    try:
        have = open(os.environ["PROBE_OUTPUT_DIR"] + "/health_ckpts.json").read()
    except (OSError, KeyError):
        have = ""
    if '"5.pt"' in have and '"is_health": 1' in have:
        break
    time.sleep(0.1 if "PROBE_OUTPUT_DIR" in os.environ else 0)
dist.barrier()
print("done", rank)
PY
new_out
mkdir "$tmp/two"
torchrun_with 2 PROBE_HEALTH_CHECKPOINT=true PROBE_CKPT_PATTERN="$tmp/two" "$tmp/two.py" "$tmp/two"
is 'two ranks: one unhealthy rank makes the step unhealthy' "$(python3 -c 'import json, sys; print(sorted((e["ckpt_name"], e["is_health"]) for e in json.load(open(sys.argv[1]))))' "$out/health_ckpts.json" 2>&1)" \
	"[('1.pt', 0), ('3.pt', 1), ('5.pt', 0)]"
is 'two ranks: each judged all' "$(cat "$out"/health/rank[01].jsonl | grep -c ckpt_name)" 6
finish
