#!/usr/bin/env bash
# One rank never comes to the making of a communicator, or to a collective of two groups: the report of the running job names it and the call.
# A circle of messages between two groups. With each MPI and each way to make a communicator.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'constructors' 'no MPI, or its programs are not built (make apps)'; finish; }

said() {
	"$probe" report "$out" 2>&1 | tr -s ' \n' ' '
}

never_came() { # API
	said | grep -Eq "stall [^(]*ranks? [0-9,]+ (is|are) blocked in comm_[^.]* on [^.]*\($1\), step 0.* rank 2 never entered it: the last call was all_reduce #2 on"
}

misses_one() {
	said | grep -Eq 'ranks 0,1 are blocked in all_reduce #3 on [^.]* ranks 0\|1-2\) .* rank 2 never entered it: the last call was all_reduce #2 on [^.]* ranks 0\|1-2\)'
}

is_circle() {
	said | grep -Eq 'deadlock .*rank 0 [^.]*recv #0 from 1 tag 99 .*rank 2 [^.]*recv #0 from 0 tag 99 '
}

making() { # HOW API
	new_out
	start_with $f 3 mpi_hang $1 3
	if wait_until 40 never_came $2; then
		pass "$f: $2: the missing rank and the call"
	else
		fail "$f: $2: the missing rank and the call" "$(said)"
	fi
	kill -9 $(ranks_of "$out")
	launcher_ends
}

for f in $flavours; do
	making dup MPI_Comm_dup
	making split MPI_Comm_split
	making split_type MPI_Comm_split_type
	making create MPI_Comm_create
	making cart MPI_Cart_create
	making merge MPI_Intercomm_merge
	making inter MPI_Intercomm_create

	new_out
	start_with $f 3 mpi_hang over 3
	wait_until 40 misses_one || said
	ok "$f: a collective of two groups: the missing rank" misses_one
	kill -9 $(ranks_of "$out")
	launcher_ends

	new_out
	start_with $f 3 mpi_hang across 3
	wait_until 40 is_circle || said
	ok "$f: messages between two groups: the ranks of the circle" is_circle
	kill -9 $(ranks_of "$out")
	launcher_ends
done
finish
