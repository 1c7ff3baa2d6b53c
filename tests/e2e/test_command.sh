#!/usr/bin/env bash
# The probe command as people type it: run, check, config, recover, help, and what it says of mistakes. Prints TAP.
# timeout: 420
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/e2e/mpi.sh
B=$(cd "$B" && pwd)
probe=$B/probe
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
unset LD_PRELOAD PROBE_CONFIG PROBE_OUTPUT_DIR PROBE_DISABLE PROBE_LIBRARY

is() { # DESCRIPTION HAVE WANT
	if [ "$2" == "$3" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		printf '# have: %s\n# want: %s\n' "$2" "$3"
		bad=1
	fi
}

# DESCRIPTION STATUS PATTERN COMMAND...: its status, and what stdout and stderr hold together
says() {
	local what=$1 status=$2 pattern=$3 out rc
	shift 3
	out=$("$@" 2>&1)
	rc=$?
	if [ $rc -ne "$status" ] || ! tr -s ' \n' ' ' <<<"$out" | grep -qE -- "$pattern"; then
		echo "not ok - $what: status $rc, not $status, or no $pattern"
		sed 's/^/# /' <<<"$out" | head -20
		bad=1
	else
		echo "ok - $what"
	fi
}

# ---- usage ----

says 'no verb' 2 '^usage: probe VERB' "$probe"
says 'help' 0 'probe report \[DIR\]' "$probe" --help
says 'version' 0 "^probe $(cat VERSION) ?\$" "$probe" --version
says 'an unknown verb' 2 'reprot: no such verb; did you mean report' "$probe" reprot
says 'another one' 2 'xyzzy: no such verb; accepted: run, check' "$probe" xyzzy
# Types of columns, for pasting: all of them, each once.
for r in duckdb polars pandas arrow; do
	is "columns --$r: all columns of calls" "$("$probe" columns --$r calls | grep -oE "['\"][a-z_0-9]+['\"]: " | tr -d "'\": " | paste -sd,)" "$("$probe" columns --names calls)"
	is "columns --$r: of each CSV file" "$("$probe" columns --$r | grep -c '^{.*}$')" 6
done
is 'columns --duckdb comms' "$("$probe" columns --duckdb comms)" "{'comm': 'VARCHAR', 'lib': 'VARCHAR', 'size': 'BIGINT', 'rank': 'BIGINT', 'kind': 'VARCHAR', 'parent': 'VARCHAR', 'name': 'VARCHAR', 'world_ranks': 'VARCHAR'}"
says 'columns --pandas: statistics are numbers, ids are text' 0 '"comm": "string".*"min": "float64".*"norm": "float64".*"nans": "Int64".*"crc32": "string"' "$probe" columns --pandas calls
says 'columns --arrow of a table that is no CSV file' 2 'files: no columns with types; accepted: calls' "$probe" columns --arrow files
for v in run check report recover config columns stub csv; do
	says "$v --help has examples" 0 "^usage: probe $v .* examples:" "$probe" $v --help
	says "help $v" 0 "^usage: probe $v " "$probe" help $v
	says "$v: an unknown option" 2 "$v: unknown option --colour|$v: unknown option --nonsense" "$probe" $v --nonsense
done
says 'report --help names short options' 0 '-r, --rank .*-s, --step .*-n, --top .*-f, --follow ' "$probe" report --help
says 'recover --help, too' 0 '-f, --force ' "$probe" recover --help
says 'check --help, too' 0 '-a, --all ' "$probe" check --help
says 'an option that is nearly right' 2 'did you mean --json' "$probe" report --jsno
says 'a folder that is not there' 2 'No such file or directory' "$probe" report "$tmp/none"
says 'a file instead of a folder' 2 'Not a directory' "$probe" report Makefile
says 'a folder without ranks' 2 'no rank folders' "$probe" report "$tmp"
mkdir -p "$tmp/job/probe_output/rank0"
says 'the folder above the right one' 2 'did you mean .*/job/probe_output' "$probe" report "$tmp/job"
says 'wrong values' 2 '--step 1,5: only one step or range' "$probe" report --step 1,5
says 'wrong values' 2 '--rank a: .*; accepted: 3, 0-7' "$probe" report --rank a
says 'wrong values' 2 '--color red: accepted: auto, always, never' "$probe" report --color red
says 'recover: nothing there' 2 'No such file' "$probe" recover "$tmp/none"
says 'recover: no ranks' 2 'no rank folders' "$probe" recover "$tmp"
echo step,seq,api,op,start_ns >"$tmp/job/probe_output/rank0/calls_0-99.csv"
out=$("$probe" report --color always "$tmp/job/probe_output/rank0" 2>&1 | grep -c $'\033')
is 'colours when they are asked for' "$((out > 0))" 1
out=$(TERM=xterm "$probe" report "$tmp/job/probe_output/rank0" 2>&1 | grep -c $'\033')
is 'no colours in a pipe' "$out" 0
"$probe" report --help >/dev/full 2>"$tmp/err"
is 'a full disk is reported' "$?$(grep -c 'No space left' "$tmp/err")" 21

# ---- run ----

says 'run without a command' 2 'run: no command' "$probe" run
says 'run: command not found' 127 'nonexistent: command not found' "$probe" run nonexistent
says 'run: a path that is not there' 127 'nope: command not found' "$probe" run "$tmp/nope"
says 'run: a file that cannot be run' 126 'job: Permission denied' "$probe" run "$tmp/job"
says 'run passes the status on' 7 '' "$probe" run sh -c 'exit 7'
says 'run passes arguments on' 0 '^a b\|--json\| ?$' "$probe" run printf '%s|' 'a b' --json
is 'the library comes first, others stay' "$(cd / && LD_PRELOAD=/lib/other.so "$probe" run -n true 2>/dev/null)" "LD_PRELOAD=$B/libprobe.so:/lib/other.so true"
is 'it is not there twice' "$(LD_PRELOAD=$B/libprobe.so "$probe" run -n true 2>/dev/null)" "LD_PRELOAD=$B/libprobe.so true"
is 'paths are made absolute' "$(cd "$tmp" && "$probe" run -o out/x --print -- echo 'a b' "it's")" "LD_PRELOAD=$B/libprobe.so PROBE_OUTPUT_DIR=$(cd "$tmp" && pwd)/out/x echo 'a b' 'it'\\''s'"
preset() {
	"$probe" run -n "$@" true 2>&1 | tr ' ' '\n' | grep -v LD_PRELOAD | sort | tr '\n' ' '
}
conf=$(cd "$B/../configs" && pwd)
is 'preset comm' "$(cd "$tmp" && preset -p comm)" "PROBE_OUTPUT_DIR=$tmp/probe_output PROBE_STACK=true PROBE_STATISTICS=true true "
is "preset nan: its own list" "$(cd "$tmp" && preset --preset nan -o out)" \
	"PROBE_JOURNAL_MIB=64 PROBE_OUTPUT_DIR=$tmp/out PROBE_STACK=true PROBE_STATISTICS=true PROBE_WRAP_OPS=$conf/presets/nan.yaml true "
is 'preset dump' "$(cd "$tmp" && preset -pdump | tr ' ' '\n' | grep -c 'CHECKSUM=crc32\|NESTED=true\|presets/ops.yaml')" 3
is 'preset: a setting of the environment stays, as an absolute path' "$(cd "$tmp" && PROBE_STACK=false PROBE_DEVICE=off PROBE_OUTPUT_DIR=here preset -p ops)" \
	"PROBE_JOURNAL_MIB=64 PROBE_OUTPUT_DIR=$tmp/here PROBE_STATISTICS=true PROBE_WRAP_OPS=$conf/presets/ops.yaml true "
printf 'journal_mib: 5\noutput_dir: /there\n' >"$tmp/own.yaml"
is 'preset: a setting of a file stays' "$(preset -p comm -c "$tmp/own.yaml")$(preset -p ops -c "$tmp/own.yaml" | grep -c JOURNAL)" \
	"PROBE_CONFIG=$tmp/own.yaml PROBE_OUTPUT_DIR=/there PROBE_STACK=true PROBE_STATISTICS=true true 0"
is 'preset: a file named in the environment, absolute' "$(cd "$tmp" && PROBE_CONFIG=own.yaml preset -p comm | grep -c "PROBE_CONFIG=$tmp/own.yaml PROBE_OUTPUT_DIR=/there")" 1
says 'preset: a list of the user stays, and is told' 0 "wrap_ops is set to $tmp/l.yaml.*PROBE_WRAP_OPS=$tmp/l.yaml" env PROBE_WRAP_OPS="$tmp/l.yaml" "$probe" run -n -p nan true
says 'preset: a wrong name' 2 'did you mean nan\? accepted: comm, nan, ops, dump' "$probe" run -p nna true
says 'preset: the lists are lists' 0 "mpi: 1 entry.*aten: 1 entry|aten" env PROBE_WRAP_OPS="$conf/presets/ops.yaml" "$probe" config --explain
says 'preset: and this one too' 0 'aten' env PROBE_WRAP_OPS="$conf/presets/nan.yaml" "$probe" config --explain
# A library whose presets are not beside it, as of an installation by hand.
mkdir -p "$tmp/flat/lib" && cp "$B/libprobe.so" "$B/probe" "$tmp/flat/lib"
lacks="preset ops: its list of functions, presets/ops.yaml, was not found; looked for in $tmp/flat/lib/../configs/, $tmp/flat/lib/../share/libprobe/, $tmp/flat/lib/../../share/libprobe/; the default list is used"
says 'preset without its list: probe config says where it was looked for' 2 "$lacks" env PROBE_PRESET=ops "$tmp/flat/lib/probe" config
says 'preset without its list: so does the library in a program that loads libraries and records nothing' 0 "^libprobe: $lacks" \
	env PROBE_PRESET=ops PROBE_OUTPUT_DIR="$tmp/flat/out" LD_PRELOAD="$tmp/flat/lib/libprobe.so" python3 -c 'import ctypes; ctypes.CDLL("libm.so.6")'
is 'preset without its list: a program that loads none stays silent' "$(PROBE_PRESET=ops LD_PRELOAD="$tmp/flat/lib/libprobe.so" sh -c 'cat </dev/null' 2>&1)" ''
echo 'journal_mib: 4' >"$tmp/good.yaml"
echo 'journal_mib: lots' >"$tmp/bad.yaml"
is 'a configuration' "$("$probe" run -c "$tmp/good.yaml" sh -c 'echo $PROBE_CONFIG')" "$tmp/good.yaml"
says 'a wrong one stops before the job starts' 2 "$tmp/bad.yaml:1:14: journal_mib: .*accepted: an integer" "$probe" run -c "$tmp/bad.yaml" echo started
says 'none' 2 'No such file' "$probe" run -c "$tmp/none.yaml" true
says 'another library' 2 'cannot open shared object file|No such file' env PROBE_LIBRARY="$tmp/none.so" "$probe" run true
echo text >"$tmp/text.so"
says 'a file that is no library' 2 "$tmp/text.so.*(invalid ELF header|too short)" env PROBE_LIBRARY="$tmp/text.so" "$probe" run true
mkdir "$tmp/a b" && ln -s "$B/libprobe.so" "$tmp/a b/libprobe.so"
says 'a path that LD_PRELOAD cannot hold' 2 'blanks or colons' env PROBE_LIBRARY="$tmp/a b/libprobe.so" "$probe" run true
says 'PROBE_DISABLE' 0 'PROBE_DISABLE is set' env PROBE_DISABLE=1 "$probe" run true
is 'only the command is preloaded' "$("$probe" run sh -c 'echo $LD_PRELOAD'; echo "${LD_PRELOAD:-none}")" "$B/libprobe.so
none"

echo 'int main(void) { return 3; }' >"$tmp/s.c"
if cc -static -o "$tmp/static" "$tmp/s.c" 2>/dev/null; then
	says 'a static program' 3 'no effect: .*linked statically' "$probe" run "$tmp/static"
	says 'check of a static program' 1 'records nothing of .*linked statically' "$probe" check "$tmp/static"
	printf '#!%s\n' "$tmp/static" >"$tmp/script"
	chmod +x "$tmp/script"
	says 'a script with such an interpreter' 3 'no effect: .*linked statically' "$probe" run "$tmp/script"
fi
says 'env -i' 0 'no effect: env -i does not pass on' "$probe" run env -i true

# ---- check ----

says 'check: nothing called' 1 'problem: none of the libraries was loaded' "$probe" check -- true
says 'check: command not found' 2 'command not found' "$probe" check nonexistent
says 'check: killed' 1 'killed by signal 9.*problem:' "$probe" check sh -c 'kill -9 $$'
says 'check: what is exported' 0 '(^| )mpi: [0-9]+ functions .*MPI_Allreduce' "$probe" check
is 'check leaves nothing' "$(ls -d "${TMPDIR:-/tmp}"/probe-check.* 2>/dev/null | wc -l)" 0
flavour=$(mpi_flavours | head -1)
if [ -n "$flavour" ]; then
	app=$B/apps/$flavour/train_digits
	[ "$flavour" = openmpi ] && over=--oversubscribe || over=
	says 'check of a training' 0 "2 x $app: .*MPI_Allreduce +[0-9]+ .*libmpi.*found and never called.*MPI_Alltoall.* fine:" \
		timeout 60 "$probe" check --all mpirun.$flavour $over -n 2 "$app" --steps 3
	mkdir "$tmp/checked"
	(cd "$tmp/checked" && timeout 60 "$probe" check --json mpirun.$flavour $over -n 2 "$app" --steps 3 >"$tmp/check.json" 2>/dev/null)
	# 3 steps with 2 all-reduces, and one at the end, on 2 ranks.
	is 'it counts right' "$(sed -n '/^{$/,$p' "$tmp/check.json" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print([(f["hits"], f["state"], "libmpi" in f["where"]) for f in r["functions"] if f["name"] == "MPI_Allreduce"], r["problem"])')" "[(14, 'ok', True)] None"
	is 'probe check records nothing' "$(ls "$tmp/checked")" ''
	(cd "$tmp" && timeout 60 "$probe" run mpirun.$flavour $over -n 2 "$app" --steps 3 >/dev/null 2>&1)
	says 'a run is recorded, and report finds it' 0 'ranks 2 \(0,1\) of 2, all finished' sh -c "cd $tmp && $probe report"
	says 'its cost per step, in words' 0 'cost [0-9.]+ k?B of files and [0-9.]+ [mun]s of the job' sh -c "cd $tmp && $probe config --explain"
	# Followed until the job has ended: the last of several reports says so.
	(PROBE_STEP_MARKER=MPI_Reduce timeout 150 "$probe" run -o "$tmp/followed" mpirun.$flavour $over -n 2 "$app" --slow 1:20 --steps 200 >/dev/null 2>&1) &
	while [ ! -s "$tmp/followed/rank1/meta.json" ] && kill -0 $!; do sleep 0.1; done
	timeout 150 "$probe" report --follow --interval 0.2 "$tmp/followed" >"$tmp/followed.txt" 2>&1
	is 'a followed run' "$? $(grep -c '^ranks .*all running' "$tmp/followed.txt" | sed 's/^[1-9][0-9]*$/some/') $(grep '^ranks' "$tmp/followed.txt" | tail -1)" '0 some ranks    2 (0,1) of 2, all finished'
	wait
else
	echo 'ok - check and run of a training # SKIP no MPI'
fi

# ---- config ----

says 'config' 0 'output_dir: "' "$probe" config
is 'it can be read again' "$("$probe" config >"$tmp/c.yaml" && "$probe" config -c "$tmp/c.yaml" | grep -v '^#' | sed 's/  #.*//' | cksum)" \
	"$(grep -v '^#' "$tmp/c.yaml" | sed 's/  #.*//' | cksum)"
says 'values of a file' 0 'journal_mib: 4 # from the file' "$probe" config -c "$tmp/good.yaml"
PROBE_JOURNAL_MIB=lots "$probe" config -c "$tmp/good.yaml" >"$tmp/refused" 2>&1
is 'a rejected value of the environment is not listed as coming from there' "$(grep -c '# from the environment' "$tmp/refused")" 0
says 'values of the environment' 0 'journal_mib: 5 # from the environment' env PROBE_JOURNAL_MIB=5 "$probe" config -c "$tmp/good.yaml"
says 'problems' 2 "$tmp/bad.yaml:1:14: journal_mib" "$probe" config -c "$tmp/bad.yaml"
says 'problems of the environment' 2 'PROBE_JOURNAL_MIB=x: not an integer' env PROBE_JOURNAL_MIB=x "$probe" config
says 'no file' 2 'No such file|cannot be read' "$probe" config -c "$tmp/none.yaml"
says 'in words' 0 'mpi: [0-9]+ entries.*steps 4, 14, 24, 34 \.\.\. that is every 10th from 4 on.*no effect step_marker_count: step_marker is empty.*cost unknown' \
	env PROBE_OUTPUT_DIR="$tmp/nothing" PROBE_STEP_INTERVAL=10 PROBE_START_STEP=4 PROBE_STEP_MARKER_COUNT=3 "$probe" config --explain
says 'in words: off' 0 'records nothing: disable is set' env PROBE_DISABLE=1 "$probe" config --explain
says 'as tables' 0 '^## Where: .*\| Key \| Default .*`step_marker`' "$probe" config --markdown
is 'the keys that are set often are 25' "$("$probe" config --common --markdown | grep -c '^| `') $("$probe" config --common 2>/dev/null | grep -c '^[a-z]')" '25 25'
is 'six groups have all keys' "$("$probe" config --markdown | grep -c '^## ') $("$probe" config --markdown | grep '^| `' | cut -d'`' -f2 | sort | uniq -d)" '6 '
is 'the example file has the keys in the same groups' "$("$probe" config --markdown | grep -c '^| `')" "$(grep -c '^[a-z_]*:' configs/probe.yaml)"

exit $bad
