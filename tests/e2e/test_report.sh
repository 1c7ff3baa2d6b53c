#!/usr/bin/env bash
# `probe report` against an independent count over the same files (report_truth.py), on generated folders and on real runs:
# finished, with NaN, with a slow rank, hung, killed, recovered. Prints TAP.
# timeout: 600
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/e2e/mpi.sh
probe=$B/probe
tmp=$(mktemp -d)
started=()
trap 'for p in "${started[@]:-}"; do [ -z "$p" ] || kill -9 "$p" 2>/dev/null; done; rm -rf "$tmp"' EXIT
bad=0

is() { # DESCRIPTION HAVE WANT
	if [ "$2" == "$3" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		printf '# have: %s\n# want: %s\n' "$2" "$3"
		bad=1
	fi
}

has() { # DESCRIPTION TEXT PATTERN
	if grep -qE -- "$3" <<<"$2"; then
		echo "ok - $1"
	else
		echo "not ok - $1: no $3"
		sed 's/^/# /' <<<"$2" | head -40
		bad=1
	fi
}

json() { # FILE EXPRESSION over r
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

truth() { # DESCRIPTION DIR [OPTIONS]: the report to $tmp/r.json
	local what=$1 dir=$2
	shift 2
	if ! "$probe" report --json "$@" "$dir" >"$tmp/r.json" 2>"$tmp/err"; then
		echo "not ok - $what: report failed: $(cat "$tmp/err")"
		bad=1
		return
	fi
	python3 tests/e2e/report_truth.py "$dir" "$tmp/r.json" >"$tmp/truth" 2>&1 || bad=1
	sed "s/^\(ok\|not ok\) - /&$what: /" "$tmp/truth"
	grep -q '^ok' "$tmp/truth" || { echo "not ok - $what: the count failed"; bad=1; }
}

text() { # DIR [OPTIONS]: in one line, so that wrapped text can be searched
	"$probe" report "$@" 2>&1 | tr -s ' \n' ' '
}

# ---- generated ----

gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { echo 'not ok - gen_folder.c compiles'; exit 1; }

$gen -r 6 -s 150 -c 5 -g 3 "$tmp/plain"
truth 'generated' "$tmp/plain"
has 'no fault is found in it, and nothing was left unchecked' "$("$probe" report "$tmp/plain" | head -1)" '^No fault found \([0-9]+ kinds checked\)$'

for f in "$tmp"/plain/rank[24]/calls_*.csv; do gzip "$f"; done
cp "$tmp/r.json" "$tmp/before.json"
truth 'compressed' "$tmp/plain"
is 'compressed files say the same' "$(grep -v read_s "$tmp/r.json")" "$(grep -v read_s "$tmp/before.json")"

$gen -r 8 -s 120 -c 4 -g 4 -l 5:700000 "$tmp/late"
truth 'a late rank' "$tmp/late"
is 'the late rank is named' "$(json "$tmp/r.json" '[f["text"].split()[:2] for f in r["findings"] if f["kind"] == "straggler"]')" "[['rank', '5']]"

$gen -r 8 -s 120 -c 4 -g 4 -l 5:700000 -k 1:40000000 "$tmp/skew"
truth 'a wrong clock' "$tmp/skew"
is 'the late rank is named in spite of it' "$(json "$tmp/r.json" '[f["text"].split()[:2] for f in r["findings"] if f["kind"] == "straggler"]')" "[['rank', '5']]"
is 'its error is found' "$(json "$tmp/r.json" '{round(k["clock_correction_ns"] / 1e5) for k in r["ranks"] if k["rank"] > 3} == {-400} and {k["clock_correction_ns"] for k in r["ranks"] if k["rank"] < 4} == {0}')" True

# More files than the first and the last are not read for it.
$gen -r 8 -s 1200 -c 2 -g 4 -l 5:700000 -k 1:-3000000 -d 1:5000 "$tmp/drift"
truth 'a clock that gains' "$tmp/drift"
is 'the late rank is named in spite of that' "$(json "$tmp/r.json" '[f["text"].split()[:2] for f in r["findings"] if f["kind"] == "straggler"]')" "[['rank', '5']]"
is 'what it gains is found' "$(json "$tmp/r.json" '{abs(k["clock_drift_ppm"] - 5000) < 50 for k in r["ranks"] if k["rank"] > 3} == {True} and {k["clock_drift_ppm"] for k in r["ranks"] if k["rank"] < 4} == {0}')" True
has 'and said, with the error' "$(text "$tmp/drift")" 'gains (5|4\.9[0-9]*|5\.0[0-9]*) ms in each second'

$gen -r 8 -s 60 -c 4 -g 4 -b 31:6 "$tmp/nan"
truth 'a NaN' "$tmp/nan"
is 'the rank that had it first is named' "$(json "$tmp/r.json" '[r["bad_values"]["first"][k] for k in ("rank", "step", "io", "same_operation")]')" "[6, 31, 'in', [6]]"

$gen -r 8 -s 60 -c 4 -g 4 -m 31:6 "$tmp/mismatch"
truth 'ranks that differ' "$tmp/mismatch"
is 'the rank that differs is named' "$(json "$tmp/r.json" '[r["mismatch"]["differ_in"], r["mismatch"]["comm_seq"], r["mismatch"]["other"]["rank"]]')" "['operation', 31, 6]"

$gen -r 16 -s 60 -c 4 -g 4 -x 31:6 "$tmp/hang"
truth 'a hang' "$tmp/hang"
is 'the cause is found, not the ranks that only wait' "$(json "$tmp/r.json" '[(s["ranks"], s["op"], [(a["ranks"], a["why"], a["last"]["comm_seq"]) for a in s["absent"]]) for s in r["stuck"] if s["cause"]]')" \
	"[([4, 5, 7], 'all_gather', [([6], 'never entered', 30)])]"
has 'and said in words' "$(text "$tmp/hang")" 'hang ranks 4,5,7 are blocked in all_gather #93 on .* step 31, for 30\.[0-9]+ s .* rank 6 never entered it: the last call was all_reduce #30 on MPI_COMM_WORLD'

# Only some ranks, only some steps.
"$probe" report --json --rank 1,4-5 --step 100-119 "$tmp/plain" >"$tmp/r.json"
is 'ranks and steps that are asked for' "$(json "$tmp/r.json" '[[k["rank"] for k in r["ranks"]], r["calls"], r["steps"]["first"], r["steps"]["last"]]')" "[[1, 4, 5], 300, 100, 119]"

# A thousand ranks with 64 descriptors.
$gen -r 1000 -s 12 -c 4 -g 8 -x 9:123 "$tmp/many"
out=$( (ulimit -n 64; "$probe" report --top 3 "$tmp/many") 2>&1)
has 'a thousand ranks' "$out" 'ranks +1,000 \(0-999\) of 1,000'
has 'the one that is missing among them' "$(tr -s ' \n' ' ' <<<"$out")" 'rank 123 never entered it'
is 'the report has fewer than 60 lines' "$(($(wc -l <<<"$out") < 60))" 1

# Rows per second, for information.
$gen -r 4 -s 12500 -c 10 -g 4 "$tmp/big"
"$probe" report --json "$tmp/big" >"$tmp/r.json"
json "$tmp/r.json" '"# %.1f million rows/s" % (r["rows"] / r["read_s"] / 1e6)'
rm -rf "$tmp/big" "$tmp/many"

# Folders of other runs are named.
cp -r "$tmp/late/rank0" "$tmp/late/rank0.1"
has 'folders that are skipped are named' "$(text "$tmp/late")" 'rank0\.1: of an earlier run'
has 'and read when they are asked for' "$(text "$tmp/late/rank0.1")" 'ranks rank 0 of 8, finished'

# Two runs in one folder: the earlier one's folders have been renamed. Each verb reads it as FOLDER@1.
$gen -r 2 -s 30 -c 2 "$tmp/twice"
for r in 0 1; do mv "$tmp/twice/rank$r" "$tmp/twice/rank$r.1"; done
$gen -r 3 -s 20 -c 2 "$tmp/then"
mv "$tmp"/then/rank? "$tmp/twice"
has 'the newest run is read' "$(text "$tmp/twice")" 'ranks 3 \(0-2\) of 3,'
has 'the run before it is read whole' "$(text "$tmp/twice@1")" 'ranks 2 \(0,1\) of 2,.*rank2: of another run'
has 'commands name the run that was read' "$("$probe" report --json "$tmp/twice@1")" '"path": *"[^"]*/twice@1"'
has 'more runs than there are is an error that counts them' "$("$probe" report "$tmp/twice@2" 2>&1)" '/twice has 2 runs; the oldest is .*/twice@1$'
has 'a run is compared with the one before it' "$("$probe" compare "$tmp/twice@1" "$tmp/twice" 2>&1)" 'paired|calls'
has 'recover, which handles all runs of a folder, says so' "$("$probe" recover "$tmp/twice@1" 2>&1)" 'all runs of a folder are recovered at once; run: probe recover .*/twice$'
"$probe" csv "$tmp/twice@1" -o "$tmp/twice.csv" >/dev/null 2>&1
is 'the CSV files of an earlier run are written' "$(ls "$tmp/twice.csv" 2>/dev/null | paste -sd' ')" 'rank0.1 rank1.1'

# ---- real runs ----

live() { # DIR OPTIONS...: a training under the preload that is left to itself; waits until it hangs
	local dir=$1
	shift
	rm -rf "$dir"
	MPI_LIMIT=100 mpi_run "$flavour" 4 LD_PRELOAD="$PWD/$B/libprobe.so" PROBE_OUTPUT_DIR="$dir" PROBE_STEP_MARKER=MPI_Reduce \
		train_digits "$@" >"$tmp/log" 2>&1 &
	started+=($!)
}

flavour=$(mpi_flavours | head -1)
if [ -z "$flavour" ] || [ ! -x "$B/apps/$flavour/train_digits" ]; then
	echo 'ok - real runs # SKIP no MPI, or its programs are not built (make apps)'
	exit $bad
fi
run=(mpi_run "$flavour" 4 LD_PRELOAD="$PWD/$B/libprobe.so" PROBE_STEP_MARKER=MPI_Reduce)

"${run[@]}" PROBE_OUTPUT_DIR="$tmp/r1" train_digits --steps 120 >/dev/null 2>&1
truth 'a training' "$tmp/r1"
is 'all ranks have finished' "$(json "$tmp/r.json" '[r["states"], r["world_size"], r["open"], r["steps"]["last"]]')" "[{'finished': 4}, 4, [], 120]"

"${run[@]}" PROBE_OUTPUT_DIR="$tmp/r2" train_digits --steps 60 --nan-at 37:2 >/dev/null 2>&1
truth 'a training with a NaN' "$tmp/r2"
is 'where it came from' "$(json "$tmp/r.json" '[r["bad_values"]["first"][k] for k in ("rank", "step", "io", "op", "nans")]')" "[2, 37, 'in', 'all_reduce', 1]"

"${run[@]}" PROBE_OUTPUT_DIR="$tmp/r3" train_digits --steps 60 --slow 1:50 >/dev/null 2>&1
truth 'a training with a slow rank' "$tmp/r3"
# By itself, or as what follows from its being slow.
is 'which one it is' "$(json "$tmp/r.json" '[f["text"].split()[1] for g in r["findings"] for f in [g] + g["consequences"] if f["kind"] == "straggler"]')" "['1']"

# Hung: looked at while it hangs, then killed, then recovered.
hung() {
	"$probe" report --json "$tmp/r4" >"$tmp/r.json" &&
		[ "$(json "$tmp/r.json" 'len([o for o in r["open"] if o["step"] == 20 and o["age_s"] > 1.5])')" == 3 ]
}
live "$tmp/r4" --hang 20:3
for _ in $(seq 300); do
	hung 2>/dev/null && break
	sleep 0.2
done
is 'a hung training: who is inside' "$(json "$tmp/r.json" '[(o["rank"], o["op"], o["async"]) for o in r["open"]]')" "[(0, 'all_reduce', False), (1, 'all_reduce', False), (2, 'all_reduce', False)]"
is 'every open call has its members' "$(json "$tmp/r.json" 'all(isinstance(o["rank"], int) and o["api"] and len(o["comm"]) == 16 and isinstance(o["comm_seq"], int) and o["age_s"] > 0 and "main" in o["stack"] for o in r["open"])')" True
is 'who is not there' "$(json "$tmp/r.json" '[(a["ranks"], a["why"], a["last"]["op"]) for s in r["stuck"] if s["cause"] for a in s["absent"]]')" "[([3], 'never entered', 'reduce')]"
is 'they are running' "$(json "$tmp/r.json" 'r["states"]')" "{'running': 4}"
"$probe" recover "$tmp/r4" >"$tmp/out"
is 'recover leaves a living job alone' $? 2
has 'and says so' "$(cat "$tmp/out")" 'ranks? 0.*: left alone: its process .* is running'
pids=$(json "$tmp/r.json" '" ".join(str(k["pid"]) for k in r["ranks"])')
kill -STOP $pids # a writer that has waited for a processor until now
before=$(cd "$tmp/r4" && cat rank*/calls_*.csv | cksum)
kill -9 $pids
for p in $pids; do while kill -0 "$p" 2>/dev/null; do sleep 0.05; done; done
is 'the files were not touched' "$(cd "$tmp/r4" && cat rank*/calls_*.csv | cksum)" "$before"
mkdir "$tmp/room"
TMPDIR=$tmp/room "$probe" report --json "$tmp/r4" >"$tmp/killed.json"
is 'killed: who was inside' "$(json "$tmp/killed.json" '[(o["rank"], o["op"]) for o in r["open"]]')" "[(0, 'all_reduce'), (1, 'all_reduce'), (2, 'all_reduce')]"
is 'they are killed' "$(json "$tmp/killed.json" 'r["states"]')" "{'killed': 4}"
is 'report leaves nothing' "$(ls "$tmp/room")" ''
chmod -R a-w "$tmp/r4"
"$probe" report --json "$tmp/r4" >"$tmp/readonly.json"
is 'folders need not be writable' "$(json "$tmp/readonly.json" 'len(r["open"])')" 3
chmod -R u+w "$tmp/r4"

"$probe" recover "$tmp/r4" >"$tmp/out"
is 'recover' $? 0
has 'what it did' "$(cat "$tmp/out")" 'ranks? 0.*: [0-9]+ rows? added, 1 of open calls'
"$probe" recover "$tmp/r4" >"$tmp/out"
is 'once more' "$?$(cat "$tmp/out")" '0ranks 0-3: complete, nothing to do'
truth 'recovered' "$tmp/r4"
strip() { python3 - "$1" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
for key in ("read_s", "journal_bytes", "states", "findings", "rank_time_s"):
    del r[key]
for k in r["ranks"]:
    del k["state"], k["own_s"], k["writer_s"], k["folder"]
for o in r["operations"]:
    del o["share"]
for o in r["late"]:
    del o["wait_share"]
print(json.dumps(r))
PY
}
is 'the report of the killed job equals that after recovery' "$(strip "$tmp/killed.json")" "$(strip "$tmp/r.json")"

exit $bad
