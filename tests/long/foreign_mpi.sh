#!/usr/bin/env bash
# Programs of other people, from Debian's packages (installed when missing, as root; skipped where they cannot be
# had): ScaLAPACK's own tests (C and Fortran, both MPIs), HPCC, LAMMPS, Quantum ESPRESSO,
# CP2K, GROMACS, mpi4py's benchmarks and its own tests (its source
# package, by pip), NWChem (Global Arrays), OpenCoarrays' own tests (one-sided, Fortran's coarrays), NetPIPE, PT-Scotch, IQ-TREE,
# PhyML. Each gives the same results with the preload as without, what was recorded equals what libpmpicount.so, an
# independent PMPI tool in the same run, counted and measured, and `probe report` finds nothing wrong with it. FOREIGN=text:
# only those with it in their names. What Debian has for Open MPI alone was built elsewhere: LAMMPS_MPICH=PROGRAM,
# HPCC_MPICH=PROGRAM, and of OSU's micro-benchmarks, which no package has, OSU_SOURCE=FOLDER their source. FOREIGN_KEEP=FOLDER:
# the output of a run of which a test fails is left there. Prints TAP, and how much was compared.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
[ -n "$flavours" ] || { skip 'foreign programs' 'no MPI, or its programs are not built (make apps)'; finish; }
tests/install_deps.sh -m -o scalapack-mpi-test hpcc lammps quantum-espresso quantum-espresso-data cp2k gromacs nwchem-openmpi nwchem-mpich \
	libcoarrays-openmpi-dev libcoarrays-mpich-dev netpipe-openmpi netpipe-mpich2 ptscotch iqtree phyml >"$tmp/apt" 2>&1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPI_LIMIT=600
