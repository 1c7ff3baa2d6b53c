#!/usr/bin/env bash
# NCCL programs on a libnccl.so.2 that computes on the processor: results unchanged, rows as written by hand.
# timeout: 420
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
[ -x "$B/apps/nccl/nccl_contract" ] || {
	skip 'NCCL' 'the programs are not built (make apps)'
	finish
}

# Every operation once.
nccl_plain 2 nccl_contract
new_out
nccl_with 2 nccl_contract
same_result 'contract'
ok 'contract: every row is the one written by hand' python3 tests/e2e/contract_rows.py "$out" tests/e2e/nccl_contract.expected "$tmp/with.err"
contract 'contract' "$out" --partial
silent 'contract: nothing is reported' "$tmp/with.err"
is 'communicators of rank 1' "$(rows "$out" '[(c["lib"], c["kind"], c["size"], c["rank"]) for c in on("rank1", C)]')" \
	"[('nccl', 'init', '2', '1'), ('nccl', 'split', '2', '0'), ('nccl', 'split', '2', '1'), ('nccl', 'init', '2', '1'), ('nccl', 'split', '2', '1')]"
is 'one number for a communicator on all its ranks, another one for each' \
	"$(rows "$out" '[c["comm"] for c in on("rank0", C)] == [c["comm"] for c in on("rank1", C)], len({c["comm"] for c in C})')" '(True, 5)'
is 'a split knows its parent' "$(rows "$out" '[[p["comm"] for p in on("rank0", C)].index(c["parent"]) for c in on("rank0", C) if c["kind"] == "split"]')" '[0, 0, 3]'
is 'the library is named' "$(rows "$out" 'list(M["rank0"]["libraries"]), M["rank0"]["rank_guessed"]')" "(['nccl'], False)"
is 'a group takes no longer than until its end' \
	"$(rows "$out" '{int(r["dur_ns"]) > 0 for r in R if "async" in flags(r)}')" '{True}'

# Like a training: buckets, rings, splits, two threads.
nccl_plain 4 nccl_train 3
new_out
nccl_with 4 nccl_train 3
same_result 'training'
contract 'training' "$out" --p2p
is 'training: rows of each rank' "$(rows "$out" '[len(calls(on(d))) for d in dirs]')" '[51, 51, 51, 51]'
is 'training: seven communicators, each the same on all its ranks' \
	"$(rows "$out" 'sorted((n, k[1], k[2]) for k, n in Counter((c["comm"], c["kind"], c["size"]) for c in C).items())')" \
	"[(2, 'split', '2'), (2, 'split', '2'), (2, 'split', '2'), (2, 'split', '2'), (4, 'init', '4'), (4, 'init', '4')]"
is 'training: what is sent arrives' "$(rows "$out" 'sorted((r["comm_seq"], r["min"], r["max"], r["norm"], r["rank"]) for r in R if r["op"] == "send") == sorted((r["comm_seq"], r["min"], r["max"], r["norm"], r["peer"]) for r in R if r["op"] == "recv")')" True
ok 'training: the report reads it' "$probe" report "$out"

# Names, filters, nested calls.
new_out
nccl_with 2 PROBE_NESTED=true nccl_contract
is 'nested: true shows the calls inside ncclBcast' \
	"$(rows "$out" '[(r["api"], r["parent"] != "") for r in calls(on("rank1")) if r["op"] == "broadcast" and not "error" in r["flags"]]')" \
	"[('ncclBroadcast', False), ('ncclBcast', False), ('ncclBroadcast', True)]"
nccl_plain 2 nccl_contract
printf 'nccl:\n  - ncclAll*\n' >"$tmp/list.yaml"
new_out
nccl_with 2 PROBE_WRAP_OPS="$tmp/list.yaml" nccl_contract
same_result 'another list'
is 'another list: what it names, with the ...Config form' "$(rows "$out" 'sorted({r["api"] for r in R})')" \
	"['ncclAllGather', 'ncclAllReduce', 'ncclAllReduceConfig', 'ncclAlltoAll']"
new_out
nccl_with 2 PROBE_DISABLE=1 nccl_contract
same_result 'switched off'
is 'switched off: no folder' "$(ls "$out" 2>&1 | grep -c rank)" 0

# A rank that only the communicator tells.
new_out
for r in 0 1; do
	env -u RANK APP_RANK=$r APP_SIZE=2 APP_ID="$tmp/guess" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" timeout 60 "$B/apps/nccl/nccl_contract" \
		>/dev/null 2>&1 &
done
wait
is 'a guessed rank is flagged' "$(rows "$out" 'dirs, [m["rank_guessed"] for m in M.values()], {"guessed" in flags(r) for r in R if r["comm"] == C[0]["comm"]}')" \
	"(['rank0', 'rank1'], [True, True], {True})"

# Pointers that cannot be read.
nccl_plain 1 nccl_pointers
new_out
nccl_with 1 nccl_pointers
same_result 'unreadable pointers'
is 'unreadable pointers: no statistics, and no crash' \
	"$(rows "$out" '[(r["count"], "nostats" in flags(r), r["max"]) for r in R]')" \
	"[('16', False, '1'), ('2048', False, '1'), ('16', True, ''), ('16', True, ''), ('16', True, ''), ('16', True, ''), ('4', True, ''), ('16', True, ''), ('64', True, '')]"

