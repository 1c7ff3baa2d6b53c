#!/usr/bin/env bash
# Circles of function calls between objects: within a room at most 4 objects, between rooms none. Only calls count: tables of
# function pointers and generated wrappers are skipped. Usage: tests/circles.sh BUILD-DIR [TABLE]. TABLE (tests/circles.table)
# has the limits of circles that are still larger. Prints each circle over its limit, and each limit that is higher than
# needed. Exit 1 if there is one.
set -u
B=${1:-build}
table=${2:-$(dirname "$0")/circles.table}

# "D object function" defined, "C object function" called, by the relocations of calls in code.
calls() {
	local src obj objs=()
	for src in $(git ls-files -co --exclude-standard 'preload/*.[cS]' 'wrappers/*.[cS]' 'tools/*.c'); do
		obj=$B/obj/${src%.*}.o
		[ -f "$src" ] && [ -f "$obj" ] && objs+=("$obj")
	done
	nm -A --defined-only "${objs[@]}" | awk -v skip="$B/obj/" '$(NF - 1) == "T" {
		sub(/:[0-9a-f]*$/, "", $1)
		print "D", substr($1, length(skip) + 1), $NF
	}'
	readelf -rW "${objs[@]}" 2>/dev/null | awk -v skip="$B/obj/" '
		/^File: / {f = substr($2, length(skip) + 1); next}
		/^Relocation section / {code = $3 ~ /\.text/; next}
		code && $3 ~ /_(PLT32|CALL26|JUMP26)$/ {print "C", f, $5}' | sort -u
}
{
	sed 's/#.*//; s/^/L /' "$table"
	calls
} | awk '
function room(f) {
	sub(/\/[^\/]*$/, "", f)
	return f
}
# Tarjan: the strongly connected parts of the graph.
function visit(v,   n, i, to, w, size, list, between) {
	index_of[v] = low[v] = ++count
	stack[++top] = v
	on_stack[v] = 1
	n = split(next_of[v], to, " ")
	for (i = 1; i <= n; i++) {
		w = to[i]
		if (!(w in index_of)) {
			visit(w)
			if (low[w] < low[v])
				low[v] = low[w]
		} else if (on_stack[w] && index_of[w] < low[v])
			low[v] = index_of[w]
	}
	if (low[v] != index_of[v])
		return
	do {
		w = stack[top--]
		on_stack[w] = 0
		size++
		list = list " " w
		if (room(w) != room(v))
			between = 1
	} while (w != v)
	if (size < 2)
		return
	if (between)
		print "between rooms:" list
	else {
		if (size > largest[room(v)])
			largest[room(v)] = size
		if (size > (room(v) in limit ? limit[room(v)] : 4))
			print room(v) ": a circle of " size " objects:" list
	}
}
$1 == "L" && NF == 3 { limit[$2] = $3; next }
$1 == "D" { at[$3] = at[$3] " " $2; objects[$2]; n_objects++; next }
$1 == "C" { call[++n_calls] = $2 " " $3 }
END {
	for (i = 1; i <= n_calls; i++) {
		split(call[i], c, " ")
		m = split(at[c[2]], d, " ")
		# A name that several objects define (kernels by instruction set, builds of the tool) names none of them.
		if (m == 1 && d[1] != c[1] && !((c[1], d[1]) in edge)) {
			edge[c[1], d[1]]
			next_of[c[1]] = next_of[c[1]] " " d[1]
			edges++
		}
	}
	for (v in objects)
		if (!(v in index_of))
			visit(v)
	for (r in limit)
		if (limit[r] <= 4 || largest[r] < limit[r])
			print "the table: " r " has circles of at most " largest[r] + 0 " objects; its limit is " limit[r]
	if (edges < 500)
		print "only " edges + 0 " calls between objects were seen: is the library built?"
}' | sort | { ! grep .; }
