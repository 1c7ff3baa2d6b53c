#!/usr/bin/env bash
# The keys of the statistics in a real program: whichever instructions measure, the files hold the same figures; a
# checksum fills its column and changes nothing else.
# timeout: 420
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'keys' 'no MPI, or its programs are not built (make apps)'; finish; }
read -r f _ <<<"$flavours"

figures() { # COLUMNS
	rows "$out" '"\n".join(" ".join(r[k] for k in "folder comm_seq api io index '"$1"'".split()) for d in dirs
		for r in sorted(on(d), key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0))))'
}

first=''
for isa in scalar auto avx2 avx512 neon; do
	new_out
	run_with "$f" 2 PROBE_LOG_LEVEL=2 PROBE_STATS_ISA=$isa mpi_dtypes
	is "$isa: ends well" $status 0
	said=$(grep -ohE 'statistics by [a-z0-9]+' "$tmp/with.err" | sort -u)
	if [ $isa = auto ]; then
		pass "auto: $said"
	elif grep -q 'stats_isa: this CPU lacks' "$tmp/with.err"; then
		unlike "$isa: not on this CPU, and another measures" "$said" "by $isa"
	else
		is "$isa: is what measures" "$said" "statistics by $isa"
	fi
	now=$(figures 'dtype count min max mean norm zeros nans infs crc32')
	first=${first:-$now}
	is "$isa: the figures are those of the scalar variant" "$now" "$first"
done
isnt 'there are figures' "$(grep -cE ' float32 [1-9]' <<<"$first")" 0

sums=()
for kind in crc32 xor; do
	new_out
	run_with "$f" 2 PROBE_CHECKSUM=$kind mpi_dtypes
	is "$kind: every row with statistics has one, no other" \
		"$(rows "$out" '[r for r in R if bool(r["crc32"]) != bool(r["min"])]')" '[]'
	is "$kind: what an all-reduce gives has the same on all ranks, and there are such" \
		"$(rows "$out" '(lambda s: (len(s) > 3, [k for k, v in s.items() if len(v) != 1]))(
			(lambda s: [s.setdefault((r["comm"], r["comm_seq"]), set()).add(r["crc32"]) for r in R
				if r["op"] == "all_reduce" and r["io"] == "out" and r["crc32"]] and s)({}))')" '(True, [])'
	contract "$kind" "$out"
	sums[${#sums[@]}]=$(figures crc32)
done
isnt 'crc32 and xor are two things' "${sums[0]}" "${sums[1]}"
finish
