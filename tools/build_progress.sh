#!/bin/sh
# Runs make and shows how far it is in place of a line for each file: "  BUILD  200 of 412". Other lines, errors and warnings among them,
# are shown as they are. Usage: tools/build_progress.sh MAKE ARGUMENTS...
steps='^  (CC|AS|AR|GEN|LINK|MPICC|MPICXX|MPIFC|CXX) '
# The lines that make would print, counted before; what is not known before the sources are generated is not in it.
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
