#!/usr/bin/env bash
# tests/fork_states.sh finds a fork handler that is in no table, and a lock that no handler initialises again. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/tree" && cp -r preload wrappers "$tmp/tree/"
found() { tests/fork_states.sh "$tmp/tree" 2>&1; }
is 'nothing in the tree as it is' "$(found)" ''
sed -i '/^\tstep_times_forked,$/d' "$tmp/tree/preload/life/fork.c"
is 'a handler that is in no table, and its lock' "$(found | sed 's/:[0-9]*:/:/' | sort)" \
	"preload/training/steps/step_times.c: no handler initialises lock in a forked child
preload/training/steps/step_times.c: step_times_forked() is in no table of handlers: a forked child never runs it"
cp preload/life/fork.c "$tmp/tree/preload/life/"
sed -i '/pthread_mutex_init(&change,/d' "$tmp/tree/preload/call/comm.c"
is 'a lock that its handler forgets' "$(found | sed 's/:[0-9]*:/:/')" 'preload/call/comm.c: no handler initialises change in a forked child'
cp preload/call/comm.c "$tmp/tree/preload/call/"
sed -i '/pthread_mutex_init(&posted.ending/d' "$tmp/tree/wrappers/ucc/ucc.c"
is 'an array of locks in a struct' "$(found | sed 's/:[0-9]*:/:/')" 'wrappers/ucc/ucc.c: no handler initialises ending in a forked child'
cp wrappers/ucc/ucc.c "$tmp/tree/wrappers/ucc/"
printf '\nstatic void (*const fork_handlers[])(void) = {NULL};\n\nvoid third_forked(void)\n{\n\tcomm_forked();\n}\n' >>"$tmp/tree/wrappers/ucc/ucc.c"
is 'a handler that calls another' "$(found | sed 's/:[0-9]*:/:/' | sort)" \
	"wrappers/ucc/ucc.c: comm_forked() is called; it belongs in a table of handlers alone
wrappers/ucc/ucc.c: third_forked() is in no table of handlers: a forked child never runs it"
finish
