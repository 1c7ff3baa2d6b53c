#!/usr/bin/env bash
# Horovod's PyTorch part over Open MPI, 2 ranks (tests/apps/py/horovod_train.py): losses, weights and results unchanged; the calls of MPI
# that its thread makes are counted and measured by libpmpicount.so in the same run. HOROVOD_PYTHON: a Python with it: 0.28.1 is
# compiled only by HOROVOD_WITH_MPI=1 pip install --no-build-isolation . in its sources, where CMakeLists.txt and
# horovod/torch/CMakeLists.txt say CMAKE_CXX_STANDARD 20 and not 14 (what PyTorch 2.13 wants). Prints TAP.
# timeout: 900
. "$(dirname "$0")/../e2e/lib.sh"
python=${HOROVOD_PYTHON:-}
[ -n "$python" ] || { skip 'Horovod' 'no HOROVOD_PYTHON'; finish; }
"$python" -c 'import horovod.torch as h; assert h.mpi_built()' >"$tmp/import" 2>&1 || { skip 'Horovod' "it cannot be imported: $(tail -1 "$tmp/import")"; finish; }
command -v mpirun.openmpi >/dev/null || { skip 'Horovod' 'no Open MPI'; finish; }
witness=$B/apps/openmpi/libpmpicount.so
[ -e "$witness" ] || make -s "$witness" || finish
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1

mpi_run openmpi 2 "$python" tests/apps/py/horovod_train.py "$tmp/said" >"$tmp/mpirun" 2>&1 </dev/null
echo $? >"$tmp/plain.status"
cat "$tmp"/said.[01] >"$tmp/plain"
[ "$(cat "$tmp/plain.status")" = 0 ] || { skip 'Horovod' "it fails without us: $(tail -1 "$tmp/mpirun")"; finish; }
is 'both ranks have the weights of one model' "$(sed -n 's/.*weights //p' "$tmp/said.0")" "$(sed -n 's/.*weights //p' "$tmp/said.1")"
like 'collectives have their results' "$(cat "$tmp/said.0")" 'step 4 loss .*sum \[1.0, 3.0, .* from 1 \[1.0, 2.0'
rm "$tmp"/said.[01]
new_out
mpi_run openmpi 2 LD_PRELOAD="$lib:$(realpath "$witness")" PROBE_OUTPUT_DIR="$out" PMPI_COUNT_OUT="$tmp/pmpi" "$python" \
	tests/apps/py/horovod_train.py "$tmp/said" >"$tmp/mpirun" 2>"$tmp/with.err" </dev/null
echo $? >"$tmp/with.status"
cat "$tmp"/said.[01] >"$tmp/with"
same_result 'training and collectives'
is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
contract 'Horovod' "$out" --partial
ok "the $(awk -F, 'FNR > 1 {n += $2} END {print n}' "$tmp"/pmpi.?.calls) calls of MPI as the witness measured them" \
	python3 tests/e2e/pmpi_compare.py "$out" "$tmp/pmpi"
# However it puts gradients together: 5 steps of 64 * 32 + 64 + 4 * 64 + 4.
is 'all gradients were summed up, on both ranks' \
	"$(rows "$out" '[sum(int(r["count"]) for r in on(d) if r["api"] == "MPI_Allreduce" and r["dtype"] == "float32" and r["io"] == "in") for d in dirs]')" \
	'[11860, 11860]'
finish
