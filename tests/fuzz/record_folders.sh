#!/usr/bin/env bash
# Records small real folders of all kinds, for damaged_folders.c: CSV, gzip, the compact format, journals of killed ranks, dumps, names, kinds, event
# files, checkpoints. Each folder below FOLDERS is one seed. Usage: tests/fuzz/record_folders.sh BUILD-DIR FOLDERS
set -u
B=$1 folders=$2
. tests/e2e/mpi.sh
lib=$(realpath "$B/libprobe.so")
read -r flavour <<<"$(mpi_flavours)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folders"

record_mpi() { # SEED RANKS [NAME=VALUE ...] PROGRAM [ARGS]
	local seed=$1 ranks=$2
	shift 2
	MPI_LIMIT=60 mpi_run "$flavour" "$ranks" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$folders/$seed" PROBE_JOURNAL_MIB=1 "$@" >/dev/null 2>&1
}

record_python() { # SEED RANKS [NAME=VALUE ...] SCRIPT [ARGS]
	local seed=$1 ranks=$2 vars=() r
	shift 2
	while [[ $1 == *=* ]]; do vars+=("$1"); shift; done
	for ((r = 0; r < ranks; r++)); do
		env RANK=$r LOCAL_RANK=$r WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 20000)) OMP_NUM_THREADS=1 \
			GLOO_SOCKET_IFNAME=lo LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$folders/$seed" PROBE_JOURNAL_MIB=1 "${vars[@]}" \
			timeout -k 5 120 "$python" "$@" >/dev/null 2>&1 &
	done
	wait
}

if [ -n "$flavour" ]; then
	# A step each two collectives: several small files.
	record_mpi csv 4 PROBE_STEP_MARKER=MPI_Barrier PROBE_ONLY=MPI_Barrier,MPI_Bcast,MPI_Alltoallv mpi_contract
	record_mpi gzip 4 PROBE_RANK=0-1 PROBE_STEP_MARKER=MPI_Barrier PROBE_GZIP=true PROBE_STEP_COUNT_PER_RECORD=2 PROBE_ONLY=MPI_Barrier,MPI_Allgather,MPI_Scan \
		mpi_contract
	record_mpi messages 2 mpi_contract_p2p
	record_mpi compact 4 PROBE_RANK=0-1 PROBE_FORMAT=compact PROBE_STEP_MARKER=MPI_Barrier PROBE_ONLY=MPI_Barrier,MPI_Bcast,MPI_Allgather mpi_contract
	record_mpi csv_dump 4 PROBE_RANK=0-1 PROBE_FORMAT=csv,dump PROBE_SUMMARY_MODE=md5 PROBE_ONLY=MPI_Alltoallw,MPI_Reduce,MPI_Exscan mpi_contract
	mkdir -p "$folders/killed" "$folders/killed_dump"
	# A dead process's journal names its modules. These are gone afterwards: names of frames are read for `messages`.
	cp "$B/apps/$flavour/mpi_killed" "$lib" "$work/"
	lib=$work/libprobe.so
	for how in now wait; do
		env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$folders/killed" PROBE_JOURNAL_MIB=1 RANK=$([ $how = now ]; echo $?) WORLD_SIZE=2 \
			timeout -s KILL 5 "$work/mpi_killed" 40 "$work/counter" $how >/dev/null 2>&1
	done
	env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$folders/killed_dump" PROBE_JOURNAL_MIB=1 PROBE_FORMAT=csv,dump,monitor \
		"$work/mpi_killed" 40 "$work/counter" >/dev/null 2>&1
fi
python=${PROBE_TEST_PYTHON:-$B/ptvenv/bin/python}
if [ -x "$python" ]; then
	record_python state 2 PROBE_PRESET=state PROBE_ALERTS='[{rule: spike, kind: loss, threshold: 0.001}]' PROBE_ANOMALY_JSON=true \
		PROBE_PRINT_STRUCT=true PROBE_METRICS=true tests/apps/py/train_state.py --steps 3
	record_python formats 1 PROBE_FORMAT=csv,dump,monitor,tensorboard PROBE_SCALARS=true PROBE_NAMES=true \
		PROBE_KINDS=grad_unreduced,param_origin tests/apps/py/train_state.py --steps 2
	record_python tensors 2 PROBE_FORMAT=csv,dump PROBE_TASK=tensor PROBE_SUMMARY_MODE=md5 tests/apps/py/dumped.py "$work"
	record_python ckpts 1 PROBE_KINDS=grad_unreduced PROBE_TARGETS=embed_tokens PROBE_SCALARS=iteration-time \
		tests/apps/py/ckpts.py "$folders/ckpts/saved" "$work/numbers"
fi
# The damage is what counts, and a variant costs what its folder has: a few rows of each file do, of the calls the first and
# the last. Some calls then have no stack, some stacks no module.
shorten() { # FILE ROWS
	awk -v rows="$2" 'NR <= rows {print; next} {last[NR % 8] = $0}
		END {for (i = NR - 7; i <= NR; i++) if (i > rows) print last[i % 8]}' "$1" >"$work/short" && cat "$work/short" >"$1"
}
while read -r f; do
	case $f in
	*/messages/*/modules.csv) ;;
	*/modules.csv) shorten "$f" 3 ;;
	*) shorten "$f" 15 ;;
	esac
done < <(find "$folders" -name '*.csv')
# Most of what the configuration has says nothing new a second time.
for f in "$folders"/*/rank*/meta.json; do
	case $f in
	"$folders"/formats/* | "$folders"/state/*) ;;
	*) sed -i '/^ "config": /s/, "wrap_ops".*}/}/' "$f" ;;
	esac
done
# Names of frames come from the files that modules.csv names: of one seed, and there of small ones. Elsewhere there are none.
for f in "$folders"/*/rank*/modules.csv; do
	case $f in
	"$folders"/messages/*) awk 'NR == 1 || /libc\.so|mpi_contract_p2p/' "$f" >"$work/short" && cat "$work/short" >"$f" ;;
	*) sed -i 's|^/|/gone/|' "$f" ;;
	esac
done
# What is larger than a few hundred kB makes each variant slow and finds nothing more; but for a journal, which has a least size.
find "$folders" -type f -size +100k ! -name journal.bin -delete
find "$folders" -type f -size +1100k -delete
ls "$folders"
