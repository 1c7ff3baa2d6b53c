#!/usr/bin/env bash
# Requests that several calls have at once (mpi_shared.c): each call has its own outputs and none is read when the program
# has its memory back. libpmpicount.so cannot check this, because it identifies calls by the request; the data is known.
# timeout: 300
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'shared requests' 'no MPI, or its programs are not built (make apps)'; finish; }

# Outputs of the collectives on one rank: function, count, least and greatest value
cat >"$tmp/expect.py" <<-'EOF'
	from collections import Counter
	LENS = (200000, 3, 50000, 1, 120000, 7, 0, 90000, 20, 30000)
	APIS = "Iallreduce Ialltoallv Iallgatherv Igatherv Igatherv Iallreduce - Iscan Ireduce Ireduce".split()
	def want():
	    turns = [(k, t) for t in (0, 1, 2, 3, 4, 5, 9) for k in range(10)] + [(k, 4) for k in range(4)]
	    return Counter(("MPI_" + APIS[k], LENS[k], 1000.0 * k + t, 1000.0 * k + t + min(LENS[k] - 1, 9)) for k, t in turns if LENS[k])
	def have(rows):
	    return Counter((r["api"], int(r["count"]), float(r["min"]), float(r["max"])) for r in rows
	                   if r["io"] == "out" and r["size"] == "1" and r["api"].startswith("MPI_I") and r["op"] not in ("send", "recv"))
EOF

for f in $flavours; do
	for n in 1 3; do
		new_out
		run_plain $f $n mpi_shared
		run_with $f $n mpi_shared
		is "$f, $n ranks: ends well" $status 0
		same_result "$f, $n ranks"
		contract "$f, $n ranks" "$out" --p2p
		is "$f, $n ranks: every output is that of its call" "$(PYTHONPATH=$tmp rows "$out" \
			'[d for d in dirs if __import__("expect").have(on(d)) != __import__("expect").want()]')" '[]'
		is "$f, $n ranks: every call was seen to its end" "$(rows "$out" \
			'sorted({(r["api"], r["flags"]) for r in R if r["api"] not in ("MPI_Barrier", "MPI_Allreduce") and not set(flags(r)) <= {"async", "freed", "nostats"}})')" '[]'
		if [ $n != 1 ]; then
			run_plain $f $n mpi_shared arrays
			if [ "$(cat "$tmp/plain.status")" != 0 ]; then
				skip "$f: arrays that go early" 'this MPI needs them'
			else
				mv "$out" "$out.calls"
				run_with $f $n mpi_shared arrays
				same_result "$f: arrays that go early"
				is "$f: arrays that go early: outputs" "$(rows "$out" \
					'[[(r["count"], r["min"], r["max"], round(float(r["norm"]), 9)) for r in on(d) if r["io"] == "out" and r["api"] != "MPI_Barrier"] == [
						(str((1 + t % 3) * 3), str(t), str(20 + t), round(sum((1 + t % 3) * (10.0 * k + t) ** 2 for k in range(3)) ** .5, 9)) for t in range(9) if t % 3 != 2 or d == "rank0"] for d in dirs]')" \
					'[True, True, True]'
				rm -rf "$out"
				mv "$out.calls" "$out"
			fi
		fi
		is "$f, $n ranks: communicators made between them are known" "$(grep -h ',dup,' "$out"/rank0/comms.csv | cut -d, -f1 | sort -u | wc -l)" 4
	done
done
finish
