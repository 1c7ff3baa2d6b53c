#!/usr/bin/env bash
# tests/layers.sh notices what it is for: in a tree of two rooms each kind of breach is planted. Prints TAP.
# beside: nothing of it waits busily
# root: writes the build folder
. "$(dirname "$0")/lib.sh"

command -v cc >/dev/null || { skip 'layers' 'no compiler'; finish; }
check=$PWD/tests/layers.sh
mkdir -p "$tmp/tree/preload/low" "$tmp/tree/preload/high" "$tmp/tree/b/gen"
cd "$tmp/tree" || exit 2
git init -q .
cat >rooms <<'END'
preload/low
preload/high  low
table door
foreign memcpy
END
look() { # builds the tree, prints what is found in it, but for the tree's being small
	for f in preload/*/*.c; do
		mkdir -p "b/obj/${f%/*}" && cc -Ipreload -c -o "b/obj/${f%.c}.o" "$f" || echo "$f: not compiled"
	done
	"$check" b rooms | grep -v '^only '
}
echo 'int low(void);' >preload/low/low.h
echo 'struct high { int i; }; int high(void);' >preload/high/high.h
printf '#include "low/low.h"\nextern int (*door)(void);\nint low(void) { return door ? door() : 0; }\n' >preload/low/low.c
printf '#include "high/high.h"\n#include "low/low.h"\nint high(void) { return low(); }\nint (*door)(void) = high;\n' >preload/high/high.c
is 'down, and up through a table: nothing is found' "$(look)" ''

printf 'int high(void);\nint planted(void) { return high(); }\n' >preload/low/planted.c
is 'a call upward' "$(look)" 'preload/low/planted.o uses high of preload/high/high.o'
cp rooms rooms.kept && echo 'knot low high preload/high/none.h' >>rooms
is 'a knot lets it be, and one that is gone is told' "$(look)" 'the table: the knot preload/low preload/high/none.h is gone; take it out'
mv rooms.kept rooms
printf 'extern int (*door)(void);\nint planted(void) { return door(); }\n' >preload/low/planted.c
is 'the same through a table' "$(look)" ''
rm -f preload/low/planted.c

echo '#include "high/high.h"' >preload/low/planted.h
is "a higher room's header" "$(look)" 'preload/low/planted.h uses the header of preload/high/high.h'
rm preload/low/planted.h

printf 'preload/low\npreload/high\ntable door\n' >rooms
like 'a use downward that the table does not have' "$(look)" 'high.c uses the header of preload/low/low.h.*high.o uses low of'
printf 'preload/high low\npreload/low\ntable door\n' >rooms
like 'a table that leads upward' "$(look)" 'would use low, which does not stand above it'
finish
