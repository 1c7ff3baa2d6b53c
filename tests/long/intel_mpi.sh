#!/usr/bin/env bash
# Intel MPI, which has MPICH's binary interface and other habits: the scripts of tests/e2e that run MPI programs, on it alone.
# It comes from PyPI (impi-rt, impi-devel) into a virtual environment in $B/long. What fails without the preload too is skipped.
# INTEL_TESTS="contract": only these scripts. Prints TAP.
# timeout: 3000
. "$(dirname "$0")/../e2e/lib.sh"
at=$(realpath "$B")/long/impi
if [ ! -e "$at/include/mpi.h" ]; then
	python3 -m venv "$at" >"$tmp/venv" 2>&1 && "$at/bin/pip" install --quiet impi-rt impi-devel >>"$tmp/venv" 2>&1
fi
[ -e "$at/include/mpi.h" ] || { skip 'Intel MPI' "it cannot be installed: $(tail -1 "$tmp/venv")"; finish; }
make -s apps B="$B" INTEL_MPI="$at" >"$tmp/make" 2>&1 || { fail 'the programs are built' "$(tail -5 "$tmp/make")"; finish; }

for t in ${INTEL_TESTS:-contract mpi_apps mpi_shared mpi_truth onesided steps threads process crash report}; do
	INTEL_MPI=$at timeout 600 bash "tests/e2e/test_$t.sh" >"$tmp/$t.log" 2>&1
	status=$?
	n=$(grep -c '^ok' "$tmp/$t.log")
	# Intel's own: it starts no further processes on one machine, and its collectives that last forever do last long here.
	own=$(grep '^not ok .*: without the preload' "$tmp/$t.log")
	bad_ones=$(grep -A6 '^not ok' "$tmp/$t.log" | grep -v ': without the preload')
	[ -z "$own" ] || skip "$t" "fails without us too: $(cut -d- -f2 <<<"$own" | tr '\n' ';')"
	if [ "$n" -gt 0 ] && [ $status -le 1 ] && ! grep -q '^not ok' <<<"$bad_ones"; then
		pass "$t: $n tests"
	else
		fail "$t: $n tests" "$(head -60 <<<"$bad_ones")"$'\n'"$(tail -5 "$tmp/$t.log")"
	fi
done
finish
