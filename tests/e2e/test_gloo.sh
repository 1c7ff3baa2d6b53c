#!/usr/bin/env bash
# gloo's C++ functions, of Debian's library, in a program of 2 ranks: results unchanged, exceptions too; each collective once, with
# its buffers' bytes. (That PyTorch's calls of gloo are recorded as c10d's only: test_torch_ddp.sh.)
# beside: its ranks sleep when they wait
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
if [ ! -e /usr/include/gloo/allreduce.h ]; then
	skip 'gloo' 'libgloo-dev is not installed'
	finish
fi
if ! g++ -std=gnu++17 -O1 -Wall -o "$tmp/gloo_calls" tests/apps/gloo_calls.cpp -lgloo -lpthread 2>"$tmp/cc"; then
	fail 'gloo: the program is built' "$(head -20 "$tmp/cc")"
	finish
fi
mkdir "$tmp/id1" "$tmp/id2" "$tmp/id3"
nccl_plain 2 "$tmp/gloo_calls"
is 'the program itself' "$status" 0
new_out
nccl_with 2 "$tmp/gloo_calls"
same_result 'gloo'
contract 'gloo' "$out" --partial
is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
# api, io, elements, bytes, root: what the program passes, of float.
list() { # rank
	rows "$out" '"\n".join(" ".join(x or "." for x in (r["api"], r["op"], r["comm_seq"], r["io"], r["dtype"], r["count"], r["bytes"], r["root"])) for r in on("rank'"$1"'"))'
}
is 'rank 0: each collective' "$(list 0)" "gloo::allreduce all_reduce 0 in other 4 16 .
gloo::allreduce all_reduce 0 out other 4 16 .
gloo::allreduce all_reduce 1 in other 3 12 .
gloo::allreduce all_reduce 1 out other 3 12 .
gloo::allgather all_gather 2 in other 2 8 .
gloo::allgather all_gather 2 out other 4 16 .
gloo::allgatherv all_gather_v 3 in other 1 4 .
gloo::allgatherv all_gather_v 3 out other 3 12 .
gloo::alltoall all_to_all 4 in other 4 16 .
gloo::alltoall all_to_all 4 out other 4 16 .
gloo::alltoallv all_to_all_v 5 in other 6 24 .
gloo::alltoallv all_to_all_v 5 out other 6 24 .
gloo::broadcast broadcast 6 out other 5 20 1
gloo::gather gather 7 in other 2 8 0
gloo::gather gather 7 out other 4 16 0
gloo::reduce reduce 8 in other 6 24 0
gloo::reduce reduce 8 out other 6 24 0
gloo::scatter scatter 9 out other 2 8 1
gloo::barrier barrier 10 . . . . .
gloo::broadcast broadcast 11 . . . . 9"
is 'rank 1: what only it has' "$(list 1 | grep -E 'broadcast 6|gather 7|reduce 8|scatter')" "gloo::broadcast broadcast 6 in other 5 20 1
gloo::broadcast broadcast 6 out other 5 20 1
gloo::gather gather 7 in other 2 8 0
gloo::reduce reduce 8 in other 6 24 0
gloo::scatter scatter 9 in other 2 8 1
gloo::scatter scatter 9 in other 2 8 1
gloo::scatter scatter 9 out other 2 8 1"
is 'the call that an exception left' "$(rows "$out" '{"unwound" in flags(r) for r in R if r["root"] == "9"}, sum("unwound" in flags(r) for r in R)')" '({True}, 2)'
is 'its context is a communicator' "$(rows "$out" '[(c["lib"], c["kind"], c["size"], c["rank"]) for c in C], len({c["comm"] for c in C})')" \
	"([('gloo', 'context', '2', '0'), ('gloo', 'context', '2', '1')], 1)"
finish
