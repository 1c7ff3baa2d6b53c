#!/usr/bin/env bash
# One fact, one place: in a copy of the tree a statistic is added as docs/reference/calls.md's tables want it, one line there
# and the sum itself, and the header, the rows, the reader, the documents and the tests have it. Counts the files touched.
# timeout: 600
. "$(dirname "$0")/../e2e/lib.sh"

tree=$tmp/tree
mkdir "$tree"
cp -a Makefile VERSION README.md configs docs man preload tests tools wrappers "$tree"
rm -rf "$tree"/tests/e2e/__pycache__
cp -a "$tree" "$tmp/was"
# Objects that are already built are rebuilt only if they include a changed file.
case $B in build | */build) mkdir "$tree/build" && cp -a "$B/obj" "$B/gen" "$B/genwrap" "$tree/build" ;; esac

edit() { # FILE SED-SCRIPT
	sed -i "$2" "$tree/$1"
	! cmp -s "$tree/$1" "$1" || fail "$1 is as this test knows it" "$2"
}
edit preload/journal/columns.def '/^STACK_COLUMN(stack_id,/i STATS_COLUMN(absmax, REAL, s->absmax, "largest absolute value of the elements that are not NaN")'
edit preload/stats/stats.h '/^	double norm;/a \	double absmax;'
edit preload/stats/stats.c 's/^	out->norm = norm(a);/&\
\
	double low = stats_value_as_double(a->cls, a->min), high = stats_value_as_double(a->cls, a->max);\
\
	out->absmax = -low > high ? -low : high;/; s/^	out->norm = stats_sqrt(b->sq.hi);/&\
	out->absmax = -min > max ? -min : max;/; s/out->norm = __builtin_nan/out->norm = out->absmax = __builtin_nan/'
edit preload/journal/layout.h 's/sizeof(struct journal_tensor) == 112/sizeof(struct journal_tensor) == 120/'

make_copy() {
	env -u MAKEFLAGS -u MFLAGS make -C "$tree" -j2 DEPS=0 SAN= CC="${CC:-cc}" "$@" >"$tmp/make.log" 2>&1 || {
		tail -20 "$tmp/make.log" | sed 's/^/# /'
		return 1
	}
}
ok 'it builds' make_copy build/libprobe.so build/probe build/unit/test_calls_csv || finish
ok 'the documents are made again' "$tree/tests/readme.sh" build
touched=$(cd "$tree" && diff -rq --exclude=build . "$tmp/was" | sed -E 's/^Files \.\/(.*) and .*/\1/')
echo "# touched: $(tr '\n' ' ' <<<"$touched")"
is 'files touched, besides kernels: at most 6' "$(($(grep -cv '^preload/stats/.*\.c$' <<<"$touched") <= 6))" 1

names=$("$tree/build/probe" columns --names calls)
is 'the header: all columns of before, and the new one' "$names" "$("$probe" columns --names calls),absmax"
like 'probe columns says what it is' "$("$tree/build/probe" columns calls)" ' absmax +number +largest absolute value'
for file in man/libprobe.7 docs/reference/calls.md; do
	like "$file has it" "$(cat "$tree/$file")" 'absmax.{1,20}largest absolute value'
done
ok 'the test of rows holds with it' "$tree/build/unit/test_calls_csv"

cat >"$tmp/reader.c" <<'C'
#include <stdio.h>
#include "tools/probe/model/read/calls.h"
int main(int argc, char **argv)
{
	struct csv c;
	int col[COLUMNS];

	if (argc != 2 || csv_open(&c, argv[1], UINT64_MAX, true, 65536))
		return 2;
	csv_find_columns(&c, ROW_HEADER, col);
	while (csv_read_row(&c))
		printf("%.*s\n", (int)csv_get_field(&c, col[COL_absmax])->n, csv_get_field(&c, col[COL_absmax])->s);
	csv_close(&c);
	return 0;
}
C
if [ -z "$flavours" ]; then
	skip 'rows with it' 'no MPI, or its programs are not built (make apps)'
	finish
fi
f=${flavours%%[[:space:]]*}
lib=$tree/build/libprobe.so probe=$tree/build/probe
new_out
run_with $f 2 mpi_dtypes
is 'a program runs under it' "$status" 0
file=$out/rank0/calls_0-99.csv
is 'the file: its header' "$(head -1 "$file")" "$names"
is 'the file: absmax is the larger one of |min| and |max|, and empty without statistics' "$(python3 - "$file" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
measured = [r for r in rows if r["mean"]]
print(len(measured) > 10, [r for r in measured if r["min"] != "nan" and float(r["absmax"]) != float("%.9g" % max(abs(float(r["min"])), abs(float(r["max"])))) and r["dtype"] not in ("float64", "complex128", "int64", "uint64")],
      [r for r in rows if not r["mean"] and r["absmax"]])
PY
)" 'True [] []'
ok 'the reader is built' "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -I"$tree/preload" -I"$tree" -iquote "$tree" -o "$tmp/reader" "$tmp/reader.c" "$tree/build/libtool.a" \
	"$tree/build/libcore.a" -lyaml -lz -ldw -lelf -lm -lpthread
is 'the reader has it by its name' "$("$tmp/reader" "$file" | cksum)" "$(python3 -c 'import csv, sys; [print(r["absmax"]) for r in csv.DictReader(open(sys.argv[1]))]' "$file" | cksum)"
ok 'the report reads such files' "$probe" report "$out"
B=$tree/build contract 'the folder keeps to the contract' "$out"
finish
