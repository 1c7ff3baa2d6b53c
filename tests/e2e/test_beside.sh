#!/usr/bin/env bash
# Other tools in the same process: sanitizers of gcc and clang, Valgrind, other allocators. With each of them a program
# starts, prints and ends as without us, mistakes are found as without us, and an MPI program is recorded. Prints TAP.
# timeout: 1800
# long: each of them with each MPI
. "$(dirname "$0")/lib.sh"

# MPI's own memory is not our subject, and libraries that were not built with a sanitizer are seen wrongly by some.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1

# with COMMAND...: under the preload, in the way that $way says
way=preload
with() {
	case $way in
	preload) timeout 240 env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@" ;;
	run) PROBE_LIBRARY="$lib" timeout 240 "$probe" run -o "$out" "$@" ;;
	before:*) timeout 240 env LD_PRELOAD="${way#before:}:$lib" PROBE_OUTPUT_DIR="$out" "$@" ;;
	after:*) timeout 240 env LD_PRELOAD="$lib:${way#after:}" PROBE_OUTPUT_DIR="$out" "$@" ;;
	esac
}

without() {
	case $way in
	before:* | after:*) timeout 240 env LD_PRELOAD="${way#*:}" "$@" ;;
	*) timeout 240 "$@" ;;
	esac
}

# Output and status of both; what a sanitizer says has addresses in it.
same() { # TEXT COMMAND...
	local text=$1
	shift
	new_out
	without "$@" >"$tmp/plain" 2>"$tmp/plain.err" </dev/null
	plain_status=$?
	with "$@" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	status=$?
	if [ $status = $plain_status ] && cmp -s "$tmp/plain" "$tmp/with"; then
		pass "$text: output and status ($status) as without us"
	else
		fail "$text: output and status as without us" "status $status, without us $plain_status
$(diff "$tmp/plain" "$tmp/with")
$(tail -n 15 "$tmp/with.err")"
	fi
}

# beside TEXT FAULT COMPILER FLAGS...: the program alone, its mistake, and an MPI program with both MPIs
beside() {
	local text=$1 fault=$2 cc=$3 f
	shift 3
	if ! command -v "$cc" >/dev/null || ! "$cc" -std=gnu11 -g -O1 -w -D_GNU_SOURCE -o "$tmp/beside" tests/apps/beside.c \
		-lpthread "$@" 2>"$tmp/cc.err"; then
		skip "$text" "$cc $* does not build here"
		return
	fi
	beside_built "$text" "$fault" "$tmp/beside"
	for f in $flavours; do
		has_turn $f "$text" || continue
		if ! OMPI_CC=$cc MPICH_CC=$cc mpicc.$f -std=gnu11 -g -O1 -w -D_GNU_SOURCE -o "$tmp/mpi-$f" tests/apps/mpi_children.c \
			-lm -lpthread "$@" 2>"$tmp/cc.err"; then
			skip "$text, $f" "mpicc.$f with $cc $* does not build here"
			continue
		fi
		recorded "$text, $f" "$tmp/mpi-$f"
	done
}

beside_built() { # TEXT FAULT COMMAND...
	local text=$1 fault=$2
	shift 2
	same "$text" "$@"
	is "$text: it came to its end" "$(grep -c '^child' "$tmp/with") $status" '9 5'
	[ -n "$fault" ] || return
	same "$text: a mistake" "$@" "$fault"
	isnt "$text: the mistake is found" $status 5
}

recorded() { # TEXT COMMAND...
	local text=$1
	shift
	same "$text" "$@" alone
	if [ $plain_status != 0 ]; then
		skip "$text: recorded" "it does not run without us: $(grep -m1 -E 'ERROR|WARNING|error' "$tmp/plain.err")"
		return
	fi
	is "$text: recorded" "$(rows "$out" 'len(calls(R))')" 10
}

beside 'nothing else' '' cc
for cc in gcc clang; do
	# The runtime of gcc's AddressSanitizer is a library that must come first; `probe run` puts it first.
	way=$([ $cc = gcc ] && echo run || echo preload)
	beside "AddressSanitizer, $cc" heap $cc -fsanitize=address
	if [ $cc = gcc ] && [ -x "$tmp/beside" ]; then
		like 'AddressSanitizer, gcc: `probe check` says which library comes first' "$(PROBE_LIBRARY=$lib "$probe" check "$tmp/beside" 2>&1)" \
			"LD_PRELOAD=libasan[.0-9a-z]*:$lib"
		like 'AddressSanitizer, gcc: after a launcher' "$(PROBE_LIBRARY=$lib "$probe" run -o "$tmp/none" env "$tmp/beside" 2>&1)" \
			"put .probe run. directly before it: env \.\.\. probe run $tmp/beside"
		way=before:$(gcc -print-file-name=libasan.so)
		beside_built 'AddressSanitizer, gcc, by hand' heap "$tmp/beside"
		same 'AddressSanitizer put before a Python' python3 -c 'import ctypes, zlib; print(zlib.crc32(b"x"))'
	fi
	way=preload
	TSAN_OPTIONS='report_bugs=0' beside "ThreadSanitizer, $cc" '' $cc -fsanitize=thread
	beside "UndefinedBehaviorSanitizer, $cc" shift $cc -fsanitize=undefined -fno-sanitize-recover=all
done
TSAN_OPTIONS='report_bugs=1' beside 'ThreadSanitizer, clang: a race' race clang -fsanitize=thread
way=run
beside 'AddressSanitizer, clang, `probe run`' heap clang -fsanitize=address,undefined
way=preload
# An MPI that is not instrumented does not get through MPI_Init: its writes count as never made.
all=$flavours flavours=''
beside 'MemorySanitizer, clang' '' clang -fsanitize=memory
flavours=$all
if [ -x "$tmp/beside" ] && nm "$tmp/beside" | grep -q __msan_init; then
	same 'MemorySanitizer, clang: a mistake' env MSAN_OPTIONS=halt_on_error=1 "$tmp/beside" uninitialised
	isnt 'MemorySanitizer, clang: the mistake is found' $status 5
fi

beside 'jemalloc, linked' '' cc -Wl,--no-as-needed -ljemalloc
beside 'tcmalloc, linked' '' cc -Wl,--no-as-needed -ltcmalloc_minimal
cc -std=gnu11 -g -O1 -w -D_GNU_SOURCE -o "$tmp/beside" tests/apps/beside.c -lpthread
for what in jemalloc tcmalloc_minimal; do
	file=$(ldconfig -p | awk -v name="lib$what.so" 'index($1, name ".") == 1 {print $NF; exit}')
	[ -n "$file" ] || { skip "$what, preloaded" 'it is not installed'; continue; }
	for way in "before:$file" "after:$file"; do
		beside_built "$what, preloaded ${way%%:*} us" '' "$tmp/beside"
		for f in $flavours; do
			has_turn $f "$way" || continue
			recorded "$what, preloaded ${way%%:*} us, $f" "$B/apps/$f/mpi_children"
		done
	done
done
way=preload
if command -v valgrind >/dev/null; then
	beside_built 'Valgrind' '' valgrind -q "$tmp/beside"
	for f in $flavours; do
		has_turn $f Valgrind || continue
		recorded "Valgrind, $f" valgrind -q "$B/apps/$f/mpi_children"
	done
else
	skip 'Valgrind' 'it is not installed'
fi
finish
