#!/usr/bin/env bash
# docs/how-to/add-a-library.md and docs/how-to/add-to-the-core.md, followed to the letter: in a scratch copy of the tree its files are written, its commands are run, all
# is built, and what was added is tried. What it names: tests/e2e/test_architecture_page.sh. Prints TAP.
# timeout: 600
. "$(dirname "$0")/../e2e/lib.sh"

pages='docs/how-to/add-a-library.md docs/how-to/add-to-the-core.md'
command -v cc >/dev/null && command -v make >/dev/null || { skip 'the steps' 'no compiler'; finish; }

# ---- the copy, with what was built, so that only what the steps change is compiled ----

tree=$tmp/tree
mkdir "$tree"
git ls-files -z -co --exclude-standard | while read -rd '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done |
	tar -c --null -T - | tar -x -C "$tree"
mkdir -p "$tree/build"
for f in obj gen flags genwrap libcore.a libtool.a libprobe.so probe; do
	[ ! -e "$B/$f" ] || cp -a "$B/$f" "$tree/build/"
done
# The copied dependency files and stamps contain the build folder's name; under another name those files would be missing.
[ "$(basename "$B")" = build ] || rm -rf "$tree/build"
(cd "$tree" && git init -q . && git add -A 2>/dev/null)

# ---- the steps ----

steps=$tmp/steps
mkdir "$steps"
awk -v dir="$steps" '
	match($0, /<!-- (file|append|patch|run)(: [^ ]+)? -->/) {
		line = substr($0, RSTART + 5, RLENGTH - 9)
		kind = name = line
		sub(/:.*/, "", kind)
		sub(/.*: /, "", name)
		n++
		printf "%03d\t%s\t%s\t%s\n", n, kind, name, FILENAME
		out = sprintf("%s/%03d", dir, n)
		printf "" >out
		next
	}
	/^ *```/ {
		inside = !inside && out != ""
		indent = $0
		sub(/`.*/, "", indent)
		if (!inside) out = ""
		next
	}
	inside {
		s = $0
		if (index(s, indent) == 1)
			s = substr(s, length(indent) + 1)
		print s >out
	}' $pages >"$steps/list"
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS
# A new library compiles its own objects and what lists all libraries; the wrappers of the others stay.
build_library() {
	make -C "$tree" --no-print-directory all >"$tmp/library.out" 2>&1 </dev/null
	objects=$(grep -c '^  CC ' "$tmp/library.out")
	echo "# a new library compiles $objects objects"
	ok 'a new library compiles fewer than 10 objects' test "$objects" -gt 1 -a "$objects" -lt 10
}
n=0 page=
while IFS=$'\t' read -r at kind name of; do
	[ "$page" != docs/how-to/add-a-library.md ] || [ "$of" = "$page" ] || build_library
	page=$of
	(
		cd "$tree" || exit 1
		case $kind in
		file) [ ! -e "$name" ] && mkdir -p "$(dirname "$name")" && cp "$steps/$at" "$name" ;;
		append) [ -e "$name" ] && cat "$steps/$at" >>"$name" ;;
		patch) patch -p1 --no-backup-if-mismatch <"$steps/$at" ;;
		run) bash -e "$steps/$at" ;;
		esac
	) >"$steps/$at.out" 2>&1 </dev/null || fail "step $at ($kind $name)" "$(tail -20 "$steps/$at.out")"
	n=$((n + 1))
done <"$steps/list"
isnt 'steps of the page' $n 0

# The page's last step builds it.
is 'without a warning' "$(grep -h -A3 'warning:' "$steps"/*.out)" ''
ok 'the result is built' make -C "$tree" --no-print-directory all || finish

# ---- what was added ----

