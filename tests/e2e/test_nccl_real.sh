#!/usr/bin/env bash
# The real NCCL, as far as that goes without a GPU: configs/apis/nccl.yaml against real headers, the double built with them,
# and the real library's answers. Headers and library come from PyPI (tests/fetch_nccl.sh) and are kept in a cache.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
oldest=2.18.3 newest=2.32.3
cache=${NCCL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libprobe/nccl}
tests/fetch_nccl.sh $oldest >"$tmp/fetch" 2>&1
tests/fetch_nccl.sh -l $newest >>"$tmp/fetch" 2>&1

headers() {
	echo "-I$cache/$1/include -idirafter tests/doubles/cuda/include"
}

check_spec() { # VERSION SPEC
	sh tools/gen/check_spec.sh "$B/genwrap" "$2" "cc $(headers "$1")" "$tmp/check-$1"
}

for v in $oldest $newest; do
	if [ ! -f "$cache/$v/include/nccl.h" ]; then
		skip "nccl.h $v" "cannot be fetched: $(tail -1 "$tmp/fetch")"
		continue
	fi
	ok "nccl.yaml agrees with nccl.h $v" check_spec $v configs/apis/nccl.yaml
	mkdir -p "$tmp/$v"
	ok "the double with nccl.h $v" cc -std=gnu11 -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden \
		$(headers $v) -Wl,-soname,libnccl.so.2 -o "$tmp/$v/libnccl.so.2" tests/doubles/nccl/*.c -lm -lpthread
	ok "a training with nccl.h $v" cc -std=gnu11 -O1 -g -D_GNU_SOURCE $(headers $v) -o "$tmp/$v/nccl_train" tests/apps/nccl_train.c \
		"$tmp/$v/libnccl.so.2" -lpthread
	nccl_plain 2 LD_LIBRARY_PATH="$tmp/$v" "$tmp/$v/nccl_train" 2
	new_out
	nccl_with 2 LD_LIBRARY_PATH="$tmp/$v" "$tmp/$v/nccl_train" 2
	same_result "NCCL $v"
	contract "NCCL $v" "$out" --p2p
	is "NCCL $v: its version is noted down" "$(rows "$out" 'M["rank0"]["libraries"]["nccl"]')" $v
done

# Mistakes in rows are noticed.
if [ -f "$cache/$newest/include/nccl.h" ]; then
	mkdir -p "$tmp/wrong"
	cp configs/apis/kinds.yaml "$tmp/wrong/"
	for edit in 's/^  ncclAllReduce: .*ncclDataType_t dtype, ncclRedOp_t op/&, int x/' '/^  ncclSend:/s/size_t count/int count/' \
		'/^  ncclBroadcast:/s/const void \*send, void \*recv/void *recv, const void *send/' 's/6: float16/6: bfloat16/' 's/2: max, 3: min/2: min, 3: max/' \
		'/^  config:/s/const //' 's/struct(128)/struct(136)/'; do
		sed "$edit" configs/apis/nccl.yaml >"$tmp/wrong/nccl.yaml"
		if cmp -s "$tmp/wrong/nccl.yaml" configs/apis/nccl.yaml || check_spec $newest "$tmp/wrong/nccl.yaml" >/dev/null 2>&1; then
			fail "a wrong row is noticed: $edit"
		else
			pass "a wrong row is noticed: $edit"
		fi
	done
fi

if [ ! -f "$cache/$newest/lib/libnccl.so.2" ]; then
	skip 'the real libnccl.so.2' "cannot be fetched: $(tail -1 "$tmp/fetch")"
	finish
fi
real=$cache/$newest/lib
ok 'a program with the real library' cc -std=gnu11 -O1 -g $(headers $newest) -o "$tmp/nccl_null" tests/apps/nccl_null.c "$real/libnccl.so.2" -Wl,-rpath,"$real"
nccl_plain 1 "$tmp/nccl_null"
if ! grep -q '^version 0' "$tmp/plain"; then
	skip 'the real libnccl.so.2' "does not load here: $(tail -1 "$tmp/plain.err")"
	finish
fi
new_out
nccl_with 1 "$tmp/nccl_null"
same_result 'the real library without a communicator'
is 'errors are recorded, nested calls once' "$(rows "$out" '[(r["api"], r["op"], r["comm"], r["flags"]) for r in R]')" \
	"[('ncclAllReduce', 'all_reduce', '', 'error:4'), ('ncclBcast', 'broadcast', '', 'error:4'), ('ncclSend', 'send', '', 'error:4'), ('ncclReduce', 'reduce', '', 'error:4')]"
"$probe" check --json -- "$tmp/nccl_null" >"$tmp/check.json" 2>"$tmp/check.err"
like 'probe check finds the real functions in it' "$(tr -d '\n ' <"$tmp/check.json")" '"ncclAllReduce"[^}]*libnccl.so.2'
# If ncclX is missing, pncclX is the same function; no other library calls pncclX.
is 'the second names are there, and not ours' "$(nm -D --defined-only "$lib" | grep -c ' pnccl') $(nm -D --defined-only "$real/libnccl.so.2" | grep -c ' T pnccl.*AllReduce$')" '0 1'
finish
