#!/usr/bin/env bash
# The command as two ranks, on one GPU: two_ranks.sh COMMAND...  What rank 0 says is its output.
export WORLD_SIZE=2
RANK=1 "$@" >/dev/null &
RANK=0 "$@"
status=$?
wait $! && exit $status
exit 1
