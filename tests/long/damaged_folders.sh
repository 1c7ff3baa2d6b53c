#!/usr/bin/env bash
# The verbs on damaged real folders of all kinds, in a fork server under AddressSanitizer and UBSan (tests/fuzz/damaged_folders.c): nothing
# crashes, and nothing takes more than 20 s of processor time. VARIANTS (20,000), SEED (1): another one makes others. Prints TAP.
#   KEEP=FOLDER   the recorded folders, what was found and the number of the next variant stay there, and a later run goes on with that
#                 number: runs that were interrupted add up. What was counted is in FOLDER/sums, a line for each 2,000 variants
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
san=build-address-undefined
if ! make -s SAN=address,undefined "$san/damaged_folders" >"$tmp/build" 2>&1; then
	fail 'the fork server is built' "$(tail "$tmp/build")"
	finish
fi
keep=${KEEP:-$tmp/keep}
mkdir -p "$keep"
if [ ! -e "$keep/recorded" ]; then
	rm -rf "$keep/seeds"
	PROBE_TEST_PYTHON=$test_python tests/fuzz/record_folders.sh "$B" "$keep/seeds" >"$tmp/recorded" 2>&1
	mv "$tmp/recorded" "$keep/recorded"
fi
isnt 'folders were recorded' "$(cat "$keep/recorded")" ''
# In memory, where `recover` sees no other job's journals, and without the machine's kernel log, in which verbs look for the end of a
# killed process. What a part has found is moved out of that memory.
cat >"$tmp/run" <<'SH'
keep=$1 server=$2 seed=$4 work=$6/work status=0
[ "$5" != alone ] || { mount -t tmpfs none /dev/shm && work=/dev/shm/work; [ ! -e /dev/kmsg ] || mount --bind /dev/null /dev/kmsg; }
from=$(cat "$keep/next.$seed" 2>/dev/null || echo 0)
end=$((from + $3))
while [ "$from" -lt "$end" ]; do
	to=$((from + 2000 < end ? from + 2000 : end))
	rm -rf "$work"
	nice -n 15 "$server" "$keep/seeds" "$work" $to "$seed" "$from" >"$6/part" 2>>"$6/times" || {
		status=1
		grep '^found' "$6/part"
		[ ! -d "$work/found" ] || { rm -rf "$keep/found.$seed.$from" && mv "$work/found" "$keep/found.$seed.$from"; }
	}
	grep -q ' ended with 0, 1, 2' "$6/part" || exit 2
	echo "seed $seed from $from to $to: $(tail -1 "$6/part")" >>"$keep/sums"
	from=$to
	echo "$from" >"$keep/next.$seed"
done
exit $status
SH
alone=() how=''
! unshare -m -i true 2>/dev/null || alone=(unshare -m -i) how=alone
${alone[@]+"${alone[@]}"} bash "$tmp/run" "$keep" "$san/damaged_folders" "${VARIANTS:-20000}" "${SEED:-1}" "$how" "$tmp" >"$tmp/said" 2>"$tmp/said.err"
status=$?
is "no verb breaks: $(awk '{n += $6 - $4; found += $17} END {print n " variants so far, " found + 0 " of them otherwise"}' "$keep/sums")" "$status$(cat "$tmp/said")" 0
finish
