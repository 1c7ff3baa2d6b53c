#!/usr/bin/env bash
# How many objects a change compiles, by what the compiler wrote of each object's headers. Usage: tests/rebuilds.sh [-v] BUILD-DIR
# [TABLE]. TABLE (tests/rebuilds.table) has a line "CHANGE LIMIT FILE..." each: the sources that the change touches, and how many
# objects it may compile; a limit only falls. -v prints "CHANGE: N objects". Prints what is over its limit; exit 1 then.
set -u
verbose=
[ "${1:-}" != -v ] || { verbose=1; shift; }
B=${1:-build}
table=${2:-$(dirname "$0")/rebuilds.table}
bad=0

# Of objects whose source is in the tree: a folder that was built before a file moved has more.
lists_of_objects() {
	find "$B/obj" -name '*.d' | while read -r d; do
		o=${d#"$B/obj/"}
		o=${o%.d}
		for source in "$o".c "$o".S "$B/$o".c "$B/$o".S; do
			[ ! -f "$source" ] || { echo "$d"; break; }
		done
	done
}
# "object source" for each source that an object was made of.
made_of=$(lists_of_objects | xargs cat | awk -v skip="$B/obj/" '
	/^[^ ]+\.o:/ {o = substr($1, length(skip) + 1); sub(/:$/, "", o); sub(/^[^:]*:/, "")}
	/^[^ ]+\.h:$/ || /^$/ {o = ""}
	o {for (i = 1; i <= NF; i++) if ($i != "\\") print o, $i}' | sort -u)
while read -r change limit files; do
	case $change in '' | '#'*) continue ;; esac
	n=$(for f in $files; do
		[ -f "$f" ] || echo "$change: $f is not in the tree" >&2
		awk -v f="$f" '$2 == f {print $1}' <<<"$made_of"
	done | sort -u | wc -l)
	[ -z "$verbose" ] || echo "$change: $n objects"
	if [ "$n" = 0 ] || [ "$n" -gt "$limit" ]; then
		echo "$change compiles $n objects; its limit is $limit"
		bad=1
	fi
done <"$table"
exit $bad
