#!/usr/bin/env bash
# tests/citations.sh finds what it should: a small tree has each kind of citation of a missing file. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

# Reports that documents show: the lines in them are those of the program, in this order. PAGE PROGRAM TEXT OF A LINE...
quotes() {
	local page=$1 program=$2 name want='' text
	name=$(basename "$2")
	shift 2
	for text; do
		want+=$(grep -nF -- "$text" "$program" | cut -d: -f1 | head -1)' '
	done
	is "$page quotes $name" "$(grep -o "$name:[0-9]*" "$page" | cut -d: -f2 | tr '\n' ' ')" "$want"
}
step='loss = train_step(' main='    main()'
quotes docs/how-to/pytorch.md tests/apps/train_ddp.py 'loss.backward()' "$step" "$main" 'loss.backward()' 'far = ' 'features(x))' "$step"
quotes docs/tutorial/hang.md tests/apps/train_digits.c 'MPI_Allreduce(MPI_IN_PLACE, bucket'

check=$PWD/tests/citations.sh
mkdir -p "$tmp/tree/preload/low" "$tmp/tree/docs" "$tmp/tree/tests"
cd "$tmp/tree" || exit 2
git init -q .
cat >preload/low/low.c <<'END2'
/* See low/other.c, preload/low/low.h, low.h and docs/page.md; NAME.c is made of it, "main (train.c:58)" a line. */
#include "high/none.h"
const char *text = "docs/none.md"; // other.c, glibc's elf/dl-lookup.c
END2
touch preload/low/other.c preload/low/low.h
printf 'A page: [low](../preload/low/low.c), low/low.h.\n\n<!-- file: made.yaml -->\nmade.yaml, `configs/made.yaml`\n' >docs/page.md
printf '# tests/say.sh says docs/page.md\necho docs/none.md\n' >tests/say.sh
is 'no finding for existing files' "$("$check" .)" ''

is 'a page in a comment' "$(echo '/* as docs/none.md says */' >preload/low/planted.c && "$check" .)" \
	'preload/low/planted.c:1: docs/none.md is not in the tree'
is 'a path from preload/, in a comment of several lines' "$(printf 'int a; /* one\n * two low/none.h\n */\n' >preload/low/planted.c && "$check" .)" \
	'preload/low/planted.c:2: low/none.h is not in the tree'
is 'a file alone' "$(echo '// lookup.c has it' >preload/low/planted.c && "$check" .)" 'preload/low/planted.c:1: there is no lookup.c'
is 'at the end of a sentence' "$(echo '// See low/none.c.' >preload/low/planted.c && "$check" .)" \
	'preload/low/planted.c:1: low/none.c is not in the tree'
is 'a document that was never here' "$(echo '/* DESIGN section 7 */' >preload/low/planted.c && "$check" .)" \
	'preload/low/planted.c:1: DESIGN is not in the tree'
rm preload/low/planted.c
is 'in a page' "$(echo 'see `tests/none.sh`' >docs/more.md && "$check" .)" 'docs/more.md:1: tests/none.sh is not in the tree'
is 'a link' "$(echo '[here](page.md), [there](none.md#part), [web](https://none.example/)' >docs/more.md && "$check" .)" \
	'docs/more.md:1: the link to none.md leads nowhere'
printf '# Some `word`, 2 of 3\n' >>docs/page.md
is 'a heading' "$(echo '[a](page.md#some-word-2-of-3), [b](page.md#other)' >docs/more.md && "$check" .)" 'docs/more.md:1: page.md has no heading #other'
is 'a heading of the page itself' "$(printf '# Here\n[a](#here), [b](#there)\n' >docs/more.md && "$check" .)" 'docs/more.md:2: this page has no heading #there'
rm docs/more.md
is 'in a script' "$(printf 'x %s by preload/low/none.c\n' '#' >tests/planted.sh && "$check" .)" 'tests/planted.sh:1: preload/low/none.c is not in the tree'
finish
