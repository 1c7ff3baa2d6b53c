#!/usr/bin/env bash
# probe bundle: one archive with the report and the files of all ranks, in which files that do not fit are counted; folders of several nodes,
# streamed by the lines that --print-command prints (srun, ssh and kubectl are scripts here), make the run that one disk would have. Prints TAP.
# timeout: 200
# beside: nothing of it waits busily
. "$(dirname "$0")/lib.sh"

python3 tests/e2e/fault_folders.py "$tmp" nan
run=$tmp/nan
cd "$tmp" || exit 2
mkdir stage
export TMPDIR=$tmp/stage

says() { # TEXT STATUS PATTERN COMMAND...: of stderr
	local text=$1 want=$2 pattern=$3 rc
	shift 3
	"$@" >says.out 2>says.err
	rc=$?
	is "$text: status" "$rc" "$want"
	like "$text" "$(cat says.err)" "$pattern"
}

# ---- the archive ----

is 'nothing on stderr' "$("$probe" bundle "$run" 2>&1 >/dev/null)" ''
tar -xzf probe_bundle.tar.gz
is 'the report as text' "$(cat probe_bundle/report.txt)" "$("$probe" report "$run")"
is 'the report as JSON: the same findings' "$(python3 -c 'import json, sys; a, b = (json.load(f) for f in (open("probe_bundle/report.json"), sys.stdin)); print(a["findings"] == b["findings"] != [])' \
	< <("$probe" report --json "$run"))" True
for r in 0 1 2 3; do
	is "all files of rank $r, unchanged" "$(diff -r "$run/rank$r" "probe_bundle/rank$r")" ''
done
is 'the unpacked archive is a run' "$("$probe" report probe_bundle | head -2 | sed "s|$run||")" "$("$probe" report "$run" | head -2 | sed "s|$run||")"
like 'contents.txt has ranks and hosts' "$(cat probe_bundle/contents.txt)" 'rank +state +host .*3 +finished +a '
is 'nothing stays in the temporary folder' "$(ls stage)" ''

# ---- less ----

"$probe" bundle --calls 10 -o ten.tar.gz "$run" >/dev/null
mkdir ten && tar -xzf ten.tar.gz -C ten
is '--calls: the header and the last rows' "$(cat ten/probe_bundle/rank0/calls_0-99.csv)" "$(head -1 "$run/rank0/calls_0-99.csv"; tail -10 "$run/rank0/calls_0-99.csv")"
like '--calls: contents.txt says so' "$(cat ten/probe_bundle/contents.txt)" 'the last 10 rows of each rank; 4 files have more'
# The same of a compressed file, and over two blocks.
cp -r "$run" two
gzip two/rank0/calls_0-99.csv
(head -1 "$run/rank0/calls_0-99.csv"; tail -4 "$run/rank0/calls_0-99.csv") >two/rank0/calls_100-199.csv
"$probe" bundle --calls 10 -o two.tar.gz two >/dev/null
mkdir twice && tar -xzf two.tar.gz -C twice
is '--calls: the newest block whole' "$(cat twice/probe_bundle/rank0/calls_100-199.csv)" "$(cat two/rank0/calls_100-199.csv)"
is '--calls: the rest of the compressed one before it' "$(cat twice/probe_bundle/rank0/calls_0-99.csv)" "$(head -1 "$run/rank0/calls_0-99.csv"; tail -6 "$run/rank0/calls_0-99.csv")"
# 10,000 bytes have room for all meta.json, communicators and stacks, and for no block of calls.
says '--limit: what is skipped is counted' 0 'bundle: --limit 10000: 4 files, [0-9.]+ kB, skipped' "$probe" bundle --limit 10000 -o small.tar.gz "$run"
mkdir small && tar -xzf small.tar.gz -C small
is '--limit: no calls, all the rest' "$(cd small/probe_bundle && echo rank*/*)" "$(cd "$run" && echo rank*/[!c]*  rank*/comms.csv | tr ' ' '\n' | sort | paste -sd' ')"
like '--limit: contents.txt says what' "$(cat small/probe_bundle/contents.txt)" 'skipped because of the limit: +calls +4 files, '
says '--limit: a word' 2 '--limit much: accepted: a number of bytes' "$probe" bundle --limit much "$run"
says '--calls: a word' 2 '--calls few: accepted: a number' "$probe" bundle --calls few "$run"
says 'no run' 2 'stage' "$probe" bundle "$tmp/stage"
says 'a place that cannot be written' 2 'nosuch/x.tar.gz: No such file' "$probe" bundle -o nosuch/x.tar.gz "$run"
is 'nothing stays in the temporary folder, whatever fails' "$(ls stage)" ''

# ---- nodes without a shared disk ----

mkdir -p nodes/a/run7 nodes/b/run7 bin
cp -r "$run/rank0" "$run/rank1" nodes/a/run7
cp -r "$run/rank2" "$run/rank3" nodes/b/run7
ln -s "$probe" bin/probe
# NODE COMMAND..., in that node's folder
printf '#!/bin/sh\nnode=$1\nshift\ncd "%s/nodes/$node" && eval "$*"\n' "$tmp" >bin/ssh
# exec POD -- COMMAND...
printf '#!/bin/sh\nnode=$2\nshift 3\ncd "%s/nodes/$node" && "$@"\n' "$tmp" >bin/kubectl
# One task a node, each with an output file of its own.
cat >bin/srun <<-END
	#!/bin/bash
	while [[ \$1 == --* ]]; do
		[[ \$1 != --output=* ]] || output=\$PWD/\${1#*=}
		shift
	done
	for node in a b; do (cd "$tmp/nodes/\$node" && "\$@" >"\${output/\%N/\$node}"); done
END
chmod +x bin/*
PATH=$tmp/bin:$PATH
is '--print-command: it prints and does nothing' "$(SLURM_JOB_ID=17 probe bundle --print-command nosuch/run7 | grep -c -e '^srun --jobid=17 ' -e '^for host' -e '^for pod')" 3
# A folder with the same path on each node: here one below the node's own.
lines=$(cd nodes/a && probe bundle --print-command run7 | sed "s|$tmp/nodes/a/||")
for way in srun ssh kubectl; do
	mkdir "$way" && cd "$way" || exit 2
	line=$(grep "$way " <<<"$lines" | sed 's/NODES/a b/; s/PODS/a b/')
	mkdir run7
	bash -c "$line" 2>err
	is "$way: status" $? 0
	is "$way: the ranks of both nodes" "$(for r in 0 1 2 3; do diff -r "run7/rank$r" "$run/rank$r"; done 2>&1)" ''
	is "$way: the report" "$(probe report run7 | head -2 | cut -c1-60)" "$(probe report "$run" | head -2 | cut -c1-60)"
	cd ..
done
is 'a stream has the mode of no folder' "$(probe bundle --stream nodes/a/run7 | tar -tf - | grep -c '^\./$')" 0
finish
