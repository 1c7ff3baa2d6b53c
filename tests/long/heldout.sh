#!/usr/bin/env bash
# Programs by another hand (tests/faults/heldout), one fault in each run, and what `probe report` says: the table by program, MPI and
# fault, with intervals by program. Rules have been repaired with all of these programs but those in unseen/ and unseen2/. RUNS (1) of
# each fault, CLEAN (4) runs of each program without one, SEED (1), JOBS (2) at a time; KEEP: a folder for the runs that were not exact.
# No clean program may be accused. PROGRAMS=a,b: these alone; in fresh/ are wavefront,multigrid,frontier,rollout,sharded,ringattn; in
# later/: elements,treecode,tensorpar,recommend,adapters,onef1b; in unseen/: refine,implicit,ensemble,contrast,rivals,denoise; in
# unseen2/: lattice,hashjoin,pivots,halograph,buckets,decentral. EFFECTS=1: without libprobe and report; whether each fault takes effect.
# timeout: 7200
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
room=tests/faults/heldout
at=$(realpath "$B")/heldout
flavours=$(mpi_flavours | grep -x 'openmpi\|mpich' | paste -sd,)
[ -n "$flavours" ] || {
	skip 'held-out programs' 'no MPI'
	finish
}
for m in ${flavours//,/ }; do
	mkdir -p "$at/$m"
	mpi_cc "$m" -O1 -g -fPIC -shared -o "$at/$m/libbit_flip.so" $room/bit_flip.c || fail "$m: libbit_flip.so is built"
	for p in $(python3 -c "import sys; sys.path.insert(0, '$room'); from sites import PROGRAMS; print(*PROGRAMS)"); do
		[[ ,${PROGRAMS:-$p}, == *,$p,* ]] || continue
		# MPICH's header takes a null pointer of its own for a room of no size.
		mpi_cc "$m" -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wno-stringop-overflow -rdynamic -o "$at/$m/$p" \
			"$(find $room -name "$p.c")" $room/heldout.c -lm || fail "$m: $p is built"
	done
done
export PYTHONDONTWRITEBYTECODE=1 GLOO_SOCKET_IFNAME=lo
with_torch=()
[ -z "$test_python" ] || with_torch=(--torch "$test_python")
folder=${KEEP:-$tmp/runs}
options=(--build "$B" --programs "${PROGRAMS:-}" --runs "${RUNS:-1}" --clean "${CLEAN:-4}" --seed "${SEED:-1}" --jobs "${JOBS:-2}"
	--mpi "$flavours" ${with_torch[@]+"${with_torch[@]}"})
if [ -n "${EFFECTS:-}" ]; then
	python3 $room/heldout.py effects "$folder" "${options[@]}" >"$tmp/said" 2>&1
	is 'the runs are made' $? 0
	sed 's/^/# /' "$tmp/said"
	unlike 'each fault takes effect, and the others end well' "$(cut -d' ' -f1,2 "$tmp/said")" ' (none|failed)'
	finish
fi
python3 $room/heldout.py run "$folder" "${options[@]}" >"$tmp/said" 2>&1
status=$?
sed -n 's/^/# /; /^# *$/d; /^# program /,$p' "$tmp/said"
is 'the campaign runs to its end' "$status" 0
like 'no clean program is accused' "$(cat "$tmp/said")" 'variants: 0 accused'
finish
