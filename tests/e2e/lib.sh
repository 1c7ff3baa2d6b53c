# What the test_*.sh scripts share; sourced first: . "$(dirname "$0")/lib.sh". Prints TAP, works from the repository's
# root, in a folder of its own ($tmp) that goes away at the end with every process that was started by `background`.
#
#   pass TEXT; fail TEXT [DETAIL]              one test that has been decided
#   ok TEXT COMMAND...                         the command succeeds
#   is TEXT HAVE WANT; isnt TEXT HAVE OTHER    two strings
#   like TEXT STRING PATTERN; unlike ...       an extended regular expression, over the string in one line; an empty one is
#                                              unlike nothing: it fails
#   silent TEXT FILE                           the file is there, and libprobe wrote nothing to it
#   libprobe_lines FILE                        its lines that are of libprobe or about it
#   copy_in_reach FILE                         copies it to where every user can run it, and prints that path: the tree may be in a
#                                              home that only root can enter
#   skip TEXT REASON                           cannot be tried here
#   finish                                     the last line of a script: the plan, and the exit status
#   background COMMAND...                      its process id is in $!; killed at the end
#   wait_until SECONDS COMMAND...              tries it every 50 ms
#   ranks_of DIR                               the processes that record, or would record, into that folder
#   start_with FLAVOUR RANKS ... PROGRAM       as run_with, in the background; $launcher is its process
#   launcher_ends                              waits for $launcher, whose ranks were killed, and ends it where it does not end itself
#   gone DIR                                   waits until no process records there
#   rows DIR EXPRESSION                        evaluates Python over an output folder (rows.py)
#   contract TEXT DIR [OPTIONS]                the folder keeps to the contract (check_output.py)
#   new_out                                    sets $out to a fresh output folder's path
#   run_with FLAVOUR RANKS [NAME=VALUE ...] PROGRAM [ARGS]
#                                              as mpi_run, under the preload into $out; stdout and stderr to $tmp/with
#                                              and $tmp/with.err, sorted; the status in $status
#   run_plain ...                              the same without it: $tmp/plain, $tmp/plain.err
#   same_result TEXT                           the last run_with went as the last run_plain did
#   fails_itself FLAVOUR RANKS ... PROGRAM     the last run_with failed, and without the preload the program does so too, or it
#                                              says that this MPI cannot do it: the test called $name is skipped
#   program NAME [FLAGS]                       builds tests/apps/NAME.c (or a path) without MPI into $tmp/NAME
#   has_turn FLAVOUR CASE                      whether this MPI tries the case: one of them does, which hangs on the case's name;
#                                              with LONG=1 each
#
# With LONG=1 in the environment a script runs its long form, which `make test-long` runs: its line "# long: WHAT" says what
# the short one skips.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
. tests/e2e/mpi.sh
test_python=${PROBE_TEST_PYTHON:-} # a Python with PyTorch; else the one of `make ptvenv`
[ -n "$test_python" ] || [ ! -x "$B/ptvenv/bin/python" ] || test_python=$(realpath "$B")/ptvenv/bin/python
test_mindspore=${PROBE_TEST_MINDSPORE:-} # a Python with MindSpore
test_msprobe=${PROBE_TEST_MSPROBE:-}     # a Python with mindstudio-probe 26.2.0 and torch
test_msprobe8=${PROBE_TEST_MSPROBE8:-}   # ... with 8.1.0
unset LD_PRELOAD "${!PROBE_@}"
# With it print() writes a line in pieces, and those of several ranks mix in one file.
unset PYTHONUNBUFFERED
probe=$(realpath "$B/probe") lib=$(realpath "$B/libprobe.so")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/libprobe-e2e.XXXXXX")
tests=0 bad=0 outs=0 status=0 out='' launcher=''
started=()

