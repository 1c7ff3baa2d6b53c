#!/usr/bin/env bash
# Programs that nobody here wrote, from Debian's packages (installed when missing, as root; skipped where they cannot be
# had): ScaLAPACK's own tests (C and Fortran, both MPIs), HPCC, LAMMPS, mpi4py's benchmarks and its own tests (its source
# package, by pip). Each gives the same results with the preload as without, and what was recorded equals what
# libpmpicount.so, an independent PMPI tool in the same run, counted and measured. FOREIGN=text: only those with it in their
# names. OSU_SOURCE=FOLDER: OSU's micro-benchmarks too, which no package has, from their source there. Prints TAP.
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
	ok "$text: both saw the same" python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi" $order
}
order=

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

# mpi4py's own tests, the verdict on each by each rank. They finalize more than once and set error handlers: what is counted
# is compared for the programs above.
for f in $flavours; do
	python=$(mpi_python $f) || continue
	[[ "$f: mpi4py's tests" == *"${FOREIGN:-}"* ]] || continue
	version=$("$python" -c 'import mpi4py; print(mpi4py.__version__)')
	if ! python3 -m pip download --quiet --no-deps --no-binary :all: -d "$tmp/mpi4py" "mpi4py==$version" >"$tmp/pip" 2>&1; then
		skip "$f: mpi4py's tests" "its source cannot be had: $(tail -1 "$tmp/pip")"
		continue
	fi
	tar -xf "$tmp/mpi4py/mpi4py-$version.tar.gz" -C "$tmp/mpi4py"
	for n in 1 3; do
		for how in plain with; do
			export MPI4PY_VERDICTS="$tmp/$how.$f.$n"
			if [ $how = plain ]; then
				run_plain $f $n "$python" tests/long/mpi4py_tests.py "$tmp/mpi4py/mpi4py-$version/test"
			else
				new_out
				run_with $f $n "$python" tests/long/mpi4py_tests.py "$tmp/mpi4py/mpi4py-$version/test"
			fi
			cat "$MPI4PY_VERDICTS".* 2>/dev/null | sed -E 's/ in [0-9.]+s$//' >"$tmp/$how.verdicts"
			cat "$tmp/$how.status" >>"$tmp/$how.verdicts"
		done
		text="$f: mpi4py's tests, $n ranks, $(grep -c ' \.\.\. ' "$tmp/plain.verdicts") verdicts"
		if [ "$(grep -c ' \.\.\. ' "$tmp/plain.verdicts")" -lt 500 ]; then
			skip "$text" "they do not run without us: $(tail -1 "$tmp/plain.err")"
			continue
		fi
		ok "$text: the same" diff "$tmp/plain.verdicts" "$tmp/with.verdicts"
		contract "$text" "$out" --partial
	done
done

for f in $flavours; do
	[[ "$f: OSU" == *"${FOREIGN:-}"* || ${FOREIGN:-} == OSU* ]] || continue
	[ -n "${OSU_SOURCE:-}" ] || { skip "$f: OSU's micro-benchmarks" 'no package has them: OSU_SOURCE=FOLDER'; continue; }
	mkdir -p "$tmp/osu-$f"
	source=$(realpath "$OSU_SOURCE")
	(cd "$tmp/osu-$f" && "$source/configure" CC=mpicc.$f CXX=mpicxx.$f && make ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=:) >"$tmp/osu" 2>&1
	# Sizes: the times beside them are the machine's.
	results() { grep -E '^[0-9]|^# OSU|^This is' | awk '{ print /^[0-9]/ ? $1 : $0 }' | sed -E 's/[0-9]+ of [0-9]+//' | sort; }
	for t in $(find "$tmp/osu-$f/mpi" -type f -perm -1 -name 'osu_*' | sort); do
		at=$(basename "$(dirname "$t")") n=2 few=(-i 20 -x 2)
		[ "$at" != collective ] || { n=3; few+=(-m 2:65536); }
		case $t in
		*_mt | *_mbw_mr | *multi_lat) few=() ;;
		*/startup/*) few=() n=3 ;;
		esac
		# Some do nothing but read from each other.
		order=--calls$([[ $t != *_mt ]] || echo ' --any-order')
		foreign $f $n "OSU, $(basename "$t")" "$t" "${few[@]}"
	done
done
finish
