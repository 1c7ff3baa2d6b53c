#!/usr/bin/env bash
# How long `probe watch` takes to name a rank that holds up the others, from the moment that it stops: RUNS (10) of each kind, with the
# default interval of 2 s; median and worst. A kind that ends with "_elsewhere" has each rank and the watch in a pid namespace and with a
# host name of its own. Prints TAP, and the figures as comments (docs/reference/findings.md).
# timeout: 1200
. "$(dirname "$0")/../e2e/lib.sh"

RUNS=${RUNS:-10}
runs=()
kinds=(${KINDS:-circle stopped gone asleep})
[ -n "${KINDS-}" ] || ! unshare -pumf --kill-child --mount-proc true 2>/dev/null || kinds+=(stopped_elsewhere asleep_elsewhere)

one_run() { # KIND NUMBER: the line "KIND NOTE_S NAMED_S WORD" to $tmp/times
	local kind=$1 dir=$tmp/$1.$2 pre=() pids=() r w
	mkdir -p "$dir/out"
	for r in 0 1 2 3; do
		[[ $kind == *_elsewhere ]] && pre=(unshare -pumf --kill-child --mount-proc sh -c "hostname node$r; \"\$@\"; :" sh)
		env RANK=$r WORLD_SIZE=4 APP_ID="$dir/id" PROBE_OUTPUT_DIR="$dir/out" \
			"${pre[@]}" env LD_PRELOAD="$lib" "$B/apps/nccl/nccl_waits" "${kind%_elsewhere}" 40 >"$dir/said.$r" 2>&1 &
		pids+=($!)
	done
	[[ $kind == *_elsewhere ]] && pre=(unshare -pumf --kill-child --mount-proc)
	"${pre[@]}" "$probe" watch --severity note --exec 'echo "$(date +%s.%N) $PROBE_FINDING_SEVERITY $PROBE_FINDING_KIND"' "$dir/out" >"$dir/watched" 2>&1 &
	w=$!
	wait_until 40 grep -qE '^[0-9.]+ bad (hang|deadlock|died|skip)' "$dir/watched"
	python3 - "$kind" "$dir/watched" "$dir"/said.* <<'PY' >>"$tmp/times"
import re, sys
begin = max(int(m) for f in sys.argv[3:] for m in re.findall(r"BEGIN (\d+)", open(f).read())) / 1e9
lines = re.findall(r"^([0-9.]+) (bad|warn|note) ([a-z_]+)$", open(sys.argv[2]).read(), re.M)
bad = [(float(t) - begin, k) for t, s, k in lines if s == "bad"]
note = [float(t) - begin for t, s, k in lines if k in ("stall", "hang", "deadlock", "died") and float(t) > begin]
print(sys.argv[1], round(min(note), 2) if note else "-", round(min(bad)[0], 2) if bad else "-", min(bad)[1] if bad else "-")
PY
	kill -9 "${pids[@]}" $w $(pgrep -P "$(echo "${pids[*]} $w" | tr ' ' ',')") 2>/dev/null
	for r in $(grep -lz "PROBE_OUTPUT_DIR=$dir/out" /proc/[0-9]*/environ 2>/dev/null); do
		r=${r#/proc/} r=${r%/environ}
		[[ $(cat "/proc/$r/comm" 2>/dev/null) == nccl_waits ]] && kill -9 "$r"
	done
	rm -rf "$dir"
}

for ((n = 0; n < RUNS; n++)); do
	for k in "${kinds[@]}"; do
		one_run "$k" $n &
		runs[${#runs[@]}]=$!
	done 2>/dev/null
	wait "${runs[@]}" 2>/dev/null
	runs=()
done
python3 - "$tmp/times" <<'PY'
import collections, statistics, sys
note, named, words = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(set)
for line in open(sys.argv[1]):
    k, a, b, w = line.split()
    if a != "-":
        note[k].append(float(a))
    if b != "-":
        named[k].append(float(b))
    words[k].add(w)
for k in words:
    print(f"# {k}: {'/'.join(sorted(words[k]))}, named after {statistics.median(named[k]):.1f} s (median of {len(named[k])}), worst {max(named[k]):.1f} s; "
          f"first word after {statistics.median(note[k]):.1f} s, worst {max(note[k]):.1f} s")
PY
is 'each_rank_that_holds_up_the_others_is_named' "$(awk '$3 != "-"' "$tmp/times" | wc -l)" $((RUNS * ${#kinds[@]}))
finish