cleanup() {
	local p m
	for p in ${started[@]+"${started[@]}"} $(ranks_of "$tmp"); do
		kill -9 "$p" 2>/dev/null
	done
	wait 2>/dev/null
	# The list is read before it changes: read meanwhile, lines are missed, and what is bound there (/dev) would be deleted.
	for m in $(awk -v at="$tmp/" 'index($2, at) == 1 {print $2}' /proc/mounts | tac); do
		umount -l "$m"
	done
	if grep -qF " $tmp/" /proc/mounts; then
		echo "# $tmp stays: something is still mounted there" >&2
		return
	fi
	chmod -R u+rwx "$tmp" 2>/dev/null
	rm -rf --one-file-system "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

pass() {
	tests=$((tests + 1))
	echo "ok $tests - $1"
}

fail() { # TEXT [DETAIL]
	tests=$((tests + 1))
	bad=1
	echo "not ok $tests - $1"
	[ -z "${2:-}" ] || head -c 4000 <<<"$2" | head -25 | sed 's/^/#   /'
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

ok() {
	local text=$1 said rc
	shift
	said=$("$@" 2>&1)
	rc=$?
	if [ $rc = 0 ]; then
		pass "$text"
	else
		fail "$text" "status $rc of: $*"$'\n'"$said"
	fi
	return $rc
}

is() {
	if [ "$2" == "$3" ]; then
		pass "$1"
	else
		fail "$1" "have: $2"$'\n'"want: $3"
	fi
}

isnt() {
	if [ "$2" != "$3" ]; then
		pass "$1"
	else
		fail "$1" "have: $2"
	fi
}

in_one_line() {
	tr -s ' \n' ' ' <<<"$1"
}

like() {
	if in_one_line "$2" | grep -qE -- "$3"; then
		pass "$1"
	else
		fail "$1" "no $3 in:"$'\n'"$2"
	fi
}

unlike() {
	if [ -z "$2" ]; then
		fail "$1" 'there is no text'
	elif in_one_line "$2" | grep -qE -- "$3"; then
		fail "$1" "$3 in:"$'\n'"$2"
	else
		pass "$1"
	fi
}

# A clone's folder is called libprobe, too: its name in a path, as in a warning of Python, is not a line of ours.
libprobe_lines() {
	grep -aE 'libprobe: |libprobe\.so' "$@"
}

copy_in_reach() {
	chmod 755 "$tmp"
	mkdir -p "$tmp/reach"
	cp "$1" "$tmp/reach/"
	echo "$tmp/reach/${1##*/}"
}

silent() {
	if [ ! -f "$2" ]; then
		fail "$1" "there is no $2"
	elif libprobe_lines "$2" >"$tmp/not_silent"; then
		fail "$1" "$(cat "$tmp/not_silent")"
	else
		pass "$1"
	fi
}

finish() {
	[ $tests -gt 0 ] || bad=1
	echo "1..$tests"
	exit $bad
}

background() {
	"$@" &
	started+=($!)
}

wait_until() { # SECONDS COMMAND...
	local seconds=$1 end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "# not within $seconds s: $*" >&2 && return 1; }
		sleep 0.05
	done
}

ranks_of() {
	grep -lsz "^PROBE_OUTPUT_DIR=$1" /proc/[0-9]*/environ | cut -d/ -f3
}

start_with() {
	local flavour=$1 ranks=$2
	shift 2
	mpi_run "$flavour" "$ranks" LD_PRELOAD="${PRELOAD:-$lib}" PROBE_OUTPUT_DIR="$out" "$@" >"$tmp/started" 2>"$tmp/started.err" \
		</dev/null &
	launcher=$!
	started+=($launcher)
}

# Open MPI's mpirun may be blocked in PMIx_server_finalize() for ever, on a lock that its own other thread holds, when its ranks died at once.
launcher_ends() {
	wait_until 15 launcher_ended || pkill -P $launcher
	wait $launcher 2>/dev/null
}

launcher_ended() {
	! kill -0 $launcher 2>/dev/null
}

gone() {
	wait_until 20 has_no_process "$1"
}

has_no_process() {
	[ -z "$(ranks_of "$1")" ]
}

rows() {
	python3 tests/e2e/rows.py "$@"
}

contract() {
	local text=$1 said
	shift
	if said=$(python3 tests/e2e/check_output.py "$@" 2>&1); then
		pass "$text: the files keep to the contract"
	else
		fail "$text: the files keep to the contract" "$said"
	fi
}

new_out() {
	outs=$((outs + 1))
	out=$tmp/out$outs
}

run_to() { # FILE, as mpi_run
	local file=$1
	shift
	rm -rf "$file.ranks"
	mkdir "$file.ranks"
	MPI_RANK_FILES=$file.ranks mpi_run "$@" >"$file" 2>"$file.err" </dev/null
	status=$?
	find "$file.ranks" -name 'err.*' -exec cat {} + >>"$file.err"
	# Open MPI 5.0.7 writes a NUL byte of its own when a rank aborts.
	find "$file" "$file.ranks" -type f ! -name 'err.*' -exec cat {} + | tr -d '\0' | sort >"$file.sorted"
	mv "$file.sorted" "$file"
	echo $status >"$file.status"
}

run_plain() {
	run_to "$tmp/plain" "$@"
}

run_with() {
	local flavour=$1 ranks=$2
	shift 2
	run_to "$tmp/with" "$flavour" "$ranks" LD_PRELOAD="${PRELOAD:-$lib}" PROBE_OUTPUT_DIR="$out" "$@"
}

same_result() {
	local differ
	differ=$(diff "$tmp/plain" "$tmp/with" && diff "$tmp/plain.status" "$tmp/with.status" && ran "$tmp/plain")
	if [ -z "$differ" ]; then
		pass "$1: the same with and without the preload"
	else
		fail "$1: the same with and without the preload" "$differ"$'\n'"$(cat "$tmp/with.err")"
	fi
}

fails_itself() {
	[ $status != 0 ] || return 1
	[ $status = 77 ] || run_plain "$@"
	[ "$status" != 0 ] || return 1
	skip "$name" "this MPI cannot do it (status $status without us)"
}

# A program that failed without output has no result.
ran() { # FILE, with FILE.status
	[ -s "$1" ] || [ "$(cat "$1.status")" = 0 ] || echo "nothing was printed, status $(cat "$1.status"): $(cat "$1.err")"
}

program() {
	local name=$1 source=tests/apps/$1.c
	shift
	if [[ $name == */* ]]; then
		source=$name
		name=$(basename "$name" .c)
	fi
	cc -std=gnu11 -O1 -g -Wall -D_GNU_SOURCE -o "$tmp/$name" "$source" "$@" && return
	fail "$source compiles"
	finish
}

# Whether file systems may be mounted here: a small one fills up at once.
can_mount() {
	mkdir -p "$tmp/mount-try" && mount -t tmpfs -o size=64k none "$tmp/mount-try" 2>/dev/null && umount "$tmp/mount-try"
}

flavours=$(mpi_flavours)

has_turn() {
	local all=($flavours)
	[ -n "${LONG:-}" ] || [ "${all[$(($(cksum <<<"$2" | cut -d' ' -f1) % ${#all[@]}))]}" = "$1" ]
}