mkdir "$tmp/ring"
cat >"$tmp/ring/ring.h" <<'END2'
typedef struct ring *ring_comm;
int ring_init(ring_comm *c, int nranks, int rank);
int ring_allreduce(const void *send, void *recv, __SIZE_TYPE__ count, int dtype, int op, ring_comm c);
int ring_free(ring_comm c);
int ring_owns(const void *p);
void *ring_alloc(void);
END2
cat >"$tmp/ring/lib.c" <<'END2'
#include <stdlib.h>
#include <sys/mman.h>
#include "ring.h"
struct ring { int size; };
static char *device;
int ring_init(ring_comm *c, int nranks, int rank)
{
	*c = malloc(sizeof(**c));
	(*c)->size = nranks;
	return rank < 0;
}
int ring_owns(const void *p) { return device && (const char *)p >= device && (const char *)p < device + 4096; }
void *ring_alloc(void) { return device = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int ring_allreduce(const void *send, void *recv, __SIZE_TYPE__ n, int dtype, int op, ring_comm c)
{
	/* RING_FLOAT = 1, RING_DOUBLE, RING_INT = 7; RING_SUM = 1, RING_MAX = 4 */
	if ((dtype != 1 && dtype != 2 && dtype != 7) || (op != 1 && op != 4))
		return 1;
	if (ring_owns(send))
		return 0;
	for (__SIZE_TYPE__ i = 0; i < n; i++)
		if (dtype == 1)
			((float *)recv)[i] = ((const float *)send)[i] * (op == 1 ? (float)c->size : 1);
		else if (dtype == 2)
			((double *)recv)[i] = ((const double *)send)[i] * (op == 1 ? c->size : 1);
		else
			((int *)recv)[i] = ((const int *)send)[i] * (op == 1 ? c->size : 1);
	return 0;
}
int ring_free(ring_comm c) { free(c); return 0; }
END2
cat >"$tmp/ring/app.c" <<'END2'
#include <stdio.h>
#include "ring.h"
int main(int argc, char **argv)
{
	/* What lies after the numbers would be seen in their statistics. */
	float in[8] = {1, 2, 3, 4, 1e30f, 1e30f, 1e30f, 1e30f}, out[4];
	double d[2] = {-5, 6};
	int n[4] = {1, 2, 3, 1 << 30};
	ring_comm c;
	void *there = ring_alloc();
	(void)argv;
	ring_init(&c, 2, 1);
	/* Between two values, below the least, above the greatest. */
	if (argc > 1)
		return ring_allreduce(in, out, 4, 3, 2, c) + ring_allreduce(in, out, 4, 0, 0, c) + ring_allreduce(in, out, 4, -1, -1, c) +
		       ring_allreduce(in, out, 4, 0x7fffffff, 5, c);
	ring_allreduce(in, out, 4, 1, 1, c);
	ring_allreduce(d, d, 2, 2, 1, c);
	ring_allreduce(there, there, 8, 1, 1, c);
	printf("%g %d\n", out[3], ring_allreduce(in, out, 4, 9, 1, c));
	ring_allreduce(n, n, 3, 7, 4, c);
	return ring_free(c);
}
END2
(cd "$tmp/ring" && cc -shared -fPIC -o libring.so lib.c && cc -o app app.c -L. -lring -Wl,-rpath,'$ORIGIN') || fail 'the ring library compiles'
is 'the program without the preload' "$("$tmp/ring/app")" '8 1'
out=$tmp/ring/out
is 'and with it' "$(PROBE_NOTE='a note' PROBE_OUTPUT_DIR=$out LD_PRELOAD=$tree/build/libprobe.so "$tmp/ring/app" 2>&1)" '8 1'
is 'a library: its rows' "$(rows "$out" '[(r["lib"], r["api"], r["op"], r["comm_seq"], r["rank"], r["size"], r["redop"], r["io"], r["dtype"], r["count"], r["max"]) for r in R if r["comm_seq"] in "01"]')" \
	"[('ring', 'ring_allreduce', 'all_reduce', '0', '1', '2', 'sum', 'in', 'float32', '4', '4'), ('ring', 'ring_allreduce', 'all_reduce', '0', '1', '2', 'sum', 'out', 'float32', '4', '8'), ('ring', 'ring_allreduce', 'all_reduce', '1', '1', '2', 'sum', 'in', 'float64', '2', '6'), ('ring', 'ring_allreduce', 'all_reduce', '1', '1', '2', 'sum', 'out', 'float64', '2', '12')]"
is 'its communicator, its failed call' "$(rows "$out" '(len(set(r["comm"] for r in R)), [r["flags"] for r in R if r["comm_seq"] == "3"])')" "(1, ['nostats;error:1'])"
is 'a value of its enums after a gap' "$(rows "$out" '[(r["dtype"], r["count"], r["bytes"], r["redop"], r["max"], r["mean"]) for r in R if r["comm_seq"] == "4"]')" \
	"[('int32', '3', '12', 'max', '3', '2'), ('int32', '3', '12', 'max', '3', '2')]"
PROBE_OUTPUT_DIR=$tmp/ring/odd LD_PRELOAD=$tree/build/libprobe.so "$tmp/ring/app" odd
is 'values that they do not have' "$(rows "$tmp/ring/odd" '[(r["dtype"], r["redop"], r["mean"]) for r in R]')" \
	"[('other', 'user', ''), ('other', 'user', ''), ('other', 'user', ''), ('other', 'user', '')]"
is 'a device: its memory is not read' "$(rows "$out" '[(r["io"], r["max"], r["flags"]) for r in R if r["comm_seq"] == "2"]')" \
	"[('in', '', 'inplace;nostats'), ('out', '', 'inplace;nostats')]"
like 'a key: in meta.json' "$(cat "$out"/*/meta.json)" '"note": "a note"'
like 'in probe config' "$(PROBE_NOTE=x "$tree/build/probe" config)" 'note: .*x'
like 'a finding' "$("$tree/build/probe" report "$out")" ' short +1 of 1 ranks have fewer than 10 rows'

is 'a statistic: counted, of inputs and outputs' "$(rows "$out" '[(r["io"], r["signs"]) for r in R if r["comm_seq"] in "12"]')" \
	"[('in', '1'), ('out', '1'), ('in', ''), ('out', '')]"

is 'a sink: its file' "$(cat "$out"/*/brief.txt)" "$(echo 'step api op' && for i in 1 2 3 4 5; do echo '0 ring_allreduce all_reduce'; done)"

# ---- what is there still holds ----

for t in config read_meta report calls_csv journal stats_checksum; do
	ok "test_$t of the result" bash -c "cd '$tree' && make --no-print-directory -s build/unit/test_$t && build/unit/test_$t"
done
is 'its rooms' "$(cd "$tree" && tests/layers.sh build)" ''
is 'the tables of its pages' "$(cd "$tree" && tests/readme.sh build --check)" ''
if command -v ctags >/dev/null; then
	is 'its names' "$(cd "$tree" && tests/names.sh)" ''
fi
finish
