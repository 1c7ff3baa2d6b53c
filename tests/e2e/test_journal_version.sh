#!/usr/bin/env bash
# Journals that this `probe` cannot read, of another version and damaged ones: one line says so, nothing is made up, the
# files stay as they are. Prints TAP.
. "$(dirname "$0")/lib.sh"

[ -n "$flavours" ] || { skip 'journals of another version' 'no MPI, or its programs are not built (make apps)'; finish; }
f=${flavours%%[[:space:]]*}
new_out
start_with $f 2 PROBE_STEP_MARKER=MPI_Reduce train_digits --hang 30:1
is_open() {
	"$probe" report "$out" 2>/dev/null | grep -q 'rank 1 never entered it'
}
wait_until 30 is_open || fail 'a hang is seen' "$("$probe" report "$out" 2>&1)"

version() { # FILE NUMBER: after the magic, 4 bytes (layout.h)
	chmod u+w "$1"
	python3 -c 'import struct, sys
with open(sys.argv[1], "r+b") as f:
    assert f.read(12) == b"PROBEJNL" + struct.pack("=I", int(sys.argv[3]))
    f.seek(8)
    f.write(struct.pack("=I", int(sys.argv[2])))' "$1" "$2" "$3"
}

both() { # VERSION OLD
	for r in 0 1; do version "$out/rank$r/journal.bin" "$1" "$2" || fail 'the journal begins as layout.h says'; done
}

journal_lines() {
	"$probe" report "$out" 2>&1 | awk '/^  journal /{on = 1; print; next} /^  [a-z]/{on = 0} /^$/{on = 0} on' | tr -s ' \n' ' '
}

both 99 2
is 'of a living job: one line for all ranks' "$(journal_lines)" \
	' journal ranks 0,1: the journal is one of another version of libprobe: open calls are not shown '
unlike 'of a living job: no hang is made up' "$("$probe" report "$out" 2>&1)" ' hang '
ok 'of a living job: the report is a report' "$probe" report "$out"
both 2 99
ok 'its own version again' is_open
both 1 2
pids=$(rows "$out" '" ".join(str(m["owner"]["pid"]) for m in M.values())')
# shellcheck disable=SC2086
kill -9 $pids
# A process that ends loses its environment, by which gone() finds it, before its writer thread has ended.
have_ended() {
	local p
	for p in $pids; do [ ! -e "/proc/$p" ] || return 1; done
}
wait_until 20 have_ended
gone "$out"
before=$(cat "$out"/rank*/* | cksum)
is 'of a killed one: one line for all ranks' "$(journal_lines)" \
	' journal ranks 0,1: the journal was written by another version of libprobe: its last rows and open calls are not shown '
said=$("$probe" recover "$out" 2>&1)
is 'recover: status and the only line' "$? $said" \
	'2 ranks 0,1: journal.bin: written by another version of libprobe; use the probe command of that version'
said=$("$probe" recover --json "$out" | python3 -c 'import json, sys; print({(f["result"], f["rows"]) for f in json.load(sys.stdin)["folders"]})')
is 'recover --json' "$said" "{('failed', 0)}"
is 'no file was changed' "$(cat "$out"/rank*/* | cksum)" "$before"

both 2 1
printf 'x' | dd of="$out/rank1/journal.bin" bs=1 conv=notrunc 2>/dev/null
is 'a damaged head' "$(journal_lines)" ' journal rank 1: the journal: damaged: its last rows and open calls are not shown '
said=$("$probe" recover "$out" 2>&1)
is 'recover: status' $? 2
like 'recover: the other is completed' "$said" '^rank 0: [0-9]+ rows? added, .* rank 1: journal.bin: not a journal, or its header is damaged ?$'

# Killed between making its folder and its journal.
dd if=/dev/zero of="$out/rank1/journal.bin" bs=8 count=1 conv=notrunc 2>/dev/null
is 'an empty one' "$(journal_lines)" ' journal rank 1: the journal: empty: its last rows and open calls are not shown '
like 'recover: its process is dead and nothing is in it, so it is freed' "$("$probe" recover "$out" 2>&1) $(ls "$out/rank1")" 'rank 1: 0 rows added .*meta.json' 
is 'recover: it is gone' "$(ls "$out/rank1" | grep journal)" ''
finish
