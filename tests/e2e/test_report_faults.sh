#!/usr/bin/env bash
# One fault in a training: the first finding of `probe report --json` has its kind, the rank, the step, the call. From
# folders of which every number is made here (fault_folders.py, loop_folders.py), and from a few real runs (tests/faults, `make faults` has
# all of it). Prints TAP.
# timeout: 600
. "$(dirname "$0")/lib.sh"

# kind, severity, ranks, step, what, op of the first finding of a folder.
first() { # DIR [OPTION ...]
	"$probe" report --json "$@" | python3 -c '
import json, sys
# A straggler is a note if the machine is busy.
f = ([x for x in json.load(sys.stdin)["findings"] if (x["kind"], x["severity"]) != ("straggler", "note")] or [{}])[0]
print(f.get("kind"), f.get("severity"), f.get("ranks"), f.get("step"), f.get("what"), f.get("op"))'
}

text_of_first() { # DIR
	"$probe" report --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["findings"][0]["text"])'
}

want='clean None None None None None None
spike spike bad [2] 9 None all_reduce
nan nan bad [2] 9 None all_reduce
nan_zeros nan bad [2] 9 None all_reduce
nan_message nan bad [2] 9 None send
spike_tensors spike warn [] 9 None all_reduce
spike_measured spike note [] 9 None all_reduce
spike_line spike bad [2] 9 None all_reduce
spike_passed spike bad [2] 9 None send
spike_zeros spike bad [2] 9 None all_reduce
stale stale bad [2] 9 None all_reduce
stale_disorder stale bad [2] 9 None all_reduce
stale_threads stale bad [2] 9 None all_reduce
stale_v stale bad [2] 9 None all_to_all_v
clean_threads None None None None None None
missing_disorder skip bad [2] 9 missing all_reduce
missing_own_time skip bad [2] 9 missing all_reduce
zero zero bad [2] 9 None all_reduce
zero_first zero bad [2] 9 None all_reduce
zero_once zero note [2] 9 None all_reduce
zero_evaluated zero bad [2] 9 None all_reduce
few_stale stale bad [2] 9 None gather
few_zero zero note [2] 9 None gather
few_renewed zero note [2] 9 None gather
few_zeros zero bad [2] 9 None gather
few_items zero bad [2] 9 None gather
few_sizes spike bad [2] 9 None gather
renewed_stale stale bad [2] 9 None all_reduce
groups stale bad [2] 9 None all_reduce
few_rest None None None None None None
few_limit None None None None None None
few_counts None None None None None None
few_halves None None None None None None
few_means None None None None None None
few_fewer None None None None None None
few_common None None None None None None
length_stale stale bad [2] 9 None gather
order_choice None None None None None None
corruption corruption bad [2] 9 None all_reduce
corruption_ids corruption bad [2] 9 None all_reduce
not_sum not_sum bad [2] 9 None all_reduce
goes_around None None None None None None
diverged diverged bad [0, 2] 9 None all_reduce
missing skip bad [2] 9 missing all_reduce
extra skip bad [2] 9 extra all_reduce
order order bad [2] 9 None all_reduce
redop mismatch bad [2] 9 redop all_reduce
redop_line mismatch bad [2] 9 redop all_reduce
dtype mismatch bad [2] 9 dtype all_reduce
count mismatch bad [2] 9 count all_reduce
volume mismatch bad [2] 9 count all_to_all_v
volume_varies mismatch bad [] 9 count all_to_all_v
volume_split mismatch bad [] 9 count all_to_all
volume_in_place None None None None None None
shards None None None None None None
stages None None None None None None
volumes None None None None None None
volumes_split None None None None None None
slow slow warn [2] 9 None None
jitter jitter warn [2] 3 None None
jitter_gaps jitter warn [2] 4 None None
jitter_end jitter warn [2] 6 None None
jitter_most jitter warn [2] 5 None None
jitter_stalls jitter note [2] 6 None None
jitter_rare jitter warn [2] 12 None None
stall stall note [2] 9 None None
link link warn [1, 2] 9 None recv
only_link link warn [1, 2] 9 None recv
async_slow slow warn [2] 9 None None
async_stall stall note [2] 9 None None
slow_noisy slow warn [2] 7 None None
slow_uneven slow warn [2] 9 None None
gone died bad [2] 8 None gather
gone_waits died bad [2] 8 None gather
gone_abort died bad [2] 8 None gather
exit_zero died bad [2] 8 None gather
asleep_role stopped warn [2] 9 None all_reduce
asleep_branch stopped warn [2] 9 None all_reduce
partner_asleep stopped warn [2] 9 None send_recv
exit_other died bad [2] 8 None gather
exit_message died bad [2] 9 None all_reduce
killed_first died bad [2] 8 None gather
killed_all killed warn [] 9 None all_reduce
bursts None None None None None None
stale_alone stale note [2] 9 None all_reduce
rare_missing skip bad [2] 9 missing all_reduce
message_dtype mismatch bad [2] 9 dtype recv
message_dtype_line mismatch bad [2] 9 dtype send
message_dtype_nan mismatch bad [2] 9 dtype send
message_room mismatch bad [2] 9 count recv
message_crossing mismatch bad [2] 9 count recv
count_root mismatch bad [2] 9 count broadcast
missing_callbacks skip bad [2] 9 missing all_reduce
order_line order bad [2] 9 None all_reduce
order_far order bad [2] 9 None gather
order_branch order bad [2] 9 None all_reduce
order_apart order warn [2] 9 None gather
order_rare order warn [2] 9 None gather
extra_line skip bad [2] 9 extra all_reduce
extra_again skip bad [2] 9 extra all_reduce
step_left_out skip bad [2] 9 missing broadcast
extra_root skip bad [2] 9 extra broadcast
tail_root mismatch bad [2] 9 root gather
many_missing skip bad [2] 9 missing all_reduce
round_missing skip bad [2] 9 missing gather
round_order order bad [2] 9 None all_reduce
tail_missing skip bad [2] 9 missing gather
message_taken skip bad [2] 9 missing recv
message_left_out skip bad [2] 9 missing send
message_wide mismatch bad [2] 9 count recv
message_flipped corruption bad [2] 9 None recv
message_bit corruption bad [2] 9 None recv
moved corruption bad [] 9 None all_to_all_v
message_cancelled None None None None None None
message_short mismatch note [2] 9 count send
message_batches None None None None None None
killed died bad [2] 8 None gather
killed_silent died bad [2] 8 None gather
killed_asleep stopped warn [2] 9 None all_reduce
killed_around stopped warn [2] 9 None all_reduce
killed_late stopped warn [2] 9 None all_reduce
killed_any killed warn [] 9 None all_reduce
async_message stopped warn [2] 9 None all_reduce
async_root stopped warn [2] 9 None broadcast
turn_missing skip bad [2] 9 missing recv
count_crash mismatch bad [2] 9 count all_reduce
dtype_ended mismatch bad [2] 9 dtype send
asleep_behind stopped warn [2] 9 None broadcast
killed_tick killed warn [] 9 None all_reduce
rare_first skip bad [2] 9 missing all_reduce
peer mismatch bad [2] 9 peer send
wrappers None None None None None None
async_partners skip bad [2] 9 missing send
gather_twice skip bad [2] 9 extra gather
dtype_line mismatch bad [2] 9 dtype broadcast
rare_groups skip bad [2] 9 missing all_reduce
loop_twice skip bad [2] 9 extra all_reduce
round_swap order warn [2] 9 None gather'
python3 tests/e2e/fault_folders.py "$tmp/made" $(awk '{print $1}' <<<"$want")
while read -r name line; do
	is "$name" "$(first "$tmp/made/$name" | sed 's/ None$/ -/; s/ $/ -/')" "$(sed 's/ None$/ -/' <<<"$line")"
