#!/usr/bin/env bash
# Where the journal is, and what happens to it: killed before anything was drained, each call that had returned is
# there after `probe recover`, wherever the journal was; journals of dead processes are found and removed, those of
# living ones never; what truncates files or makes them immutable does not reach a journal in shared memory. Against the
# number of calls that the program itself counted (mpi_killed.c).
# timeout: 420
# beside: does not wait busily
# root: mounts
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'journals' 'no MPI, or its programs are not built (make apps)'; finish; }
f=${flavours##*[[:space:]]}
app=$(realpath "$B/apps/$f/mpi_killed")
mkdir "$tmp/journals"
cc -std=gnu11 -O1 -D_GNU_SOURCE -shared -fPIC -fno-builtin -o "$tmp/libfault.so" tests/fault/fault.c -lpthread || {
	fail 'tests/fault/fault.c compiles'
	finish
}

# Lists what this test has left in shared memory and in the folder of journals: segments of processes it started, whose keys
# begin with 0x50b.
leftovers() {
	find "$tmp/journals" -name 'libprobe-*.journal'
	awk 'NR == FNR {mine[$1] = 1; next} FNR > 1 && $5 in mine && int($1 / 1048576) == 1291 {print "shm:" $2}' "$tmp/pids" /proc/sysvipc/shm
}
: >"$tmp/pids"

# One process alone, by itself: its id in $pid.
run_one() { # [NAME=VALUE ...] -- ARGS of mpi_killed
	local vars=()
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	env LD_PRELOAD="$lib${FAULTS:+:$tmp/libfault.so}" PROBE_OUTPUT_DIR="$out" "${vars[@]}" "$app" "$@" >"$tmp/one" 2>"$tmp/one.err" </dev/null &
	pid=$!
	started+=($pid)
	echo $pid >>"$tmp/pids"
}

counted() { # FILE
	python3 -c 'import struct, sys; print(struct.unpack("=Q", open(sys.argv[1], "rb").read())[0])' "$1"
}

recorded() { # calls that had ended
	rows "$out" 'sum("open" not in flags(r) for r in calls(R) if r["api"] == "MPI_Allreduce")' 2>/dev/null
}

# ---- killed before the first drain ----

# One check of many folders: out, counter, out, counter ...
wrong_counts() {
	python3 - "$@" <<-'PY'
		import struct, sys
		sys.path.insert(0, "tests/e2e")
		from rows import Output, calls, flags
		for out, counter in zip(sys.argv[1::2], sys.argv[2::2]):
		    want = struct.unpack("=Q", open(counter, "rb").read())[0]
		    have = sum("open" not in flags(r) for r in calls(Output(out).R) if r["api"] == "MPI_Allreduce")
		    if have != want or not want:
		        print(f"{out}: {want} calls returned, {have} are recorded")
	PY
}

killed() { # TEXT ROUNDS HOW [NAME=VALUE ...]
	local text=$1 rounds=$2 how=$3 said='' all=() i p
	shift 3
	for ((i = 1; i <= rounds; i++)); do
		new_out
		run_one "$@" -- $((i * 7 % 23 + 1)) "$out.counter" "$how"
		wait $pid 2>/dev/null
		"$probe" recover "$out" >"$tmp/said" 2>&1 || said+="round $i: status $?: $(cat "$tmp/said")"$'\n'
		all+=("$out" "$out.counter")
	done
	is "$text: recover goes well" "$said" ''
	is "$text: $rounds times killed before the first drain: every call that returned" "$(wrong_counts "${all[@]}" 2>&1)" ''
	is "$text: and nothing is left" "$(leftovers)" ''
	for p in $(pgrep -f "$tmp/out[0-9]*.counter child"); do kill -9 "$p"; done
}

killed 'in the folder' 10 now
killed 'journal_dir' 20 now PROBE_JOURNAL_DIR="$tmp/journals"
killed 'a segment' 20 now PROBE_JOURNAL_DIR=shm
FAULTS=1 killed 'a full disk' 20 now FAULT=posix_fallocate:28:1:1
FAULTS=1 killed 'a full disk, and meta.json stays as it was' 5 now FAULT=posix_fallocate:28:1:1,renameat:28
killed 'a segment, and a child lives on' 2 child PROBE_JOURNAL_DIR=shm
killed 'journal_dir, and a child lives on' 2 child PROBE_JOURNAL_DIR="$tmp/journals"

# A thread of the job forks at the moment at which the writer maps a page of the journal once more. What the child has of the
# journal is in $tmp/mapped.
cat >"$tmp/fork.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* Asks for the C library's each time. */
long syscall(long number, ...)
{
	long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall"), v[6], at;
	char line[512], *said = getenv("MAPPED");
	va_list ap;
	FILE *f;
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	at = real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
	if (number != SYS_mremap || v[1] || !said)
		return at;
	pid_t pid = fork();
	if (!pid) {
		FILE *out = fopen(said, "w");
		f = fopen("/proc/self/maps", "r");
		while (out && f && fgets(line, sizeof(line), f))
			if (strstr(line, "journal"))
				fputs(line, out);
		if (out && f)
			fputs("end\n", out);
		_exit(!out || !f || fclose(out));
	}
	waitpid(pid, NULL, 0);
	return at;
}
END
cc -std=gnu11 -O1 -shared -fPIC -o "$tmp/libfork.so" "$tmp/fork.c" || fail 'fork.c compiles'
new_out
touch "$tmp/counter.end"
env LD_PRELOAD="$lib:$tmp/libfork.so" MAPPED="$tmp/mapped" PROBE_OUTPUT_DIR="$out" "$app" 3 "$tmp/counter" stay >"$tmp/one" 2>&1 </dev/null
is 'a fork while the writer starts: the child has nothing of the journal' "$(cat "$tmp/mapped")" end
rm "$tmp/counter.end"

# ---- meta.json before the first drain ----
new_out
run_one PROBE_JOURNAL_DIR=shm -- 3 "$tmp/counter"
wait $pid 2>/dev/null
like 'a segment: meta.json has its id and its key' "$(cat "$out/rank0/meta.json")" '"journal_path": "shm:[0-9]+:0x50b[0-9a-f]{5}"'
is 'a segment: no other user may read it' "$(awk -v pid=$pid '$5 == pid && int($1 / 1048576) == 1291 {print $3}' /proc/sysvipc/shm)" 600
is 'a segment: the report shows what is in it' "$("$probe" report --json "$out" 2>/dev/null | python3 -c 'import json, sys; print(sum(o["calls"] for o in json.load(sys.stdin)["operations"]))')" 3
ok 'a segment: and leaves it' test -n "$(leftovers)"

# ---- whose folder is gone ----
mkdir "$tmp/orphan"
cp -r "$tmp/out1/rank0" "$tmp/orphan/rank1"
mv "$out/rank0" "$out.away"
rmdir "$out"
mv "$tmp/orphan" "$out"
like 'an orphan: recover of its folder says so' "$("$probe" recover "$out" 2>&1)" "shm:[0-9]+:0x[0-9a-f]+: a journal \(.{,20}\) of a dead process \(host [^ ]+, pid $pid\) whose folder .{,200} does not exist: .probe recover --clean $out/rank0. removes it"
is 'an orphan: recover of another folder says nothing of it' "$("$probe" recover "$tmp/out1" 2>&1)" 'rank 0: complete, nothing to do'
"$probe" recover --clean "$tmp/out1" >/dev/null 2>&1
ok 'an orphan: and --clean of another folder leaves it' test -n "$(leftovers)"
orphan=$out
run_one PROBE_JOURNAL_DIR=shm PROBE_OUTPUT_DIR="$tmp/living" -- 3 "$tmp/counter.living" stay
living=$pid
run_one PROBE_JOURNAL_DIR="$tmp/journals" PROBE_OUTPUT_DIR="$tmp/living2" -- 3 "$tmp/counter.living2" stay
living2=$pid
run_one PROBE_JOURNAL_DIR="$tmp/journals" PROBE_OUTPUT_DIR="$tmp/dead" -- 3 "$tmp/counter" now
wait $pid 2>/dev/null
rm -rf "$tmp/dead"
has_begun() {
	[ -s "$tmp/counter.living" ] && [ -s "$tmp/counter.living2" ] && [ "$(counted "$tmp/counter.living")" -gt 9 ] && [ "$(counted "$tmp/counter.living2")" -gt 9 ]
}
wait_until 30 has_begun
is 'two of living and two of dead processes' "$(leftovers | wc -l)" 4
"$probe" recover --clean "$orphan" >"$tmp/said" 2>&1
is 'recover --clean: status' $? 0
"$probe" recover --clean --journals "$tmp/journals" "$tmp/dead" >"$tmp/said" 2>&1
is 'recover --clean of a folder that is gone: status' $? 0
for l in living living2; do "$probe" recover --clean --journals "$tmp/journals" "$tmp/$l" >/dev/null 2>&1; done
is 'recover --clean: those of the living stay' "$(leftovers | wc -l)" 2
is 'recover --clean: and are theirs' "$(leftovers | grep -c -e "-$living2-" -e shm:)" 2

# In another pid namespace the pids of the living look dead, or like those of another process.
if unshare -p -f --mount-proc true 2>/dev/null; then
	for l in living living2; do unshare -p -f --mount-proc "$probe" recover --clean --journals "$tmp/journals" "$tmp/$l" >"$tmp/said" 2>&1; done
	is 'recover --clean in another pid namespace: those of the living stay' "$(leftovers | wc -l)" 2
	unshare -p -f --mount-proc "$probe" recover "$tmp/living" >"$tmp/said" 2>&1
	is 'recover in another pid namespace: leaves the living alone' $? 2
	kill -9 $living2
	wait $living2 2>/dev/null
	ok 'recover in another pid namespace: knows the dead' unshare -p -f --mount-proc "$probe" recover "$tmp/living2"
else
	skip 'another pid namespace' 'not allowed here'
	kill -9 $living2
	wait $living2 2>/dev/null
	"$probe" recover "$tmp/living2" >/dev/null
fi
out=$tmp/living2
is 'no row of that run is missing' "$(recorded)" "$(counted "$tmp/counter.living2")"
touch "$tmp/counter.living.end"
wait $living
is 'the living one ends well' $? 0
is 'no journal is left' "$(leftovers)" ''
out=$tmp/living
is 'all calls of the process are recorded' "$(recorded)" "$(counted "$tmp/counter.living")"

# Without a folder: those of all jobs, in a machine of their own, for other tests' are not ours to remove. A folder that still waits
# is completed first.
new_out
if unshare -i -m mount -t tmpfs none /dev/shm 2>/dev/null; then
	unshare -i -m sh -c 'mount -t tmpfs none /dev/shm
		LD_PRELOAD=$1 PROBE_OUTPUT_DIR=$2 PROBE_JOURNAL_DIR=shm "$3" 9 "$4"
		cd "$5" && grep -c " 1[0-9]* " /proc/sysvipc/shm && "$6" recover --clean && wc -l </proc/sysvipc/shm' \
		- "$lib" "$out" "$app" "$tmp/counter" "$tmp/journals" "$probe" >"$tmp/said" 2>&1
	is 'recover --clean without any folder: status' $? 0
	is 'its folder is completed' "$(recorded)" 9
	is 'the segment is removed' "$(tail -1 "$tmp/said")" 1
else
	skip 'recover --clean without any folder' 'no namespaces here'
fi

# ---- what it takes up ----
new_out
run_one PROBE_JOURNAL_MIB=4 -- 5 "$tmp/counter"
wait $pid 2>/dev/null
takes=$(($(stat -c %b "$out/rank0/journal.bin") * 512))
ok 'a journal has no holes: a store into one is a SIGBUS on a full disk' test "$takes" -ge "$(stat -c %s "$out/rank0/journal.bin")"
is 'the report says how many bytes the journals of a killed job take' \
	"$("$probe" report --json "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["journal_bytes"])')" "$takes"
