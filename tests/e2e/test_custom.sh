#!/usr/bin/env bash
# docs/adding-a-function.md, followed to the letter: its files are written, its commands are run, and what it promises is
# looked for. Then what it does not say: fork, libraries in several shapes, mistakes. Prints TAP.
# timeout: 180
. "$(dirname "$0")/lib.sh"

export PROBE=$probe LIBPROBE=$lib
doc=$tmp/doc
mkdir "$doc"
# Files go by their names; the n-th piece of commands is run<n>.sh.
awk -v dir="$doc" '
	/^<!-- file: / { name = $3; next }
	/^<!-- run -->/ { name = "run" ++n ".sh"; next }
	/^```/ { inside = !inside && name != ""; if (!inside) name = ""; next }
	inside { print > (dir "/" name) }' docs/adding-a-function.md
is 'the page has four pieces of commands' "$(cd "$doc" && echo run?.sh)" 'run1.sh run2.sh run3.sh run4.sh'

if ! command -v cc >/dev/null || ! command -v c++ >/dev/null; then
	skip 'the page' 'no compilers'
	finish
fi
(
	cd "$doc" || exit 1
	for f in run?.sh; do
		. "./$f" >"$f.out" 2>"$f.err"
		echo $? >"$f.status"
	done
)
for i in 1 2 3 4; do
	is "commands $i work" "$(cat "$doc/run$i.sh.status")" 0
	[ $i = 4 ] || is "commands $i: nothing is complained about" "$(cat "$doc/run$i.sh.err")" ''
done
is 'the program says the same without' "$(cat "$doc/run1.sh.out")" 8
is 'and with the preload' "$(head -1 "$doc/run2.sh.out")" 8
out=$doc/out
contract 'loaded by dlopen' "$out"
is 'six rows of three calls' "$(rows "$out" '[(r["lib"], r["api"], r["op"], r["comm_seq"], r["io"], r["dtype"], r["count"], r["redop"], r["rank"], r["size"], r["max"]) for r in R if r["comm_seq"] == "1"]')" \
	"[('custom', 'ring_allreduce', 'all_reduce', '1', 'in', 'float32', '4', 'sum', '0', '2', '4'), ('custom', 'ring_allreduce', 'all_reduce', '1', 'out', 'float32', '4', 'sum', '0', '2', '8')]"
is 'all of them' "$(rows "$out" 'len(R)')" 6
like 'the stack begins at the caller' "$(rows "$out" 'S[0]["native_stack"]')" '^app[!+]'
is 'the linked program says the same' "$(head -1 "$doc/run3.sh.out")" 12
is 'its rows' "$(rows "$doc/out-linked" '[(r["api"], r["io"], r["mean"]) for r in R]')" \
	"[('ring_allreduce', 'in', '5.5'), ('ring_allreduce', 'out', '11')]"
contract 'C++' "$doc/out-cxx"
is 'the method, and not its overload' "$(rows "$doc/out-cxx" '[(r["api"], r["io"], r["mean"], r["flags"]) for r in R]')" \
	"[('train::Reducer::sum', 'in', '2', 'inplace'), ('train::Reducer::sum', 'out', '4', 'inplace'), ('train::Reducer::sum', 'in', '', 'unwound')]"
like 'the overload is named' "$(cat "$doc/run4.sh.err")" '^libprobe: .*custom-cxx.yaml:3:3: _ZN5train7Reducer3sumEPdi is not recorded: its parameters [^:]*$'

# ---- the job goes on whatever the file holds ----

cd "$doc" || exit 1
custom() { # FILE LIST: the program under the preload, with these two
	new_out
	said=$(PROBE_CUSTOM_APIS=$1 PROBE_WRAP_OPS=$2 PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./app 2>&1)
}
sed 's/kind: allreduce,/kind: allreduc,/' custom.yaml >bad.yaml
custom bad.yaml list.yaml
like 'a mistake: place, what would be right, and the job goes on' "$said" "bad.yaml:8:26: unknown kind 'allreduc'.* 8 ?\$"
echo 'custom: [ring_allredcue]' >bad-list.yaml
custom custom.yaml bad-list.yaml
like 'a name that no row has' "$said" 'ring_allredcue.*unknown name.* 8 ?$'
custom none.yaml list.yaml
like 'no such file' "$said" 'none.yaml: No such file.* 8 ?$'
printf '\0\377{[' >bytes.yaml
custom bytes.yaml list.yaml
like 'no YAML at all' "$said" 'bytes.yaml:.* 8 ?$'
cd - >/dev/null || exit 1

finish
