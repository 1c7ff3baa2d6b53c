#!/usr/bin/env bash
# Every program of tests/apps gives the same results, and ends in the same way, with the preload as without it.
# timeout: 400
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'MPI programs' 'no MPI, or its programs are not built (make apps)'; finish; }
export PROBE_OUTPUT_DIR=$tmp/out
PASS=PROBE_OUTPUT_DIR tests/e2e/mpi_apps.sh "$lib"
