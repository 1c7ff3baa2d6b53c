#!/usr/bin/env bash
# Which rooms use which, from the objects' symbols and the sources' includes, against tests/layers.table.
# Usage: tests/layers.sh BUILD-DIR [TABLE]. Prints a line for each use that the table does not have, and for each of its knots that is
# gone: they may only become fewer. Exit 1 if there is one.
set -u
B=${1:-build}
table=${2:-$(dirname "$0")/layers.table}

sources=$(git ls-files -co --exclude-standard 'preload/*.[chS]' 'preload/*.inc' 'wrappers/*.[chS]' 'tools/*.[ch]')

# "U file symbol" used, "D file symbol" defined. Only objects of sources that exist: a build folder may hold older ones.
symbols() {
	local src obj objs=()
	for src in $(grep '[cS]$' <<<"$sources") "$B"/gen/*.c; do
		obj=$B/obj/${src#"$B"/}
		obj=${obj%.*}.o
		[ -f "$src" ] && [ -f "$obj" ] && objs+=("$obj")
	done
	nm -A "${objs[@]}" | awk -v skip="$B/obj/" '{
		f = $1
		sub(/:[0-9a-f]*$/, "", f)
		f = substr(f, length(skip) + 1)
		t = $(NF - 1)
		if (t ~ /^[UvwV]$/ || t ~ /^[A-Z]$/)
			print t ~ /^[Uvw]$/ ? "U" : "D", f, $NF
	}'
}
# "I file included"; a name that is no file of ours is skipped.
includes() {
	local f i
	grep -H '^[[:space:]]*#[[:space:]]*include "' $sources 2>/dev/null | sed 's/^\([^:]*\):.*"\(.*\)".*/\1 \2/' | while read -r f i; do
		if [ -f "preload/$i" ]; then
			echo "I $f preload/$i"
		elif [ -f "$i" ]; then
			echo "I $f $i"
		fi
	done
}
{
	sed 's/#.*//; s/^/T /' "$table"
	symbols
	includes
} | awk '
function room(f) {
	sub(/\/[^\/]*$/, "", f)
	return f
}
function whole(r) {
	return r ~ /^(wrappers|tools|gen)/ ? r : "preload/" r
}
function check(from, to, what,   a, b) {
	a = room(from)
	b = room(to)
	if (a == b || b == "preload")
		return
	uses++
	what_for = what == "the header" ? to : what
	if ((a, what_for) in knot) {
		tied[a, what_for]
		return
	}
	if (!(a in known))
		print from ": no room of the table"
	else if (!((a, b) in may) && !(all[a] && b in known && known[b] < known[a]) && !seen[from, to, what]++)
		print from " uses " what " of " to
}
$1 == "T" && NF < 2 { next }
$1 == "T" && $2 ~ /^(table|foreign)$/ { for (i = 3; i <= NF; i++) door[$i] = 1; next }
$1 == "T" && $2 == "knot" { for (i = 4; i <= NF; i++) knot[whole($3), $i]; next }
$1 == "T" {
	if (!($2 in known))
		known[$2] = ++n
	for (i = 3; i <= NF; i++) {
		if ($i == "*")
			all[$2] = 1
		else if (!(whole($i) in known))
			print "the table: " $2 " would use " $i ", which does not stand above it"
		may[$2, whole($i)] = 1
	}
	next
}
$1 == "D" && !($3 in door) { def[$3] = def[$3] " " $2; next }
$1 == "U" { use[$2 SUBSEP $3] = 1; next }
$1 == "I" { check($2, $3, "the header"); next }
END {
	for (u in use) {
		split(u, p, SUBSEP)
		m = split(def[p[2]], d, " ")
		for (i = 1; i <= m; i++)
			check(p[1], d[i], p[2])
	}
	for (k in knot)
		if (!(k in tied)) {
			split(k, p, SUBSEP)
			print "the table: the knot " p[1] " " p[2] " is gone; take it out"
		}
	if (uses < 1000)
		print "only " uses + 0 " uses were seen: is " "the library built?"
}' | sort | { ! grep .; }
