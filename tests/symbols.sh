#!/usr/bin/env bash
# Names of libc that an object needs and that are newer than the oldest glibc libprobe promises to run with, whatever
# machine it was built on: also marks such as GLIBC_ABI_DT_RELR, which an older loader refuses. Usage: tests/symbols.sh FILE...
# NEWEST: another one than 2.34. Prints a line for each; exit 1 if there is one.
set -u
newest=${NEWEST:-2.34}
bad=0
for f in "$@"; do
	if ! needed=$(readelf -VW "$f"); then
		echo "$f cannot be read"
		bad=1
	fi
	# A mark is no symbol's version.
	for version in $(grep -oE 'Name: GLIBC_[A-Za-z0-9_.]+' <<<"$needed" | awk '{print $2}' | sort -Vu); do
		number=${version#GLIBC_}
		[[ ! $number =~ ^[0-9.]+$ || $(printf '%s\n' "$number" $newest | sort -V | tail -1) != "$newest" ]] || continue
		names=$(objdump -T "$f" | grep -F "($version)" | awk '{print $NF}')
		echo "$f needs $version${names:+: $(echo $names)}"
		bad=1
	done
done
exit $bad