done <<<"$want"

# Programs with loops in their steps: layers, micro-batches, iterations until convergence.
loops='clean_solver None None None None None None
writes_between None None None None None None
slow_between slow warn [2] 202 None None
jitter_between jitter warn [2] 126 None None
stale_turns None None None None None None
last_turn None None None None None None
nan_min nan bad [2] 9 None all_reduce
min_missing not_sum bad [2] 9 None all_reduce
iteration_missing skip bad [2] 9 missing all_reduce
spike_residual spike bad [2] 238 None all_reduce
round_again skip bad [2] 223 extra all_reduce
half_turn skip bad [2] 9 missing reduce_scatter
half_again skip bad [2] 9 extra all_gather
refused error bad [2] 9 None all_reduce
refused_inf error bad [2] 9 None all_reduce
touched died bad [2] 9 None all_reduce
refused_crash error bad [2] 9 None all_reduce
refused_gather error bad [2] 9 None gather
start_missing skip bad [2] 9 missing send
tag_line tag bad [2] 9 tag send
halo_missing skip bad [2] 9 missing recv
start_again skip bad [2] 9 extra send
corruption_first corruption bad [2] 9 None all_reduce
short_line mismatch note [2] 9 count send
lengths mismatch bad [3, 2] 9 count recv
stale_turn stale bad [2] 9 None send
bursts_zero zero bad [2] 9 None all_reduce
rare_missing skip bad [2] 9 missing reduce
grown_count mismatch bad [2] 9 count all_reduce
control_missing skip bad [2] 9 missing broadcast
choice_waits stopped warn [3] 9 None all_reduce
turn_waits stopped warn [3] 9 None all_reduce
clean_passes None None None None None None
pass_twice skip bad [2] 9 extra all_reduce
short_early mismatch note [2] 9 count send
clean_rest None None None None None None'
python3 tests/e2e/loop_folders.py "$tmp/loops" $(awk '{print $1}' <<<"$loops")
while read -r name line; do
	is "$name" "$(first "$tmp/loops/$name")" "$line"
