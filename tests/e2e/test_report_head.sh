#!/usr/bin/env bash
# What the head of `probe report` says of times, and how it describes the first bad tensor, from folders of which every
# number is written here by hand; what it says where there is no folder, or one with nothing in it. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

# DIR RANKS LIFE CALLS WRITER ROW...: folders of ranks that lived for LIFE ns, their own times in s, and their rows:
# api:op:start:duration:wait:flags[:nans:infs:min:max], of 2 elements, in ns from the first one on; an empty duration is an
# open call.
folder() {
	PYTHONPATH=tests/e2e python3 - "$@" <<'PY'
import json, os, sys
import columns
top, ranks, life, calls, writer = sys.argv[1], *map(float, sys.argv[2:6])
begin = 1700000000000000000
header = columns.names("calls")
for rank in range(int(ranks)):
    d = f"{top}/rank{rank}"
    os.makedirs(d)
    with open(d + "/calls_0-99.csv", "w") as f:
        print(",".join(header), file=f)
        for seq, text in enumerate(sys.argv[6:]):
            api, op, start, dur, wait, flags, nans, infs, low, high = (text.split(":") + [0, 0, 1, 2])[:10]
            row = dict(step=0, seq=seq + 1, lib="c10d", api=api, op=op, comm="1111111111111111", comm_seq=seq, rank=rank,
                       size=int(ranks), io="in", index=0, dtype="float32", count=2, bytes=8, start_ns=begin + int(start),
                       dur_ns=dur, thread=1, flags=flags, wait_ns=wait, nans=nans,
                       infs=infs, min=low, max=high)
            print(",".join(str(row.get(key, "")) for key in header), file=f)
    n = len(sys.argv[6:])
    meta = dict(format=1, state="finished", owner=dict(host="a", boot_id="b", pid_ns=1, pid=1, start_time=1), journal_path="",
                run="", rank=rank, world_size=int(ranks), first_record_ns=begin, last_record_ns=begin + int(life),
                own_time=dict(in_calls_s=calls, writer_s=writer), calls=dict(seen=n, recorded=n))
    json.dump(meta, open(d + "/meta.json", "w"))
PY
}

head_time() {
	"$probe" report "$1" | grep '^time' | tr -s ' '
}

# 500 ms a rank: 100 ms in the barrier, 25 ms in Waits; two asynchronous ones of 200 and 150 ms that overlap.
short=(w:barrier:0:100000000:: x:all_reduce:100000000:200000000:20000000:async x:all_reduce:150000000:150000000:5000000:async
	w:barrier:500000000:0::)
folder "$tmp/short" 2 5e8 0.0015 0.003 "${short[@]}"
is 'a short run: our own time as the time that it is; asynchronous ones apart' "$(head_time "$tmp/short")" \
	"time 25.0 % of the run in these calls, 350 ms a rank in asynchronous calls (overlaps added up); libprobe itself: 1.50 ms a rank in the job's threads, 3 ms a rank in its own"
folder "$tmp/one" 1 5e8 0.0015 0.003 "${short[@]}"
is 'of one rank' "$(head_time "$tmp/one")" \
	"time 25.0 % of the run in these calls, 350 ms in asynchronous calls (overlaps added up); libprobe itself: 1.50 ms in the job's threads, 3 ms in its own"

# Calls before the first recorded one are not counted: "of the 9 made" would claim that the job made no more.
cp -r "$tmp/one" "$tmp/counted"
sed -i 's/"seen": 4/"seen": 9/' "$tmp/counted/rank0/meta.json"
like 'calls that were not recorded are counted from a named point on' "$("$probe" report "$tmp/counted" | grep '^calls')" \
	'; 5 of the 9 made since recording began were not recorded ?$'

# A full disk leaves a folder without any file: nothing shows how its process ended.
cp -r "$tmp/short" "$tmp/full"
rm "$tmp/full/rank1"/*
said=$("$probe" report "$tmp/full")
like 'an empty folder is reported as one that was not read' "$said" 'rank1 was not read: it is empty: '
rm "$tmp/full/rank0"/*
said=$("$probe" report "$tmp/full" 2>&1)
is 'only empty folders: status' $? 2
like '... no rank is reported as killed' "$said" '^probe: [^ ]*/full: nothing was recorded: rank0: it is empty: [^:]* ?$'

is 'report --json has its schema in front of all else, and `format` for one version more' \
	"$("$probe" report --json "$tmp/one" | python3 -c 'import json, sys; print(*list(json.load(sys.stdin).items())[:2])')" "('schema', 1) ('format', 1)"

# The same calls, and the run goes on to 5 s.
folder "$tmp/long" 2 5e9 0.02 0.03 "${short[@]}" w:barrier:5000000000:0::
is 'a long run: our own time as shares of it' "$(head_time "$tmp/long")" \
	"time 2.5 % of the run in these calls, 350 ms a rank in asynchronous calls (overlaps added up); libprobe itself: 0.4 % of the run in the job's threads, 0.6 % of a core in its own"

