#!/usr/bin/env bash
# The verbs on damaged real folders of all kinds, in a fork server under AddressSanitizer and UBSan (tests/fuzz/damaged_folders.c): nothing
# crashes, and nothing takes more than 20 s of processor time. VARIANTS (20,000), SEED (1): another one makes others. Prints TAP.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
san=build-address-undefined
if ! make -s SAN=address,undefined "$san/damaged_folders" >"$tmp/build" 2>&1; then
	fail 'the fork server is built' "$(tail "$tmp/build")"
	finish
fi
seeds=$tmp/seeds
PROBE_TEST_PYTHON=$test_python tests/fuzz/record_folders.sh "$B" "$seeds" >"$tmp/recorded" 2>&1
isnt 'folders were recorded' "$(cat "$tmp/recorded")" ''
# In memory, where `recover` sees no other job's journals, and without the machine's kernel log, in which verbs look for the end of a
# killed process.
cat >"$tmp/run" <<'SH'
work=$1/work
[ "$5" != alone ] || { mount -t tmpfs none /dev/shm && work=/dev/shm/work; [ ! -e /dev/kmsg ] || mount --bind /dev/null /dev/kmsg; }
exec nice -n 15 "$2" "$1/seeds" "$work" "$3" "$4"
SH
alone=() how=''
! unshare -m -i true 2>/dev/null || alone=(unshare -m -i) how=alone
${alone[@]+"${alone[@]}"} bash "$tmp/run" "$tmp" "$san/damaged_folders" "${VARIANTS:-20000}" "${SEED:-1}" "$how" >"$tmp/said" 2>"$tmp/said.err"
status=$?
is "no verb breaks: $(tail -1 "$tmp/said")" "$status$(grep ^found "$tmp/said")" 0
finish