done <<<"$loops"

is 'two ranks: the one that reduces twice in a pass, as neither ever did' "$(first "$tmp/loops/pass_twice" -r 1,2)" 'skip bad [2] 9 extra all_reduce'

# With two ranks, the other one seems to gain what the slow one loses in most steps: that is no spread.
is 'jitter in more than half of the steps, two ranks' "$(first "$tmp/made/jitter_most" -r 1,2)" 'jitter warn [2] 5 None None'
is 'slow, where both spread, two ranks' "$(first "$tmp/made/slow_noisy" -r 1,2)" 'slow warn [2] 7 None None'
is 'slow after jitter, two ranks' "$(first "$tmp/made/slow_uneven" -r 1,2)" 'slow warn [2] 9 None None'
is 'slow, two ranks' "$(first "$tmp/made/slow" -r 1,2 -s 4-15)" 'slow warn [2] 9 None None'

# What follows from a fault is part of it, in every view.
consequences() { # DIR
	"$probe" report --json "$1" | python3 -c '
import json, sys
print([(f["kind"], [c["kind"] for c in f["consequences"]]) for f in json.load(sys.stdin)["findings"] if f["consequences"]])'
}
is 'a NaN of bytes read with another type follows from that' "$(consequences "$tmp/made/message_dtype_nan")" "[('mismatch', ['nan'])]"
is 'mismatches after a refused call follow from it' "$(consequences "$tmp/loops/refused" | tr -d "'")" '[(error, [mismatch, stopped])]'
is 'ranks that wait for a slow one follow from it' "$(consequences "$tmp/made/slow_uneven")" "[('slow', ['straggler'])]"
is 'a fault alone has none' "$(consequences "$tmp/made/spike")" '[]'
"$probe" report --html "$tmp/page.html" "$tmp/made/message_dtype_nan" >/dev/null 2>&1
like 'the report has its consequences' "$("$probe" report "$tmp/made/message_dtype_nan")" 'consequence: nan first in step 9'
is 'so does the page' "$(grep -c 'consequence: nan first in step 9' "$tmp/page.html")" 1
like 'so does the watch' "$("$probe" watch --once "$tmp/made/message_dtype_nan" 2>/dev/null)" 'consequence: nan first in step 9'
like 'they are no faults of their own' "$("$probe" report "$tmp/made/message_dtype_nan" | head -1)" '^1 fault'

# The same among 100 ranks, of which not all are read again.
wide='spike corruption not_sum missing extra order order_branch redop dtype count tail_root many_missing async_root turn_missing dtype_ended async_message
	tail_missing message_left_out exit_message killed jitter link'
FAULT_RANKS=100 FAULT_WHO=90 python3 tests/e2e/fault_folders.py "$tmp/wide" $wide
for name in $wide; do
	is "$name, of 100 ranks, -j 3" "$(first "$tmp/wide/$name" -j 3 | sed 's/ None$/ -/; s/ $/ -/')" \
		"$(sed -n "s/^$name //p" <<<"$want" | sed 's/ None$/ -/; s/\[2\]/[90]/; s/\[1, 2\]/[89, 90]/')"
done
rm -rf "$tmp/wide"