like 'the report names the command that frees the journals' "$("$probe" report "$out")" "journals take 1.05 MB, which .probe recover $out. frees"
"$probe" recover "$out" >/dev/null
is 'recover frees them' "$(find "$out" -name 'journal*')" ''
unlike 'the report no longer mentions the journals' "$("$probe" report "$out")" 'journals take'
is 'nor as JSON' "$("$probe" report --json "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["journal_bytes"])')" 0

# ---- another user's ----
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then # root
	new_out
	run_one PROBE_JOURNAL_DIR=shm -- 4 "$tmp/counter"
	wait $pid 2>/dev/null
	path=$(sed -n 's/.*"journal_path": "\(.*\)",/\1/p' "$out/rank0/meta.json")
	cp -r "$out" "$tmp/theirs"
	chown -R 65534 "$tmp/theirs"
	like 'a folder of one user that names the journal of another' "$("$probe" recover "$tmp/theirs" 2>&1)" 'belongs to another user'
	is 'the journal stays' "$(leftovers)" "${path%:*}"
	chmod 755 "$tmp" "$out" "$out/rank0"
	setpriv --reuid 65534 --clear-groups "$(copy_in_reach "$probe")" recover --clean "$out" >"$tmp/said" 2>&1
	like 'another user is told so' "$(cat "$tmp/said")" 'rank 0: shm:[0-9a-fx:]*: Permission denied'
	is 'another user removes nothing' "$(leftovers)" "${path%:*}"
	"$probe" recover "$out" >/dev/null
