#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_spec.sh GENWRAP SPEC COMPILER PREFIX: compares a spec with the header that COMPILER finds. Files are made as
# PREFIX.i, PREFIX.c, PREFIX. Exits 1 where they differ.
set -e
gen=$1 spec=$2 cc=$3 out=$4
for h in $(sed -n 's/^  headers: *\[\(.*\)\] *$/\1/p' "$spec" | tr ',' ' '); do
	echo "#if __has_include(<$h>)"
	echo "#include <$h>"
	echo "#endif"
done >"$out.h"
$cc -E -x c -P "$out.h" >"$out.i"
"$gen" --check -e "$out.i" -k "$(dirname "$spec")/kinds.yaml" -o "$out.c" "$spec"
$cc -Wno-deprecated-declarations -o "$out" "$out.c" -ldl
printf '%s: ' "$cc"
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$out"
