#!/usr/bin/env bash
# Ranks that Python's own launchers start, and that fail by an exception that is caught: whose it was, and what, in meta.json and
# in the report; who went on after one, and left for another reason, has none.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: a rank of multiprocessing that fails'
app=tests/apps/py/spawned.py

died() { "$probe" report --json "$out" | python3 -c 'import json, sys; print([(f["ranks"], f["step"], f["text"]) for f in json.load(sys.stdin)["findings"] if f["kind"] == "died" and f["severity"] == "bad"])'; }

line=$(grep -n 'raise ValueError' $app | cut -d: -f1)
for how in ${HOWS:-spawn fork process exit log early fine}; do
	new_out
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo timeout -k 5 280 "$python" $app $how 1 4 "$port" \
		>"$tmp/with" 2>"$tmp/with.err"
	status=$?
	"$probe" recover "$out" >"$tmp/recover" 2>&1
	case $how in
	early) is "$how: what was printed long before is no reason" "$(rows "$out" '[M["rank1"]["end"][k] for k in ("how", "code", "text")]')" "['exit', 5, '']" ;;
	fine)
		is "$how: ends well" "$status $(rows "$out" '[M[d]["end"]["text"] for d in ("rank0", "rank1")]')" "0 ['', '']"
		is "$how: nobody left" "$(died)" '[]'
		;;
	*)
		like "$how: in meta.json" "$(rows "$out" '[M["rank1"]["end"][k] for k in ("how", "code", "text")]')" \
			"^\['exit', $([ $how = exit ] && echo 3 || { [ $how = log ] && echo 4 || echo 1; }), 'ValueError: batch 4 is bad; at .*spawned\.py:$line work"
		like "$how: in the report" "$(died)" \
			"^\[\(\[1\], 4, 'step 4: rank 1 left by exit with code [134]; the last exception before that: ValueError: batch 4 is bad; at .*spawned\.py:$line work"
		;;
	esac
done
finish
