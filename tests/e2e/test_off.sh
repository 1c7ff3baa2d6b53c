#!/usr/bin/env bash
# Recording is switched off and on while threads call: from the next call on nothing is recorded, however a call is
# reached, and the program's results stay correct. Compiled wrappers: tests/unit/test_generations.c.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
src=$PWD/tests/apps/entry
cd "$tmp" || exit 2
build() {
	"${@:2}" -g -O1 -Wall -D_GNU_SOURCE -DLIB_C -fPIC -o "$1" -ldl -lpthread 2>"$tmp/cc.err" || fail "$1 is built" "$(cat "$tmp/cc.err")"
}
build libthing.so.1 cc -shared -DFACTOR=2 "$src/lib.c" -Wl,-soname,libthing.so.1
build libuser.so cc -shared "$src/user.c" ./libthing.so.1 -Wl,-rpath,'$ORIGIN'
build off cc "$src/off.c" ./libthing.so.1 -Wl,-rpath,'$ORIGIN'

symbol() {
	nm "$lib" | awk -v name="$1" '$3 == name {print "0x" $1; exit}'
}
is 'the switch is in the symbols' "$(symbol set_off_reason | cut -c1-2)" 0x
new_out
OFF_SWITCH=$(($(symbol set_off_reason) - $(symbol probe_step))) PROBE_CUSTOM_APIS=$src/custom.yaml PROBE_WRAP_OPS=$src/ops.yaml \
	PROBE_LIBRARY=$lib timeout 100 "$probe" run -o "$out" ./off "$tmp" >"$tmp/said" 2>"$tmp/err"
is 'it ends well' "$? $(grep wrong "$tmp/said")" '0 wrong 0'
cd "$OLDPWD" || exit 2
silent 'nothing is reported' "$tmp/err"
# Spans, and how many threads have records that began in those of each kind.
see_spans() {
	python3 - "$out" "$tmp/said" >"$tmp/seen" <<'PY'
import sys
sys.path.insert(0, "tests/e2e")
from rows import Output, calls
said = [line.split() for line in open(sys.argv[2])]
spans = [(w[0], int(w[1]), int(w[2])) for w in said if w[0] in ("on", "off")]
records = calls(Output(sys.argv[1]).R)
print(len(spans), len([s for s in spans if s[0] == "off"]))
for kind in ("off", "on"):
    for _, a, b in [s for s in spans if s[0] == kind]:
        inside = [r for r in records if a <= int(r["start_ns"]) <= b]
        print(kind, len({r["thread"] for r in inside}))
PY
}
see_spans
is 'spans of both kinds' "$(head -1 "$tmp/seen")" '8 4'
is 'off: no thread has a record' "$(grep '^off' "$tmp/seen" | sort -u)" 'off 0'
is 'on: each has' "$(grep '^on' "$tmp/seen" | sort -u)" 'on 3'
contract 'the records' "$out"

# Operators, backward passes, and virtual functions of a process group, synchronous and not.
. tests/e2e/torch.sh
torch_python 'PyTorch: off and on under load'
printf 'c10d: ["c10d::*"]\naten: ["aten::addmm", "aten::mul*"]\n' >"$tmp/ops.yaml"
new_out
env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/ops.yaml" PROBE_BACKWARD=true \
	OFF_SWITCH=$(($(symbol set_off_reason) - $(symbol probe_step))) timeout -k 5 100 "$python" tests/apps/py/off_ops.py >"$tmp/said" 2>"$tmp/err"
is 'PyTorch: results stay correct' "$? $(grep -c 'result .* ok' "$tmp/said")" '0 4'
silent 'PyTorch: nothing is reported' "$tmp/err"
see_spans
is 'PyTorch: spans of both kinds' "$(head -1 "$tmp/seen")" '4 2'
is 'PyTorch: off: no thread has a record' "$(grep '^off' "$tmp/seen" | sort -u)" 'off 0'
is 'PyTorch: on: each has' "$(grep '^on' "$tmp/seen" | sort -u)" 'on 4'
contract 'PyTorch: the records' "$out"
finish
