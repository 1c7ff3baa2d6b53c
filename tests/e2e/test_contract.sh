#!/usr/bin/env bash
# The contract of the CSV files, to the letter: programs whose rows are written down by hand (contract*.expected), and
# what must hold between the files of all ranks. With each MPI.
# timeout: 600
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || skip 'contract' 'no MPI, or its programs are not built (make apps)'

by_hand() { # FLAVOUR RANKS PROGRAM EXPECTED
	local name="$1: $3"
	run_plain "$1" "$2" "$3"
	new_out
	rm -f "$tmp"/times.*
	run_with "$1" "$2" "$3" "$tmp/times"
	same_result "$name"
	contract "$name" "$out" --p2p
	ok "$name: every row is the one written by hand" python3 tests/e2e/contract_rows.py "$out" "tests/e2e/$4" "$tmp/with.err" "$tmp/times"
	silent "$name: nothing is reported" "$tmp/with.err"
}

for f in $flavours; do
	by_hand $f 2 mpi_contract_p2p contract_p2p.expected
	by_hand $f 4 mpi_contract contract.expected

	# comms.csv of the last run. The one without a name is used by MPI_Intercomm_create() alone, in which a rank may wait for the others.
	is "$f: communicators of rank 3" "$(rows "$out" '"\n".join(sorted("%s %s %s %s %s" % (c["name"], c["size"], c["rank"], c["kind"], c["world_ranks"]) for c in C if c["folder"] == "rank3"))')" \
		' 2 1 split 2-3
MPI_COMM_SELF 1 0 self 3
MPI_COMM_WORLD 4 3 world 0-3
a, "star" 4 3 dist_graph 0-3
bridge 2 1 intercomm 0-1|2-3
dup 4 3 dup 0-3
grid 4 3 cart 0-3
merged 4 1 merge 2-3;0-1
odd 2 0 split 3;1'
	is "$f: one number for a communicator on all its ranks, another one for each" \
		"$(rows "$out" 'sorted(Counter((c["comm"], c["name"]) for c in C).values()), len({c["comm"] for c in C})')" '([1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4], 14)'
	is "$f: parents" "$(rows "$out" '[{c["name"]: c["comm"] for c in C}.get(n) == p for n, p in sorted({(n, c["parent"]) for n in ["MPI_COMM_WORLD"] for c in C if c["kind"] in ("dup", "split", "cart", "dist_graph")})]')" '[True]'
	is "$f: the stack of a call is its own" "$(rows "$out" 'sorted({(s["api"], "mpi_contract!" in s["native_stack"]) for s in S if s["api"] in ("MPI_Scan", "MPI_Gatherv")})')" "[('MPI_Gatherv', True), ('MPI_Scan', True)]"
	is "$f: meta.json" "$(rows "$out" '[(m["format"], m["rank"], m["world_size"], m["state"], m["rank_guessed"], m["steps"]["source"], m["missing"], list(m["libraries"]), m["program"][0].split("/")[-1]) for m in [M["rank2"]]]')" \
		"[(1, 2, 4, 'finished', False, 'none', {}, ['mpi'], 'mpi_contract')]"
	is "$f: the run's name is the launcher's, or empty" "$(rows "$out" '{m["run"] != "" for m in M.values()}, len({m["run"] for m in M.values()})')" \
		"$([[ $f == openmpi* ]] && echo '({True}, 1)' || echo '({False}, 1)')"

	# More ranks, threads, other ways to make communicators: calls are joined correctly.
	for app in mpi_comms mpi_intercomm mpi_threads mpi_p2p; do
		new_out
		name="$f: $app"
		run_with $f 4 $app
		! fails_itself $f 4 $app || continue
		is "$f: $app" $status 0
		p2p=--p2p
		[ $app = mpi_threads ] || [ $app = mpi_p2p ] || p2p=
		contract "$f: $app" "$out" $p2p
	done
done
finish
