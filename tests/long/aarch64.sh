#!/usr/bin/env bash
# The other processor: libprobe.so, probe, the unit tests and a program of MPI built by the cross compiler, run by qemu-user. Debian's
# packages for arm64 are unpacked below $B/long/arm64 (150 MB, nothing is installed); AARCH64_ROOT: where they are already.
# Unit tests that look into the process from outside, or count on what qemu does not have, are skipped by name.
# timeout: 3000
. "$(dirname "$0")/../e2e/lib.sh"
cross=aarch64-linux-gnu
for c in $cross-gcc qemu-aarch64 apt-get dpkg-deb; do
	command -v $c >/dev/null || { skip 'aarch64' "no $c"; finish; }
done
root=${AARCH64_ROOT:-$(realpath "$B")/long/arm64}
if [ ! -e "$root/usr/lib/$cross/libcmocka.so" ]; then
	mkdir -p "$tmp/apt/lists/partial" "$tmp/apt/archives/partial" "$root"
	: >"$tmp/apt/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${DEBIAN_MIRROR:-http://deb.debian.org/debian} bookworm main" >"$tmp/apt/sources.list"
	arm=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$tmp/apt" -o Dir::State::status="$tmp/apt/status"
		-o Dir::Cache="$tmp/apt" -o Dir::Etc::sourcelist="$tmp/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null)
	"${arm[@]}" update >"$tmp/apt.log" 2>&1 && "${arm[@]}" install -d --no-install-recommends libc6-dev libyaml-dev zlib1g-dev libffi-dev \
		libdw-dev libelf-dev libcmocka-dev libmpich-dev >>"$tmp/apt.log" 2>&1 &&
		for d in "$tmp"/apt/archives/*.deb; do dpkg-deb -x "$d" "$root"; done
fi
libs=$root/usr/lib/$cross
if [ ! -e "$libs/libcmocka.so" ]; then
	skip 'aarch64' "the packages for arm64 cannot be had: $(tail -1 "$tmp/apt.log")"
	finish
fi

# The C library is the cross compiler's: that of the packages says in its linker scripts where it would lie if it were installed.
rm -f "$libs"/lib{c,m}.so "$libs"/lib{c,m,pthread,dl}.a
# Generated files are the same for every processor: this machine's are used.
b=$tmp/build
mkdir -p "$b"
cp -r "$B/gen" "$b/gen"
cc="$cross-gcc -I$root/usr/include/$cross -idirafter $root/usr/include -L$libs -Wl,-rpath-link,$libs:$root/lib/$cross"
made() { # TARGET...
	make -s -j"$(nproc)" B="$b" CC="$cc" CFLAGS=-O1 -o "$b/genwrap" -o "$b/gen/.stamp" "$@" >"$tmp/make.log" 2>&1 || { tail -15 "$tmp/make.log"; return 1; }
}
ok 'libprobe.so and probe are built' made "$b/libprobe.so" "$b/probe" || finish
arm() { # [-E NAME=VALUE ...] PROGRAM [ARGS]
	qemu-aarch64 -L "/usr/$cross" -E "LD_LIBRARY_PATH=/usr/$cross/lib:$libs:$root/lib/$cross" "$@"
}
is 'the command runs' "$(arm "$b/probe" --version)" "$("$probe" --version)"
is 'the library needs libc only' "$($cross-readelf -d "$b/libprobe.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | tr '\n' ' ')" 'libc.so.6 '

# ---- unit tests ----

# Tests build libraries for themselves, and look into them: for that processor, whose name the cross compiler does not find out by
# itself. Files are those below qemu's root.
mkdir "$tmp/cross"
cross_tool() { # NAME COMMAND: NAME in front of the path is COMMAND
	cat >"$tmp/cross/$1" <<-END
		#!/bin/sh
		PATH=\${PATH#*:} # without this folder: ccache looks for the compiler there
		command -v ${2%% *} >/dev/null || exit 127
		for a; do
			shift
			[ ! -e "/usr/$cross\$a" ] || a=/usr/$cross\$a
			[ "\$a" = -march=native ] || set -- "\$@" "\$a"
		done
		exec $2 "\$@"
	END
	chmod +x "$tmp/cross/$1"
}
for t in gcc g++ nm objcopy readelf strip; do cross_tool $t $cross-$t; done
cross_tool cc $cross-gcc
cross_tool c++ $cross-g++
cross_tool clang "clang --target=$cross"
passed=0 failed=()
export CONFIG_SECONDS=100 # an instruction takes 14 times as long as one of this processor
for t in ${AARCH64_UNITS:-$(sed -n 's|^tests/unit/test_\(.*\)\.c$|\1|p' < <(ls tests/unit/test_*.c))}; do
	if ! made "$b/unit/test_$t" >/dev/null; then
		failed+=("$t(build)")
	else
		# A group of its own: processes that a failed test leaves would run for ever.
		B=$b PATH=$tmp/cross:$PATH CC=cc CXX=c++ timeout 300 qemu-aarch64 -L "/usr/$cross" -E "LD_LIBRARY_PATH=/usr/$cross/lib:$libs:$root/lib/$cross" "$b/unit/test_$t" >"$tmp/unit.$t" 2>&1 &
		group=$!
		if wait $group; then
			passed=$((passed + 1))
		else
			failed+=("$t")
			echo "# $t: $(grep -am3 -iE 'error|fail|assert' "$tmp/unit.$t" | tr '\n' ';' | cut -c1-400)"
		fi
		kill -9 -- -$group 2>/dev/null
	fi
done
# Not of the processor: qemu-user's /proc/self/maps, ptrace, signals and memory limits are none of Linux'.
known=' '$(sed 's/ *#.*//' tests/long/aarch64.known 2>/dev/null | tr '\n' ' ')' '
new=''
for t in ${failed[@]+"${failed[@]}"}; do
	[[ $known == *" $t "* ]] || new+=" $t"
