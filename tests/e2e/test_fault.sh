#!/usr/bin/env bash
# Failures on our side never affect the training: calls of libc that fail for libprobe.so alone (tests/fault/fault.c),
# full, read-only and vanished folders, limits on files and descriptors. Each time the results are the same to the bit,
# and meta.json or one line says what is missing. With each MPI.
# timeout: 600
# root: mounts
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'faults' 'no MPI, or its programs are not built (make apps)'; finish; }
cc -std=gnu11 -O1 -g -Wall -D_GNU_SOURCE -shared -fPIC -fno-builtin -o "$tmp/libfault.so" tests/fault/fault.c -lpthread || {
	fail 'tests/fault/fault.c compiles'
	finish
}
train=(train_digits --steps 25)

# Runs the training with the rest of the arguments before it; results are compared with those of $tmp/plain.
run() { # TEXT NAME=VALUE ...
	name="$f: $1"
	shift
	new_out
	rm -f "$tmp/faults"
	PRELOAD=$lib:$tmp/libfault.so run_with $f 2 FAULT_LOG="$tmp/faults" PROBE_STEP_MARKER=MPI_Reduce "$@" "${train[@]}"
	same_result "$name"
}

happened() {
	ok "$name: the fault happened" test -s "$tmp/faults"
}

said() { # PATTERN: each rank says it, and nothing else
	like "$name: is reported" "$(cat "$tmp/with.err")" "libprobe: .*$1"
	is "$name: once a rank" "$(($(grep -c '^libprobe: ' "$tmp/with.err") <= ${LINES_MAX:-2}))" 1
}

whole() { # every call of both ranks is in the files
	is "$name: nothing is lost" "$(rows "$out" '[(len(calls(on(d))), M[d]["state"]) for d in dirs]' 2>&1)" "[($calls, 'finished'), ($calls, 'finished')]"
	contract "$name" "$out"
}

accounted() { # what is not in the files was counted; recover completes what is still in the journal
	"$probe" recover "$out" >"$tmp/recovered" 2>&1
	is "$name: what is missing was counted" "$(rows "$out" '[len(calls(on(d))) == m["calls"]["recorded"] - m["lost_rows"] and m["calls"]["seen"] == '$calls' and (m["calls"]["recorded"] == '$calls' or bool(m["missing"])) for d in dirs for m in [M[d]]]')" \
		'[True, True]'
}

missing() { # KEY in meta.json of each rank
	is "$name: meta.json reports it" "$(rows "$out" "['$1' in m['missing'] for m in M.values()]")" '[True, True]'
}

