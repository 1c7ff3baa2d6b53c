#!/usr/bin/env bash
# The output of `probe report` about ranks that it did not read, and about unknown numbers. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

# DIR [OPTION...]: the findings, in one line.
stands_out() {
	"$probe" report "$@" 2>&1 | sed '/^run  /,$d' | tr -s ' \n' ' '
}

# Python over $tmp, with report_folder.py.
folders() {
	(cd "$tmp" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$OLDPWD/tests/e2e" python3 -c "from report_folder import *"$'\n'"$1")
}

# ---- a NaN of a rank that was not read ----

# DIR: an all-reduce of three ranks whose results are NaN. Then Python that says the input of each rank (r).
spoilt() {
	folders "
for r in range(3):
    rank = Rank('$1', r, 3, comms=${3:-True})
    for seq in range(10):
        bad = dict(nans=1) if seq == 7 else {}
        rank.call('all_reduce', [('in', ($2) if seq == 7 else {}), ('out', bad)], seq * 10**6, comm_seq=seq)
    rank.write()
"
}
made='so the operation made it'

spoilt nan 'dict(nans=1) if r == 1 else {}'
like 'all ranks read: the one whose input it was' "$(stands_out "$tmp/nan")" 'nan first in step 0, rank 1: .* it came from the computation before'
one=$(stands_out --rank 0,2 "$tmp/nan")
unlike 'without that rank: nothing of who made it' "$one" "$made"
like 'but which rank was not read' "$one" 'rank 1 was not read'
one=$(stands_out "$tmp/nan/rank0")
unlike "one rank's folder" "$one" "$made"
like "one rank's folder: the ranks that were not read" "$one" 'ranks 1,2 were not read'
unlike "one rank's folder: others are not called missing" "$one" 'no folder'

cp -r "$tmp/nan" "$tmp/meta"
echo '{' >"$tmp/meta/rank1/meta.json"
one=$(stands_out "$tmp/meta")
unlike 'a rank whose meta.json is damaged' "$one" "$made"
like 'a rank whose meta.json is damaged: it was not read' "$one" 'rank 1 was not read .* rank1 was not read: meta.json: '
unlike 'a rank whose meta.json is damaged has a folder' "$one" 'no folder of rank 1|not loaded'

cp -r "$tmp/nan" "$tmp/csv"
echo 'step,seq' >"$tmp/csv/rank1/calls_0-99.csv"
one=$(stands_out "$tmp/csv")
unlike 'a rank whose rows cannot be read' "$one" "$made"
like 'a rank whose rows cannot be read: it was not read' "$one" 'rank 1 was not read'

cp -r "$tmp/nan" "$tmp/gone"
rm -r "$tmp/gone/rank1"
one=$(stands_out "$tmp/gone")
unlike 'a rank without a folder' "$one" "$made"
like 'a rank without a folder: it was not read' "$one" 'rank 1 was not read'

spoilt few '{}' False
like 'members that are not known, and all are here' "$(stands_out "$tmp/few")" "all inputs were finite, $made"
rm -r "$tmp/few/rank2"
unlike 'members that are not known' "$(stands_out --rank 0,1 "$tmp/few")" "$made"
like 'members that are not known: how many were read' "$(stands_out --rank 0,1 "$tmp/few")" '2 of its 3 ranks were read'

spoilt made '{}'
like 'all inputs were finite' "$(stands_out "$tmp/made")" "nan first in step 0, ranks 0-2: .* all inputs were finite, $made"
like 'and of some steps only' "$(stands_out --step 0 "$tmp/made")" "$made"

spoilt blind "dict(nans='', infs='', min='', max='') if r == 2 else {}"
one=$(stands_out "$tmp/blind")
unlike 'an input that was not measured' "$one" "$made"
like 'an input that was not measured: whose' "$one" 'what rank 2 put in is not known'

spoilt lost '{}'
sed -i '/,all_reduce,[^,]*,7,1,3,/d' "$tmp/lost/rank1/calls_0-99.csv"
one=$(stands_out "$tmp/lost")
unlike 'a call that was not recorded' "$one" "$made"
like 'a call that was not recorded: whose' "$one" 'what rank 1 put in is not known'

# ---- a rank that others wait for, and that was not read ----

folders "
for r in range(4):
    rank = Rank('hung', r, 4, state='recovered')
    rank.call('all_reduce', [('in', {})], comm_seq=0)
    if r != 3:
        rank.call('all_reduce', [('in', {})], 10**6, comm_seq=1, dur='', flags='open')
    rank.write(clock=dict(first=dict(real_ns=BEGIN), last=dict(real_ns=BEGIN + 30 * 10**9)))
"
like 'a rank that never came' "$(stands_out "$tmp/hung")" 'hang ranks 0-2 are blocked in all_reduce #1 .* rank 3 never entered it'
one=$(stands_out --rank 0,1 "$tmp/hung")
like 'of ranks that were not read only that is reported' "$one" 'hang ranks 0,1 are blocked in all_reduce #1 .* ranks 2,3 were not read'
unlike 'not that they are blocked in nothing' "$one" 'never entered|no folder'
one=$(stands_out "$tmp/hung/rank0")
like 'one folder: the others were not read' "$one" 'ranks 1-3 were not read'
unlike 'one folder: not that they have none' "$one" 'no folder of'

# ---- synchronous calls of c10d: asynchronous in the library, and where the program waits for them is not seen ----

folders "
for name, waits in ('unknown', ('', '')), ('partly', ('', 10**7)), ('known', (10**7, 2 * 10**7)):
    for r in range(2):
        rank = Rank(name, r, 2)
        for seq, wait in enumerate(waits):
            rank.call('all_reduce', [('in', {}), ('out', {})], seq * 3 * 10**8, 2 * 10**8, comm_seq=seq, flags='async', wait_ns=wait)
        rank.write()
    rank = Rank(name + '-1', 0, 1)
    rank.call('barrier', [], 0, 10**8, comm_seq=0)
    rank.call('all_reduce', [('in', {})], 10**8, 2 * 10**8, comm_seq=1, flags='async', wait_ns=waits[0])
    rank.call('barrier', [], 9 * 10**8, 10**8, comm_seq=2)
    rank.write()
"
head_time() {
	"$probe" report "$tmp/$1" | grep '^time' | tr -s ' ' | sed 's/; libprobe.*//'
}
operation() { # DIR: the line of all_reduce, cells with two blanks between them
	"$probe" report "$tmp/$1" | sed -n '/^Operations/,/^$/{/operation /p;/all_reduce/p}'
}
is 'nothing is known of the waiting: no share of the run' "$(head_time unknown)" \
	'time 400 ms a rank in asynchronous calls (overlaps added up; the wait for them is not known)'
unlike 'and no columns of it' "$(operation unknown)" 'of the run|in Wait|0 ns|0 %'
is 'known of one half: said of the other' "$(head_time partly)" \
	'time 2.0 % of the run in these calls, 400 ms a rank in asynchronous calls (overlaps added up; the wait for 2 of them is not known)'
is 'known of all' "$(head_time known)" 'time 6.0 % of the run in these calls, 400 ms a rank in asynchronous calls (overlaps added up)'
like 'known of all: the columns' "$(operation known)" 'of the run in Wait .* 6.0 % 60 ms'
is 'beside others that are known' "$(head_time unknown-1)" \
	'time 20.0 % of the run in these calls, 200 ms in asynchronous calls (overlaps added up; the wait for them is not known)'
json() { # DIR EXPRESSION over r
	"$probe" report --json "$tmp/$1" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}
is 'JSON' "$(json unknown '[(o["wait_s"], o["share"]) for o in r["operations"]]')" '[(None, None)]'
is 'JSON of known ones' "$(json known '[(o["wait_s"], round(o["share"], 3)) for o in r["operations"]]')" '[(0.06, 0.06)]'

# ---- memory that was not written yet ----

# NAME ROWS...: operators of PyTorch on one rank, each OP:IO:NANS[,IO:NANS...]
operators() {
	folders "
rank = Rank('$1', 0, 1)
for i, text in enumerate('${*:2}'.split()):
    op, _, rows = text.partition(':')
    seen = dict.fromkeys(('in', 'out'), -1)
    put = []
    for io, nans in [r.split(':') for r in rows.split(',')]:
        seen[io] += 1
        put.append((io, dict(index=seen[io], nans=nans)))
    rank.call(op, put, i * 10**6, lib='aten', api='at::_ops::' + op, comm='', size='', rank='', comm_seq='')
rank.write()
"
}
quiet() { # TEXT ROWS...: no finding of values
	rm -rf "$tmp/ops"
	operators ops "${@:2}"
	unlike "$1" "$(stands_out "$tmp/ops")" 'nan first'
}
quiet 'new memory' empty.memory_format:out:2 empty_like:in:0,out:1 empty_strided:out:1 new_empty:in:0,out:2 _empty_affine_quantized:out:2 resize_:in:0,out:2
quiet 'and what is filled into it' empty.memory_format:out:2 uniform_:in:2,out:0 fill_.Scalar:in:1,out:0 copy_:in:2,in:0,out:0 zero_:in:2,out:0
quiet 'and views of it' empty.memory_format:out:2 detach:in:2,out:2 view:in:2,out:2 as_strided:in:2,out:2 t:in:2,out:2 zero_:in:2,out:0
spoils() { # TEXT WANT ROWS...
	rm -rf "$tmp/ops"
	operators ops "${@:3}"
	like "$1" "$(stands_out "$tmp/ops")" "nan first .* in the $2"
}
spoils 'what is copied is a value' 'input of copy_ ' empty:out:2 copy_:in:2,in:1,out:1
spoils 'what is filled in is one' 'result of fill_ ' empty:out:2 fill_:in:2,out:2
spoils 'an operator that computes with it' 'input of add.Tensor ' empty:out:2 view:in:2,out:2 add.Tensor:in:2,out:2
spoils 'one that makes it' "result of log .* all inputs were finite, $made" empty:out:2 log:in:0,out:1

# ---- ranks that arrive last by chance ----

# NAME RANKS EXPRESSION: 200 operations; how late (ns) rank r is to operation n, of random numbers x.
arrivals() {
	folders "
import random
random.seed(7)
last = [[($3) for r in range($2)] for n in range(200) for x in [[random.random() for _ in range($2)]]]
for r in range($2):
    rank = Rank('$1', r, $2, own_time=dict(in_calls_s=0, writer_s=0))
    for n in range(200):
        at, late = n * 5 * 10**6, int(last[n][r])
        rank.call('all_reduce', [('in', {})], at + late, max(map(int, last[n])) - late + 1000, comm_seq=n)
    rank.write()
"
}
# A busy machine: each rank is late by up to 2 ms; one of them once in a while for long, as it comes.
arrivals chance 2 '2e5 * x[r] + (8e6 * (x[1] > .96) if r == 1 else 0)'
unlike 'late by chance: no straggler' "$(stands_out "$tmp/chance")" 'straggler rank'
arrivals chance4 4 '2e5 * x[r] + (8e6 * (x[2] > .96) if r == 2 else 0)'
unlike 'late by chance, of four: no straggler' "$(stands_out "$tmp/chance4")" 'straggler rank'
arrivals slow 2 '2e6 * x[r] + (1.5e6 if r == 1 else 0)'
like 'late most of the time' "$(stands_out "$tmp/slow")" 'straggler rank 1 '
arrivals slow4 4 '1e6 * x[r] + (1.5e6 if r == 2 and n % 2 else 0)'
like 'late to every second operation, of four' "$(stands_out "$tmp/slow4")" 'straggler rank 2 '
arrivals little 4 '2e4 * x[r] + (1e5 if r == 2 else 0)'
unlike 'late always, and it costs nearly nothing' "$(stands_out "$tmp/little")" 'straggler rank'
like 'not all ranks were read' "$(stands_out --rank 1,2 "$tmp/slow4")" 'straggler rank 2 .*ranks 0,3 were not read'

# Several communicators, in each of which some rank has more of the long waits by chance: in 80 healthy runs there is no straggler, as
# four of 1,000 may have one.
folders "
import random
random.seed(11)
for run in range(80):
    at, calls = 0, []
    for n in range(160):
        late = [int(1e5 * random.random() + 6e6 * random.random() ** 6) for _ in range(2)]
        calls.append((at, late, n))
        at += max(late) + 10**5
    for r in range(2):
        rank = Rank(f'many/{run}', r, 2, last_record_ns=BEGIN + at)
        for began, late, n in calls:
            rank.call('all_reduce', [('in', {})], began + late[r], max(late) - late[r] + 1000, comm='%016x' % (0xabc0 + n % 4), comm_seq=n // 4)
        rank.write()
"
is 'late by chance, in several communicators: no straggler' "$(for run in "$tmp"/many/*; do "$probe" report --json "$run"; done | python3 -c '
import json, sys
text, at, found = sys.stdin.read(), 0, []
while text[at:].strip():
    report, n = json.JSONDecoder().raw_decode(text[at:].lstrip())
    at += len(text[at:]) - len(text[at:].lstrip()) + n
    found += [f["severity"] for f in report["findings"] if f["kind"] == "straggler"]
print(len(found))')" 0

# ---- more ranks than cores ----

folders "
import os, socket
me = dict(host=socket.gethostname(), boot_id=open('/proc/sys/kernel/random/boot_id').read().strip(), pid_ns=1, pid=1, start_time=1)
for name, n in ('crowded', os.cpu_count() + 1), ('elsewhere', os.cpu_count() + 1):
    for r in range(n):
        rank = Rank(name, r, n, **(dict(owner=me) if name == 'crowded' else {}))
        for k in range(100):
            late = 1500000 if r == 1 else r
            rank.call('all_reduce', [('in', {})], k * 5 * 10**6 + late, 1501000 - late, comm_seq=k)
        rank.write()
"
like 'more ranks than cores: it is reported' "$(stands_out "$tmp/crowded")" 'straggler rank 1 .* cores are oversubscribed: [0-9]+ ranks share [0-9]+ cores'
like 'of another host nothing is known' "$(stands_out "$tmp/elsewhere")" 'straggler rank 1 '
unlike 'nothing is reported about another host' "$(stands_out "$tmp/elsewhere")" 'oversubscribed'
is 'and it is no warning then' "$(json crowded '[f["severity"] for f in r["findings"] if f["kind"] == "straggler"]')" "['note']"

# ---- all kinds for one reason ----

folders "
Rank('silent', 0, 1).write()
"
like 'where nothing was checked the verdict has the reason alone' "$("$probe" report "$tmp/silent" 2>/dev/null | tr '\n' '|')" '\([0-9]+ kinds not checked\)\|.*\| +not checked: no call was recorded\|\|'
finish