folder "$tmp/sync" 2 5e8 0.0015 0.003 w:barrier:0:100000000:: w:barrier:500000000:0::
unlike 'without asynchronous ones nothing is reported about them' "$(head_time "$tmp/sync")" asynchronous

# One that did not complete, of the same function.
folder "$tmp/open" 2 5e8 0.0015 0.003 "${short[@]}" 'x:all_reduce:500000000:::async;open'
like 'one that is open takes nothing from those that ended' "$(head_time "$tmp/open")" ', 350 ms a rank in asynchronous calls'

# ---- the first bad tensor ----

bad() { # TEXT ROW WANT
	rm -rf "$tmp/bad"
	folder "$tmp/bad" 1 5e8 0 0 "${short[@]}" "x:all_reduce:500000000:1::$2"
	is "$1" "$("$probe" report "$tmp/bad" | sed -n 's/^  first .*): float32, //p')" "$3"
}
bad 'one NaN: the other element' :1:0:-3:-3 '2 elements, 1 NaN, 0 Inf, others from -3 to -3'
bad 'an Inf: which one' :0:1:-inf:4 '2 elements, 0 NaN, 1 Inf, from -inf to 4'
bad 'nothing but NaN' :2:0:nan:nan '2 elements, 2 NaN, 0 Inf'

# ---- no folder ----

missing() { # TEXT DIR PATTERN: the only line, on stderr, and status 2
	local said rc
	said=$("$probe" report "$2" 2>&1 >"$tmp/stdout")
	rc=$?
	is "$1: status, lines, stdout" "$rc $(wc -l <<<"$said") $(wc -c <"$tmp/stdout")" '2 1 0'
	like "$1: what to do" "$said" "$3"
}
missing 'a folder that is not there' "$tmp/none" \
	"^probe: $tmp/none: No such file or directory: no process has made a recorded call yet, or the run has another folder; .probe check CMD. says what CMD calls, and which of these calls are recorded ?\$"
mkdir -p "$tmp/empty" "$tmp/above/probe_output"
missing 'an empty one' "$tmp/empty" "^probe: $tmp/empty: no rank folders \(rank0, rank1 \.\.\.\): nothing was recorded here; .probe check CMD. says why ?\$"
missing 'the one above' "$tmp/above" "^probe: $tmp/above: no rank folders here; did you mean $tmp/above/probe_output\? ?\$"
# The other verbs say the same.
for verb in 'compare VERB/none VERB/empty' 'recover VERB/none' 'top --once VERB/none' 'export --format trace VERB/none' 'csv VERB/none' 'names VERB/none' \
	'bundle VERB/none' 'ctl VERB/none status'; do
	# shellcheck disable=SC2086
	said=$("$probe" ${verb//VERB/$tmp} 2>&1)
	is "${verb%% *} of a folder that is not there: status" $? 2
	like "... what to do" "$said" "$tmp/none: No such file or directory: no process has made a recorded call yet, .*.probe check CMD."
done
like 'watch of an empty folder: what it waits for' "$(timeout -s INT 2 "$probe" watch "$tmp/empty" 2>&1)" \
	'waiting for .*/empty: it has no rank folder yet; a process makes one at its first recorded call'
# Nothing to export is no success.
folder "$tmp/nocall" 1 2e9 0 0 all_reduce:all_reduce:0:1000:0:
rm -f "$tmp"/nocall/rank*/calls_*
said=$("$probe" export --format trace "$tmp/nocall" 2>&1)
is 'export of a run without calls: status' $? 2
like '... what to do' "$said" 'export: .*nocall has no calls; .probe report .*nocall. says why'
is '... no file' "$(ls "$tmp"/nocall/trace.json* 2>/dev/null)" ''
echo >"$tmp/file"
missing 'a file' "$tmp/file" "^probe: $tmp/file: Not a directory ?\$"
said=$(cd "$tmp/empty" && "$probe" report 2>&1)
is 'without a name it is the one that a job would make' "$?$(grep -c '^probe: probe_output: No such file' <<<"$said")" 21

# Each reason of counts.def for which calls are skipped has a sentence, but for two that need none.
while read -r word; do
	folder "$tmp/skip_$word" 1 2e9 0 0 all_reduce:all_reduce:0:1000:0:
	sed -i "s/\"recorded\": 1/\"recorded\": 1, \"skipped\": {\"$word\": 7}/" "$tmp/skip_$word/rank0/meta.json"
	said=$("$probe" report "$tmp/skip_$word")
	case $word in
	rank | nested) unlike "calls that are skipped for $word are expected" "$said" '7 calls were' ;;
	*) like "calls that are skipped for $word have a sentence" "$said" '7 calls were (skipped|made while)' ;;
	esac
done < <(sed -n 's/^CALL_COUNT([A-Z_]*, SKIPPED, "\([a-z_]*\)".*/\1/p' preload/journal/counts.def)
finish
