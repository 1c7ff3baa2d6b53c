#!/usr/bin/env bash
# Two tools in one preload chain see the same calls: libprobe.so, and libpmpicount.so, which measures every buffer by
# itself (pmpi_count.c), each once before the other. And calls that libpmpicount.so cannot follow, against known facts about
# the programs. With each MPI.
# timeout: 900
# long: each program with each MPI, and more with the witness first
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'truth' 'no MPI, or its programs are not built (make apps)'; finish; }

# FLAVOUR PROGRAM [OPTIONS of pmpi_compare.py]; ORDER=inner: the other tool comes first; ALWAYS=1: not in turns
both() {
	local f=$1 app=$2 name="$1: $2" witness chain
	shift 2
	[ -n "${ALWAYS:-}" ] || has_turn "$f" "$app ${ORDER:-}" || return 0
	witness=$(realpath "$B/apps/$f/libpmpicount.so")
	chain=$lib:$witness
	[ "${ORDER:-}" != inner ] || { chain=$witness:$lib name="$name, the witness first" && set -- "$@" --inner; }
	rm -f "$tmp"/pmpi*
	new_out
	PRELOAD=$chain run_with "$f" 4 PMPI_COUNT_OUT="$tmp/pmpi" $app
	! fails_itself "$f" 4 $app || return
	is "$name: ends well" $status 0
	# The order of the two tools does not change the form of the files.
	[ "${ORDER:-}" = inner ] || contract "$name" "$out" ${CHECK:-}
	ok "$name: both saw the same" python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi" "$@"
}

# Data that went through the collectives of a folder, one line per rank; the form of the call does not matter.
collectives() { # PATTERN of the functions, calls to leave out on each rank
	rows "$out" '"\n".join(d + ";" + ";".join(
		" ".join(r[k] for k in "op redop root size io index dtype count bytes min max mean norm zeros nans infs".split())
		for s in [[r for r in on(d) if re.fullmatch("'"$1"'", r["api"]) and r["op"] not in ("send", "recv")]]
		for skip in [sorted({int(r["seq"]) for r in s})['"${2:-0}"':]]
		for r in sorted(s, key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0))) if int(r["seq"]) >= skip[0]) for d in dirs)'
}

# Each line of the first is a prefix of the other's, which continues with calls on MPI_COMM_SELF.
same_cases() {
	python3 - "$1" "$2" <<-'EOF'
		import sys
		some, all_ = [[line.rstrip("\n").split(";") for line in open(p)] for p in sys.argv[1:]]
		assert len(some) == len(all_) == 4
		for a, b in zip(some, all_):
		    assert len(a) > 2000, len(a)
		    for x, y in zip(a, b):
		        assert x == y, (a[0], x, y)
		    assert b[len(a)].split(" ")[3] == "1", b[len(a)]
	EOF
}

