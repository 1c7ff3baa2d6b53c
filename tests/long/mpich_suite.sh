#!/usr/bin/env bash
# MPICH's own test programs, with and without the preload, on both MPIs: exit codes and outputs must be the same. What
# fails without us too counts as the same. The source comes from Debian's source package, by lists of our own (apt needs
# no root for that), and is built in $B/long; nothing of it is committed. Started again it goes on where it was: what a
# program does without us is asked once, what it does with us once for each libprobe.so.
#
#   MPICH_DIRS="coll pt2pt"     only these directories
#   MPICH_FLAVOURS="mpich"      only this MPI
#   MPICH_JOBS=2                programs at once (default: half of the processors)
#   MPICH_LIMIT=60              seconds for each of them
# timeout: 7200
. "$(dirname "$0")/../e2e/lib.sh"
dirs=${MPICH_DIRS:-coll pt2pt comm threads errhan attr datatype topo rma io f77 f90}
jobs=${MPICH_JOBS:-$((($(nproc) + 1) / 2))}
limit=${MPICH_LIMIT:-60}
[ -n "$flavours" ] || { skip 'the suite' 'no MPI, or its programs are not built (make apps)'; finish; }
command -v mpif77 >/dev/null && command -v gfortran >/dev/null || dirs=$(tr ' ' '\n' <<<"$dirs" | grep -v '^f[79]' | tr '\n' ' ')

cache=$(realpath "$B")/long
src=$cache/source
mkdir -p "$cache"