else
	skip 'journals of another user' 'needs root'
fi

# ---- the journal is gone: with the container, the login session, or on another host ----
open_calls() {
	"$probe" report --json "$out" 2>/dev/null | python3 -c 'import json, sys; print([(o["op"], o["age_s"] > 0, o["peer"], o["tag"]) for o in json.load(sys.stdin)["open"]])'
}
new_out
run_one PROBE_JOURNAL_DIR=shm -- 6 "$tmp/counter" wait
if wait_until 30 test -s "$out/rank0/open.jsonl"; then
	pass 'a call that is open for long is in open.jsonl'
else
	fail 'a call that is open for long is in open.jsonl' "$(ls -l "$out/rank0")"
fi
ok 'open.jsonl: each line is JSON' python3 -c 'import json, sys; sys.exit(not [json.loads(x) for x in open(sys.argv[1])])' "$out/rank0/open.jsonl"
kill -9 $pid
wait $pid 2>/dev/null
path=$(sed -n 's/.*"journal_path": "\(.*\)",/\1/p' "$out/rank0/meta.json")
want=$(open_calls)
is 'the report has it from the journal' "$want" "[('recv', True, 0, 7)]"
ipcrm -m "$(cut -d: -f2 <<<"$path")"
is 'and from open.jsonl when that is gone' "$(open_calls)" "$want"
like 'recover says that the journal is gone' "$("$probe" recover "$out" 2>&1)" "its journal \($path\) does not exist any more"
new_out
run_one PROBE_JOURNAL_DIR=shm -- 6 "$tmp/counter" wait
wait_until 30 test -s "$out/rank0/open.jsonl"
kill -9 $pid
wait $pid 2>/dev/null
"$probe" recover "$out" >/dev/null
is 'recover: the row is in the calls, and open.jsonl goes' "$(rows "$out" '["open" in flags(r) for r in calls(R)].count(True)') $(ls "$out"/*/open.jsonl 2>/dev/null)" '1 '

