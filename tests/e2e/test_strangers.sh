#!/usr/bin/env bash
# Files of other users in the place of ours: links, FIFOs and folders that another user made before the job came. Nothing of
# anybody else's is changed, nothing hangs, the job's results are the same, and the rows go into rank0-pid<pid>. The
# tools on folders that were made to deceive them: an error line within seconds, nothing changed and nothing deleted.
# root: two users are taken, neither of which needs an entry in /etc/passwd
# timeout: 300
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
[ -x "$B/apps/nccl/nccl_train" ] || { skip 'files of others' 'the double of NCCL is not built (make apps)'; finish; }

# Both users have to reach what is run; the build folder may be below a home.
chmod 755 "$tmp"
mkdir "$tmp/bin"
cp "$lib" "$probe" "$B/apps/nccl/nccl_train" "$tmp/bin/"
cp "$(ldd "$B/apps/nccl/nccl_train" | awk '/libnccl/ {print $3}')" "$tmp/bin/"
lib=$tmp/bin/libprobe.so probe=$tmp/bin/probe

other() { # as the user who attacks
	setpriv --reuid=64101 --regid=64101 --clear-groups "$@"
}
victim() { # as an ordinary user who runs the job
	setpriv --reuid=64102 --regid=64102 --clear-groups "$@"
}
root() {
	"$@"
}

# One rank of the training; its results to $tmp/plain or $tmp/with, what it says to .err.
job() { # FILE USER [NAME=VALUE ...]
	local file=$1 user=$2
	shift 2
	(cd "$tmp/bin" && "$user" env RANK=0 WORLD_SIZE=1 APP_ID="$home/id$((ids += 1))$RANDOM" LD_LIBRARY_PATH="$tmp/bin" "$@" \
		timeout -k 2 20 ./nccl_train "${steps:-20}") >"$file" 2>"$file.err" </dev/null
	echo $? >"$file.status"
}

# The last lines of a tool's words, and its status; it has ten seconds.
tool() { # USER ARGS...
	local user=$1 rc
	shift
	"$user" timeout -k 2 10 "$probe" "$@" >"$tmp/tool" 2>&1 </dev/null
	rc=$?
	cat "$tmp/tool"
	echo "status $rc"
}

# All about the files below a folder: owner, mode, size, time of change, content.
find_rank_state() {
	find "$@" -printf '%p %y %U %m %s %T@ %l\n' | sort
	find "$@" -type f -print0 | sort -z | xargs -0 -r sha256sum
}

second() {
	ls "$out" | grep -E '^rank0-pid[0-9]+$'
}

runs() { # TEXT USER: as it would without us, and every row is there, in the second folder
	job "$tmp/with" "$2" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
	same_result "$1"
	is "$1: one folder beside it" "$(second | wc -l)" 1
	like "$1: and it says so" "$(cat "$tmp/with.err")" "libprobe: .*rank0.*: writing to $out/rank0-pid[0-9]+ instead"
	is "$1: in one line" "$(libprobe_lines "$tmp/with.err" | wc -l)" 1
	is "$1: the rows are there" "$(grep -c . "$out/$(second)"/calls_0-99.csv 2>/dev/null)" "$lines"
	is "$1: no other user may write there" "$(find "$out/$(second)" -perm /022)" ''
}

# A folder that every user may write into, like /tmp.
shared() {
	new_out
	mkdir -m 1777 "$out"
	home=$tmp/home$outs
	mkdir -m 1777 "$home"
}

ids=0
shared
job "$tmp/plain" root
job "$tmp/with" root LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
same_result 'without others'
lines=$(grep -c . "$out/rank0/calls_0-99.csv")
is 'without others: rows' "$((lines > 20))" 1
is 'without others: modes' "$(stat -c '%a' "$out/rank0" "$out"/rank0/* | sort -u | tr '\n' ' ')" '644 755 '
umask 077
new_out
job "$tmp/with" root LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out/made"
is 'umask counts' "$(find "$out" -printf '%m\n' | sort -u | tr '\n' ' ')" '600 700 '
umask 000
new_out
job "$tmp/with" root LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out/made"
is 'and where it is 0 others may read, not write' "$(find "$out/made" -printf '%m\n' | sort -u | tr '\n' ' ')" '644 755 '
umask 022

# ---- FIFOs of one's own ----

for fifo in meta.json meta.json.tmp calls_0-99.csv stack_info.csv comms.csv modules.csv modules.csv.tmp journal.bin; do
	shared
	mkdir "$out/rank0"
	mkfifo "$out/rank0/$fifo"
	runs "a FIFO rank0/$fifo" root
	is "a FIFO rank0/$fifo: stays" "$(find "$out/rank0" -mindepth 1 -printf '%f %y')" "$fifo p"
	if [[ $fifo != *.tmp ]]; then
		[ "$fifo" = meta.json ] || echo '{"format": 1, "state": "finished", "rank": 0}' >"$out/rank0/meta.json"
		unlike "probe report: a FIFO $fifo" "$(tool root report "$out/rank0")" 'status 1(24|37)'
		unlike "probe recover: a FIFO $fifo" "$(tool root recover "$out/rank0")" 'status 1(24|37)'
	fi