# The reference's BLAS, where Debian has others too: OpenBLAS's sums hang on where in memory the numbers lie.
export LD_LIBRARY_PATH=/usr/lib/$(gcc -dumpmachine)/blas${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# FLAVOUR RANKS TEXT PROGRAM...: the function `results` leaves the part of the output that must be the same
foreign() {
	local f=$1 n=$2 text="$1: $3" at prog
	[[ $text == *"${FOREIGN:-}"* ]] || return 0
	prog=$(command -v "$4")
	shift 4
	[ -n "$prog" ] || { skip "$text" 'it is not installed'; return; }
	at=$PWD
	cd "$tmp/apps" || return
	# A file of its own says what each run found, and not both.
	rm -rf $made
	run_plain_in "$at" "$f" "$n" "$prog" "$@"
	results <"$tmp/plain" >"$tmp/plain.results"
	rm -rf $made
	rm -f "$tmp"/pmpi* "$tmp"/fort.*
	new_out
	PRELOAD=$lib:${fortran:-$(realpath "$at/$B/apps/$f/libpmpicount.so")} run_with_in "$at" "$f" "$n" \
		PMPI_COUNT_OUT="$tmp/pmpi" FORT_COUNT_OUT="$tmp/fort" PROBE_JOURNAL_MIB=64 "$prog" "$@"
	results <"$tmp/with" >"$tmp/with.results"
	rm -rf $made
	check_says "$f" "$n" "$prog" "$@" >"$tmp/check"
	cd "$at" || exit 2
	if [ "$(cat "$tmp/plain.status")" != 0 ]; then
		skip "$text" "it fails without us too: $(grep -v "^\[.*MCA parameter\|^--*$" "$tmp/plain.err" | tail -3 | tr "\n" " ")"
		return
	fi
	local bad_before=$bad
	bad=0
	is "$text: ends well" "$status" 0
	isnt "$text: has results" "$(wc -l <"$tmp/plain.results")" 0
	ok "$text: the same results" cmp "$tmp/plain.results" "$tmp/with.results"
	is "$text: probe check has no problem" "$(cat "$tmp/check")" "fine $n"
	contract "$text" "$out" --partial
	if [ -n "$fortran" ]; then
		is "$text: as many calls of each function as were made" "$(fortran_calls $n)" "$(sort "$tmp"/fort.? | grep .)"
		echo "# $text: $(fortran_calls $n | sum) calls recorded, $(cat "$tmp"/fort.? | sum) made by their Fortran names"
	else
		ok "$text: both saw the same" compared $order
		echo "# $text: $(tail -1 "$tmp/compared")"
	fi
	healthy "$text"
	[ $bad = 0 ] || keep "$text"
	bad=$((bad | bad_before))
}

# Answer of `probe check` for the program: the problem, or the number of processes that made calls.
check_says() { # FLAVOUR RANKS PROGRAM...
	local over=(-genv LD_PRELOAD "$lib:$(realpath "$at/$B/apps/mpich/libucxyield.so")")
	[ "$1" != openmpi ] || over=(--oversubscribe)
	timeout -k 5 $MPI_LIMIT "$probe" check --json -- mpirun.$1 "${over[@]}" -n "${@:2}" 2>&1 </dev/null | sed -n '/^{$/,$p' | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["problem"] or "fine %d" % sum(p["hits"] > 0 for p in r["processes"]))' 2>&1 | tail -1
}

compared() {
	python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi" "$@" >"$tmp/compared" || { cat "$tmp/compared"; return 1; }
}

# Keeps the files of a failed test for inspection.
keep() { # TEXT
	local at=${FOREIGN_KEEP:+$FOREIGN_KEEP/$(tr -c 'A-Za-z0-9\n' _ <<<"$1")}
	[ -n "$at" ] || return 0
	rm -rf "$at"
	mkdir -p "$at" && cp -r "$out" "$at/out" && cp "$tmp"/plain* "$tmp"/with* "$tmp"/pmpi* "$tmp"/fort.* "$at" 2>/dev/null
	echo "# kept: $at"
}

sum() {
	awk -F, '{ n += $2 } END { print n + 0 }'
}

# A run that ended well has no finding that is bad or a warning, except the kinds that are true of it (`may`): the number of these
# is reported.
healthy() { # TEXT
	"$probe" report --json "$out" 2>&1 | python3 -c '
import json, sys
may, seen = sys.argv[1].split(), []
for f in json.load(sys.stdin)["findings"]:
    if f["severity"] != "note" and f["kind"] in may:
        seen.append(f["kind"])
    elif f["severity"] != "note":
        print(f["severity"], f["kind"], f["text"])
if seen:
    print("true:", *seen, file=sys.stderr)' "$may" >"$tmp/unhealthy" 2>"$tmp/true"
	is "$1: nothing is wrong with it" "$(cat "$tmp/unhealthy" <(grep -v '^true:' "$tmp/true"))" ''
	sed "s/^/# $1: /" "$tmp/true"
}

# The program for that MPI: Debian's for Open MPI, the one that a variable names for MPICH.
program_of() { # FLAVOUR NAME VARIABLE
	if [ "$1" = openmpi ]; then echo "$2"; else realpath -q "${!3:-}"; fi
}

# Open MPI's Fortran functions call PMPI_X: a C function of the program is another row. All ranks' together.
fortran_calls() { # RANKS
	rows "$out" "'\n'.join(sorted('%s,%d' % (api[1:], n) for d in dirs for api, n in Counter(
		api for api, _ in {(r['api'], r['seq']) for r in on(d)} if api.startswith('PMPI_')).items()))"
}
order= made= fortran= may=none

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
	# In its estimates of conditions (pdlacon) the ranks of a column take different ways and hang, without us too.
	sed -i 's/^T\(.*Test Cond\)/F\1/' "$tmp/apps/LLT.dat"
	# Figures but for the times.
	results() { grep -E 'PASSED|FAILED|passed|failed|tests completed|TESTS|errors' | sed -E 's/ +[0-9.]+ +[0-9.]+ +(PASSED|FAILED)/ \1/; s/[0-9]+\.[0-9]+//g; s/ +/ /g' | sort; }
	for t in xdlu xdllt xdqr xzls xssep; do
		# It solves systems of matrices near the largest number there is, too.
		may=none
		[ $t != xzls ] || may=spike
		foreign $f 4 "ScaLAPACK, $t" "$at/$t"
	done
	may=none
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
for f in $flavours; do
	foreign $f 4 'LAMMPS' "$(program_of $f lmp LAMMPS_MPICH)" -in in.melt -log none
