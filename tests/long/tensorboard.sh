#!/usr/bin/env bash
# Event files in TensorBoard itself, in a virtual environment of its own in $B/long: its EventAccumulator reads the values that the
# script reports; a resumed run replaces the values of the killed one; the scalars page in headless Chromium.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'TensorBoard itself'
venv=$(realpath "$B")/long/tensorboard
mkdir -p "${venv%/*}"
{ [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; } >"$tmp/pip" 2>&1 &&
	"$venv/bin/pip" install --quiet 'tensorboard==2.21.*' 'setuptools<81' >>"$tmp/pip" 2>&1 || {
	skip 'TensorBoard itself' "$(tail -1 "$tmp/pip")"
	finish
}
cat >"$tmp/read.py" <<'PY'
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0, "histograms": 0})
a.Reload()
S = {t: [(e.step, e.value) for e in a.Scalars(t)] for t in a.Tags()["scalars"]}
T = {t: a.Tensors(t)[0].tensor_proto.string_val[0] for t in a.Tags()["tensors"]}
H = {t: a.Histograms(t) for t in a.Tags()["histograms"]}
L = layout_pb2.Layout.FromString(T.get("custom_scalars__config__", b""))
print(eval(sys.argv[2]))
PY
tb() {
	"$venv/bin/python" "$tmp/read.py" "$@" 2>"$tmp/read.err" || tail -3 "$tmp/read.err"
}
train() {
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_FORMAT=csv,tensorboard PROBE_SCALARS=true PROBE_MICRO_BATCH_SIZE=8 \
		PROBE_KINDS=grad_reduced,ur_distribution "$@" timeout -k 5 150 "$python" tests/apps/py/scalars.py closure "$tmp/numbers" >"$tmp/with" 2>&1 </dev/null
}
new_out
ok 'a training' train
dir=$out/tensorboard/rank_0
is 'EventAccumulator reads the numbers of the script' "$(tb "$dir" "[(round(x), '%.6g' % v) for x, v in S['loss']]")" \
	"$(awk '$2 == "loss" { printf "%s(%d, '\''%.6g'\'')", (n++ ? ", " : "["), $1 + 1, $3 } END { print "]" }' "$tmp/numbers")"
is 'and what our own reader of the definition finds' "$(tb "$dir" 'sorted((t, p) for t, p in S.items())')" \
	"$(python3 tests/e2e/tfevents.py "$dir" 'sorted((t, p) for t, p in S.items())')"
is 'texts, histograms, layout' "$(tb "$dir" "sorted(T), sorted(H)[:2], len(H['ur_distribution/a.bias/update']), [c.title for c in L.category], L.category[0].chart[0].multiline.tag[0]")" \
	"(['argv/text_summary', 'custom_scalars__config__', 'environment/text_summary', 'probe/text_summary'], ['ur_distribution/a.bias/ratio', 'ur_distribution/a.bias/update'], 5, ['training', 'speed', 'parameters'], '^(loss|.*local_.*loss)(/.*)?\$')"
sleep 1 # a file's name has the second of its beginning
ok 'the same training once more, from step 3 on' train PROBE_START_ITERATION=3
is 'resumed: what the dead run wrote beyond is gone' "$(tb "$dir" "[x for x, _ in S['loss']], len(set(S['loss']))")" '([1, 2, 3, 4, 5, 6, 7, 8, 9], 9)'

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	skip 'the scalars page' 'no Chromium'
	finish
}
shots=$(realpath "$B")/long/html
mkdir -p "$shots"
port=$((20000 + RANDOM % 20000))
background "$venv/bin/tensorboard" --logdir "$out/tensorboard" --port $port --bind_all --reload_interval 1 >"$tmp/server" 2>&1
wait_until 60 grep -q "http://" "$tmp/server"
ok 'TensorBoard serves the run' wait_until 60 curl -sf "http://localhost:$port/data/plugin/scalars/tags" -o "$tmp/tags"
like 'the data of its page' "$(cat "$tmp/tags")" '"loss"'
timeout 180 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" --window-size=1500,1400 --virtual-time-budget=20000 \
	--screenshot="$shots/tensorboard.png" "http://localhost:$port/#scalars" >"$tmp/shot" 2>&1
timeout 180 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" --window-size=1500,1400 --virtual-time-budget=20000 \
	--dump-dom "http://localhost:$port/#timeseries" >"$tmp/dom" 2>"$tmp/dom.err"
for tag in batch-size grad_reduced iteration-time; do
	like "the scalars page has the card $tag" "$(cat "$tmp/dom")" "$tag"
done
finish
