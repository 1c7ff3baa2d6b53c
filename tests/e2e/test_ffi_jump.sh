#!/usr/bin/env bash
# A function that is recorded through a stub and libffi, and left by longjmp: the program goes on as without, and so does
# the recording. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

command -v cc >/dev/null || { skip 'longjmp over libffi' 'no compiler'; finish; }
src=$PWD/tests/apps/ffi_jump.c
cat >"$tmp/custom.yaml" <<'END'
notation: 1
library: custom
functions:
  ring_sum: {kind: allreduce, sig: "int (const float *send, float *recv, int count, void *_before)"}
END
echo 'custom: [ring_sum]' >"$tmp/list.yaml"
for opt in -O2 '-O0 -fomit-frame-pointer'; do
	# shellcheck disable=SC2086
	(cd "$tmp" && cc $opt -fPIC -shared -DLIBRARY -o libring.so "$src" &&
		cc $opt -o linked "$src" libring.so -Wl,-rpath,"$tmp" -lpthread &&
		cc $opt -DPLUGIN="\"$tmp/libring.so\"" -o loaded "$src" -ldl -lpthread) || fail "ffi_jump.c compiles with $opt"
	for how in loaded linked; do
		new_out
		said=$(cd "$tmp" && PROBE_CUSTOM_APIS=custom.yaml PROBE_WRAP_OPS=list.yaml timeout 60 "$probe" run -o "$out" "./$how" 2>&1)
		is "$how, $opt: the program goes on as without" "$said" '0 0'
		contract "$how, $opt" "$out" --partial
		# In both threads; of the last 80 those before the stack was looked at are missing.
		is "$how, $opt: calls after one that was left" "$(rows "$out" \
			'[[sum(r["io"] == "out" and first <= float(r["max"]) / 2 < first + 10 for r in R if r["thread"] == t) for first in (100, 200, 340, 350, 370)] for t in sorted({r["thread"] for r in R})]')" \
			'[[10, 10, 10, 10, 10], [10, 10, 10, 10, 10]]'
		is "$how, $opt: those that were left" "$(rows "$out" \
			'[[("unwound" in r["flags"], r["io"]) for r in R if r["thread"] == t and r["max"] == "5"] for t in sorted({r["thread"] for r in R})]')" \
			"[[(True, 'in'), (True, 'in'), (True, 'in')], [(True, 'in'), (True, 'in'), (True, 'in')]]"
	done
done
finish