for f in $flavours; do
	ALWAYS=1 both $f mpi_collectives
	for app in mpi_nonblocking mpi_large mpi_comms mpi_intercomm mpi_dtypes mpi_fenv mpi_outside mpi_cxx \
		train_digits; do
		if [ ! -x "$B/apps/$f/$app" ]; then
			skip "$f: $app" 'it is not built'
		else
			both $f $app
		fi
	done
	CHECK=--p2p both $f mpi_requests
	CHECK=--p2p both $f mpi_p2p
	CHECK=--p2p both $f mpi_threads --any-order
	CHECK=--partial both $f mpi_errors # not all ranks make the wrong calls
	new_out
	run_with $f 3 mpi_p2p
	is "$f: mpi_p2p: the receive after a probe has the time in the probe, and no other blocking call has one" \
		"$(rows "$out" 'sorted({r["api"] for r in R if r["issue_ns"] and "async" not in flags(r)}), [r["api"] for r in R if r["wait_ns"] and "async" not in flags(r)]')" "(['MPI_Mrecv', 'MPI_Recv'], [])"
	new_out
	name="$f: mpi_errors: what could not be freed"
	run_with $f 3 mpi_errors
	if ! fails_itself $f 3 mpi_errors; then
		is "$f: mpi_errors: handles that could not be freed are known as before" \
			"$(rows "$out" 'sum("guessed" in flags(r) for r in R), len({r["comm"] for r in R if r["api"] == "MPI_Allreduce" and r["count"] == "100"}), sorted({c["kind"] for c in C})')" \
			"(0, 1, ['dup', 'world'])"
		# Statuses of truncated receives say 8 elements (Open MPI), or whatever was there before (MPICH 4.0.2).
		is "$f: mpi_errors: a truncated receive has no row of what arrived, and those beside it have" \
			"$(rows "$out" '[(r["api"], r["tag"], r["io"], r["count"], r["max"]) for r in on("rank0") if r["op"] == "recv" and r["tag"] in "1 2 10 11 12".split()]')" \
			"[('MPI_Recv', '1', '', '', ''), ('MPI_Irecv', '2', '', '', ''), ('MPI_Irecv', '10', 'out', '8', '8'), ('MPI_Irecv', '11', '', '', ''), ('MPI_Irecv', '12', 'out', '8', '8')]"
	fi
	if python=$(mpi_python $f); then
		ALWAYS=1 both $f "$python tests/apps/mpi_py.py"
	else
		skip "$f: mpi_py.py" 'no mpi4py of this MPI'
	fi
	ORDER=inner both $f mpi_collectives
	[ -z "${LONG:-}" ] || for app in mpi_nonblocking mpi_requests train_digits; do
		ORDER=inner both $f $app
	done
	ORDER=inner both $f mpi_threads --any-order

	# Fortran: in Open MPI its calls are PMPI_X from the start, in MPICH they are not.
	if [ -x "$B/apps/$f/mpi_fortran" ]; then
		new_out
		run_with $f 4 mpi_fortran "$tmp/fortran"
		is "$f: mpi_fortran: ends well" $status 0
		is "$f: mpi_fortran: it has deleted its files" "$(find "$tmp" -name 'fortran.*')" ''
		contract "$f: mpi_fortran" "$out" --p2p
		is "$f: every call from Fortran is counted once" "$(rows "$out" 'sorted(Counter((r["folder"], re.sub("^P", "", r["api"])) for r in calls(R)).items()) ==
			sorted(((d, "MPI_" + n), 10) for d in dirs for n in "Allreduce Irecv Isend Reduce Bcast Iallreduce Scan Sendrecv".split())')" True
		is "$f: statistics of a sum from Fortran" "$(rows "$out" '[(r["dtype"], r["count"], r["min"], r["max"]) for r in on("rank1") if r["api"].endswith("MPI_Allreduce") and r["io"] == "out"][0]')" \
			"('float32', '1000', '14', '4010')"
	else
		skip "$f: Fortran" 'the program is not built: no compiler for it'
	fi

	# Persistent requests: each start is a call, with the data of that start.
	new_out
	run_with $f 4 mpi_persistent
	name="$f: persistent requests"
	! fails_itself $f 4 mpi_persistent || continue
	is "$f: mpi_persistent: ends well" $status 0
	contract "$f: mpi_persistent" "$out" --p2p
	is "$f: every start of a message" "$(rows "$out" '{d: sorted(Counter(r["api"] for r in calls(on(d)) if re.match("MPI_.?(send|Recv|Send)_init", r["api"])).items()) for d in dirs} ==
		{d: [("MPI_Bsend_init", 12), ("MPI_Recv_init", 51), ("MPI_Rsend_init", 12), ("MPI_Send_init", 15), ("MPI_Ssend_init", 12)] for d in dirs}')" True
	if [ "$(rows "$out" '"MPI_Allreduce_init" in {r["api"] for r in R}')" = True ]; then
		# After 20 starts (2 requests, 10 times each) the same cases as the blocking ones on MPI_COMM_WORLD.
		collectives 'MPI_(?!Barrier).*_init' 20 >"$tmp/all"
		new_out
		run_with $f 4 mpi_collectives
		collectives 'MPI_(?!Barrier).*' >"$tmp/blocking"
		ok "$f: persistent collectives move the same data as blocking ones" same_cases "$tmp/all" "$tmp/blocking"
	else
		skip "$f: persistent collectives" 'this MPI has none'
	fi
done
finish
