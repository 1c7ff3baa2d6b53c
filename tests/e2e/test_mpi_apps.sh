#!/usr/bin/env bash
# Every program of tests/apps that no other script runs in both ways gives the same results, and ends in the same way,
# with the preload as without it. With each MPI. $APPS selects, $RANKS replaces 3.
# timeout: 600
# long: each program with each MPI
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'MPI programs' 'no MPI, or its programs are not built (make apps)'; finish; }

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
		mpi_dtypes
		mpi_errors
		mpi_outside
		mpi_outside session
		mpi_spawn
		mpi_exit finalize 100 -1
		mpi_exit finalize_exit 100 -1
		mpi_fortran
		mpi_cxx
		mpi_py.py
	EOF
}

for f in $flavours; do
	while read -r app args; do
		[[ " ${APPS:-$app} " == *" $app "* ]] || continue
		name="$f: $app${args:+ $args}"
		# Those that an MPI may lack, or do otherwise, are tried with each.
		case $app in
		mpi_fortran | mpi_cxx | mpi_spawn | mpi_outside | *.py) ;;
		*) has_turn $f "$app $args" || continue ;;
		esac
		# shellcheck disable=SC2086  # arguments are words
		set -- $args
		if [[ $app == *.py ]]; then
			python=$(mpi_python "$f") || {
				skip "$name" 'no mpi4py of this MPI'
				continue
			}
			set -- "tests/apps/$app" "$@"
			app=$python
		elif [ ! -x "$B/apps/$f/$app" ]; then
			skip "$name" 'not built'
			continue
		fi
		run_plain "$f" "${RANKS:-3}" "$app" "$@"
		case $status in
		0) ;;
		77)
			skip "$name" "$(sed -n 's/.*skipped: //p' "$tmp/plain" | head -1)"
			continue
			;;
		*)
			fail "$name: without the preload" "status $status"$'\n'"$(cat "$tmp/plain.err")"
			continue
			;;
		esac
		new_out
		run_with "$f" "${RANKS:-3}" "$app" "$@"
		same_result "$name"
		rm -rf "$out"
	done < <(list)
done
finish