done

cat >"$tmp/apps/si.in" <<'END2'
&control
 calculation = 'scf', prefix = 'si', pseudo_dir = '/usr/share/espresso/pseudo', outdir = './espresso', tprnfor = .true., tstress = .true.
/
&system
 ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12.0
/
&electrons
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.26 0.25 0.25
K_POINTS automatic
 2 2 2 1 1 1
END2
results() { grep -E 'total energy +=|force =|P=|^ +[-0-9. ]+$|convergence has been'; }
made=espresso
cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$tmp/libfortcount.so" tests/apps/fortran_count.c -ldl && fortran=$tmp/libfortcount.so
foreign openmpi 3 'Quantum ESPRESSO' pw.x -in si.in

cat >"$tmp/apps/water.inp" <<'END2'
&GLOBAL
  PROJECT water
  RUN_TYPE ENERGY_FORCE
&END GLOBAL
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME BASIS_MOLOPT
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 120
    &END MGRID
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
    &SCF
      MAX_SCF 60
      EPS_SCF 1.0E-4
    &END SCF
  &END DFT
  &SUBSYS
    &CELL
      ABC 5.0 5.0 5.0
    &END CELL
    &COORD
      O 2.0 2.0 2.0
      H 2.6 2.5 2.0
      H 1.4 2.6 2.0
    &END COORD
    &KIND H
      BASIS_SET SZV-MOLOPT-GTH
      POTENTIAL GTH-PADE-q1
    &END KIND
    &KIND O
      BASIS_SET SZV-MOLOPT-SR-GTH
      POTENTIAL GTH-PADE-q6
    &END KIND
  &END SUBSYS
  &PRINT
    &FORCES ON
    &END FORCES
  &END PRINT
&END FORCE_EVAL
END2
# But for the last digits, which its own threads' and buffers' addresses may move.
results() { grep -E 'ENERGY\| Total|SUM OF ATOMIC|^ +[0-9]+ +[0-9]+ +[OH] +-?[0-9]' | sed -E 's/(\.[0-9]{8})[0-9]+/\1/'; }
made='water-*'
CP2K_DATA_DIR=/usr/share/cp2k foreign openmpi 2 'CP2K' cp2k.psmp water.inp
fortran=

# 216 molecules of water that come with it.
cat >"$tmp/apps/topol.top" <<'END2'
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
SOL 216
END2
cat >"$tmp/apps/md.mdp" <<'END2'
integrator = md
nsteps = 100
dt = 0.002
nstenergy = 10
nstlog = 10
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.85
rvdw = 0.85
tcoupl = v-rescale
tc-grps = System
tau-t = 0.1
ref-t = 300
gen-vel = yes
gen-seed = 7
ld-seed = 7
END2
(cd "$tmp/apps" && command -v gmx_mpi >/dev/null &&
	gmx_mpi grompp -f md.mdp -c /usr/share/gromacs/top/spc216.gro -p topol.top -o run.tpr) >"$tmp/grompp" 2>&1
results() { cat "$tmp/apps/md.gro"; }
made='md.gro md.log md.edr md.cpt'
foreign openmpi 2 'GROMACS' gmx_mpi mdrun -s run.tpr -reprod -ntomp 1 -deffnm md

# Debian's for MPICH does not find Hartree-Fock's energy with more than one rank, without us too, and the one of density functionals it does.
for t in scf 'dft energy'; do
	printf '%s\n' 'start h2o' geometry ' O 0 0 0' ' H 0 0.757 0.587' ' H 0 -0.757 0.587' end basis ' * library 6-31g' end "task $t" >"$tmp/apps/${t%% *}.nw"
done
# But for the last digits, which of MPICH's are now one way, now another.
results() { grep -E 'Total (SCF|DFT) energy|One.electron energy|Nuclear repulsion|Coulomb energy' | sed -E 's/(\.[0-9]{8})[0-9]+/\1/'; }
made='h2o.db h2o.movecs'
for f in $flavours; do
	foreign $f 2 'NWChem' nwchem.$f $([ $f = openmpi ] && echo scf || echo dft).nw
done
made=