# The same where nothing marks steps, and all rows are of step 0: they are counted by the rounds of the calls.
cp -r "$tmp/made" "$tmp/unmarked"
sed -i -E '2,$s/^[0-9]+,/0,/' "$tmp"/unmarked/*/rank*/calls_*.csv
sed -i 's/"source": "api"/"source": "none"/' "$tmp"/unmarked/*/rank*/meta.json
while read -r name line; do
	# Operations with recorded waits make no rounds; the last call of a round ends the step; rare calls are skipped.
	[[ $name != async_partners && $name != gone* && $name != killed && $name != killed_silent && $name != killed_first && $name != killed_all && $name != killed_asleep && $name != killed_around && $name != many_missing && $name != asleep_behind && $name != exit_* && $name != rare_* && $name != step_left_out && $name != *_callbacks && $name != *_disorder && $name != jitter_stalls ]] || continue
	is "$name, without steps" "$(first "$tmp/unmarked/$name" | sed 's/ None$/ -/; s/ $/ -/')" "$(sed 's/ None$/ -/' <<<"$line")"
done <<<"$want"

# Without rounds too: partners that change are no fault of those who exchange with each other.
is 'async_partners, without steps' "$(first "$tmp/unmarked/async_partners")" 'skip bad [2] 0 missing send'

# Rounds of any length are no steps: a program that solves one problem after the other.
python3 tests/e2e/fault_folders.py "$tmp/unmarked" sizes
sed -i -E '2,$s/^[0-9]+,/0,/' "$tmp"/unmarked/sizes/rank*/calls_*.csv
sed -i 's/"source": "api"/"source": "none"/' "$tmp"/unmarked/sizes/rank*/meta.json
text=$("$probe" report "$tmp/unmarked/sizes")
like 'rounds that are not alike: a report is made' "$text" '^(No fault|Nothing) found'
unlike '... and they are not counted' "$text" 'by the rounds'

# NaN beside zeros are no zeros; NaN of other bits, and messages of nothing else, are no corruption.
for name in nan_zeros nan nan_message; do
	is "$name: and nothing else" "$("$probe" report --json "$tmp/made/$name" | python3 -c 'import json, sys
print(sorted({f["kind"] for f in json.load(sys.stdin)["findings"]} - {"nan"}))')" '[]'
done

# The report says where to look and what to run next. How often the kind is right is a number only where it was measured.
said=$("$probe" report --json "$tmp/made/missing")
is 'fields of a finding' "$(python3 -c '
import json, re, sys
f = json.loads(sys.argv[1])["findings"][0]
row = re.search(r"MEASURED\(\"%s\", \"%s\", HELD_OUT, (\d+), (\d+), (\d+)," % (f["kind"], f["severity"]), open("tools/probe/rules/measured.def").read())
right, wrong, runs = map(int, row.groups())
m = f["measured"]
print(f["confidence"] == right / runs, (m["right"], m["wrong"], m["runs"], m["set"]) == (right, wrong, runs, "held_out"), f["others"], f["comm"], f["api"], "probe report" in f["next"], bool(f["evidence"]), f["file"], f["line"])' "$said")" \
	"True True [0, 1, 3] 11111111111111a1 MPI_all_reduce True True None None"
# Every finding of every folder has every field, of the type that docs/reference/findings.md gives.
cat >"$tmp/fields.py" <<'PY'
import json, re, subprocess, sys
types = {"text": str, "word": str, "number": (int, float), "integer": int, "list of integers": list, "list of objects": list, "object": dict}
doc, of = {}, {"step": int, "seq": int, "comm_seq": int}
text = open("docs/reference/findings.md").read().split("## probe report --json")[1].split("<!--")[0]
for names, kind in re.findall(r"^\| (`[a-z_`, ]+`) \| ([^|]+) \|", text, re.M):
    for i, name in enumerate(re.findall(r"[a-z_]+", names)):
        if kind.startswith("as in"):
            doc[name] = (of.get(name, str), True)
        else:
            words = [w for w in kind.replace(", or null", "").replace(" or null", "").split(", ")]
            doc[name] = (types[words[min(i, len(words) - 1)]], "null" in kind)
