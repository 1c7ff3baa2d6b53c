#!/usr/bin/env bash
# ULFM with processes that do die: the others shrink the communicator and go on. Results unchanged, one number for what is left
# on all that are left, the dead named in their order, the others not. With each MPI that has it: Open MPI since 5.0.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'ULFM' 'no MPI, or its programs are not built (make apps)'; finish; }
# Open MPI waits for the dead in MPI_Finalize.
export MPIRUN_OPTIONS='--with-ft ulfm' OMPI_MCA_async_mpi_finalize=1 MPI_LIMIT=60

for f in $flavours; do
	run_plain $f 5 mpi_ulfm 2@4
	if ! grep -q ok, "$tmp/plain"; then
		skip "$f: ULFM" "with this MPI nothing is left of a job in which a process dies (status $status without us)"
		continue
	fi
	# Who dies, in which turn; then what is left.
	while read -r deaths count left; do
		text="$f: rank and turn ${deaths//,/ }"
		new_out
		run_plain $f 5 mpi_ulfm ${deaths//,/ }
		run_with $f 5 mpi_ulfm ${deaths//,/ }
		same_result "$text"
		is "$text: all that are left come to the end" "$(grep -c ok, "$tmp/with")" $count
		"$probe" report "$out" >"$tmp/report" 2>&1
		like "$text: the report names who died first" "$(cat "$tmp/report")" "died +step [0-9]+: rank ${deaths%%@*} left without a message: .*SIGKILL"
		then=$(cut -d, -f2- -s <<<"$deaths" | cut -d@ -f1)
		[ -z "$then" ] || like "$text: and who did later" "$(cat "$tmp/report")" "then rank $then ended too, without a message; the others continued"
		unlike "$text: no other rank is blamed" "$(sed '/^run  /,$d' "$tmp/report")" '(hang|error|skip|order|mismatch|late|slow) '
		"$probe" recover "$out" >"$tmp/recover" 2>&1
		is "$text: what is left is one communicator" \
			"$(rows "$out" 'len({c["comm"] for c in C if c["kind"] == "shrink" and c["world_ranks"] == "'"$left"'"})')" 1
		# Each of the 12 turns ends with one sum that all that are left have.
		is "$text: each turn's sum once without an error, on all that came to the end" \
			"$(rows "$out" 'sorted({len({(r["comm"], r["comm_seq"]) for r in on(d) if r["op"] == "all_reduce" and "error" not in flags(r)}) >= 12 for d in dirs if M[d]["end"]["how"] == "finalized"})')" \
			'[True]'
	done <<-'EOT'
		2@4 4 0-1;3-4
		4@3,0@7 3 1-3
	EOT
done
finish
