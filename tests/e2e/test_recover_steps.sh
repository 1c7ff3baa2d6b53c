#!/usr/bin/env bash
# `probe recover --steps`: the column `step` from the period of the calls, against the program's own steps; nothing
# else in the rows changes; interrupted at any point it can be run again. Prints TAP.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'recover --steps' 'no MPI, or its programs are not built (make apps)'; finish; }
read -r f _ <<<"$flavours"

rows_without_step() { # RANK FOLDER: all rows, sorted
	for c in "$1"/calls_*; do
		case $c in
		*.gz) zcat "$c" ;;
		*) cat "$c" ;;
		esac | tail -n +2 | cut -d, -f2-
	done | sort
}
sums() {
	(cd "$1" && find . -type f | sort | xargs cksum)
}
steps() { # EXPRESSION over c: calls by step of rank 0
	python3 - "$out" "$1" <<'PY'
import collections, csv, glob, sys
c = collections.defaultdict(dict)
for f in glob.glob(sys.argv[1] + "/rank0/calls_*.csv"):
    lo, hi = map(int, f.rsplit("_", 1)[1][:-4].split("-"))
    for r in csv.DictReader(open(f)):
        assert lo <= int(r["step"]) <= hi, (f, r)
        c[int(r["step"])].setdefault(int(r["seq"]), r)
print(eval(sys.argv[2]))
PY
}

new_out
run_with $f 2 mpi_period 250
cp -r "$out" "$tmp/before"
said=$("$probe" recover --steps "$out" 2>&1)
is 'status' $? 0
like 'it is reported' "$said" 'ranks 0,1: 250 steps of 8 calls each, by the period of its calls \(confidence 100 %\)'
is 'steps: the set-up and an iteration, then an iteration each' "$(steps '[len(c[k]) for k in sorted(c)] == [11] + [8] * 249')" True
is 'each ends with the last call of the iteration' "$(steps '{(r["op"], r["count"]) for k in c for r in [c[k][max(c[k])]]}')" "{('all_reduce', '1')}"
is 'a file for a hundred steps' "$(ls "$out/rank1" | grep calls | tr '\n' ' ')" 'calls_0-99.csv calls_100-199.csv calls_200-299.csv '
for r in 0 1; do
	is "rank $r: nothing else in the rows has changed" "$(rows_without_step "$out/rank$r" | cksum)" "$(rows_without_step "$tmp/before/rank$r" | cksum)"
done
like 'the report has them' "$("$probe" report "$out")" 'steps 0 to 249 \(from period\)'
like 'and so has an export' "$("$probe" export -F trace -o "$tmp/t.json" --step 100-101 "$out")" '32 calls'
sums "$out" >"$tmp/sums"
like 'again: they are there' "$("$probe" recover --steps "$out")" 'its steps are known \(from period\)'
is 'no file of the folder is changed' "$(sums "$out")" "$(cat "$tmp/sums")"

# Interrupted while new files replace the old ones.
cp -r "$out" "$tmp/after"
interrupted() { # WHAT: $out is as it was left
	"$probe" recover --steps "$out" >/dev/null
	is "interrupted $1: it goes on" "$(sums "$out")" "$(cat "$tmp/sums")"
}
half() { # A folder as before, with the new files of rank 0 ready
	rm -rf "$out"
	cp -r "$tmp/after" "$out"
	rm "$out"/rank0/calls_* "$out/rank0/meta.json"
	cp "$tmp"/before/rank0/{calls_*,meta.json} "$out/rank0/"
	mkdir "$out/rank0/steps.new"
	cp "$tmp"/after/rank0/{calls_*,meta.json} "$out/rank0/steps.new/"
}
half
interrupted 'when they were complete'
half
rm "$out"/rank0/calls_*
mv "$out/rank0/steps.new/meta.json" "$out/rank0/"
mv "$out/rank0/steps.new/calls_0-99.csv" "$out/rank0/"
interrupted 'when one had been moved'
half
mv "$out/rank0/steps.new" "$out/rank0/steps.tmp"
echo half >"$out/rank0/steps.tmp/calls_0-99.csv"
interrupted 'while they were written'

# Compressed files, and other sizes of blocks.
rm -rf "$out"
cp -r "$tmp/before" "$out"
gzip "$out"/rank0/calls_*.csv
"$probe" recover --steps "$out" >/dev/null
is 'compressed files' "$(rows_without_step "$out/rank0" | cksum)$(ls "$out/rank0" | grep -c gz)" "$(rows_without_step "$tmp/before/rank0" | cksum)0"
new_out
run_with $f 1 PROBE_STEP_COUNT_PER_RECORD=7 mpi_period 60 10 9
said=$("$probe" recover --steps --json "$out")
is 'evaluations between the iterations' "$(python3 -c 'import json, sys; s = json.load(sys.stdin)["folders"][0]["steps"]; print(s["result"], s["steps"], s["calls"])' <<<"$said")" 'filled 60 8'
is 'blocks of the size that was configured' "$(ls "$out/rank0" | grep -c '^calls_[0-9]*-[0-9]*.csv')" 9

# A job that was killed.
new_out
start_with $f 2 mpi_random_kill "$tmp/log" 1 100000 200
wait_until 20 test -e "$out/rank1/meta.json"
sleep 1
said=$("$probe" recover --steps "$out" 2>&1)
is 'a living job is left alone: status' $? 2
unlike 'nothing is filled' "$said" 'steps of'
for p in $(ranks_of "$out"); do kill -9 "$p"; done
gone "$out"

# Impossible requests are reported, and nothing is changed.
new_out
run_with $f 1 mpi_period 4
sums "$out" >"$tmp/sums"
said=$("$probe" recover --steps "$out" 2>&1)
is 'too short to tell: status' $? 2
like 'it is reported' "$said" 'no sufficiently certain period'
is 'nothing is changed' "$(sums "$out")" "$(cat "$tmp/sums")"
new_out
run_with $f 1 PROBE_STEP_MARKER=MPI_Barrier mpi_period 60
like 'steps that were marked stay' "$("$probe" recover --steps "$out")" 'its steps are known \(from marker\)'
finish
