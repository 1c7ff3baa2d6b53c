#!/usr/bin/env bash
# Runs the programs of tests/apps with every MPI, and says how long each took: tests/e2e/mpi_apps.sh [PRELOAD]
#
# Without PRELOAD: each must succeed by itself, so that a failure under a preloaded library is that library's. With it
# (absolute path; several joined by a colon): each runs twice, without and with it, and must print the same lines and
# end in the same way. $FLAVOURS and $APPS select; $RANKS replaces 4. Variables named in $PASS reach the ranks of the
# second run. Prints TAP.
# timeout: 600
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/e2e/mpi.sh
preload=${1:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0

# One line a run: program and arguments.
list() {
	cat <<-EOF
		mpi_collectives
		mpi_nonblocking
		mpi_persistent
		mpi_large
		mpi_neighbor
		mpi_intercomm
		mpi_comms
		mpi_p2p
		mpi_requests
		mpi_threads
		mpi_dtypes
		mpi_fenv
		mpi_errors
		mpi_fork
		mpi_outside
		mpi_outside session
		mpi_spawn
		mpi_exit finalize 100 -1
		mpi_exit finalize_exit 100 -1
		mpi_random_kill $tmp/log 1 20000
		mpi_fortran
		mpi_cxx
		mpi_py.py
		train_digits
		train_digits --steps 50 --nan-at 20:1
	EOF
}

result() { # status, name, comment
	n=$((n + 1))
	case $1 in
	0) echo "ok $n - $2${3:+ # $3}" ;;
	77) echo "ok $n - $2 # SKIP ${3:-}" ;;
	*)
		echo "not ok $n - $2${3:+ # $3}"
		bad=1
		;;
	esac
}

run() { # output file, flavour, ranks, then as mpi_run; prints the exit status
	local out=$1
	shift
	mpi_run "$@" >"$out" 2>"$out.err" </dev/null
	local rc=$?
	sort -o "$out" "$out"
	echo $rc
}

for flavour in ${FLAVOURS:-$(mpi_flavours)}; do
	while read -r app args; do
		[[ " ${APPS:-$app} " == *" $app "* ]] || continue
		name="$flavour: $app${args:+ ${args//$tmp\//}}"
		# shellcheck disable=SC2086  # arguments are words
		set -- $args
		if [[ $app == *.py ]]; then
			python=$(mpi_python "$flavour") || {
				result 77 "$name" "no mpi4py of this MPI"
				continue
			}
			set -- "tests/apps/$app" "$@"
			app=$python
		elif [ ! -x "$B/apps/$flavour/$app" ]; then
			result 77 "$name" "not built"
			continue
		fi
		started=$(date +%s%N)
		rc=$(run "$tmp/plain" "$flavour" "${RANKS:-4}" "$app" "$@")
		took="$((($(date +%s%N) - started) / 1000000)) ms"
		if [ "$rc" = 77 ]; then
			result 77 "$name" "$(sed -n 's/.*skipped: //p' "$tmp/plain" | head -1)"
			continue
		elif [ "$rc" != 0 ] || [ -z "$preload" ]; then
			result "$rc" "$name" "status $rc, $took"
			[ "$rc" = 0 ] || head -20 "$tmp/plain.err" | sed 's/^/#   /'
			continue
		fi
		vars=("LD_PRELOAD=$preload")
		for v in ${PASS:-}; do
			vars+=("$v=${!v}")
		done
		started=$(date +%s%N)
		rc=$(run "$tmp/with" "$flavour" "${RANKS:-4}" "${vars[@]}" "$app" "$@")
		took="$took, with it $((($(date +%s%N) - started) / 1000000)) ms"
		if [ "$rc" = 0 ] && cmp -s "$tmp/plain" "$tmp/with"; then
			result 0 "$name" "$took"
		else
			result 1 "$name" "status $rc, $took"
			diff "$tmp/plain" "$tmp/with" | head -10 | sed 's/^/#   /'
			head -10 "$tmp/with.err" | sed 's/^/#   /'
		fi
	done < <(list)
done
echo "1..$n"
[ $n -gt 0 ] && [ $bad = 0 ]
