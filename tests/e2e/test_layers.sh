#!/usr/bin/env bash
# tests/layers.sh finds what it should: a tree of two rooms has each kind of violation. Prints TAP.
# beside: does not wait busily
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
is 'a knot allows a violation, and one without a violation is reported' "$(look)" 'the table: the knot preload/low preload/high/none.h is gone; take it out'
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

# Circles of calls: five objects in one room, then one in another room among them; a table of function pointers is none.
circles=${check%/*}/circles.sh
: >limits
look_for_circles() {
	rm -rf b/obj/*
	look >/dev/null
	"$circles" b limits | grep -v '^only '
}
for i in 1 2 3 4 5; do
	printf 'int ring%d(void);\nint ring%d(void);\nint ring%d(void) { return ring%d() + 1; }\n' $i $((i % 5 + 1)) $i $((i % 5 + 1)) >preload/low/ring$i.c
done
like 'five objects that call each other in a circle' "$(look_for_circles)" 'preload/low: a circle of 5 objects: .*ring3.o'
echo 'preload/low 5' >limits
is 'a limit of 5 lets it be' "$(look_for_circles)" ''
echo 'preload/low 6' >limits
like 'a limit that is higher than needed' "$(look_for_circles)" 'preload/low has circles of at most 5 objects; its limit is 6'
printf 'int ring1(void);\nint ring5(void);\nint (*const to_ring1)(void) = ring1;\nint ring5(void) { return to_ring1(); }\n' >preload/low/ring5.c
: >limits
sed -i '3s/.*/int ring1(void) { return 1; }/' preload/low/ring1.c
is 'a table of function pointers closes no circle' "$(look_for_circles)" ''
printf 'int high(void);\nint planted(void);\nint planted(void) { return high(); }\n' >preload/low/planted.c
printf 'int high(void);\nint planted(void);\nint high(void) { return planted() + 1; }\n' >preload/high/high.c
like 'a circle of two rooms' "$(look_for_circles)" '^between rooms: .*preload/high/high.o'
finish