for f in $flavours; do
	run_plain $f 2 "${train[@]}"
	run 'no fault'
	calls=$(rows "$out" 'len(calls(on("rank0")))')
	is "$name: calls of a rank" "$((calls > 75))" 1
	is "$name: nothing is reported" "$(libprobe_lines "$tmp/with.err" | wc -l)" 0
	whole

	# ---- the journal ----
	run 'no room for the journal' PROBE_JOURNAL_MIB=16 FAULT=posix_fallocate:28:1:1
	happened
	said 'journal .*: No space left on device; kept in a shared memory segment'
	missing journal
	whole
	run 'no room for the journal, and no segments' PROBE_JOURNAL_MIB=16 FAULT=posix_fallocate:28:1:1,shmget:28
	happened
	said 'journal .*: No space left on device; kept in /dev/shm'
	missing journal
	whole
	is "$name: it was removed from there" "$(ls /dev/shm/libprobe-* 2>/dev/null)" ''
	run 'no room for it anywhere' FAULT=posix_fallocate:28,shmget:28
	happened
	said 'journal .*: No space left on device; kept in memory: .* lost'
	missing journal
	whole

	# ---- the files ----
	run 'full disk for a while' FAULT=write:28:6:3
	happened
	said 'writing to .*: No space left on device; records wait in the journal.*; free space there'
	missing write
	whole
	run 'full disk from the start' FAULT=write:28
	happened
	said 'No space left on device'
	run 'full disk from then on' FAULT=write:28:6
	happened
	said 'No space left on device'
	is "$name: the journal stays" "$(ls "$out"/rank[01]/journal.bin | wc -l)" 2
	accounted
	run 'short writes' FAULT=write:short
	happened
	is "$name: nothing is reported" "$(libprobe_lines "$tmp/with.err" | wc -l)" 0
	whole
	run 'writer thread refused' FAULT=pthread_create:11
	happened
	said 'no writer thread: Resource temporarily unavailable; records are written by the program'
	missing writer
	whole

	# The rest is the same for all MPIs.
	[ $f = "${flavours%%[[:space:]]*}" ] || continue
	run 'mmap is refused' FAULT=mmap:12
	happened
	said 'nothing is recorded'
	run 'a short write, then none' FAULT=write:short:6:1,write:28:7:2
	happened
	missing write
	whole
	run 'EIO' FAULT=write:5:4:5,ftruncate:5:1:5
	happened
	missing write
	whole
	run 'signals without end, and no writer thread' FAULT=storm,pthread_create:11
	happened
	whole
	run 'no descriptors for a while' FAULT=openat:24:26:6
	happened
	missing write
	whole
	# Of a rank: configuration, list, custom.yaml, folder.
	run 'no descriptors at all' FAULT=openat:24,open:24
	happened
	LINES_MAX=8 said 'output folder .*: Too many open files; nothing is recorded; raise the limit of open files'
	run 'the folder cannot be made' FAULT=mkdir:30
	happened
	said 'output folder .*: Read-only file system; nothing is recorded; set PROBE_OUTPUT_DIR'
	run 'no links, as on FAT' FAULT=linkat:1
	happened
	is "$name: nothing is reported" "$(libprobe_lines "$tmp/with.err" | wc -l)" 0
	whole
	run 'meta.json cannot be replaced' FAULT=renameat:13
	happened
	is "$name: every row is there" "$(rows "$out" '[len(calls(on(d))) for d in dirs]')" "[$calls, $calls]"
	said 'writing meta.json in .*: Permission denied; .*let the process write there'
	unlike "$name: the line mentions no lost records" "$(cat "$tmp/with.err")" 'records wait|lost'
	reported=$("$probe" report "$out" 2>&1)
	like "$name: the report has both ranks" "$reported" ' ranks 2 \(0,1\) of 2, '
	unlike "$name: the report calls no rank killed" "$reported" 'killed|died'
	is "$name: the journal stays, as a sign of the end" "$(ls "$out"/rank[01]/journal.bin | wc -l)" 2
	accounted
	is "$name: recover counts the calls" "$(rows "$out" '[(M[d]["calls"]["recorded"], M[d]["state"]) for d in dirs]')" "[($calls, 'recovered'), ($calls, 'recovered')]"
	for first in 1 8 40 100; do
		run "no memory, from allocation $first on" FAULT=malloc:12:$first
		happened
	done
	run 'no memory for a while' FAULT=malloc:12:60:40
	happened

	# ---- without injected faults ----
	: >"$tmp/file"
	run 'a file in place of the folder' PROBE_OUTPUT_DIR="$tmp/file/x"
	said 'output folder .*: Not a directory; nothing is recorded'
	run 'a folder that cannot be made' PROBE_OUTPUT_DIR=/proc/none/x
	said 'output folder /proc/none/x: No such file or directory'

	# Limits of the process: through a shell, which is preloaded too.
	limited() { # TEXT LIMITS...
		name="$f: $1"
		new_out
		run_with $f 2 PROBE_STEP_MARKER=MPI_Reduce /bin/sh -c "$2; exec '$(realpath "$B/apps/$f/train_digits")' --steps 25"
		same_result "$name"
	}
	run 'files of at most 16 KiB' FAULT=fsize:16384
	said 'journal .*: File too large'
	is "$name: every call is there, in more files" "$(rows "$out" '[(len(calls(on(d))), len([x for x in files(d) if "calls" in x]) > 1) for d in dirs]')" "[($calls, True), ($calls, True)]"
	run 'files of no size' FAULT=fsize:0
	said 'File too large'
	limited 'few descriptors' 'ulimit -n 48'
	is "$name: every call is there" "$(rows "$out" '[len(calls(on(d))) for d in dirs]')" "[$calls, $calls]"

	name="$f: the folder vanishes"
	run_plain $f 2 train_digits --steps 250 --slow 0:10
	new_out
	start_with $f 2 PROBE_STEP_MARKER=MPI_Reduce train_digits --steps 250 --slow 0:10
	wait_until 30 test -s "$out/rank0/calls_0-99.csv" -a -s "$out/rank1/calls_0-99.csv" || fail "$name: starts" "$(cat "$tmp/started.err")"
	# A rank that writes a new file meanwhile keeps its folder.
	until rm -rf "$out" 2>/dev/null; do :; done
	wait $launcher
	echo $? >"$tmp/with.status"
	sort "$tmp/started" >"$tmp/with"
	cp "$tmp/started.err" "$tmp/with.err"
	same_result "$name"
	said 'was removed: rows written so far are gone with it; creating it again'
	is "$name: it is there again, with what came later" "$(rows "$out" '[("write" in M[d]["missing"], 20 < len(calls(on(d))) < M[d]["calls"]["seen"]) for d in dirs]')" '[(True, True), (True, True)]'

	run_plain $f 2 "${train[@]}"
	if can_mount; then
		mkdir "$tmp/small" && mount -t tmpfs -o size=1m none "$tmp/small"
		run 'a disk of 1 MiB' PROBE_OUTPUT_DIR="$tmp/small/out"
		said 'journal .*: No space left on device; kept in a shared memory segment'
		out=$tmp/small/out
		whole
		head -c 2m /dev/zero >"$tmp/small/rest" 2>/dev/null
		run 'a disk that is full' PROBE_OUTPUT_DIR="$tmp/small/second"
		said 'No space left on device'
		mount -o remount,ro "$tmp/small"
		run 'a read-only disk' PROBE_OUTPUT_DIR="$tmp/small/third"
		said 'output folder .*: Read-only file system'
		umount "$tmp/small"
	else
		skip "$f: full and read-only disks" 'mounting is not allowed here'
	fi
	is "$f: nothing stays in /dev/shm" "$(ls /dev/shm/libprobe-* 2>/dev/null)" ''
done
finish