# Windows without memory of their own need what mpi.sh turns off.
unset OMPI_MCA_btl_vader_single_copy_mechanism
# Removes time, process and address from UCX's warnings about descriptors that MPICH leaves at the end.
results() { sed -E 's/^\[[0-9.]+\] \[[^]]*\]( .* UCX  WARN .* descriptor) 0x[0-9a-f]+/\1/' | sort; }
tests_of_coarrays=(alloc_comp_get_convert_nums allocatable_p2p_event_post async_comp_alloc atomics co_broadcast_alloc_mixed co_max_test co_reduce_test
	co_sum_test get_with_offset_1d issue-503-multidim-array-broadcast send_convert_nums sendget_convert_nums strided_get syncall
	syncimages teams_coarray_sendget whole_get_array)
for f in $flavours; do
	for t in "${tests_of_coarrays[@]}"; do
		foreign $f 4 "OpenCoarrays, $t" "$(echo /usr/lib/*/open-coarrays/$f/bin/OpenCoarrays-*-tests/$t)"
	done
done
export OMPI_MCA_btl_vader_single_copy_mechanism=none

# A grid of as many processes as there are: for another it takes a size of its own, and minutes.
sed -E 's/^[0-9]+ +Ns/1000 Ns/; s/^[0-9]+ +Ps/1 Ps/; s/^[0-9]+ +Qs/2 Qs/' /usr/share/doc/hpcc/examples/_hpccinf.txt >"$tmp/apps/hpccinf.txt" 2>/dev/null
results() { grep -oE '^\|\|Ax-b.*(PASSED|FAILED)|.*Success=[0-9]|.*residual checks' "$tmp/apps/hpccoutf.txt" | sed 's/[0-9]*\.[0-9e+-]*//g' | sort -u; }
made=hpccoutf.txt
for f in $flavours; do
	foreign $f 2 'HPCC' "$(program_of $f hpcc HPCC_MPICH)"
done
made=

# Sizes: the times beside them are the machine's.
results() { awk '{ print $1 }' "$tmp/apps/np.out"; }
made=np.out order=--calls
for f in $flavours; do
	foreign $f 2 'NetPIPE' "$(compgen -c "NP$f" | sort -u | head -1)" -n 20 -u 16384
done
made= order=

# A mesh of triangles. With more threads it orders it now one way, now another, by itself.
export SCOTCH_PTHREAD_NUMBER=1
python3 -c '
n = 60
near = lambda i, j: [a * n + b for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1), (i - 1, j - 1), (i + 1, j + 1)) if 0 <= a < n and 0 <= b < n]
rows = [near(i, j) for i in range(n) for j in range(n)]
print(0, f"{n * n} {sum(map(len, rows))}", "0 000", *(" ".join(map(str, [len(r)] + r)) for r in rows), sep="\n")' >"$tmp/apps/mesh.grf"
results() { cat "$tmp/apps/mesh.ord"; }
made=mesh.ord
foreign openmpi 3 'PT-Scotch' dgord mesh.grf mesh.ord
made=

# 12 species, each 400 letters of which some have changed.
python3 -c '
import random
random.seed(5)
def changed(s, p): return "".join(random.choice("ACGT") if random.random() < p else c for c in s)
all = ["".join(random.choice("ACGT") for _ in range(400))]
while len(all) < 12: all = [changed(s, .08) for s in all for _ in (0, 1)]
all = all[:12]
print(len(all), 400, *(f"sp{i:02}      {s}" for i, s in enumerate(all)), sep="\n")' >"$tmp/apps/species.phy"
results() { cat "$tmp/apps/species.phy_phyml_tree.txt" "$tmp/apps/species.phy_phyml_boot_trees.txt"; }
made='species.phy_*'
foreign openmpi 2 'PhyML' phyml-mpi -i species.phy -b 4 -m HKY85 --r_seed 7
cp /usr/share/doc/iqtree/examples/example.phy "$tmp/apps" 2>/dev/null
results() { cat "$tmp/apps/example.phy.treefile"; }
made='example.phy.*'
foreign openmpi 2 'IQ-TREE' iqtree2-mpi -s example.phy -m HKY -seed 7 -T 1 -redo
made=

