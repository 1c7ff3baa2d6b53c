#!/usr/bin/env bash
# Checkpoints of a training with MindSpore, judged while it runs (health_checkpoint) and afterwards (`probe ckpt`), against what the
# training itself says of its embedding's gradient. In the environment of mindspore.sh.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/mindspore.sh
mindspore_python "MindSpore: health of checkpoints"
app=tests/apps/py/ms_ckpts.py
cat >"$tmp/entries.py" <<'PY'
import json, sys
out, folder, files = sys.argv[1], sys.argv[2], sys.argv[3:]
rows = [l.split() for f in files for l in open(f)]
want = {}
for name, step, rank, value in rows:
    want[name] = max(want.get(name, 0), int(float(value) >= 1))
text = open(out + "/health_ckpts.json").read()
have = {e["ckpt_name"]: e["is_health"] for e in json.loads(text)}
print(have == want or (have, want), sorted(set(want.values())))
lines = {}
for f in files:
    r = f.rsplit(".", 1)[1]
    for l in map(json.loads, open(f"{out}/health/rank{r}.jsonl")):
        if "step" in l:
            lines[l["ckpt_name"], r] = l["step"], l["embedding_local_norm"]
print([(n, r, s, v, lines.get((n, r))) for n, s, r, v in rows
       if not ((n, r) in lines and lines[n, r][0] == int(s) and abs(lines[n, r][1] / float(v) - 1) < 1e-5)])
PY

judged() { # NAME RANKS
	local name=$1 ranks=$2 files=() r more=()
	[ "$ranks" = 1 ] || more=(--ranks "$ranks")
	for ((r = 0; r < ranks; r++)); do files+=("$tmp/numbers.$r"); done
	rm -rf "$tmp/ckpts"
	ms_plain "$ranks" $app "$tmp/ckpts" "$tmp/numbers" ${more[@]+"${more[@]}"}
	is "$name: 16 losses of each rank, without us" "$status $(grep -c ^step "$tmp/plain")" "0 $((16 * ranks))"
	rm -rf "$tmp/ckpts"
	new_out
	ms_with "$ranks" PROBE_HEALTH_CHECKPOINT=true PROBE_CKPT_PATTERN="$tmp/ckpts" $app "$tmp/ckpts" "$tmp/numbers" ${more[@]+"${more[@]}"}
	same_result "$name: losses and weights"
	is "$name: nothing is reported" "$(grep -a '^libprobe' "$tmp/with.err")" ''
	is "$name: each checkpoint with its step, its value and whether it is healthy" \
		"$(python3 "$tmp/entries.py" "$out" "$tmp/ckpts" "${files[@]}")" "True [0, 1]
[]"
	is "$name: probe ckpt: the newest healthy one" "$("$probe" ckpt "$out" --latest-healthy)" "$tmp/ckpts/net-14.ckpt"
}

judged 'one rank' 1
judged '2 ranks, the last one is unhealthy' 2
finish