# ---- what happens to files ----

# Runs a job that calls on while something is done to its files; it must end well, with all its results.
has_rows() {
	head -c1 "$out"/rank0/calls_* >/dev/null
}

hurt() { # TEXT COMMAND [NAME=VALUE ...]
	local text=$1 command=$2
	shift 2
	new_out
	[ -z "${in:-}" ] || out=$in
	run_one "$@" -- 5 "$tmp/counter" stay
	wait_until 30 has_rows || fail "$text: starts" "$(cat "$tmp/one.err")"
	(cd "$out/rank0" && eval "$command") || fail "$text: could be done" ''
	sleep 2
	touch "$tmp/counter.end"
	wait $pid
	is "$text: the job ends well" $? 0
	rm -f "$tmp/counter.end"
	chattr -R -i "$out" 2>/dev/null
}

# Without rights over all files a journal cannot be truncated either: it has no permission for writing.
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	new_out
	mkdir "$out"
	chown 65534 "$out" && chmod 755 "$tmp"
	touch "$tmp/counter" && chmod 666 "$tmp/counter"
	as_user() { setpriv --reuid 65534 --clear-groups "$@"; }
	their_lib=$(copy_in_reach "$lib") their_app=$(copy_in_reach "$app")
	as_user env LD_PRELOAD="$their_lib" PROBE_OUTPUT_DIR="$out" "$their_app" 5 "$tmp/counter" stay >"$tmp/one" 2>"$tmp/one.err" </dev/null &
	pid=$!
	started+=($pid)
	wait_until 30 has_rows || fail 'an ordinary user: starts' "$(cat "$tmp/one.err")"
	as_user sh -c 'cd "$1" && for f in *; do : >"$f"; truncate -s 0 "$f"; done' - "$out/rank0" 2>/dev/null
	sleep 1
	touch "$tmp/counter.end"
	wait $pid
	is 'an ordinary user truncates all files, journal in the folder: the job ends well' $? 0
	rm -f "$tmp/counter.end"
	new_out
	mkdir "$out"
	chown 65534 "$out"
	as_user env LD_PRELOAD="$their_lib" PROBE_OUTPUT_DIR="$out" "$their_app" 5 "$tmp/counter" >"$tmp/one" 2>&1
	ok 'an ordinary user: recover reads and frees it all the same' as_user "$(copy_in_reach "$probe")" recover "$out"
	is 'an ordinary user: every call' "$(recorded)" 5
	is 'an ordinary user: no journal is left' "$(ls "$out/rank0" | grep journal)" ''
