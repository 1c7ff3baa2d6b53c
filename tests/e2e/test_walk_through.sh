#!/usr/bin/env bash
# The walk through msprobe's guides in docs/how-to/msprobe-walk.md, to the letter: in an empty folder its files are written, its commands are run, and what
# they print is what the page says.
# timeout: 600
# beside: does not wait busily
# long: the commands of msprobe, where PROBE_TEST_MSPROBE is a Python that has mindstudio-probe; ranks started by torchrun
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'the walk through'
[ -z "${PROBE_TEST_MSPROBE:-}" ] || python=$PROBE_TEST_MSPROBE

# The commands by the names that the page has.
bin=$tmp/bin
mkdir "$bin" "$tmp/walk" "$tmp/steps"
ln -s "$(realpath "$probe")" "$bin/probe"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$bin/python"
printf '#!/bin/sh\nexec "%s" -c "from msprobe.msprobe import main; main()" "$@"\n' "$python" >"$bin/msprobe"
if [ -n "${LONG:-}" ]; then
	printf '#!/bin/sh\nexec "%s" -m torch.distributed.run --standalone "$@"\n' "$python" >"$bin/torchrun"
else
	# As torchrun starts them, without its own import of torch.
	cat >"$bin/torchrun" <<-END
		#!/usr/bin/env bash
		python=$python
		. $PWD/tests/e2e/torch.sh
		vars=("\$python")
		ranks=\${1#--nproc_per_node=}
		shift
		ranks_by_hand "\$ranks" "\$@"
	END
fi
chmod +x "$bin"/*

awk -v dir="$tmp/steps" '
	match($0, /<!-- (file|run|prints)(: [^ ]+)? -->/) {
		kind = name = substr($0, RSTART + 5, RLENGTH - 9)
		sub(/:.*/, "", kind)
		if (!sub(/.*: /, "", name)) name = "-"
		n++
		printf "%03d\t%s\t%s\n", n, kind, name
		out = sprintf("%s/%03d", dir, n)
		printf "" >out
		next
	}
	/^```/ { inside = !inside && out != ""; if (!inside) out = ""; next }
	inside { print >out }' docs/how-to/msprobe-walk.md >"$tmp/steps/list"

export PATH=$bin:$PATH LD_LIBRARY_PATH=$(realpath "$B") OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
said=
n=0
while IFS=$'\t' read -r at kind name; do
	step=$tmp/steps/$at
	case $kind in
	file) cp "$step" "$tmp/walk/$name" ;;
	run)
		said=
		if [ "$name" = msprobe ] && ! { [ -n "${LONG:-}" ] && [ -n "${PROBE_TEST_MSPROBE:-}" ]; }; then
			continue
		fi
		# PyTorch ends in SIGABRT by itself now and then (tests/long/torch_exit.sh): then once more, from the same folder.
		for try in 1 2 3 4; do
			rm -rf "$tmp/before"
			cp -a "$tmp/walk" "$tmp/before"
			(cd "$tmp/walk" && exec bash -e "$step") >"$step.out" 2>"$step.err" </dev/null
			status=$?
			[ $status != 0 ] && [ $try != 4 ] && grep -q 'terminate called without an active exception' "$step.err" || break
			rm -rf "$tmp/walk"
			mv "$tmp/before" "$tmp/walk"
		done
		is "step $at: $(head -1 "$step" | cut -c1-60)" "$status $(tail -3 "$step.err" | grep -v '^libprobe: .* note\|^libprobe: rank [0-9]*: Anomaly\|Warning\|W[0-9]')" '0 '
		said=$step
		n=$((n + 1))
		;;
	prints)
		# What a tool of msprobe logs is its own.
		[ -z "$said" ] || is "... prints what the page says" "$(grep -vE '^20[0-9-]+ .*(INFO|WARNING)|^ *[0-9]+%' "$said.out")" "$(cat "$step")"
		;;
	esac
done <"$tmp/steps/list"
ok 'steps of the page' test $n -ge 5
finish
