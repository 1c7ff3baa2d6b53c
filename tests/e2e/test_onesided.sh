#!/usr/bin/env bash
# One-sided MPI and MPI I/O: results unchanged, data moved, values read at completion, windows and files
# as communicators, a fence that a rank stays away from. With each MPI.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'one-sided' 'no MPI, or its programs are not built (make apps)'; finish; }
# Open MPI 4: the other components need copies between processes, which containers may not do. Open MPI 5 has no pt2pt.
if [ -z "${OTHER_MPI:-}" ] && [[ $(mpirun.openmpi --version 2>/dev/null) == *' 4.'* ]]; then
	export OMPI_MCA_osc=pt2pt
fi

moved() { # of rank 1, without what only synchronises
	rows "$out" '[(r["api"][4:], r["peer"], r["io"], r["dtype"], r["count"], r["min"], r["max"]) for r in on("rank1") if r["io"] and r["op"] != "compare_and_swap"]'
}

for f in $flavours; do
	run_plain $f 4 mpi_onesided
	is "$f: the program itself" "$status" 0
	new_out
	run_with $f 4 mpi_onesided
	same_result "$f: one-sided"
	contract "$f: one-sided" "$out" --partial
	is "$f: what is moved, and what was read when it was there" "$(moved)" \
		"[('Put', '2', 'in', 'float64', '4', '10', '13'), ('Get', '2', 'out', 'float64', '4', '10', '13'), ('Accumulate', '2', 'in', 'float64', '4', '10', '13'), ('Get_accumulate', '2', 'in', 'float64', '4', '10', '13'), ('Get_accumulate', '2', 'out', 'float64', '4', '20', '26'), ('Get_accumulate', '2', 'out', 'float64', '4', '30', '39'), ('Fetch_and_op', '2', 'in', 'float64', '1', '1', '1'), ('Fetch_and_op', '2', 'out', 'float64', '1', '30', '30'), ('Fetch_and_op', '2', 'out', 'float64', '1', '31', '31'), ('Rput', '2', 'in', 'float64', '4', '10', '13'), ('Rget', '2', 'out', 'float64', '4', '10', '13'), ('Get', '2', 'out', 'float64', '2', '10', '11')]"
	is "$f: compare and swap: two inputs, one output" \
		"$(rows "$out" '[(r["io"], r["index"], r["count"], r["min"]) for r in on("rank1") if r["op"] == "compare_and_swap" and r["io"] == "in"]')" \
		"[('in', '0', '1', '7'), ('in', '1', '1', '0'), ('in', '0', '1', '0'), ('in', '1', '1', '7')]"
	is "$f: nothing stays open" "$(rows "$out" '[r["api"] for r in R if "open" in flags(r)]')" '[]'
	is "$f: windows are communicators, the same on all ranks" \
		"$(rows "$out" 'sorted((k, s, n) for (k, s, c), n in Counter((c["kind"], c["size"], c["comm"]) for c in C if c["kind"].startswith("win")).items())')" \
		"[('win_allocate', '4', 4), ('win_create', '4', 4)]"
	is "$f: fences are numbered" "$(rows "$out" '{d: [r["comm_seq"] for r in on(d) if r["api"] == "MPI_Win_fence"] for d in dirs} == {d: ["0", "1", "2", "3", "4"] for d in dirs}')" True
	is "$f: synchronisation, each call" "$(rows "$out" '[n for _, n in sorted(Counter(r["op"] for r in on("rank0") if r["op"].startswith("win_")).items())]')" \
		'[1, 5, 5, 4, 1, 1, 4, 1]'

	# The independent tool is called after libprobe.so.
	new_out
	PRELOAD=$lib:$(realpath "$B/apps/$f/libpmpicount.so") run_with $f 4 PMPI_COUNT_OUT="$tmp/pmpi" mpi_onesided
	is "$f: with the witness: ends well" $status 0
	ok "$f: both saw the same" python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi"

	# Files. Open MPI's own way of them waits for ever for what is read in two halves.
	[[ $f != openmpi* ]] || export OMPI_MCA_io=^ompio
	run_plain $f 4 mpi_files "$tmp/data"
	is "$f: files: the program itself" "$status" 0
	new_out
	rm -f "$tmp/data"
	run_with $f 4 mpi_files "$tmp/data"
	same_result "$f: files"
	contract "$f: files" "$out" --partial
	is "$f: files: what is written and read" \
		"$(rows "$out" '[(r["api"][9:], r["io"], r["count"], r["min"], r["max"]) for r in on("rank3") if r["io"]]')" \
		"[('write_at_all', 'in', '4', '30', '33'), ('read_at', 'out', '4', '30', '33'), ('read_at_all', 'out', '4', '30', '33'), ('iread_at', 'out', '2', '30', '31'), ('read_all', 'out', '4', '30', '33'), ('write', 'in', '4', '30', '33'), ('iwrite_at', 'in', '4', '30', '33'), ('write_at_all_begin', 'in', '4', '30', '33'), ('read_at_all_begin', 'out', '4', '30', '33'), ('write_all_begin', 'in', '4', '30', '33'), ('read_all_begin', 'out', '4', '30', '33'), ('write_ordered_begin', 'in', '4', '30', '33'), ('read_ordered_begin', 'out', '4', '30', '33'), ('iread_at', 'out', '4', '30', '33')]"
	is "$f: files: the file is a communicator, by its name" \
		"$(rows "$out" '{(c["kind"], c["name"], c["size"]) for c in C if c["kind"] == "file"}, len({c["comm"] for c in C if c["kind"] == "file"})')" \
		"({('file', 'data', '4')}, 1)"
	# ROMIO makes reductions while it detects the kind of file.
	is "$f: files: calls made by opening, closing and deleting are not the program's" "$(rows "$out" '[r["api"] for r in R if not r["op"].startswith("file_") and r["op"] != "barrier"]')" '[]'
	is "$f: files: each rank's is deleted" "$(grep -c ' delete 1$' "$tmp/with")" 4
	is "$f: files: collective calls are numbered" \
		"$(rows "$out" '[(r["op"], r["comm_seq"]) for r in calls(on("rank2")) if r["comm_seq"] and r["op"] != "barrier"]')" \
		"[('file_write', '0'), ('file_sync', '1'), ('file_read', '2'), ('file_read', '3'), ('file_write', '4'), ('file_read', '5'), ('file_write', '6'), ('file_read', '7'), ('file_set', '8'), ('file_set', '9'), ('file_write', '10'), ('file_sync', '11'), ('file_set', '12'), ('file_read', '13'), ('file_set', '14')]"

	rm -f "$tmp/data"
	new_out
	PRELOAD=$lib:$(realpath "$B/apps/$f/libpmpicount.so") run_with $f 4 PMPI_COUNT_OUT="$tmp/pmpi-files" mpi_files "$tmp/data"
	is "$f: files, with the witness: ends well" $status 0
	ok "$f: files: both saw the same" python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi-files"

	# A rank stays away from a fence.
	new_out
	start_with $f 4 mpi_onesided hang
	wait_until 60 sh -c "'$probe' report '$out' 2>/dev/null | grep -q 'rank 2: never entered it; last call win'"
	like "$f: a rank that stays away from a fence is named" "$("$probe" report "$out" 2>&1)" \
		'win_fence #4 on .*ranks 0,1,3: inside for .*rank 2: never entered it; last call win_unlock'
	# As before its first rows are written: only its open call is known then.
	mkdir "$tmp/early.$f" && mv "$out"/rank0/calls_*.csv "$tmp/early.$f"
	unlike "$f: a rank without a row yet has lived as long as its open call" "$("$probe" report "$out" 2>&1)" 'e-[0-9]+ % of the run'
	kill -9 $(ranks_of "$out") 2>/dev/null
	launcher_ends
	gone "$out"
done
finish
