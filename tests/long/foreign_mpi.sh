#!/usr/bin/env bash
# Programs that nobody here wrote, from Debian's packages (installed when missing, as root; skipped where they cannot be
# had): ScaLAPACK's own tests (C and Fortran, both MPIs), HPCC, LAMMPS, mpi4py's benchmarks. Each gives the same
# results with the preload as without, and what was recorded equals what libpmpicount.so, an independent PMPI tool in the
# same run, counted and measured. FOREIGN=text: only those with it in their names. Prints TAP.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
[ -n "$flavours" ] || { skip 'foreign programs' 'no MPI, or its programs are not built (make apps)'; finish; }
tests/install_deps.sh -m -o scalapack-mpi-test hpcc lammps >"$tmp/apt" 2>&1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPI_LIMIT=600

# FLAVOUR RANKS TEXT PROGRAM...: what of the output must be the same is left by the function `results`
foreign() {
	local f=$1 n=$2 text="$1: $3" at prog
	[[ $text == *"${FOREIGN:-}"* ]] || return 0
	prog=$(command -v "$4")
	shift 4
	[ -n "$prog" ] || { skip "$text" 'it is not installed'; return; }
	at=$PWD
	cd "$tmp/apps" || return
	# A file of its own says what each run found, and not both.
	rm -f hpccoutf.txt
	run_plain_in "$at" "$f" "$n" "$prog" "$@"
	results <"$tmp/plain" >"$tmp/plain.results"
	rm -f hpccoutf.txt
	rm -f "$tmp"/pmpi*
	new_out
	PRELOAD=$lib:$(realpath "$at/$B/apps/$f/libpmpicount.so") run_with_in "$at" "$f" "$n" PMPI_COUNT_OUT="$tmp/pmpi" \
		PROBE_JOURNAL_MIB=64 "$prog" "$@"
	results <"$tmp/with" >"$tmp/with.results"
	cd "$at" || exit 2
	if [ "$(cat "$tmp/plain.status")" != 0 ]; then
		skip "$text" "it fails without us too: $(tail -1 "$tmp/plain.err")"
		return
	fi
	is "$text: ends well" "$status" 0
	isnt "$text: has results" "$(wc -l <"$tmp/plain.results")" 0
	ok "$text: the same results" cmp "$tmp/plain.results" "$tmp/with.results"
	contract "$text" "$out" --partial
	ok "$text: both saw the same" python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi"
}

# run_plain and run_with from another folder: mpi.sh's paths are relative to the tree.
run_plain_in() {
	B=$1/$B run_plain "${@:2}"
}

run_with_in() {
	B=$1/$B run_with "${@:2}"
}

mkdir -p "$tmp/apps"
for f in $flavours; do
	at=/usr/lib/$(gcc -dumpmachine)/scalapack/$f-tests
	cp /usr/share/scalapack/*.dat /usr/share/scalapack/*/*.dat "$tmp/apps" 2>/dev/null
	# Figures but for the times.
	results() { grep -E 'PASSED|FAILED|passed|failed|tests completed|TESTS|errors' | sed -E 's/ +[0-9.]+ +[0-9.]+ +(PASSED|FAILED)/ \1/; s/[0-9]+\.[0-9]+//g' | sort; }
	for t in xdlu xdllt xdqr xzls xssep; do
		foreign $f 4 "ScaLAPACK, $t" "$at/$t"
	done
done

cat >"$tmp/apps/in.melt" <<'END2'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 10
run 200
END2
results() { grep -E '^ +[0-9]+ +[-0-9.]+ +' | sort; }
foreign openmpi 4 'LAMMPS' lmp -in in.melt -log none

sed -E 's/^[0-9]+ +Ns/200 Ns/; s/^1 +Ps/1 Ps/' /usr/share/doc/hpcc/examples/_hpccinf.txt >"$tmp/apps/hpccinf.txt" 2>/dev/null
results() { grep -oE '^\|\|Ax-b.*(PASSED|FAILED)|.*Success=[0-9]|.*residual checks' "$tmp/apps/hpccoutf.txt" | sed 's/[0-9]*\.[0-9e+-]*//g' | sort -u; }
foreign openmpi 2 'HPCC' hpcc
for f in $flavours; do
	if python=$(mpi_python $f); then
		results() { grep -vE '[0-9]\.[0-9]'; echo done; }
		foreign $f 3 'mpi4py, ring' "$python" -m mpi4py.bench ringtest -l 20 -n 1000
		foreign $f 3 'mpi4py, hello' "$python" -m mpi4py.bench helloworld
	fi
done
finish
