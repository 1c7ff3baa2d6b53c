#!/usr/bin/env bash
# Ranks that are judged by what they share with others: those without steps of their own have their peers', a call that a time
# limit ended is one that its rank was blocked in, and a rank with an error because others are gone did not leave first.
# beside: folders made by hand
. "$(dirname "$0")/lib.sh"

told() { "$probe" report --json "$tmp/$1" | python3 -c 'import json, sys; print([(f["kind"], f["ranks"], f["step"]) for f in json.load(sys.stdin)["findings"] if f["severity"] in ("bad", "warn")])'; }

python3 tests/e2e/peer_folders.py "$tmp" || exit 1
is 'an actor has the step of the learner that it sends to' "$(told actors)" "[('nan', [1], 6)]"
is 'a run without faults has no finding of a late rank' "$(told late)" '[]'
like 'a time limit: the fault is reported before its consequences' "$(told limit)" "^\[\('tag', \[0\], 6\)"
like 'a connection that is closed: who gave up waited for a rank, which did not leave first' "$(told closed)" \
	"^\[\('(stopped|hang)', \[1\], 6\)"
like 'a rank that was still there when another one gave up had not left before' "$(told ended)" "^\[\('(stopped|hang)'"
text=$(told handled)
like 'calls that fail at once: a report is made' "$text" '^\['
unlike '... which tells of no standstill' "$text" 'stopped|hang'
is 'a message that is received a step later, and all are received: nothing was skipped' "$(told overtaken)" '[]'
is 'a message that was not sent, so that each later one is taken a step early: skipped' "$(told unsent)" "[('skip', [0], 8)]"
is 'one more piece of work is no fault where another rank reduces by another operation' "$(told counter)" "[('mismatch', [2], 9)]"
finish
