#!/usr/bin/env bash
# `probe compare --weights` of two real programs: a training that gives its weights to one that serves them, and skips one weight in
# its last transfer. Folders with every other verdict: test_compare.sh.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'weights of two programs'

port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
programs=()
for r in 0 1; do
	env RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$tmp/$r" \
		PROBE_CHECKSUM=crc32 PROBE_NAMES=true timeout 200 "$python" tests/apps/py/synced.py >"$tmp/said.$r" 2>"$tmp/err.$r" </dev/null &
	programs[r]=$!
done
wait "${programs[@]}"
is 'both programs ended well' "$(cat "$tmp"/said.?)" "$(printf '0.weight 0.bias 1.weight 1.bias\n%.0s' 1 2)"
"$probe" compare --weights --json "$tmp/0" "$tmp/1" >"$tmp/json" 2>"$tmp/err"
is 'the weight that the last transfer skipped, and no other' "$? $(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(sorted((w["name"], w["verdict"]) for w in d["weights"]))' "$tmp/json")" \
	"1 [('0.bias', 'same'), ('0.weight', 'same'), ('1.bias', 'skipped'), ('1.weight', 'same')]"
finish