assert len(doc) == 19, doc
kinds, wrong = set(), []
for folder in sys.argv[2:]:
    for f in json.loads(subprocess.run([sys.argv[1], "report", "--json", folder], capture_output=True, text=True).stdout)["findings"]:
        kinds.add(f["kind"])
        if set(f) != set(doc):
            wrong.append((folder, f["kind"], set(f) ^ set(doc)))
        for k, (t, null) in doc.items():
            if not (isinstance(f.get(k), t) or null and f.get(k) is None):
                wrong.append((folder, f["kind"], k, f.get(k)))
        if f["measured"] is None and f["confidence"] is not None or not f["evidence"] or f["severity"] != "note" and not f["next"] and f["ranks"]:
            wrong.append((folder, f["kind"], f))
print(len(kinds) > 12, wrong[:3])
PY
is 'every finding has all fields' "$(python3 "$tmp/fields.py" "$probe" "$tmp"/made/*)" 'True []'
like 'the counts in words' "$("$probe" report "$tmp/made/missing")" 'of [0-9]+ injected faults of this kind [0-9]+ were named correctly'
unlike 'no measure in words that was not taken' "$("$probe" report "$tmp/made/missing")" '[0-9] % sure|clean runs'
like 'in words' "$("$probe" report "$tmp/made/missing")" 'skip +step 9: rank 2 skipped all_reduce on MPI_COMM_WORLD \(MPI_all_reduce\), which followed broadcast'

# The line is that of the rank, by its own numbers of stacks; of a call from a new line it is the new one.
like 'the line of a rank that counts its stacks differently' "$(text_of_first "$tmp/made/corruption_ids")" 'rank 2 got another result than .*, called from all_reduce \(train\)'
like 'the line of a call that was made from there once' "$(text_of_first "$tmp/made/spike_line")" 'rank 2: a value of 1e\+06 in the input of all_reduce.* in the 9 steps before .*, called from new_line \(train\)'

# Real runs, with the MPI that yields.
if [[ " $flavours " == *" openmpi "* || $flavours == *openmpi* ]] && make -s fault-bins B="$B" >"$tmp/make" 2>&1; then
	said=$(python3 tests/faults/faults.py --build "$B" --mpi openmpi --seed 78 --runs 1 --clean 1 spike flip skip redop 2>&1)
	is 'real runs: named' "$(awk '$1 == "all" {print $2, $3}' <<<"$said")" '4 4' || echo "$said" | sed 's/^/# /'
	like 'real runs: no false alarm' "$said" 'clean +1 runs, 0 with a false alarm'

	# A branch that is taken once makes its calls from lines of its own: they are identified by their kind.
	while read -r way line; do
		new_out
		MPI_LIMIT=20 run_with openmpi 4 mpi_halo "$way"
		is "$way" "$(first "$out" | sed 's/ None$/ -/; s/ $/ -/')" "$line"
		[ "$way" != nothing ] || is 'an exchange between neighbours is no pipeline' "$(cat "$out"/rank*/parallel.json 2>/dev/null | grep pipeline)" ''
	done <<-'END'
		nothing None None None None None -
		sums_swapped order bad [2] 7 None all_reduce
		kinds_swapped order bad [2] 7 None broadcast
		exchange_late order bad [2] 7 None all_reduce
		sum_left_out skip bad [2] 7 missing all_reduce
		sum_twice skip bad [2] 7 extra all_reduce
		sum_at_the_end skip bad [2] 7 extra all_reduce
		exchange_at_the_end skip bad [2] 7 extra recv
		trade_left_out skip bad [2] 7 missing send_recv
		other_tag tag bad [2] 7 tag send_recv
	END
	# While the job is blocked: a rank that waits in an exchange has its peer and its number, and is not the culprit.
	new_out
	MPI_LIMIT=80 run_with openmpi 4 mpi_halo trade_asleep &
	job=$!
	# Seven waits at that place do not show that this one is too long: a note, with the rank.
	wait_until 40 eval '[[ $(first "$out") == stall* ]]'
	is 'trade_asleep, while it stands' "$(first "$out" | cut -d' ' -f1-4)" 'stall note [2] 7'
	is 'trade_asleep: the exchange of the one that waits' "$("$probe" report --json "$out" | python3 -c 'import json, sys
print([(o["rank"], o["peer"], o["tag"], o["comm_seq"]) for o in json.load(sys.stdin)["open"] if o["op"] == "send_recv"])')" '[(3, 2, 3, 7)]'
	kill -9 $(ranks_of "$out")
	wait $job
else
	skip 'real runs' 'no Open MPI, or the programs cannot be built'
fi
finish
