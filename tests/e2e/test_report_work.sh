#!/usr/bin/env bash
# Ranks that make as many one-sided calls as chance gives them work: of a disagreement on a collective operation the cause is told, and
# not what a rank happened to do shortly before.
# beside: folders made by hand
. "$(dirname "$0")/lib.sh"

told() {
	"$probe" report --json "$tmp/$1" | python3 -c 'import json, sys
print([(f["kind"], f["ranks"], f["step"]) for f in json.load(sys.stdin)["findings"] if f["severity"] in ("bad", "warn")][:1])'
}

python3 tests/e2e/work_folders.py "$tmp" || exit 1
is 'a healthy run: nothing' "$(told healthy)" '[]'
is 'another reduction' "$(told redop)" "[('mismatch', [1], 9)]"
is 'another root' "$(told root)" "[('mismatch', [1], 9)]"
is 'another type' "$(told dtype)" "[('mismatch', [1], 9)]"
is 'a reduction that was skipped' "$(told skipped)" "[('skip', [1], 9)]"
finish
