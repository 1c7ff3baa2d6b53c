#!/usr/bin/env bash
# C++ functions stand in stack_info.csv by their plain names, and the report finds the line of each, also where overloads
# and instances of a template share a name (mpi_names.cpp, which prints what must be there).
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
f=$(for f in $flavours; do command -v mpicxx.$f >/dev/null && echo $f; done | head -1)
[ -n "$f" ] || { skip 'C++ names' 'no MPI with a C++ compiler'; finish; }

mpicxx.$f -g -O1 -o "$tmp/mpi_names" tests/apps/mpi_names.cpp || fail 'mpi_names.cpp compiles'
new_out
run_with $f 1 "$tmp/mpi_names"
is 'ends well' $status 0
contract 'C++ names' "$out"
is 'six functions' "$(wc -l <"$tmp/with")" 6
stacks=$(cat "$out/rank0/stack_info.csv")
report=$("$probe" report --stacks --top 20 "$out")
unlike 'no name is mangled' "$stacks" 'mpi_names!_Z'
while read -r line; do
	at=${line##* } name=${line% *}
	ok "in the file: $name" grep -qF "mpi_names!$name+0x" <<<"$stacks"
	ok "its line $at is in the report" grep -qF "mpi_names!$name+0x" <(grep -F "mpi_names.cpp:$at" <<<"$report")
done <"$tmp/with"
finish