done
is "unit tests: $passed passed, and those that fail are the known ones" "$new" ''

# ---- a program of MPI ----

ok 'a program of MPI is built' $cc -std=gnu11 -O1 -D_GNU_SOURCE -I"$libs/mpich/include" -I"$root/usr/include/$cross/mpich" -o "$b/mpi_collectives" \
	tests/apps/mpi_collectives.c -Wl,-rpath,"$libs" "$libs/libmpich.so.12" -lm
run_arm() { # FILE [-E NAME=VALUE ...]
	local file=$1
	shift
	UCX_TLS=tcp,self timeout 300 mpirun.mpich -n 2 qemu-aarch64 -L "/usr/$cross" -E "LD_LIBRARY_PATH=/usr/$cross/lib:$libs:$root/lib/$cross" "$@" "$b/mpi_collectives" \
		>"$file" 2>"$file.err" </dev/null
	status=$?
	sort -o "$file" "$file"
}
if ! command -v mpirun.mpich >/dev/null; then
	skip 'the program runs' 'no mpirun of MPICH'
	finish
fi
run_arm "$tmp/plain"
if [ $status != 0 ]; then
	skip 'the program runs' "not under qemu-user by itself: status $status, $(tail -1 "$tmp/plain.err")"
	finish
fi
new_out
run_arm "$tmp/with" -E "LD_PRELOAD=$b/libprobe.so" -E "PROBE_OUTPUT_DIR=$out"
is 'it runs under the preload' $status 0
is 'with the same results' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
contract 'aarch64' "$out"
# The same program on this processor is the truth: the same rows, but for times.
moved() { # DIR
	rows "$1" '"\n".join(" ".join(r[k] for k in "rank api op comm_seq io dtype count min max mean norm nans flags".split()) for d in dirs for r in on(d))' |
		sort -s -n -k1,1
}
moved "$out" >"$tmp/rows.arm"
if [ ! -x "$B/apps/mpich/mpi_collectives" ]; then
	skip 'each row is the one of this processor' 'the program is not built for it: make apps'
	finish
fi
new_out
run_with mpich 2 mpi_collectives
moved "$out" >"$tmp/rows.here"
is 'each row is the one of this processor' "$(diff "$tmp/rows.arm" "$tmp/rows.here" | head -6)" ''
is 'more than 1000 rows are compared' "$([ "$(wc -l <"$tmp/rows.arm")" -gt 1000 ] && echo yes)" yes
finish
