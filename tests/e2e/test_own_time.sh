#!/usr/bin/env bash
# Time of libprobe between two calls is not the program's: if one rank alone gets results, which are measured after
# each flush, no rank is called slow; if it also computes longer, it is. Prints TAP.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'own time' 'no MPI, or its programs are not built (make apps)'; finish; }
cat >"$tmp/gets.c" <<'C'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 1 << 22 };

int main(int argc, char **argv)
{
	int rank, late = argc > 1 ? atoi(argv[1]) : 0;
	double *to = calloc(N, sizeof *to), *base;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(N * sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	for (int i = 0; i < N; i++)
		base[i] = to[i] = i;
	MPI_Win_lock_all(0, win);
	for (int step = 0; step < 40; step++) {
		if (rank == 0) {
			MPI_Get(to, N, MPI_DOUBLE, 1, 0, N, MPI_DOUBLE, win);
			MPI_Win_flush(1, win);
			if (step >= 20)
				usleep((useconds_t)late * 1000);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	free(to);
	return 0;
}
C
slow_ones() { # FLAVOUR MILLISECONDS
	new_out
	run_with $1 2 PROBE_STEP_MARKER=MPI_Barrier "$tmp/gets.$1" "$2"
	"$probe" report --json "$out" | python3 -c 'import json, sys; print(*(f["ranks"] for f in json.load(sys.stdin)["findings"] if f["kind"] == "slow"))'
}
for f in $flavours; do
	mpi_cc $f -O1 -o "$tmp/gets.$f" "$tmp/gets.c" || { fail "$f: the program is built"; continue; }
	is "$f: results of one rank are measured in its time: it is not slow" "$(slow_ones $f 0)" ''
	is "$f: it is, where it computes longer as well" "$(slow_ones $f 200)" '[0]'
done

# A real run says what its start cost.
f=$(head -1 <<<"$(tr ' ' '\n' <<<"$flavours")")
new_out
run_with "$f" 2 PROBE_STEP_MARKER=MPI_Reduce train_digits --epochs 2
is "$f: the start's own time is at most all of it" "$(python3 -c 'import json, sys
m = json.load(open(sys.argv[1] + "/rank0/meta.json"))
print(0 < m["own_start"]["in_calls_s"] <= m["own_time"]["in_calls_s"], m["own_start"]["step"] >= 2)' "$out")" 'True True'

# ---- what the recording costs: once, and in each step ----

python3 tests/e2e/fault_folders.py "$tmp" slow >/dev/null
cost_of() { # SECONDS in calls, of these before the third step, MORE KEYS: the finding, of a run of 10 s whose third step begins 1 s after its start
	rm -rf "$tmp/cost"
	cp -r "$tmp/slow" "$tmp/cost"
	python3 - "$tmp/cost" "$@" <<-'PY'
		import csv, glob, json, sys
		folder, own, start, keys = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4:]
		for f in glob.glob(folder + "/rank*/meta.json"):
		    m = json.load(open(f))
		    begin = m.get("first_record_ns") or m["clock"]["first"]["real_ns"]
		    m["own_time"] = {"in_calls_s": own, "writer_s": 0.1}
		    if start != "-":
		        m["own_start"] = {"in_calls_s": float(start), "until_ns": begin + 10 ** 9, "step": 2}
		    m.setdefault("config", {})
		    m["config"].update({k: json.loads(v) for k, v in (x.split("=") for x in keys)})
		    json.dump(m, open(f, "w"))
		    # Six times as long as it was: 10 s.
		    for c in glob.glob(f.replace("meta.json", "calls_*.csv")):
		        rows = list(csv.DictReader(open(c, newline="")))
		        with open(c, "w", newline="") as out:
		            w = csv.DictWriter(out, rows[0], lineterminator="\n")
		            w.writeheader()
		            for r in rows:
		                r["start_ns"] = begin + 6 * (int(r["start_ns"]) - begin)
		                w.writerow(r)
	PY
	"$probe" report --json "$tmp/cost" | python3 -c 'import json, sys; print(*(f["text"] for f in json.load(sys.stdin)["findings"] if f["kind"] == "cost"))'
}
like 'a cost of the start is reported as one' "$(cost_of 0.9 0.89 scalars=true stack=false)" '^libprobe took 890 ms a rank once, before the third step \(keys scalars'
like 'a cost of each step is reported with the keys that are on' "$(cost_of 0.9 0.01 scalars=true stack=false)" '^9\.[0-9] % of the time after the first two steps .* take time: .*scalars'
unlike 'a key that is off is not blamed' "$(cost_of 0.9 0.01 scalars=true stack=false)" 'time: .*stack'
like 'of older runs the whole is reported' "$(cost_of 0.9 -)" '^9(\.[0-9]+)? % of the run '
is 'little is no finding' "$(cost_of 0.02 0.01)" ''
finish
