#!/usr/bin/env bash
# tests/words.sh finds what it should: a small tree has each kind of violation. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

mkdir -p "$tmp/tree/tests" "$tmp/tree/preload"
cp tests/words.sh "$tmp/tree/tests/"
cd "$tmp/tree" || exit 2
git init -q . && git config user.email a@b && git config user.name a
cat >tests/words.table <<'END2'
word behind -> after
word stands in -> is blocked in
area preload 1
functions 0
verb read is
commits 2026-01-01
END2
printf '/* Behind that the rank stands in a call. */\nint read_value(void);\nint read_value(void) { return 0; }\n' >preload/a.c
git add -A && git commit -qm 'a: two words'
is 'words of the list over the limit' "$(tests/words.sh)" 'words of the list in preload: 2; the limit is 1'
printf '/* After that the rank is blocked in a call, unbehind. */\nint read_value(void);\nint read_value(void) { return 0; }\n' >preload/a.c
is 'words that only contain one of the list' "$(tests/words.sh)" ''
printf 'int value_or_not(void);\nint value_or_not(void) { return 0; }\nint is_set(void) { return 0; }\nint left_early(void) { return 1; }\nint ended_early(void) { return 1; }\n' >preload/b.c
git add -A
if command -v ctags >/dev/null; then
	is 'functions without a verb' "$(tests/words.sh)" 'functions without a verb of the list: 2; the limit is 0'
else
	skip 'functions without a verb' 'universal-ctags is not installed'
fi
rm preload/b.c
git add -A
git commit -qm "a: $(printf 'x%.0s' $(seq 70))"
is "a commit's first line of 73 letters" "$(tests/words.sh | cut -c1-60)" "a commit's first line has 73 letters, 72 are allowed: a: xxx"
finish
