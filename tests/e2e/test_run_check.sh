#!/usr/bin/env bash
# `probe run` and `probe check` before real launchers, with each MPI: what is launched is recorded as with LD_PRELOAD set
# by hand, and check counts what was called and says why something was not. (How they are typed: test_command.sh.)
# timeout: 420
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'run and check' 'no MPI, or its programs are not built (make apps)'; finish; }

launcher_of() { # FLAVOUR: the words before the program
	if [[ $1 == openmpi* ]]; then
		echo mpirun.openmpi --oversubscribe -n 2
	else
		echo mpirun.mpich -n 2
	fi
}

checked() { # EXPRESSION over r, the report of check, and f, its functions by name
	python3 - "$tmp/check.json" "$1" <<-'PY'
		import json, sys
		text = open(sys.argv[1]).read()
		r = json.loads(text[text.index("\n{\n") + 1 if not text.startswith("{") else 0:])
		f = {x["name"]: x for x in r["functions"]}
		print(eval(sys.argv[2]))
	PY
}

for f in $flavours; do
	app=$(realpath "$B/apps/$f/mpi_steps")
	start=$(launcher_of $f)
	timeout 60 $start "$app" none 6 2>/dev/null | sort >"$tmp/plain"
	new_out
	timeout 60 "$probe" run -o "$out" -- $start "$app" none 6 2>"$tmp/with.err" | sort >"$tmp/with"
	is "$f: run: the same lines" "$(diff "$tmp/plain" "$tmp/with")" ''
	silent "$f: run: nothing is reported" "$tmp/with.err"
	is "$f: run: the launcher leaves nothing, the ranks do" "$(rows "$out" '[(d, len(calls(on(d)))) for d in dirs]')" "[('rank0', 12), ('rank1', 12)]"
	contract "$f: run" "$out"

	printf 'step_marker: MPI_Reduce\nstatistics: false\n' >"$tmp/c.yaml"
	new_out
	timeout 60 "$probe" run -c "$tmp/c.yaml" -o "$out" sh -c "$start '$app' none 6" >/dev/null 2>&1
	is "$f: run -c, through a shell" "$(rows "$out" '[(max(int(r["step"]) for r in on(d)), {r["min"] for r in on(d)}) for d in dirs]')" "[(5, {''}), (5, {''})]"

	# Hydra 4.2.1 itself returns 0 now and then when ranks end without MPI_Finalize.
	timeout 60 "$probe" run -o "$tmp/none" -- sh -c '"$@"; status=$?; echo $status >"$0"; exit $status' "$tmp/status" \
		$start "$(realpath "$B/apps/$f/mpi_exit")" exit 5 -1 >/dev/null 2>&1
	is "$f: run: the status is the launcher's" $? "$(cat "$tmp/status")"

	timeout 60 "$probe" check --json -- $start "$app" none 6 >"$tmp/check.json" 2>/dev/null
	is "$f: check: status" $? 0
	is "$f: check: hits" "$(checked '[(n, f[n]["hits"], f[n]["state"]) for n in ("MPI_Allreduce", "MPI_Reduce", "MPI_Alltoall")], r["problem"]')" \
		"([('MPI_Allreduce', 12, 'ok'), ('MPI_Reduce', 12, 'ok'), ('MPI_Alltoall', 0, 'ok')], None)"
	is "$f: check: where the real one is" "$(checked '"libmpi" in f["MPI_Allreduce"]["where"]')" True

	# A list that leaves a function out; a program that never calls anything.
	printf 'mpi:\n  - MPI_Reduce\n' >"$tmp/ops.yaml"
	timeout 60 env PROBE_WRAP_OPS="$tmp/ops.yaml" "$probe" check --json -- $start "$app" none 6 >"$tmp/check.json" 2>/dev/null
	is "$f: check: of a shorter list" "$(checked 'f["MPI_Reduce"]["hits"], "MPI_Allreduce" in f and f["MPI_Allreduce"]["state"] == "ok"')" '(12, False)'
	timeout 60 "$probe" check -- $start "$(realpath "$B/apps/$f/mpi_children")" >"$tmp/said" 2>&1
	is "$f: check: nothing was called: status" $? 1
	like "$f: check: and why" "$(cat "$tmp/said")" 'problem: '
	nothing() { # TEXT PATTERN NAME=VALUE...
		local text=$1 pattern=$2
		shift 2
		timeout 60 env "$@" "$probe" check -- $start "$app" none 6 >"$tmp/said" 2>&1
		is "$f: check: $text: status" $? 1
		like "$f: check: $text: it says so" "$(cat "$tmp/said")" "$pattern"
		unlike "$f: check: $text: not that all is well" "$(cat "$tmp/said")" 'fine:'
	}
	: >"$tmp/empty.yaml"
	nothing 'an empty list' 'problem: .*the list of functions' PROBE_WRAP_OPS="$tmp/empty.yaml"
	printf 'mpi:\n  - MPI_Alltoall\n' >"$tmp/other.yaml"
	nothing 'a list of other functions' 'problem: .*the list of functions' PROBE_WRAP_OPS="$tmp/other.yaml"
	nothing 'disabled' 'problem: .*PROBE_DISABLE' PROBE_DISABLE=1
	printf 'disable: true\n' >"$tmp/off.yaml"
	nothing 'disabled in the file' 'problem: .*disable' PROBE_CONFIG="$tmp/off.yaml"
	nothing 'a rank that is not there' 'problem: .*rank: \[77\]' PROBE_RANK=77
	timeout 60 env PROBE_RANK=1,77 PROBE_DISABLE=0 "$probe" check -- $start "$app" none 6 >"$tmp/said" 2>&1
	like "$f: check: a rank that is there" "$?$(cat "$tmp/said")" '^0.*fine:'
	if [ -x "$B/apps/$f/mpi_fortran" ]; then
		timeout 60 "$probe" check --json -- $start "$(realpath "$B/apps/$f/mpi_fortran")" >"$tmp/check.json" 2>/dev/null
		is "$f: check: Fortran" "$(checked 'sum(f[n]["hits"] for n in ("MPI_Allreduce", "PMPI_Allreduce") if n in f)')" 20
	fi
