#!/usr/bin/env bash
# What MPI 4 added: messages in partitions, sessions, large counts of one-sided calls, persistent collectives on an
# intercommunicator; and ULFM. Results unchanged, as many records as an independent tool counts, partitioned messages with their data
# when all parts were there. With each MPI that has it.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'MPI 4' 'no MPI, or its programs are not built (make apps)'; finish; }

for f in $flavours; do
	run_plain $f 4 mpi_newer
	[ $status != 77 ] || { skip "$f: MPI 4" 'this MPI is older'; continue; }
	is "$f: the program itself" $status 0
	new_out
	run_with $f 4 mpi_newer
	same_result "$f: MPI 4"
	contract "$f: MPI 4" "$out" --partial
	is "$f: sent partitions, with the data when all were ready" \
		"$(rows "$out" '[[tuple(r[k] for k in "op peer tag io count min max nans".split()) for r in on("rank" + str(n)) if r["api"] == "MPI_Psend_init"] == [
			("send", str((n + 1) % 4), "3", "in", "200", "%.17g" % (t + n / 2), "%.17g" % (t + 199 + n / 2), "0") for t in range(5)] for n in range(4)]')" \
		'[True, True, True, True]'
	is "$f: received partitions" \
		"$(rows "$out" '[[tuple(r[k] for k in "op peer tag io count min max nans".split()) for r in on("rank" + str(n)) if r["api"] == "MPI_Precv_init"] == [
			("recv", str((n + 3) % 4), "3", "out", "200", "%.17g" % (t + (n + 3) % 4 / 2), "%.17g" % (t + 199 + (n + 3) % 4 / 2), "0") for t in range(5)] for n in range(4)]')" \
		'[True, True, True, True]'
	is "$f: messages in parts and others of one tag: each has one number on both sides" \
		"$(rows "$out" '[sorted((r["comm"], str((n + turned) % 4), r["comm_seq"]) for n in range(4) for r in on("rank" + str(n)) if r["api"] == api and r["tag"] == "3") == sorted(
			(r["comm"], str(n), r["comm_seq"]) for n in range(4) for r in on("rank" + str(n)) if r["api"] == other and r["tag"] == "3")
			for api, other, turned in (("MPI_Psend_init", "MPI_Precv_init", 1), ("MPI_Send", "MPI_Irecv", 1))], len({r["comm_seq"] for r in R if r["tag"] == "3"})' )" \
		'([True, True], 10)'
	# Open MPI 5 has all but these.
	if ! nm -D "$B/apps/$f/mpi_newer" | grep -q MPI_Put_c; then
		skip "$f: large counts of one-sided calls" 'this MPI has none'
	else
		is "$f: large counts of one-sided calls" \
			"$(rows "$out" '[(r["api"], r["io"], r["count"], r["min"], r["max"]) for r in on("rank1") if r["api"].endswith("_c") and r["io"]]')" \
			"[('MPI_Put_c', 'in', '4', '10', '13'), ('MPI_Accumulate_c', 'in', '4', '10', '13'), ('MPI_Get_c', 'out', '4', '20', '26')]"
	fi
	is "$f: a persistent collective between two groups" \
		"$(rows "$out" '[[(r["min"], r["comm_seq"]) for r in on(d) if r["api"] == "MPI_Allreduce_init" and r["io"] == "out"] for d in dirs]')" \
		"[[('4', '0'), ('4', '1'), ('4', '2')], [('2', '0'), ('2', '1'), ('2', '2')], [('4', '0'), ('4', '1'), ('4', '2')], [('2', '0'), ('2', '1'), ('2', '2')]]"
	is "$f: nothing stays open" "$(rows "$out" '[r["api"] for r in R if "open" in flags(r)]')" '[]'

	# The independent tool is called after libprobe.so.
	new_out
	PRELOAD=$lib:$(realpath "$B/apps/$f/libpmpicount.so") run_with $f 4 PMPI_COUNT_OUT="$tmp/pmpi" mpi_newer
	is "$f: with the witness: ends well" $status 0
	ok "$f: both saw the same" python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi"

	# A session, and MPI_COMM_WORLD after it.
	run_plain $f 2 mpi_newer session
	if [ $status != 0 ]; then
		skip "$f: a session before MPI_Init" 'this MPI cannot do it by itself'
	else
		new_out
		run_with $f 2 mpi_newer session
		same_result "$f: session"
		is "$f: session: its communicator, by the session's group of all, and the world by its name" \
			"$(rows "$out" 'sorted((c["kind"], c["name"], c["size"]) for c in C if c["folder"] == "rank0"), len({c["comm"] for c in C if c["kind"] != "self"}), {r["flags"] for r in R}')" \
			"([('from_group', '', '2'), ('world', 'MPI_COMM_WORLD', '2')], 2, {''})"
	fi

	# Only sessions: each rank has the same numbers for the same communicators, by the processes of mpi://WORLD.
	run_plain $f 4 mpi_newer sessions
	if [ $status != 0 ]; then
		skip "$f: two sessions" "this MPI cannot do it by itself (status $status)"
	else
		new_out
		run_with $f 4 mpi_newer sessions
		same_result "$f: sessions"
		contract "$f: sessions" "$out" --partial
		is "$f: sessions: communicators" \
			"$(rows "$out" '[(a, b, c, n) for (a, b, c), n in sorted(__import__("collections").Counter((c["name"], c["size"], c["world_ranks"]) for c in C).items())], len({c["comm"] for c in C})')" \
			"([('', '2', '0;2', 4), ('', '2', '1;3', 4), ('ice', '4', '0-3', 4), ('ocean', '4', '0-3', 4)], 6)"
		# What the program does: in each session a sum of all, three of every second, and rank 0 to all.
		is "$f: sessions: each call, numbered by its communicator" \
			"$(rows "$out" '[[(r["op"], r["comm_seq"], r["flags"]) for r in on(d) if r["io"] == ("out" if r["op"] == "broadcast" else "in")] == 2 * (
				[("all_reduce", "0", "")] + [("all_reduce", str(i), "") for i in range(3)] + [("broadcast", "1", "")]) for d in dirs]')" \
			'[True, True, True, True]'
	fi

	# This MPI may have only the names of ULFM: then a stand-in is the next in the chain.
	second=''
	MPI_LIMIT=20 run_plain $f 3 mpi_newer ulfm
	if [ $status != 0 ] && mpi_cc $f -D_GNU_SOURCE -O1 -fPIC -shared -o "$tmp/libulfm.so" tests/apps/ulfm_standin.c 2>"$tmp/cc"; then
		second=$tmp/libulfm.so
		run_plain $f 3 LD_PRELOAD="$second" mpi_newer ulfm
	fi
	if [ $status != 0 ]; then
		skip "$f: ULFM" "neither this MPI nor the stand-in can do it (status $status)"
		continue
	fi
	new_out
	PRELOAD=$lib${second:+:$second} run_with $f 3 mpi_newer ulfm
	same_result "$f: ULFM"
	contract "$f: ULFM" "$out" --partial
	is "$f: ULFM: an agreement is a collective, once" \
		"$(rows "$out" '[(r["folder"], r["op"], r["io"], r["comm_seq"]) for r in R if "agree" in r["api"]]')" \
		"[('rank0', 'agree', '', '0'), ('rank1', 'agree', '', '0'), ('rank2', 'agree', '', '0')]"
	is "$f: ULFM: those that are left are one communicator" \
		"$(rows "$out" 'len({c["comm"] for c in C if c["kind"] == "shrink"}), {c["size"] for c in C if c["kind"] == "shrink"}')" "(1, {'3'})"
	is "$f: ULFM: the rank that revoked it" "$(rows "$out" '[(r["folder"], r["op"], r["comm_seq"]) for r in R if r["api"] == "MPIX_Comm_revoke"]')" "[('rank0', 'revoke', '')]"
done
finish