done
shared
mkfifo "$out/rank0"
runs 'a FIFO named rank0' root
shared
mkfifo "$home/probe.yaml" "$home/list.yaml"
for key in PROBE_CONFIG="$home/probe.yaml" PROBE_WRAP_OPS="$home/list.yaml" PROBE_CUSTOM_APIS="$home/list.yaml"; do
	job "$tmp/with" root LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" $key
	same_result "a FIFO as ${key%%=*}"
	# This program has nothing to do with functions of one's own, and their file is not looked at.
	[[ $key == PROBE_CUSTOM* ]] || like "a FIFO as ${key%%=*}: is reported" "$(cat "$tmp/with.err")" "libprobe: .*${key#*=}.*not a regular file"
	unlike "probe config: a FIFO as ${key%%=*}" "$(env $key timeout 10 "$probe" config 2>&1; echo "status $?")" 'status 1(24|37)'
done
like 'probe config -c: a FIFO' "$(tool root config -c "$home/probe.yaml")" 'not a regular file'

# ---- two users ----

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null || ! other true 2>/dev/null; then
	skip 'files of other users' 'only root can be two users (setpriv)'
	finish
fi

secret() {
	install -m 600 /dev/null "$home/secret"
	seq 100 >"$home/secret"
	chown "$1" "$home/secret"
}

# A folder of the attacker's with every name of ours as a link to a file of the victim's.
full_of_links() { # DIR TARGET
	other mkdir -p "$1"
	for n in calls_0-99.csv calls_0-99.1.csv stack_info.csv comms.csv modules.csv modules.csv.tmp meta.json.tmp journal.bin moving open.jsonl; do
		other ln -s "$2" "$1/$n"
	done
}

for who in root victim; do
	id=$([ $who = root ] && echo 0 || echo 64102)
	shared
	secret $id
	full_of_links "$out/rank0" "$home/secret"
	was=$(state_of "$home/secret" "$out/rank0")
	runs "$who: rank0 full of links" $who
	is "$who: rank0 full of links: nothing changed" "$(state_of "$home/secret" "$out/rank0")" "$was"

	shared
	secret $id
	full_of_links "$out/rank0" "$home/secret"
	chmod 777 "$out/rank0"
	was=$(state_of "$home/secret" "$out/rank0")
	runs "$who: writable for all and full of links" $who
	is "$who: writable for all and full of links: no file changed" "$(state_of "$home/secret" "$out"/rank0/* )" "$(grep -v "^$out/rank0 " <<<"$was")"

	# Finished, so that it would be moved away if it were ours.
	shared
	other mkdir "$out/rank0"
	other mkfifo "$out/rank0/meta.json"
	runs "$who: rank0/meta.json is a FIFO" $who
	shared
	other mkdir "$out/rank0"
	other sh -c "echo '{\"format\": 1, \"state\": \"finished\"}' >'$out/rank0/meta.json'"
	was=$(state_of "$out/rank0")
	runs "$who: a finished folder of another's" $who
	is "$who: a finished folder of another's: is where it was" "$(state_of "$out/rank0")" "$was"

	# rank0 as a link: to a folder of the victim's own, and to nowhere.
	shared
	$who mkdir "$home/mine"
	other ln -s "$home/mine" "$out/rank0"
	runs "$who: rank0 is a link" $who
	is "$who: rank0 is a link: nothing is written through it" "$(ls -A "$home/mine")" ''
	shared
	other ln -s "$home/nothing" "$out/rank0"
	runs "$who: rank0 is a link to nowhere" $who
	is "$who: rank0 is a link to nowhere: nor is there now" "$(ls -A "$home")" "$(ls -A "$home" | grep '^id')"

	# One's own, but others can put something into it.
	shared
	$who mkdir -m 777 "$out/rank0"
	runs "$who: rank0 is one's own, but writable for all" $who
	is "$who: rank0 is one's own, but writable for all: not used" "$(ls -A "$out/rank0")" ''

	# ---- the tools ----
	shared
	secret $id
	# A journal that the attacker's process left, and a journal of the victim's that his meta.json points to.
	steps=100000000
	for u in other $who; do
		started_in=$out
		[ $u = other ] || started_in=$home/own
		(steps=$steps job "$tmp/killed" $u LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$started_in") &
		wait_until 20 test -s "$started_in/rank0/calls_0-99.csv"
		kill -9 $(ranks_of "$started_in")
		wait $!
	done
	steps=20
	other mkdir "$out/rank2"
	other sh -c "sed 's|\"journal_path\": .*|\"journal_path\": \"$home/own/rank0/journal.bin\",|' <'$home/own/rank0/meta.json' >'$out/rank2/meta.json'"
	other sh -c "rm '$out/rank0/stack_info.csv' '$out/rank0/comms.csv'; ln -s '$home/secret' '$out/rank0/stack_info.csv'; ln -s '$home/secret' '$out/rank0/meta.json.tmp'"
	own=$(state_of "$home/own")
	full_of_links "$out/rank1" "$home/secret"
	other sh -c "echo '{\"format\": 1, \"state\": \"finished\", \"rank\": 1}' >'$out/rank1/meta.json'"
	was=$(state_of "$home/secret")
	unlike "$who: report of a folder full of links" "$(tool $who report "$out")" 'status 1(24|37)'
	unlike "$who: recover of a folder full of links" "$(tool $who recover "$out")" 'status 1(24|37)'
	like "$who: recover says what it did not use" "$(tool $who recover "$out/rank2")" 'another user.*status 2'
	like "$who: recover of links" "$(tool $who recover "$out/rank1")" 'journal.bin: a symbolic link.*status 2'
	like "$who: recover with stack_info.csv as a link" "$(tool $who recover "$out/rank0")" 'status 2'
	is "$who: the tools changed nothing" "$(state_of "$home/secret")" "$was"
	is "$who: a journal of another folder stays as it is" "$(state_of "$home/own")" "$own"
done
finish