done

# ---- a configuration that is no YAML ----

read -r f _ <<<"$(tr '\n' ' ' <<<"$flavours")"
app=$(realpath "$B/apps/$f/mpi_steps")
printf 'rank: [0\nstatistics: false\n' >"$tmp/broken.yaml"
said=$(PROBE_CONFIG=$tmp/broken.yaml "$probe" run -o "$tmp/none" -- touch "$tmp/started" 2>&1)
is 'run, PROBE_CONFIG is no YAML: status' $? 2
like '... file and line' "$said" 'broken.yaml:[0-9]+:[0-9]+: no valid YAML: .* the command is not started'
is '... the command is not started' "$(ls "$tmp/started" 2>&1 | grep -c 'No such file')" 1
new_out
run_with $f 2 PROBE_CONFIG="$tmp/broken.yaml" "$app" none 6
is 'LD_PRELOAD, PROBE_CONFIG is no YAML: the job runs' $status 0
like '... and is told that nothing is recorded' "$(cat "$tmp/with.err")" 'broken.yaml:[0-9]+:[0-9]+: no valid YAML: .*; nothing is recorded until the file is repaired'
is '... nothing is recorded' "$(ls -d "$out"/rank* 2>/dev/null)" ''
# A wrong value alone stops nothing.
printf 'rank: [0]\nstack_depth: many\n' >"$tmp/wrong.yaml"
is 'run, PROBE_CONFIG has a wrong value: the command runs' "$(PROBE_CONFIG=$tmp/wrong.yaml "$probe" run -o "$tmp/none" -- echo started 2>/dev/null)" started

# ---- skip and only ----

new_out
run_with $f 2 PROBE_SKIP='[reduce, "MPI_I*"]' PROBE_STEP_MARKER=MPI_Reduce "$app" none 6
is 'skip: an operation has no row' "$(cut -d, -f6 "$out"/rank*/calls_*.csv | grep -cx reduce)" 0
silent 'skip: nothing is reported' "$tmp/with.err"
run_with $f 2 PROBE_SKIP='[brodcast]' "$app" none 6
misspelt='PROBE_SKIP: "brodcast": no operation and no function has this name, .*did you mean broadcast'
like 'skip: a word that names nothing is reported by the job' "$(cat "$tmp/with.err")" "$misspelt"
# It is reported before the job starts, too.
said=$(PROBE_SKIP='[brodcast]' "$probe" run -o "$tmp/none" -- echo started 2>&1)
like 'run, a misspelt word in the environment: it is reported' "$said" "$misspelt"
like '... and the command starts' "$said" 'started'
printf 'rank: [0]\nonly:\n  - all_reduce\n  - MPI_Bcas\n' >"$tmp/words.yaml"
misspelt='words.yaml:4:5: only: "MPI_Bcas": no operation and no function has this name, .*did you mean MPI_Bcast'
said=$("$probe" run -c "$tmp/words.yaml" -o "$tmp/none" -- echo started 2>&1)
is 'run -c, a misspelt word in the file: status' $? 2
like '... file, line and similar names' "$said" "$misspelt"
unlike '... the command does not start' "$said" 'started'
said=$("$probe" config -c "$tmp/words.yaml" 2>&1 >"$tmp/said")
is 'config, a misspelt word: status' $? 2
like '... file, line and similar names' "$said" "$misspelt"
like 'check, a misspelt word: it is reported' "$(PROBE_CONFIG=$tmp/words.yaml "$probe" check -- true 2>&1)" "$misspelt"
is 'config: words that name something: status' "$(
	PROBE_SKIP='[broadcast, "MPI_I*", "c10d::*"]' "$probe" config 2>&1 >"$tmp/said"
	echo $?
)" 0
is 'run -p: operators of the preset are known' "$(PROBE_SKIP='[log]' "$probe" run -p nan -o "$tmp/none" -- echo started 2>&1)" started
finish
