#!/usr/bin/env bash
# A journal starts small and grows by need. Killed at random moments while it grows, in either format, no call that
# returned is missing; if the disk fills up, the journal keeps its size and the program lives. Against the number of
# calls that the program itself counted (mpi_killed.c).
# timeout: 300
# long: a thousand kills
# root: mounts
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'growth of the journal' 'no MPI, or its programs are not built (make apps)'; finish; }
f=${flavours%%[[:space:]]*}
app=$(realpath "$B/apps/$f/mpi_killed")
RANDOM=${SEED:-$$}
echo "# SEED=${SEED:-$$}"
kills=${KILLS:-12}
[ -z "${LONG:-}" ] || kills=1000

size() { # FILE
	stat -c %s "$1" 2>/dev/null || echo 0
}

# Calls that returned, those recorded with their result, and those counted as dropped. The rows of the compact format are made
# into CSV files first.
compare_counts() { # OUT COUNTER
	rm -rf "$tmp/made"
	"$probe" csv -o "$tmp/made" "$1" >"$tmp/csv.out" 2>&1 || return 1
	local csv=$1
	ls "$1"/rank0/calls_*.csv >/dev/null 2>&1 || csv=$tmp/made
	awk -F, 'FNR > 1 && $5 == "MPI_Allreduce" && $14 == "out"' "$csv"/rank0/calls_*.csv | wc -l >"$tmp/rows"
	python3 - "$2" "$tmp/rows" "$1/rank0/meta.json" <<-'PY'
		import json, struct, sys
		returned = struct.unpack("=Q", open(sys.argv[1], "rb").read())[0]
		rows = int(open(sys.argv[2]).read())
		calls = json.load(open(sys.argv[3]))["calls"]
		dropped = sum(calls["dropped"].values())
		print(f"{returned} calls returned, {rows} recorded, {dropped} dropped")
		# The call whose number was not stored any more.
		sys.exit(not returned <= rows + dropped <= returned + 1)
	PY
}

# ---- killed while it grows ----
wrong=0 grown=0 dropping=0
kill_once() { # FORMAT
	local begun
	new_out
	env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_FORMAT="$1" PROBE_PART_MIB=1024 "$app" 100000000 "$tmp/counter" >"$tmp/one" 2>&1 </dev/null &
	pid=$!
	started+=($pid)
	wait_until 30 test -s "$out/rank0/journal.bin" || return 1
	sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	kill -9 $pid
	wait $pid 2>/dev/null
	begun=$(size "$out/rank0/journal.bin")
	[ "$begun" -le 1048576 ] || grown=$((grown + 1))
	"$probe" recover "$out" >"$tmp/said" 2>&1 || return 1
	[ -s "$out/rank0/meta.json" ] || return 0 # before its first call
	[ -n "$(ls "$out"/rank0/calls_* 2>/dev/null)" ] || return 0
	compare_counts "$out" "$tmp/counter" >"$tmp/said" 2>&1 || return 1
	grep -q ' 0 dropped' "$tmp/said" || dropping=$((dropping + 1))
}
for ((i = 0; i < kills; i++)); do
	format=csv
	[ $((i % 2)) = 0 ] || format=compact
	kill_once $format 2>/dev/null || { wrong=$((wrong + 1)); echo "# kill $i, $format: $(tail -3 "$tmp/said")"; }
	rm -rf "$out"
done
is "$kills times kill -9, half of them with compact files: each call that returned is recorded or counted" $wrong 0
ok "some journals had grown: $grown" [ $grown -gt 0 ]
echo "# in $dropping of $kills calls were dropped"

# ---- the size stays if the file cannot grow ----
cc -std=gnu11 -O1 -D_GNU_SOURCE -shared -fPIC -fno-builtin -o "$tmp/libfault.so" tests/fault/fault.c -lpthread || fail 'tests/fault/fault.c compiles'
new_out
env LD_PRELOAD="$lib:$tmp/libfault.so" PROBE_OUTPUT_DIR="$out" FAULT=posix_fallocate:28:2 FAULT_LOG="$tmp/faults" "$app" 200000 "$tmp/counter" >"$tmp/one" 2>&1 </dev/null &
pid=$!
wait $pid 2>/dev/null
ok 'a file that cannot grow: that was asked for' test -s "$tmp/faults"
is 'a file that cannot grow: 1 MiB' "$(size "$out/rank0/journal.bin")" 1048576
ok 'a file that cannot grow: recover' "$probe" recover "$out"
ok "a file that cannot grow: each call is recorded or counted" compare_counts "$out" "$tmp/counter"

# ---- a disk that fills up between two drains ----
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	export app lib tmp
	new_out
	mkdir "$tmp/disk" "$tmp/after"
	# shellcheck disable=SC2016
	unshare -m bash -c '
		mount -t tmpfs -o size=80m none "$tmp/disk" || exit 1
		env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$tmp/disk/out" PROBE_JOURNAL_MIB=32 "$app" 1 "$tmp/counter" stay >"$tmp/one" 2>&1 &
		pid=$!
		for ((i = 0; i < 300; i++)); do [ -s "$tmp/disk/out/rank0/calls_0-99.csv" ] && break; sleep 0.1; done
		cat /dev/zero >"$tmp/disk/full" 2>/dev/null
		stat -c %s "$tmp/disk/out/rank0/journal.bin" >"$tmp/size.full"
		# Until the journal is full, too, after some 2,000 calls: then calls are dropped.
		for ((i = 0; i < 1200; i++)); do
			[ "$(od -An -tu8 "$tmp/counter" | tr -d " ")" -lt 8000 ] || break
			sleep 0.1
		done
		stat -c %s "$tmp/disk/out/rank0/journal.bin" >"$tmp/size"
		rm "$tmp/disk/full"
		touch "$tmp/counter.end"
		wait $pid
		echo $? >"$tmp/status"
		cp -r "$tmp/disk/out" "$tmp/after/"'
	is 'a full disk: the program ended well' "$(cat "$tmp/status")" 0
	ok "a full disk: the journal kept its size: $(cat "$tmp/size")" cmp "$tmp/size.full" "$tmp/size"
	"$probe" recover "$tmp/after/out" >/dev/null 2>&1
	ok 'a full disk: each call is recorded or counted' compare_counts "$tmp/after/out" "$tmp/counter"
	unlike 'a full disk: calls were dropped' "$(compare_counts "$tmp/after/out" "$tmp/counter")" ' 0 dropped'
else
	skip 'a disk that fills up' 'needs root, and a mount namespace of its own'
fi
finish
