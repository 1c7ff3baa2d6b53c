#!/usr/bin/env bash
# tests/run.sh: what runs side by side, what does not, and what counts as a failure.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

script() { # NAME LINE COMMANDS: writes when it begins and ends
	{
		printf '#!/usr/bin/env bash\n%s\n' "$2"
		echo "d='$tmp'; echo '$1 begins' >>\$d/order; touch \$d/$1.began"
		printf '%s\n' "$3" "echo '$1 ends' >>\$d/order"
	} >"$tmp/test_$1.sh"
	chmod +x "$tmp/test_$1.sh"
}

# Each of these comes to its end only if the other one runs at the same time.
meet='for i in $(seq 400); do [ ! -e $d/%s.began ] || break; sleep 0.05; done; [ $i -lt 400 ] && echo ok 1 || echo not ok 1'
script single1 '# timeout: 200' "$(printf "$meet" beside)"
script single2 '# timeout: 190' 'echo ok 1'
script beside '# beside: it does nothing' "$(printf "$meet" single1)"
script alone '# alone: it wants all' 'echo ok 1'
said=$(tests/run.sh -j2 -l "$tmp/logs" "$tmp"/test_{alone,beside,single2,single1}.sh)
is 'two that may run side by side do' "$? $(tail -1 <<<"$said")" '0 4 passed, 0 failed, 0 skipped'
is 'those that may not do not' "$(grep -E '^(single|alone)' "$tmp/order")" "$(printf '%s begins\n%s ends\n' single1 single1 single2 single2 alone alone)"
is 'a test that must run alone is last' "$(tail -2 "$tmp/order" | tr '\n' ' ')" 'alone begins alone ends '

script fails '' 'echo ok 1; echo not ok 2'
script dies '' 'echo ok 1; kill -9 $$'
script hangs '# timeout: 1' 'echo ok 1; sleep 60'
script silent '' ':'
said=$(tests/run.sh -j2 -l "$tmp/logs2" "$tmp"/test_{fails,dies,hangs,silent}.sh)
is 'failures are counted' "$? $(tail -1 <<<"$said")" '1 3 passed, 4 failed, 0 skipped'
like 'the script that hangs is named' "$said" 'not ok - test_hangs.sh: killed after 1 s'
like 'one that ran nothing, too' "$said" 'not ok - test_silent.sh: ran no test'
like 'one that died, too' "$said" 'not ok - test_dies.sh: (exit status|killed after)'
script shaky '' '[ -e $d/shaken ] && echo ok 1 || { touch $d/shaken; echo not ok 1; }'
printf '# %s\n' 'a table' >"$tmp/retries"
printf '%s\n' 'test_shaky.sh fails once' 'test_fails.sh fails always' 'test_dies.sh' >>"$tmp/retries"
said=$(RETRIES=$tmp/retries tests/run.sh -r -l "$tmp/logs4" "$tmp"/test_{shaky,fails,dies}.sh)
is 'the second run of a listed script counts' "$? $(tail -1 <<<"$said")" '1 3 passed, 2 failed, 0 skipped'
like 'a second run that passed is printed' "$said" 'again: test_shaky.sh failed beside others; alone: passed'
like 'a second run that failed is printed' "$said" 'again: test_fails.sh failed beside others; alone: failed too'
unlike 'a script without a reason is not run again' "$said" 'again: test_dies.sh'
rm "$tmp/shaken"
is 'a script that the table does not list stays failed' "$(tests/run.sh -r -l "$tmp/logs4" "$tmp"/test_shaky.sh | tail -1)" '0 passed, 1 failed, 0 skipped'
# The tree's own table: scripts that exist, each with a reason, and no unit test.
is 'listed scripts exist and have a reason' "$(grep -v '^#' tests/retries.table | while read -r name reason; do
	[ -f "tests/e2e/$name" ] && [ -n "$reason" ] || echo "$name"; done)" ''
is 'one after the other' "$(tests/run.sh -l "$tmp/logs3" "$tmp"/test_{alone,single2}.sh | tail -1)" '2 passed, 0 failed, 0 skipped'
# A bind mount in a script's folder (/dev, for a Debian of its own) outlives the script. Runs in a mount namespace of its own.
mkdir "$tmp/bound" "$tmp/guard"
cat >"$tmp/guard/test.sh" <<'END'
. "$1/tests/e2e/lib.sh"
mkdir -p "$tmp/image/proc" "$tmp/image/sys" "$tmp/image/dev"
mount -t proc none "$tmp/image/proc"
mount -t sysfs -o ro none "$tmp/image/sys"
mount --rbind --make-rslave "$2" "$tmp/image/dev"
pass bound
finish
END
if can_mount && unshare -m true 2>/dev/null; then
	kept=$(unshare -m bash -c 'mount --make-rprivate / && cd "$2" && mount -t tmpfs none . && cd "$2" && mkdir shm pts && mount -t tmpfs none shm &&
		mount -t tmpfs none pts && touch a shm/b pts/c && TMPDIR=$3 bash "$3/test.sh" "$1" "$2" >"$3/said" 2>&1; ls a shm/b pts/c; grep -c /image/ /proc/mounts' \
		- "$PWD" "$tmp/bound" "$tmp/guard" 2>&1)
	is 'what a script bound is let go, and nothing of it deleted' "$(head -1 "$tmp/guard/said") $kept" "ok 1 - bound a
pts/c
shm/b
0"
else
	skip 'what a script bound is let go' 'nothing may be mounted'
fi
finish
