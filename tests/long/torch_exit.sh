#!/usr/bin/env bash
# A PyTorch program that ends without destroy_process_group, on a crowded machine: the preload makes it end badly no more
# often. PyTorch by itself ends in SIGABRT ("terminate called without an active exception") now and then: threads of gloo
# that still hold a Work touch Python when it is gone (pytorch issues 190489, 179291). So each way may abort in one rank of
# fifty, and nothing else. ROUNDS=300 runs of two ranks each way, side by side, for MINUTES=20 at most. Prints TAP.
# timeout: 3000
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: ends'
rounds=${ROUNDS:-300} seconds=$((60 * ${MINUTES:-20}))
for ((i = 0; i < ${BUSY:-4}; i++)); do
	background bash -c 'while :; do :; done'
done
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
"$python" tests/apps/py/exit_storm.py "$rounds" "$seconds" >"$tmp/plain" 2>"$tmp/plain.err" &
plain=$!
LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$tmp/out "$python" tests/apps/py/exit_storm.py "$rounds" "$seconds" >"$tmp/with" 2>"$tmp/with.err"
wait "$plain"
echo "# status:ranks without: $(cat "$tmp/plain"); with: $(cat "$tmp/with")"

bad() { # FILE: of how each rank ended: those that did in another way, and with -6 only if it is more than one in fifty
	python3 - "$(cat "$1")" <<-'END'
		import sys
		ended = dict(map(int, e.split(":")) for e in sys.argv[1].split())
		few = max(2, sum(ended.values()) // 50)
		print({s: n for s, n in ended.items() if s and not (s == -6 and n <= few)} if ended else "none")
	END
}

for way in plain with; do
	is "$way: the ranks end well, but for PyTorch's own abort" "$(bad "$tmp/$way")" '{}' || tail -20 "$tmp/$way.err" | sed 's/^/#   /'
done
isnt 'and are recorded' "$(ls "$tmp/out")" ''
finish
