#!/usr/bin/env bash
# Results that are not what follows from the inputs, of operations that go one way: reductions of the ranks up to one's own, to a root, in
# parts, and copies. From folders in which every number is made by hand (moved_folders.py): kind, step and, where it can be known, the rank.
. "$(dirname "$0")/lib.sh"

all='0, 1, 2, 3'
python3 tests/e2e/moved_folders.py "$tmp/moved"
while IFS='|' read -r name want; do
	is "$name" "$("$probe" report --json "$tmp/moved/$name" | python3 -c '
import json, sys
f = ([f for f in json.load(sys.stdin)["findings"] if f["severity"] != "note"] or [{}])[0]
print(f.get("kind"), f.get("ranks"), f.get("step"))')" "$want"
done <<END
scan.none|None None None
scan.result|not_sum [2] 8
scan.input|not_sum [2] 8
scan.lost|not_sum [2] 8
exscan.none|None None None
exscan.result|not_sum [2] 8
exscan.input|not_sum [$all] 8
exscan.lost|not_sum [2] 8
reduce.none|None None None
reduce.result|not_sum [$all] 8
reduce.input|not_sum [$all] 8
reduce.lost|not_sum [2] 8
reduce_scatter.none|None None None
reduce_scatter.result|not_sum [$all] 8
reduce_scatter.lost|not_sum [2] 8
reduce_scatter_v.none|None None None
reduce_scatter_v.result|not_sum [$all] 8
reduce_scatter_v.lost|not_sum [2] 8
gather.none|None None None
gather.result|corruption [] 8
gather.input|corruption [] 8
gather_v.none|None None None
gather_v.result|corruption [] 8
scatter.none|None None None
scatter.result|corruption [] 8
scatter.input|corruption [] 8
scatter_v.none|None None None
scatter_v.result|corruption [] 8
all_gather_v.none|None None None
all_gather_v.result|corruption [2] 8
all_gather_v.input|corruption [] 8
counts.none|None None None
counts.more|skip [2] 14
counts.less|skip [2] 14
pairs.none|None None None
pairs.type|mismatch [2] 8
all_to_all_v.none|None None None
all_to_all_v.result|corruption [] 8
END
like 'one wrong result of a scan' "$("$probe" report "$tmp/moved/scan.result")" 'only the result of rank 2 is wrong'
like 'an input of a scan that arrived changed' "$("$probe" report "$tmp/moved/scan.input")" 'what rank 2 put in arrived changed'
like 'a copy is not called a reduction' "$("$probe" report "$tmp/moved/gather.result")" 'is not what its ranks put in'
finish
