#!/usr/bin/env bash
# What a fork can meet, and who takes care of it in the child. A handler is registered in a table *fork_handlers[] (core:
# preload/life/fork.c; adapters: struct adapter.fork_handlers), or given to pthread_atfork() by what must work before that.
# Prints, one a line:
# - a function *_forked that is in no table, or that another function calls: only the tables do;
# - a mutex or atomic_flag of the library that no handler in its file initialises again.
# Usage: tests/fork_states.sh [FOLDER], of the sources; nothing is printed if all is well.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1
sources=$(find preload wrappers -name '*.c' | sort)
# shellcheck disable=SC2086
awk '
# The names in a table; what is given to pthread_atfork().
FNR == 1 {table = 0; fn = ""}
/^(static )?void \(\*const [a-z_]*fork_handlers\[\]\)\(void\) = \{/ {table = 1}
table {
	line = $0
	sub(/.*= \{/, "", line)
	while (match(line, /[a-z_][a-z_0-9]*/)) {
		name = substr(line, RSTART, RLENGTH)
		if (name != "NULL")
			registered[name] = 1
		line = substr(line, RSTART + RLENGTH)
	}
	if ($0 ~ /\};/)
		table = 0
	next
}
match($0, /pthread_atfork\(NULL, NULL, [a-z_]+\)/) {
	name = substr($0, RSTART, RLENGTH - 1)
	sub(/.*, /, "", name)
	registered[name] = 1
}
# The function that a line is in: its first line begins in the first column.
match($0, /^[a-z].*[ *][a-z_0-9]+\(/) {
	fn = substr($0, RSTART, RLENGTH - 1)
	sub(/.*[ *]/, "", fn)
	if (fn ~ /_forked$/ && $0 !~ /;$/)
		defined[fn] = FILENAME ":" FNR
}
/^\t/ && match($0, /[a-z_0-9]+_forked\(\)/) {
	name = substr($0, RSTART, RLENGTH - 2)
	print FILENAME ":" FNR ": " name "() is called; it belongs in a table of handlers alone"
}
# Locks: static ones, of a struct, of arrays. Those on a stack belong to a call.
function note_locks(line, part, n, i) {
	gsub(/\[[^]]*\]|=[^,;]*/, "", line)
	n = split(line, part, /[,;]/)
	for (i = 1; i <= n; i++) {
		gsub(/[ \t]/, "", part[i])
		if (part[i] != "")
			lock[FILENAME " " part[i]] = FNR
	}
}
/^(static )?(pthread_mutex_t|atomic_flag) / {
	line = $0
	sub(/^(static )?(pthread_mutex_t|atomic_flag) /, "", line)
	note_locks(line)
}
/^\tstatic pthread_mutex_t / {
	print FILENAME ":" FNR ": a lock within a function, which no handler can initialise again"
}
/^\tpthread_mutex_t [a-z_]/ {
	line = $0
	sub(/^\tpthread_mutex_t /, "", line)
	sub(/;.*/, ";", line)
	note_locks(line)
}
match($0, /(pthread_mutex_init|atomic_flag_clear)\(&?[^,)]*/) {
	line = substr($0, RSTART, RLENGTH)
	sub(/.*(\(&?|\.|->)/, "", line)
	sub(/\[.*/, "", line)
	if (!((FILENAME " " line) in made))
		made[FILENAME " " line] = ""
	made[FILENAME " " line] = made[FILENAME " " line] " " fn
}
END {
	for (f in defined)
		if (!(f in registered))
			print defined[f] ": " f "() is in no table of handlers: a forked child never runs it"
	for (l in lock) {
		split(l, part, " ")
		good = 0
		n = split(made[l], by, " ")
		for (i = 1; i <= n; i++)
			good = good || (by[i] in registered)
		if (!good)
			print part[1] ":" lock[l] ": no handler initialises " part[2] " in a forked child"
	}
	n = 0
	for (f in registered)
		n++
	if (n < 20)
		print "only " n " handlers were found: has their table another name?"
}' $sources
