#!/usr/bin/env bash
# `probe ckpt`: which checkpoints of a training are healthy, against what the training knows itself.
# timeout: 300
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: checkpoints'

one() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	rm -rf "$tmp/ckpts"
	env OMP_NUM_THREADS=1 "$@" timeout -k 5 150 "$python" tests/apps/py/ckpts.py "$tmp/ckpts" "$tmp/numbers" >"$file" 2>"$file.err" </dev/null
	status=$?
	echo $status >"$file.status"
}

new_out
one "$tmp/plain"
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" RANK=0 WORLD_SIZE=1 PROBE_KINDS=grad_unreduced PROBE_TARGETS=embed_tokens \
	PROBE_SCALARS=iteration-time
is 'ends well' "$status" 0
is 'the same results with and without' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"

cat >"$tmp/truth.py" <<'PY'
import json, sys
want = {}
for line in open(sys.argv[1]):
    name, step, square = line.split()
    want[name] = int(step), float(square)
have = {c["ckpt_name"]: c for c in json.load(sys.stdin)["checkpoints"]}
assert not have.pop("99-half.pt")["complete"]
bad = []
for name, (step, square) in want.items():
    c = have.pop(name, None)
    if not c or not c["complete"] or c["step"] != step or c["is_health"] != (square >= 1) \
            or abs(c["embedding_local_norm"] - square) > 1e-5 * square:
        bad.append((name, step, square, c))
print(bad or list(have) or sorted({int(v[1] >= 1) for v in want.values()}))
PY
"$probe" ckpt --json "$out" "$tmp/ckpts" >"$tmp/json" 2>"$tmp/e"
is 'status: one is unhealthy' $? 1
is 'torch zip and legacy, safetensors, DCP, a forked writer, tmp + rename: complete, step, health, sum of squares' \
	"$(python3 "$tmp/truth.py" "$tmp/numbers" <"$tmp/json")" '[0, 1]'
ok 'nothing on stderr' test ! -s "$tmp/e"
is 'health_ckpts.json as MindSpore Transformers has it' "$(python3 -c '
import json, sys
text = open(sys.argv[1]).read()
d = json.loads(text)
print(text == json.dumps(d, indent=4), [(e["ckpt_name"], e["is_health"]) for e in d] == [(n, int(float(v) >= 1)) for n, s, v in map(str.split, open(sys.argv[2]))])' \
	"$out/health_ckpts.json" "$tmp/numbers")" 'True True'
newest=$(awk '$3 < 1 { n = $1 } END { print n }' "$tmp/numbers")
is '--latest-healthy: its path alone' "$("$probe" ckpt --latest-healthy "$out" "$tmp/ckpts")" "$tmp/ckpts/$newest"
is 'a pattern: of these alone' "$("$probe" ckpt --latest-healthy "$out" "$tmp/ckpts/02-*")" "$tmp/ckpts/02-zip.pt"
worst=$(awk '$3 >= 1 { print $1; exit }' "$tmp/numbers")
"$probe" ckpt --latest-healthy "$out" "$tmp/ckpts/$worst" >"$tmp/o" 2>"$tmp/e"
is 'none is healthy: status, nothing, one line' "$? $(wc -c <"$tmp/o") $(wc -l <"$tmp/e")" '1 0 1'
is '--threshold 1e9: all are healthy' "$("$probe" ckpt --threshold 1e9 "$out" "$tmp/ckpts" >/dev/null; echo $?)" 0
is '--elements: the same embedding' "$("$probe" ckpt --elements 160 --json "$out" "$tmp/ckpts" | python3 "$tmp/truth.py" "$tmp/numbers")" '[0, 1]'
"$probe" ckpt --embedding nothing "$out" "$tmp/ckpts" >"$tmp/o" 2>"$tmp/e"
is 'no such parameter: status' $? 2
like 'the candidates are reported' "$(cat "$tmp/e")" 'candidates: embed_tokens.weight'
for a in "$out" "--norm l3 $out x" "--threshold -1 $out x" "--embedding ( $out x" "$tmp/nowhere x" "$out $tmp/nowhere"; do
	"$probe" ckpt $a >"$tmp/o" 2>"$tmp/e"
	is "ckpt ${a//$tmp/}: status, one line" "$? $(wc -l <"$tmp/e")" '2 1'
done

# An alert between two checkpoints.
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" RANK=0 WORLD_SIZE=1 PROBE_ALERTS='[{rule: spike, kind: loss, threshold: 0.2}]'
first=$(python3 -c '
import json, sys
print(min(json.loads(l)["first_step"] for l in open(sys.argv[1])))' "$out/rank0/alerts.jsonl")
is 'alerts alone: unhealthy is the first checkpoint after them' "$("$probe" ckpt --json "$out" "$tmp/ckpts" | python3 -c '
import json, sys
c = [c for c in json.load(sys.stdin)["checkpoints"] if c["complete"] and c["is_health"]]
print(c[0]["step"] - int(sys.argv[1]) in (0, 1), c[0]["why"][:6])' "$first")" 'True alert:'
finish
