#!/usr/bin/env bash
# Names that a job gives (of communicators, of its program and its folders) with bytes that are no UTF-8, and with letters that a
# spreadsheet takes for a formula: every text file is UTF-8, and the report has the names.
# timeout: 120
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'names' 'no MPI'; finish; }
f=${flavours%%[[:space:]]*}
odd=$(printf '%s/named \377' "$tmp")
mkdir "$odd"
cat >"$tmp/names.c" <<'C'
#include <mpi.h>
static void named_call(const char *name)
{
	MPI_Comm c;
	int v = 1;

	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	MPI_Comm_set_name(c, name);
	MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, c);
	MPI_Comm_free(&c);
}
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	named_call("\xff\xfe bad");
	named_call("=1+2");
	named_call("'@\"x\", y");
	named_call("not a byte: \\xff");
	MPI_Finalize();
	return 0;
}
C
mpi_cc "$f" -o "$odd/names" "$tmp/names.c" || { fail 'it compiles'; finish; }
new_out
out=$(printf '%s \351' "$out")
mpi_run "$f" 2 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_FORMAT=csv,dump PROBE_JOURNAL_DIR=shm "$odd/names" $'Stra\337e' >"$tmp/with" 2>&1
is 'the job ends well' "$? $(cat "$tmp/with")" '0 '
is 'every text file is UTF-8' "$(python3 - "$out" <<'PY'
import os, sys
for folder, _, files in os.walk(os.fsencode(sys.argv[1])):
    for name in files:
        if name.rsplit(b".", 1)[-1] in (b"csv", b"json", b"jsonl", b"log"):
            try:
                open(os.path.join(folder, name), encoding="utf-8").read()
            except UnicodeDecodeError as e:
                print(name, e)
PY
)" ''
cells=$(python3 -c 'import csv, os, sys
for r in csv.DictReader(open(os.path.join(os.fsencode(sys.argv[1]), b"rank0/comms.csv"))):
    print(r["name"])' "$out" | grep -v MPI_COMM_WORLD)
is 'as cells: bytes as \xNN, and no formula' "$cells" "$(printf '%s\n' '\xff\xfe bad' "'=1+2" "''@\"x\", y" 'not a byte: \x5cxff')"
"$probe" report --json "$out" >"$tmp/json"
is 'the report has the names' "$(python3 -c 'import json, sys
print(*sorted(c["name"] for c in json.load(open(sys.argv[1], encoding="utf-8"))["comms"] if "WORLD" not in c["name"]), sep="\n")' "$tmp/json")" \
	"$(printf '%s\n' "'@\"x\", y" '=1+2' '\xff\xfe bad' 'not a byte: \x5cxff')"
finish