# A Python whose mpi4py uses that MPI; Debian has it for one of them, for the other it is built, once. Before
# release 4 it needs an older setuptools.
python_for() { # FLAVOUR
	local at
	mpi_python "$1" && return
	at=$(realpath "$B")/long/mpi4py-$1
	[ -x "$at/bin/python3" ] || { python3 -m venv "$at" && "$at/bin/pip" install --quiet 'setuptools<70' wheel numpy &&
		MPICC=mpicc.$1 "$at/bin/pip" install --quiet --no-build-isolation --no-binary mpi4py 'mpi4py<4'; } >"$tmp/pip" 2>&1
	PATH=$at/bin:$PATH mpi_python "$1" >/dev/null && echo "$at/bin/python3"
}
for f in $flavours; do
	if python=$(python_for $f); then
		results() { grep -vE '[0-9]\.[0-9]'; echo done; }
		foreign $f 3 'mpi4py, ring' "$python" -m mpi4py.bench ringtest -l 20 -n 1000
		foreign $f 3 'mpi4py, hello' "$python" -m mpi4py.bench helloworld
	fi
done

# mpi4py's own tests, the verdict on each by each rank. libpmpicount.so follows neither these calls of files nor what a message
# brings whose type it has no number for.
unfollowed=$(printf 'MPI_File_%s ' i{read,write}{,_all,_at_all,_shared} {read,write}_shared read_ordered)
for f in $flavours; do
	python=$(python_for $f) || { skip "$f: mpi4py's tests" "no mpi4py: $(tail -1 "$tmp/pip" 2>/dev/null)"; continue; }
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
				rm -f "$tmp"/pmpi*
				PRELOAD=$lib:$(realpath "$B/apps/$f/libpmpicount.so") run_with $f $n PMPI_COUNT_OUT="$tmp/pmpi" "$python" tests/long/mpi4py_tests.py "$tmp/mpi4py/mpi4py-$version/test"
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
		ok "$text: both saw the same" compared --skip $unfollowed --counted MPI_Sendrecv
		echo "# $text: $(tail -1 "$tmp/compared")"
	done
done

# OSU's say Pass of what they have checked (-c), where they can: their check of sums takes three ranks' for wrong, without us too.
results() {
	grep -E '^[0-9]|^# OSU|^This is' | awk '{ print /^[0-9]/ ? $1 ($NF ~ /^(Pass|Fail)$/ ? " " $NF : "") : $0 }' | sed -E 's/[0-9]+ of [0-9]+//' | sort
}
for f in $flavours; do
	[[ "$f: OSU" == *"${FOREIGN:-}"* || ${FOREIGN:-} == OSU* ]] || continue
	[ -n "${OSU_SOURCE:-}" ] || { skip "$f: OSU's micro-benchmarks" 'no package has them: OSU_SOURCE=FOLDER'; continue; }
	mkdir -p "$tmp/osu-$f"
	source=$(realpath "$OSU_SOURCE")
	(cd "$tmp/osu-$f" && "$source/configure" CC=mpicc.$f CXX=mpicxx.$f && make ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=:) >"$tmp/osu" 2>&1
	for t in $(find "$tmp/osu-$f" -path '*/mpi/*' -type f -perm -1 -name 'osu_*' | sort); do
		n=2 few=(-i 20 -x 2)
		case $t in
		*barrier*) n=3 ;;
		*/collective/*) n=3; few+=(-m 2:65536) ;;
		esac
		[[ $t == *reduce* ]] || ! grep -q -- '-c, --validation' <<<"$("$t" -h 2>/dev/null)" || few+=(-c)
		case $t in
		*_mt) continue ;; # for minutes on few processors: its threads wait busily, and its number of messages is fixed
		*_mbw_mr | *multi_lat) few=() ;;
		*/startup/*) few=() n=3 ;;
		*_fan_*) n=3 ;;
		esac
		# Some do nothing but read from each other.
		order=--calls
		# They reduce times, which on a busy machine may be anything; and to be checked (-c) each rank fills what it sends and
		# what it receives, of which a root has more.
		may='spike slow'
		foreign $f $n "OSU, $(basename "$t")" "$t" "${few[@]}"
	done
done
finish
