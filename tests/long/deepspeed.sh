#!/usr/bin/env bash
# DeepSpeed on processors, 2 ranks (tests/apps/py/deepspeed_zero.py): losses and weights unchanged, and every collective that it asks for is
# recorded, in that order, with its type and number of elements, as the program's own account of its calls has them: ZeRO's
# stages over Gloo, stage 1 with the sums in oneCCL, the sums of inference over shared memory (functions of one's own).
# DEEPSPEED_PYTHON: a Python with deepspeed and torch 2; ONECCL: a folder with oneCCL (see oneccl.sh). The extensions are compiled
# once, by g++. Prints TAP.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
python=${DEEPSPEED_PYTHON:-}
[ -n "$python" ] || { skip 'DeepSpeed' 'no DEEPSPEED_PYTHON'; finish; }
export DS_ACCELERATOR=cpu
"$python" -c 'import torch, deepspeed' >"$tmp/import" 2>&1 || { skip 'DeepSpeed' "it cannot be imported: $(tail -1 "$tmp/import")"; finish; }
app=tests/apps/py/deepspeed_zero.py steps=5
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 PYTHONDONTWRITEBYTECODE=1
export TORCH_EXTENSIONS_DIR=${TORCH_EXTENSIONS_DIR:-$(realpath "$B")/long/torch_extensions} PATH=${python%/*}:$PATH # ninja is there
at=${ONECCL:-$(realpath -m "$B")/long/oneccl-2022.1.2}

two() { # FILE SCENE [NAME=VALUE ...]
	local file=$1 scene=$2 r pids=()
	shift 2
	MASTER_PORT=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	export MASTER_PORT
	for r in 0 1; do
		env RANK=$r LOCAL_RANK=$r CCL_LOCAL_RANK=$r "$@" timeout -k 5 600 "$python" $app "$scene" "$steps" "$file.asked" \
			>"$file.$r" 2>"$file.err.$r" </dev/null &
		pids+=($!)
	done
	status=0
	for r in "${pids[@]}"; do
		wait "$r" || status=$?
	done
	grep -h '^\[rank ' "$file".[01] | sort -s -k2,2 >"$file"
	cat "$file".err.[01] >"$file.err"
	echo $status >"$file.status"
}

# Rows of each rank beside its account, call by call.
cat >"$tmp/asked.py" <<'END_OF'
import sys
sys.path.insert(0, "tests/e2e")
from rows import Output

OPS = {"all_gather_into_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter"}
OPS["inference_all_reduce"] = OPS["all_reduce_caching"] = "all_reduce"
out, wrong, calls = Output(sys.argv[1], "R"), 0, 0
for rank in "01":
    have = {}
    for r in out.R:
        if r["folder"] != "rank" + rank:
            continue
        of = have.setdefault(int(r["seq"]), [r["lib"], r["op"], "-", 0, {}])
        of[4].setdefault(r["io"], []).append((r["dtype"], int(r["count"] or 0)))
    got = []
    for seq in sorted(have):
        lib, op, _, _, by_io = have[seq]
        sides = by_io.get("in") or by_io.get("out") or []
        got.append((lib, op, sides[0][0] if sides and op != "barrier" else "-", sum(n for _, n in sides) if op != "barrier" else 0))
    with open(f"{sys.argv[2]}.{rank}") as f:
        asked = [tuple(line.split()) for line in f]
    asked = [(lib, OPS.get(op, op), dtype, int(n)) for lib, op, dtype, n in asked]
    calls += len(asked)
    if got != asked:
        wrong = 1
        print(f"rank {rank}: {len(got)} recorded, {len(asked)} asked for")
        print(*[f"{i}: {a} {b}" for i, (a, b) in enumerate(zip(got, asked)) if a != b][:5], sep="\n")
print(calls)
sys.exit(wrong or not calls)
END_OF

scene() { # SCENE PATTERN-OF-ITS-OUTPUT [NAME=VALUE ...]
	local scene=$1 has=$2
	shift 2
	two "$tmp/plain" "$scene" "$@"
	if [ $status != 0 ]; then
		skip "$scene" "it fails without us: $(grep Error "$tmp/plain.err" | tail -1)"
		return 1
	fi
	like "$scene: it does what it is for" "$(cat "$tmp/plain")" "$has"
	new_out
	two "$tmp/with" "$scene" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@"
	same_result "$scene: $(grep -c '^\[rank' "$tmp/plain") lines"
	is "$scene: nothing is reported" "$(libprobe_lines "$tmp/with.err")" ''
	contract "$scene" "$out" --partial
}

for n in 1 2 3; do
	scene stage$n 'step 9 loss [0-9].* end weights ' || continue
	ok "stage$n: all $(cat "$tmp"/with.asked.[01] | wc -l) collectives are recorded as the program counts them" python3 "$tmp/asked.py" "$out" "$tmp/with.asked"
done

if [ -e "$at/include/oneapi/ccl.hpp" ]; then
	if scene ccl 'step 9 loss [0-9].* end weights ' CCL_ROOT="$at" CPATH="$at/include" FI_PROVIDER=tcp FI_PROVIDER_PATH="$at/lib" \
		FI_TCP_IFACE=lo CCL_KVS_IFACE=lo CCL_ATL_TRANSPORT=ofi CCL_PROCESS_LAUNCHER=none CCL_LOCAL_SIZE=2 \
		LD_LIBRARY_PATH="$at/lib:$at/lib/mpi:$at/lib/release${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; then
		ok "ccl: all $(cat "$tmp"/with.asked.[01] | wc -l) collectives, those of oneCCL and of Gloo" python3 "$tmp/asked.py" "$out" "$tmp/with.asked"
	fi
else
	skip 'ccl' 'no oneCCL (tests/long/oneccl.sh installs it)'
fi

# The functions of its extension, as docs/how-to/pytorch.md has them.
awk -v dir="$tmp" '/^<!-- file: / { name = $3; next } /^```/ { inside = !inside && name != ""; if (!inside) name = ""; next } inside { print > (dir "/" name) }' docs/how-to/pytorch.md
if scene shm 'extension True level [12].* step 4 sum 2' PROBE_CUSTOM_APIS="$tmp/deepspeed.yaml" PROBE_WRAP_OPS="$tmp/deepspeed-list.yaml"; then
	is 'shm: each sum, with what it gave and got' \
		"$(rows "$out" '[(r["api"], r["dtype"], r["count"], r["io"], r["mean"]) for r in on("rank1") if r["lib"] == "custom"]')" \
		"$(python3 -c '
print([(("distributed_naive_reduce", "symmetric_naive_all_reduce")[n % 2], "float32", ("300000", "1000")[n % 2], io, str((1 + n, 2 * n + 1)[io == "out"]))
    for n in range(5) for io in ("in", "out")])')"
fi
finish