get_source() {
	local code key=/usr/share/keyrings/debian-archive-keyring.gpg apt
	[ ! -e "$src/test/mpi/configure" ] || return 0
	command -v apt-get >/dev/null || { echo 'no apt-get'; return 1; }
	[ "$(. /etc/os-release && echo "$ID")" = debian ] && [ -e $key ] || { echo 'not a Debian'; return 1; }
	code=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mkdir -p "$cache/apt/lists/partial" "$cache/apt/get"
	echo "deb-src [signed-by=$key] http://deb.debian.org/debian $code main" >"$cache/apt/sources.list"
	apt=(-o "Dir::Etc::SourceList=$cache/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$cache/apt/lists" -o "Dir::Cache=$cache/apt" -o APT::Sandbox::User=)
	(apt-get "${apt[@]}" update && cd "$cache/apt/get" && apt-get "${apt[@]}" source --download-only mpich) \
		>"$cache/apt/log" 2>&1 || { echo "apt-get source mpich failed: $(tail -1 "$cache/apt/log")"; return 1; }
	rm -rf "$src.new"
	mkdir -p "$src.new"
	tar xf "$cache"/apt/get/mpich_*.orig.tar.* -C "$src.new" --strip-components=1 --wildcards '*/test/mpi' '*/confdb' &&
		# What MPI-3.0 removed, Debian's Open MPI has not; what all programs are linked with uses it.
		sed -Ei 's/MPI_Type_(hvector|hindexed|struct)\(/MPI_Type_create_\1(/' "$src.new"/test/mpi/dtpools/src/*.c &&
		mv "$src.new" "$src"
}

# FLAVOUR: builds all programs that it can
build() {
	local f=$1 at=$cache/$1 wrapper
	[ ! -e "$at/.built" ] || return 0
	mkdir -p "$at/mpi/bin"
	for wrapper in mpicc mpicxx mpifort mpif77 mpif90; do
		[ -z "$(command -v $wrapper.$f)" ] || ln -sf "$(command -v $wrapper.$f)" "$at/mpi/bin/$wrapper"
	done
	ln -sf "$(command -v mpirun.$f)" "$at/mpi/bin/mpiexec"
	[ -e "$at/Makefile" ] || (cd "$at" && FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch \
		"$src/test/mpi/configure" --with-mpi="$at/mpi" --disable-cxx --disable-spawn --enable-threads=multiple \
		--enable-fortran=f77,f90) >"$at/configure.log" 2>&1 || { tail -3 "$at/configure.log"; return 1; }
	# Programs that this MPI cannot build are skipped.
	for wrapper in util dtpools $dirs; do
		[ ! -e "$at/$wrapper/Makefile" ] || make -k -C "$at/$wrapper" -j"$(nproc)" || :
	done >"$at/make.log" 2>&1
	touch "$at/.built"
}

# FLAVOUR DIR: the lines of its testlists, "DIR PROGRAM RANKS OPTIONS..."; those that need what is not here are skipped
entries() {
	local f=$1 dir=$2 list=$cache/$1/$2/testlist name np rest
	[ -e "$list" ] || list=$src/test/mpi/$dir/testlist
	[ -e "$list" ] || return 0
	while read -r name np rest; do
		case $name/$rest in
		'#'* | /* | */*xfail=* | */*mem=*) continue ;;
		# Takes it that of two requests the send is over first: without us, too, it fails if it waits 2 ms later.
		irsendf/*) continue ;;
		esac
		if [ -z "$np" ]; then
			[ ! -d "$cache/$f/$dir/$name" ] || entries "$f" "$dir/$name"
		elif [ -x "$cache/$f/$dir/$name" ]; then
			echo "$dir $name $np${rest:+ $rest}"
		fi
	done <"$list"
}

# FILE [NAME=VALUE ...]: runs the entry in $dir $name $np $rest of $f; its status, then what it wrote
run_entry() {
	local to=$1 word vars=() args=() rc
	shift
	for word in $rest; do
		case $word in
		env=*) vars+=("${word#env=}") ;;
		arg=*) args+=("${word#arg=}") ;;
		esac
	done
	(cd "$cache/$f/$dir" && MPI_LIMIT=$limit mpi_run "$f" "$np" "${vars[@]}" "$@" "./$name" "${args[@]}") \
		>"$to.out" 2>"$to.err" </dev/null
	rc=$?
	{ echo "status $rc" && sort "$to.out"; } >"$to.new"
	rm -f "$to.out"
	mv "$to.new" "$to"
}

with_us() {
	local out
	out=$(mktemp -d "$tmp/rank.XXXXXX")
	run_entry "$1" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
	rm -rf "$out"
}

passed() {
	grep -q '^status 0$' "$1" && grep -q 'No Errors\|Test passed' "$1"
}

# An entry's file in the results
file_of() {
	echo "$results/$(tr -s ' \t' _ <<<"$*" | tr -c 'A-Za-z0-9._\n-' _ | cut -c1-180)"
}

# What became of one entry is in $at.verdict: same, changes (its own output is different each time), late (it passed the
# second time: the machine was busy), slow (it came to its time limit, which is thrice as long the second time), or differs.
signalled() { # FILE: it was ended by a signal of its own making
	grep -qE '^status (132|134|135|136|138|139)$' "$1"
}

try_entry() {
	local dir=$1 name=$2 np=$3 at
	shift 3
	local rest="$*"
	at=$(file_of "$dir $name $np${rest:+ $rest}")
	[ ! -e "$at.verdict" ] || return 0
	[ -e "$at.plain" ] || run_entry "$at.plain"
	with_us "$at.with"
	# A failure of its own is not the same as a crash that it has with us alone.
	if cmp -s "$at.plain" "$at.with" ||
		(! passed "$at.plain" && ! passed "$at.with" && { signalled "$at.plain" || ! signalled "$at.with"; }); then
		echo same >"$at.verdict"
		return
	fi
	run_entry "$at.plain2"
	if ! passed "$at.with"; then
		cp "$at.with" "$at.first"
		limit=$((3 * limit)) with_us "$at.with"
		if ! passed "$at.plain2"; then
			if signalled "$at.first" && ! signalled "$at.plain" && ! signalled "$at.plain2"; then
				echo differs >"$at.verdict"
			else
				echo same >"$at.verdict"
			fi
		elif passed "$at.with" && ! grep -qE '^status (134|136|138|139)$' "$at.first"; then
			echo late >"$at.verdict"
		elif grep -q '^status 124$' "$at.with"; then
			echo slow >"$at.verdict"
		else
			echo differs >"$at.verdict"
		fi
	elif ! passed "$at.plain" || ! cmp -s "$at.plain" "$at.plain2" || cmp -s "$at.plain2" "$at.with"; then
		echo changes >"$at.verdict"
	else
		echo differs >"$at.verdict"
	fi
}

# FLAVOUR DIR
directory() {
	local f=$1 line n=0 verdict list at bad_ones
	list=$tmp/list
	entries "$f" "$2" >"$list"
	n=$(wc -l <"$list")
	[ "$n" -gt 0 ] || { skip "$f: $2" 'none of its programs can be built here'; return; }
	while read -r line; do
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
			wait -n
		done
		# shellcheck disable=SC2086
		try_entry $line &
	done <"$list"
	wait
	bad_ones=''
	declare -A sum=([same]=0 [changes]=0 [late]=0 [slow]=0 [differs]=0)
	local fails=0
	while read -r line; do
		at=$(file_of "$line")
		verdict=$(cat "$at.verdict" 2>/dev/null || echo differs)
		sum[$verdict]=$((sum[$verdict] + 1))
		passed "$at.plain" || fails=$((fails + 1))
		[ "$verdict" != slow ] || skip "$f: $line" "not decided: killed at its time limit with the preload"
		[ "$verdict" != late ] || echo "# $f: passed the second time only: $line"
		[ "$verdict" != differs ] || bad_ones+="$line: $(head -1 "$at.plain") without, $(head -1 "$at.with") with"$'\n'
	done <"$list"
	line="$f: $2: $n programs (${sum[late]} at the second try, $fails fail without us too) do the same with and without the preload"
	if [ -z "$bad_ones" ]; then
		pass "$line"
	else
		fail "$line" "$bad_ones"
	fi
}

why=$(get_source) || { skip "MPICH's suite" "$why"; finish; }
version=$(sha256sum "$lib" | cut -c1-16)
for f in ${MPICH_FLAVOURS:-$flavours}; do
	why=$(build "$f") || { skip "$f: MPICH's suite" "it cannot be built: $why"; continue; }
	results=$cache/results/$f
	mkdir -p "$results"
	if [ "$(cat "$results/of" 2>/dev/null)" != "$version" ]; then
		rm -f "$results"/*.verdict
		echo "$version" >"$results/of"
	fi
	for d in $dirs; do
		directory "$f" "$d"
	done
done
finish