else
	skip 'an ordinary user truncates the journal' 'needs root, to be another user'
fi
hurt 'files truncated, journal in a segment' 'truncate -s 0 *' PROBE_JOURNAL_DIR=shm
hurt 'the folder removed, journal in a segment' 'until rm -rf ../rank0; do sleep 0.1; done' PROBE_JOURNAL_DIR=shm
is 'the folder removed: no segment is left' "$(leftovers)" ''
touch "$tmp/try"
if chattr +i "$tmp/try" 2>/dev/null && chattr -i "$tmp/try"; then # root
	hurt 'files immutable, journal in a segment' 'chattr -R +i .' PROBE_JOURNAL_DIR=shm
	ok 'files immutable: what was not written is still there' "$probe" recover "$out"
	is 'files immutable: every call' "$(recorded)" "$(counted "$tmp/counter")"
	contract 'files immutable' "$out" --partial --states recovered,finished
else
	skip 'immutable files' 'chattr +i does not work here'
fi
# A disk whose every access fails from one moment on (FS_IOC_SHUTDOWN).
fail_disk() {
	python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$tmp/mnt"
}
mkdir "$tmp/mnt"
if can_mount && truncate -s 40m "$tmp/image" && mkfs.ext4 -qF "$tmp/image" 2>/dev/null && mount -o loop "$tmp/image" "$tmp/mnt" 2>/dev/null; then # root
	in=$tmp/mnt/out hurt 'a disk that fails, journal in a segment' fail_disk PROBE_JOURNAL_DIR=shm
	umount "$tmp/mnt"
	"$probe" recover --clean "$tmp/mnt/out" >/dev/null 2>&1
	is 'a disk that fails: the segment can be removed' "$(leftovers)" ''
else
	skip 'a disk that fails' 'no file system can be mounted here'
fi

# ---- where there are no segments ----
new_out
FAULTS=1 run_one PROBE_JOURNAL_DIR=shm FAULT=shmget:28 -- 3 "$tmp/counter"
wait $pid 2>/dev/null
like 'no segments: a file in /dev/shm' "$(cat "$out/rank0/meta.json")" '"journal_path": "/dev/shm/libprobe-'
"$probe" recover "$out" >/dev/null
is 'no segments: every call' "$(recorded)" 3
is 'no segments: and it is removed' "$(ls /dev/shm/libprobe-*-$pid-* 2>/dev/null)" ''
finish