# The same symbols from RCCL.
ok 'a program for RCCL' cc -std=gnu11 -D_GNU_SOURCE -O1 -Itests/doubles/nccl/include -idirafter tests/doubles/cuda/include -o "$tmp/rccl" \
	tests/apps/nccl_train.c "$B/doubles/librccl.so.1" -Wl,-rpath,"$(realpath "$B/doubles")" -lpthread
new_out
nccl_with 2 "$tmp/rccl" 1
is 'RCCL is called rccl' "$(rows "$out" '{r["lib"] for r in R}, {c["lib"] for c in C}, list(M["rank0"]["libraries"])')" "({'rccl'}, {'rccl'}, ['rccl'])"

# One process that drives two devices.
nccl_plain 1 nccl_all
new_out
nccl_with 1 nccl_all
same_result 'two communicators of one thread'
is 'two communicators of one thread: rows of both' \
	"$(rows "$out" 'sorted(Counter((r["api"], r["rank"], r["comm_seq"], r["max"]) for r in R if r["io"] == "out").items())')" \
	"[(('ncclAllReduce', '0', '0', '12'), 1), (('ncclAllReduce', '0', '1', '12'), 1), (('ncclAllReduce', '1', '0', '12'), 1), (('ncclAllReduce', '1', '1', '12'), 1), (('ncclRecv', '0', '0', '8'), 1), (('ncclRecv', '1', '0', '4'), 1)]"

# A missing rank: which ranks wait, in which call, and for which rank.
for group in '' 'no group'; do
	new_out
	for r in 0 1; do
		background env RANK=$r WORLD_SIZE=2 APP_ID="$tmp/hang$outs" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" \
			"$B/apps/nccl/nccl_hang" ${group:+"$group"} >"$tmp/hang.$r" 2>&1
	done
	ok "a rank stays away${group:+, $group}" wait_until 20 eval '"$probe" report "$out" | grep -q "rank 1: never entered it"'
	said=$("$probe" report "$out" | sed -n '/entered and not left/,/^$/p')
	like "the report says which ranks wait in which call${group:+, $group}" "$said" \
		"$([ "$group" ] && echo 'all_reduce #1 .*rank 0: inside for' || echo 'ncclGroupEnd.*rank 0: waiting.*all_reduce #1')"
done

# A library that has lost the first names: the second ones are the same functions.
cat >"$tmp/second.c" <<-'EOF'
	int pncclAllReduce(const void *s, void *r, unsigned long n, int d, int o, void *c, void *st)
	{
		return s == r && n == 4 && d == 7 && o == 0 && !c && !st ? 0 : 4;
	}
EOF
cat >"$tmp/second_app.c" <<-'EOF'
	int ncclAllReduce(const void *s, void *r, unsigned long n, int d, int o, void *c, void *st);
	int main(void)
	{
		float x[4] = {0};
		return ncclAllReduce(x, x, 4, 7, 0, 0, 0);
	}
EOF
ok 'a library without ncclX' cc -shared -fPIC -Wl,-soname,libnccl.so.2 -o "$tmp/libnccl.so.2" "$tmp/second.c"
ok 'a program that needs it' cc -o "$tmp/second_app" "$tmp/second_app.c" "$B/doubles/libnccl.so.2"
new_out
ok 'pncclX is called where there is no ncclX' env RANK=0 WORLD_SIZE=1 LD_LIBRARY_PATH="$tmp" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$tmp/second_app"
is 'calls are recorded as ncclX' "$(rows "$out" '{r["api"] for r in R}')" "{'ncclAllReduce'}"

# Two copies of a library in one process: each has its own communicators and groups.
for n in 1 2; do
	mkdir "$tmp/copy$n"
	ok "copy $n" cc -DCOPY=$n -shared -fPIC -o "$tmp/copy$n/libnccl$n.so" tests/apps/entry/copies_lib.c -Wl,-soname,"libnccl$n.so"
	ok "its users" cc -shared -fPIC -o "$tmp/copy$n/libuser$n.so" tests/apps/entry/copies_user.c "$tmp/copy$n/libnccl$n.so" -Wl,-rpath,"$tmp/copy$n"
done
ok 'a program that uses both' cc -D_GNU_SOURCE -o "$tmp/copies" tests/apps/entry/copies_main.c -ldl
for how in handles users; do
	[ $how = handles ] && set -- "$tmp/copy1/libnccl1.so" "$tmp/copy2/libnccl2.so" || set -- "$tmp/copy1/libuser1.so" "$tmp/copy2/libuser2.so"
	nccl_plain 1 "$tmp/copies" $how "$@"
	is "two copies, $how: each its own" "$(sort -u "$tmp/plain")" "$(printf '%s\n' 'copy 0: 1 2' 'copy 1: 2 4' 'group: 30' 'group: 60' 'outside: 10' 'outside: 20')"
	new_out
	nccl_with 1 "$tmp/copies" $how "$@"
	same_result "two copies, $how"
	is "two copies, $how: nothing is mixed up" "$(rows "$out" '[(r["max"], r["size"]) for r in sorted(R, key=lambda r: int(r["seq"])) if r["op"] == "all_reduce" and r["io"] == "out"]')" \
		"[('2', '1'), ('4', '1'), ('30', '1'), ('20', '1'), ('60', '1'), ('10', '1')]"
	is "two copies, $how: only what was called in a group waits for its end" "$(rows "$out" '["async" in flags(r) for r in sorted(R, key=lambda r: int(r["seq"])) if r["io"] == "out"]')" \
		'[False, False, True, False, True, False]'
done
finish
