#!/usr/bin/env bash
# Lines and branches that tests ran, per room, of a build with --coverage. Usage: tests/mutants/coverage.sh BUILD-DIR.
# A branch counts as taken if it was taken at least once. A child that _exit()s leaves no counts: the shares are lower bounds.
set -u
B=${1:-build-coverage}
command -v gcov >/dev/null || { echo 'gcov is not installed'; exit 1; }
here=$PWD
notes=$(find "$B/obj/preload" "$B/obj/wrappers" "$B/obj/tools" -name '*.gcno' | sort)
[ -n "$notes" ] || { echo "$B has no notes of gcov"; exit 1; }
for note in $notes; do
	src=${note#"$B"/obj/}
	src=${src%.gcno}.c
	[ -f "$src" ] || continue
	# A file that no test ran has no counts: gcov takes its lines as not run.
	gcov -n -b -o "${note%.gcno}.o" "$here/$src" 2>/dev/null | awk -v src="$src" '
		/^File / {mine = index($0, src) > 0}
		mine && /^Lines executed:/ {sub(/.*:/, ""); split($0, p, "% of "); lines = p[2]; ran = p[1]}
		mine && /^Taken at least once:/ {sub(/.*:/, ""); split($0, p, "% of "); branches = p[2]; taken = p[1]}
		END {print src, lines + 0, ran * lines / 100, branches + 0, taken * branches / 100}'
done | awk '
	{
		room = $1
		sub(/\/[^\/]*$/, "", room)
		split("all " room, names, " ")
		for (i in names) {
			lines[names[i]] += $2
			ran[names[i]] += $3
			branches[names[i]] += $4
			taken[names[i]] += $5
		}
	}
	function share(part, whole) {
		return whole ? sprintf("%5.1f %% of %6d", 100 * part / whole, whole) : "     - of      0"
	}
	END {
		for (r in lines)
			printf "%d %-34s lines %s   branches %s\n", r == "all", r, share(ran[r], lines[r]), share(taken[r], branches[r])
	}' | sort | sed 's/^[01] //'
