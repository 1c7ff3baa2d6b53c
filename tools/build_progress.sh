#!/bin/sh
# Runs make and shows its progress in a single line, "  BUILD  200 of 412", instead of a line for each file. Other lines, including errors
# and warnings, are shown as they are. Usage: tools/build_progress.sh MAKE ARGUMENTS...
steps='^  (CC|AS|AR|GEN|LINK|MPICC|MPICXX|MPIFC|CXX) '
# The number of lines that make would print. Lines that are unknown before the sources are generated are not counted.
n=$("$@" -n 2>/dev/null | grep -cE "printf '  %-6s" || :)
status=$(mktemp) || exit 1
{
	"$@"
	echo $? >"$status"
} | awk -v n="$n" -v steps="$steps" '
	$0 !~ steps {print; fflush(); next}
	{k++; if (n < k) n = k; part = int(k * 6 / n); if (part > shown) {shown = part; print "  BUILD  " k " of " n; fflush()}}'
rc=$(cat "$status")
rm -f "$status"
exit "${rc:-1}"
