#!/usr/bin/env bash
# Builds without one format of files (FORMATS), and without one library (LIBS): each links, passes the unit tests of the sinks, and
# records an MPI program as the whole build does; a format that is not there is named when it is asked for. Prints TAP.
# timeout: 3600
# root: writes the build folder
. "$(dirname "$0")/../e2e/lib.sh"

command -v cc >/dev/null || { skip 'builds' 'no compiler'; finish; }
tree=$tmp/tree
mkdir "$tree"
git ls-files -z -co --exclude-standard | tar -c --null -T - | tar -x -C "$tree" || { fail 'the sources are copied'; finish; }
# What was built is copied, so that only what a list of formats or libraries changes is compiled.
if [ "$(basename "$B")" = build ]; then
	mkdir "$tree/build"
	for f in obj gen flags libraries genwrap libcore.a libtool.a libprobe.so probe; do
		[ ! -e "$B/$f" ] || cp -a "$B/$f" "$tree/build/"
	done
fi
unset MAKEFLAGS MFLAGS MAKELEVEL B
others() { # NAME LIST: the list without the name
	local name=$1
	shift
	printf '%s\n' "$@" | grep -vx "$name" | tr '\n' ' '
}
build() { # VARIABLES: what went wrong
	make -C "$tree" -j"$(nproc)" -s WERROR=1 "$@" all >"$tmp/make" 2>&1 || tail -5 "$tmp/make"
}
is 'the whole build' "$(build)" ''
whole=$(nm -D --defined-only "$tree/build/libprobe.so" | wc -l)
cat >"$tmp/hello.c" <<'END2'
#include <mpi.h>
int main(int c, char **v)
{
	double x = 1, y;
	MPI_Init(&c, &v);
	MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return y != 1;
}
END2
mpicc -o "$tmp/hello" "$tmp/hello.c" 2>/dev/null || rm -f "$tmp/hello"
record() { # FORMAT: rows of the program, and what libprobe.so says
	rm -rf "$tmp/out"
	PROBE_OUTPUT_DIR=$tmp/out PROBE_FORMAT=$1 LD_PRELOAD=$tree/build/libprobe.so "$tmp/hello" 2>"$tmp/said"
	cat "$tmp"/out/rank*/calls*.csv 2>/dev/null | grep -c MPI_Allreduce
}
formats=(compact csv_training dump monitor tensorboard)
for f in "${formats[@]}"; do
	is "without $f it links" "$(build FORMATS="$(others $f "${formats[@]}")")" ''
	like "without $f the sinks pass their tests" "$(make -C "$tree" -s FORMATS="$(others $f "${formats[@]}")" T='calls_csv files split_steps' unit 2>&1 | tail -1)" ', 0 failed,'
	[ -x "$tmp/hello" ] || continue
	is "without $f a program is recorded" "$(record csv)" 2
	[ "$f" = csv_training ] && continue
	record "csv,$f" >/dev/null
	like "without $f it is named when it is asked for" "$(cat "$tmp/said")" "format: $f is not part of this libprobe.so"
done
libs=(blas cublas gloo hccl mpi nccl oneccl ucc)
for l in "${libs[@]}"; do
	is "without $l it links" "$(build LIBS="$(others $l "${libs[@]}")")" ''
	n=$(nm -D --defined-only "$tree/build/libprobe.so" | wc -l)
	is "without $l its functions are not exported" "$((n < whole))" 1
	[ -x "$tmp/hello" ] || continue
	is "without $l a program is recorded, if that is not MPI" "$(record csv)" "$([ $l = mpi ] && echo 0 || echo 2)"
done
finish
