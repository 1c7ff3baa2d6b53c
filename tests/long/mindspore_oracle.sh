#!/usr/bin/env bash
# What MindSpore Transformers' own callbacks say of a training (loss, learning rate, norms of gradients, weights and moments) against
# what libprobe writes of it, step by step to 6 digits; and losses and weights bit for bit as without us. In an environment of its own
# (`make msvenv`; PROBE_TEST_MINDSPORE=python takes that one) that has mindformers, too: it is installed where it is missing.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/mindspore.sh
mindspore_python "MindSpore Transformers' callbacks"
ms_python=$ms_bin/python
app=tests/apps/py/ms_oracle.py
can_import() { (cd "$tmp" && "$ms_python" -c 'import mindformers, tensorboardX' >"$tmp/mf_import" 2>&1 </dev/null); }
can_import || {
	# Its own list asks for releases of MindSpore and others that PyPI does not have.
	"$ms_python" -m pip install --quiet --no-deps mindformers==2.1.0 >"$tmp/mf_pip" 2>&1 &&
		"$ms_python" -m pip install --quiet 'numpy<2' sentencepiece ftfy regex tqdm pyyaml jieba rouge_chinese tokenizers tiktoken jinja2 \
			setproctitle tensorboardX deprecated pybind11 transformers datasets opencv-python-headless mindpet==1.0.4 pyarrow==23.0.1 \
			>>"$tmp/mf_pip" 2>&1
	can_import || {
		skip "MindSpore Transformers' callbacks" "mindformers 2.1.0 cannot be had: $(tail -1 "$tmp/mf_import")"
		finish
	}
}
config=$tmp/oracle.yaml
cat >"$config" <<-'END'
	names: true
	scalars: [loss, learning-rate, grad-norm]
	metrics: [local_norm, device_local_norm, adam_norm, weight_norm, local_loss]
	alerts: [{rule: spike, threshold: 3.0}]
	health_checkpoint: true
	wrap_ops: $list
END
printf 'mindspore:\n  - AllReduce\n' >"$tmp/list.yaml"
sed -i "s|\$list|$tmp/list.yaml|" "$config"

alerts_in() {
	python3 -c 'import json, sys; print([(a["step"], a["rule"], a["name"]) for a in map(json.loads, open(sys.argv[1]))])' "$1" | tr "'" '"'
}

oracle() { # NAME RANKS SKIPPED [OPTIONS]
	local name=$1 ranks=$2 skipped=$3 ours r
	shift 3
	if [ "$ranks" = 1 ]; then
		timeout -k 5 900 "$ms_python" $app "$tmp/plain.d" "$@" 2>"$tmp/plain.err" </dev/null | grep -E '^(step|rank) ' | sort >"$tmp/plain"
		new_out
		timeout -k 5 900 env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CONFIG="$config" "$ms_python" $app "$tmp/with.d" "$@" \
			2>"$tmp/with.err" </dev/null | grep -E '^(step|rank) ' | sort >"$tmp/with"
	else
		ms_plain "$ranks" $app "$tmp/plain.d" --ranks "$ranks" "$@"
		new_out
		ms_with "$ranks" PROBE_CONFIG="$config" $app "$tmp/with.d" --ranks "$ranks" "$@"
	fi
	is "$name: 8 losses of each rank, without us" "$(grep -c ^step "$tmp/plain")" $((8 * ranks))
	ok "$name: losses and weights" cmp "$tmp/plain" "$tmp/with"
	is "$name: nothing is reported but the alert" "$(grep -a '^libprobe' "$tmp/with.err" | grep -v ': spike: grad-norm' | head -3)" ''
	for ((r = 0; r < ranks; r++)); do
		# A process alone has no rank.
		ours=$out/rank$r
		[ -d "$ours" ] || ours=$(ls -d "$out"/host-* | head -1)
		ok "$name: rank $r: as the callbacks say it" python3 tests/long/ms_oracle_truth.py "$ours" "$tmp/with.d/rank$r" --skipped "$skipped"
		is "$name: rank $r: an alert for the norm that is too large" "$(alerts_in "$ours/alerts.jsonl")" '[(4, "spike", "grad-norm")]'
		is "$name: rank $r: names" "$(cut -d, -f3 "$ours/names.csv" | grep -v '^name$' | sort | tr '\n' ' ')" \
			'embedding.bias embedding.weight out.bias out.weight '
	done
	rm -rf "$tmp/plain.d" "$tmp/with.d"
}

for mode in pynative graph jit; do
	oracle $mode 1 5 --mode $mode
	oracle "$mode, 2 ranks" 2 5 --mode $mode
done
finish
