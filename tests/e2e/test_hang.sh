#!/usr/bin/env bash
# `probe watch` of jobs that wait for one rank: which of them hang, and which only take long. All at the same time. Prints TAP.
# long: the healthy ones take 25 s
. "$(dirname "$0")/lib.sh"

long=14
[ -z "${LONG:-}" ] || long=25
can_isolate() { unshare -pumf --kill-child --mount-proc true 2>/dev/null; }

# NAME WHAT STEP SECONDS [isolated]: four ranks and a watch, each in a pid namespace and with a host name of its own where that is asked for.
start_job() {
	local name=$1 what=$2 r pre=()
	local dir=$tmp/$name
	mkdir -p "$dir/out"
	for r in 0 1 2 3; do
		[ "${5-}" ] && pre=(unshare -pumf --kill-child --mount-proc sh -c "hostname node$r; \"\$@\"; :" sh)
		background env RANK=$r WORLD_SIZE=4 APP_ID="$dir/id" PROBE_OUTPUT_DIR="$dir/out" \
			"${pre[@]}" env LD_PRELOAD="$lib" "$B/apps/nccl/nccl_waits" "$what" "$3" ${4:+"$4"} >"$dir/said.$r" 2>&1
		eval "pids_$name+=' $!'"
	done
	[ "${5-}" ] && pre=(unshare -pumf --kill-child --mount-proc)
	background "${pre[@]}" "$probe" watch --exec 'echo "$PROBE_FINDING_KIND|$PROBE_FINDING_RANKS|$PROBE_FINDING_STEP|$PROBE_FINDING_TEXT" | head -1' \
		"$dir/out" >"$dir/watched" 2>"$dir/verdict"
}

named() { # NAME: kind, culprits, step of the first finding
	grep -a -m1 -E '^[a-z_]+\|' "$tmp/$1/watched" | cut -d'|' -f1-3
}

is_over() { # NAME: its ranks have ended
	local p
	for p in $(eval "echo \$pids_$1"); do ! kill -0 "$p" 2>/dev/null || return 1; done
}

start_job circle circle 40 ''
start_job stopped stopped 40 ''
start_job polled polled 40 ''
start_job gone gone 40 ''
start_job asleep asleep 40 ''
can_isolate && start_job stopped_elsewhere stopped 40 '' isolated
can_isolate && start_job asleep_elsewhere asleep 40 '' isolated
start_job child child 40 $long
start_job loading loading 40 $long
start_job few_waits asleep 12 $long
start_job compiles spin 40 $long
start_job starts start 40 $long

wait_until 30 eval '[ "$(named circle)" ]'
is 'a_closed_circle_is_a_deadlock' "$(named circle)" 'deadlock|0,1|40'
wait_until 30 eval '[ "$(named stopped)" ]'
is 'a_stopped_rank_is_named' "$(named stopped)" 'hang|2|40'
wait_until 30 eval '[ "$(named polled)" ]'
is 'a_stopped_rank_is_named_if_no_rank_is_in_a_call' "$(named polled)" 'hang|2|40'
wait_until 30 eval '[ "$(named gone)" ]'
is 'a_killed_rank_is_named' "$(named gone | cut -d'|' -f1-2)" 'died|2'
wait_until 40 eval '[ "$(named asleep)" ]'
is 'a_rank_that_makes_no_progress_is_named' "$(named asleep)" 'hang|2|40'
like 'the_reason_is_said' "$(cat "$tmp/asleep/watched")" 'rank 2 has made no progress for [0-9.]+ s .*, and 40 waits in this function on this communicator before took at most'
if can_isolate; then
	wait_until 40 eval '[ "$(named stopped_elsewhere)" ] && [ "$(named asleep_elsewhere)" ]'
	is 'namespaces_do_not_hide_a_stopped_rank' "$(named stopped_elsewhere)" 'hang|2|40'
	is 'namespaces_do_not_hide_a_sleeping_rank' "$(named asleep_elsewhere)" 'hang|2|40'
else
	skip 'namespaces_do_not_hide_a_stopped_rank' 'no namespaces here'
	skip 'namespaces_do_not_hide_a_sleeping_rank' 'no namespaces here'
fi
like 'a_rank_that_computes_cannot_be_told_from_one_that_spins' "$("$probe" report "$tmp/compiles/out" 2>&1)" \
	'rank 2 uses [0-9]+ % of a core .* cannot be told|no fault found|Nothing found'
for k in child loading few_waits compiles starts; do
	wait_until 60 is_over $k
	is "healthy_${k}_is_no_hang" "$(named $k)" ''
done
for k in circle stopped polled asleep stopped_elsewhere asleep_elsewhere; do
	kill -9 $(eval "echo \$pids_$k") 2>/dev/null
	for p in $(grep -lz "PROBE_OUTPUT_DIR=$tmp/$k/out" /proc/[0-9]*/environ 2>/dev/null); do
		p=${p#/proc/} p=${p%/environ}
		[[ $(cat /proc/$p/comm 2>/dev/null) == nccl_waits ]] && kill -9 "$p"
	done
done
finish
