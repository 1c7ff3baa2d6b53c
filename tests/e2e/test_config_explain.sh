#!/usr/bin/env bash
# The output of `probe config --explain` against the records of jobs with that configuration: functions, ranks, steps,
# keys without effect, bytes and time per step. Prints TAP.
# timeout: 300
. "$(dirname "$0")/lib.sh"

explain() { # NAME=VALUE ...: its lines to $tmp/said
	said=$(env PROBE_OUTPUT_DIR="${out:-$tmp/nowhere}" "$@" "$probe" config --explain 2>&1)
}

part() { # HEAD: the lines under it, in one
	awk -v head="$1" 'NR > 2 {h = substr($0, 1, 11); gsub(/^ +| +$/, "", h); if (h != "") now = h; if (now == head) print substr($0, 12)}' \
		<<<"$said"
}

# ---- keys without effect ----

useless() { # KEY VALUE [NAME=VALUE ...] -- REASON, or nothing: then the key has an effect
	local key=$1 value=$2 vars=()
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	explain "PROBE_${key^^}=$value" "${vars[@]}"
	is "$key: $value ${vars[*]}" "$(part 'no effect' | grep "^$key:")" "${2:+$key: $2}"
}
printf 'mpi:\n  - MPI_Allreduce\naten:\n  - aten::mm\ncustom:\n  - mine\n' >"$tmp/more.yaml"
printf 'mpi:\n  - MPI_Allreduce\n' >"$tmp/mpi.yaml"
printf 'nosuch:\n  - nosuchAdd\n' >"$tmp/nosuch.yaml"
printf 'acl:\n  - "aclnn*"\n' >"$tmp/acl.yaml"
printf 'gloo:\n  - gloo::allreduce\n' >"$tmp/gloo.yaml"
off=PROBE_STATISTICS=false
for k in eps=1 checksum=crc32 stats_isa=scalar stats_threads=2 max_bytes=100 device=copy; do
	useless ${k%=*} ${k#*=} $off -- 'statistics is off'
	useless ${k%=*} ${k#*=} --
done
useless stats_threads_min_bytes 100 -- 'stats_threads is 0'
useless stats_threads_min_bytes 100 PROBE_STATS_THREADS=1 --
useless stack_depth 5 PROBE_STACK=false -- 'stack is off'
useless stack_blacklist x PROBE_STACK=false -- 'stack is off'
useless stack_depth 5 --
useless backward true -- 'the list has no entry in the section aten'
useless backward true PROBE_WRAP_OPS="$tmp/more.yaml" --
useless custom_apis /c.yaml -- 'the list has no entry in the section custom'
useless custom_apis /c.yaml PROBE_WRAP_OPS="$tmp/more.yaml" --
useless start_step 5 PROBE_START_ITERATION=5 -- 'not above start_iteration, the first step'
useless start_step 5 PROBE_START_ITERATION=5 PROBE_STEP_INTERVAL=2 --
useless start_step 6 PROBE_START_ITERATION=5 --
useless step_marker_count 3 -- 'step_marker is empty'
useless step_marker_count 3 PROBE_STEP_MARKER=MPI_Reduce --
useless step_anchor 1 PROBE_STEP_MARKER=MPI_Reduce -- 'step_marker defines the step'
useless part_mib 9 PROBE_OUTPUT_LIMIT_MIB=5 -- 'not below output_limit_mib, which counts'

# ---- functions, ranks ----

explain PROBE_WRAP_OPS="$tmp/mpi.yaml" PROBE_ONLY='[all_reduce, "MPI_I*"]' PROBE_SKIP='[broadcast]'
is 'only and skip' "$(part functions)" $'mpi: 1 entry\nof these only: ["all_reduce", "MPI_I*"]\nof these not: ["broadcast"]'
explain PROBE_WRAP_OPS="$tmp/more.yaml"
is 'functions of libraries that have wrappers' "$(part functions)" $'mpi: 1 entry\naten: 1 entry\ncustom: 1 entry'
printf 'functional:\n  - relu\ntensor:\n  - __add__\n  - sum\ndistributed:\n  - all_reduce\n' >"$tmp/theirs.yaml"
explain PROBE_WRAP_OPS="$tmp/theirs.yaml"
is "msprobe's list: its names stand for functions of several libraries" "$(part functions | tr '\n' ' ')" \
	'in the format of msprobe: 4 names in 3 sections; the names select the operators of PyTorch and MindSpore and the collectives of every library that these names match '
explain PROBE_WRAP_OPS="$tmp/gloo.yaml"
is 'a C++ name' "$(part functions)" 'gloo: 1 entry'
explain PROBE_WRAP_OPS="$tmp/acl.yaml"
is 'operators by rule' "$(part functions)" 'acl: 1 entry'
explain PROBE_WRAP_OPS="$tmp/nosuch.yaml"
is 'those without' "$(part functions)" $'none: nothing is recorded\nnosuch: not recorded, this libprobe has no wrappers for them'
explain PROBE_WRAP_OPS="$tmp/none.yaml"
like 'a list that cannot be read: it is reported' "$said" "$tmp/none.yaml: cannot be read"
like 'a list that cannot be read: the list used instead is explained' "$(part functions)" '^mpi: [0-9]+ entries'
printf 'mpi:\n  - MPI_Allreduc\n  - MPI_Bcast\n  - MPI_Zz*\n' >"$tmp/typo.yaml"
explain PROBE_WRAP_OPS="$tmp/typo.yaml"
is 'names that are not known are no entries' "$(part functions)" 'mpi: 1 entry, and 2 names that libprobe does not know'
like 'and are reported' "$said" 'typo.yaml:2:5: mpi: "MPI_Allreduc": unknown name'
explain PROBE_STEP_MARKER=MPI_Reduc
like 'a mistyped step marker' "$(part steps)" 'no function MPI_Reduc \(did you mean MPI_Reduce\?\), so no step would end'
for marker in MPI_Reduce aten::argmax 'python:train.py:step'; do
	explain PROBE_STEP_MARKER=$marker
	unlike "the step marker $marker is none" "$(part steps)" 'no function'
done
# Linear algebra is off by default.
compiled=$("$probe" check 2>/dev/null | sed -n 's/^\([a-z0-9]*\): [0-9]* functions.*/\1/p' | grep -vE '^(c|cu)?blas$' | sort | tr '\n' ' ')
explain
is 'of the list that comes with it: what is exported, and what is wrapped at run time' \
	"$(part functions | sed -n 's/: [0-9]* entr.*//p' | sort | tr '\n' ' ')" "$(tr ' ' '\n' <<<"${compiled}c10d mindspore" | sort | tr '\n' ' ')"
explain PROBE_RANK=3,5-7
is 'ranks' "$(part ranks)" '[3, "5-7"]'
explain PROBE_STEP_INTERVAL=3 PROBE_START_STEP=2
is 'steps in words' "$(part steps)$(part 'that is' | head -1)" '2, 5, 8, 11 ...every 3rd from 2 on'
explain PROBE_STEP=3 PROBE_START_STEP=4
like 'no step at all' "$(part steps)" '^none: no step from 0 on matches'

[ -n "$flavours" ] || { skip 'runs' 'no MPI, or its programs are not built (make apps)'; finish; }
f=${flavours%%[[:space:]]*}

# ---- steps: the explained ones are the recorded ones ----

recorded_steps() { # TEXT NAME=VALUE ...
	local text=$1 want
	shift
	new_out
	explain PROBE_OUTPUT_DIR="$tmp/nowhere" "$@"
	want=$(part steps | head -1)
	run_with $f 1 "$@" PROBE_STEP_MARKER=MPI_Reduce train_digits --steps 30
	is "steps: $text: $want" "$(rows "$out" '", ".join(map(str, sorted({int(r["step"]) for r in R})[:4]))')" "${want% ...}"
}
recorded_steps 'from, every' PROBE_START_STEP=2 PROBE_STEP_INTERVAL=7
recorded_steps 'at most' PROBE_COLLECT_TIMES=3 PROBE_STEP_INTERVAL=4
recorded_steps 'of a list, at most' 'PROBE_STEP=[5, "9-20"]' PROBE_COLLECT_TIMES=3
recorded_steps 'of a training that goes on, at most' PROBE_START_ITERATION=1001 PROBE_COLLECT_TIMES=2 PROBE_STEP_INTERVAL=5
recorded_steps 'of a training that goes on, a list' PROBE_START_ITERATION=1001 'PROBE_STEP=[3, "1004-1009"]' PROBE_STEP_INTERVAL=2

# ---- wrong settings, and a marker that never comes: what the report says ----

new_out
run_with $f 2 PROBE_STEP_INTERVAL=x PROBE_EPS=abc PROBE_STACK=maybe PROBE_STEP_MARKER=MPI_Zap train_digits --steps 60
stands_out=$("$probe" report "$out" | sed '/^run  /,$d')
for wrong in STEP_INTERVAL=x EPS=abc STACK=maybe; do
	like "three wrong settings: PROBE_$wrong" "$stands_out" "PROBE_$wrong: not "
done
is 'one line of steps' "$(grep -c '^  steps ' <<<"$stands_out")" 1
like 'of the marker, and of what repeats' "$stands_out" 'steps .*the step marker MPI_Zap was never called.*the call sequence repeats every 3 calls'
is 'rows of the steps that are asked for' "$("$probe" report --step 3-4 "$out" | grep -c '^calls *12, 22 rows')" 1

# ---- what a step costs ----

calls_bytes() { # DIR RANK
	cat "$1/rank$2"/calls_* | wc -c
}

train() { # STEPS NAME=VALUE ...
	local n=$1
	shift
	new_out
	run_with $f 2 PROBE_STEP_MARKER=MPI_Reduce "$@" train_digits --steps $n
	explain
	said=$(part cost)
}

# TEXT: the expected bytes are within N % of what 100 more steps added.
near() {
	local have
	have=$(python3 -c 'import sys
n, unit = sys.argv[1].split()[:2]
print(float(n) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit])' "$said")
	if python3 -c 'import sys; h, w, p = map(float, sys.argv[1:]); sys.exit(abs(h - w) > p / 100 * w)' "$have" "$a_step" "$2"; then
		pass "$1: $have bytes, really $a_step"
	else
		fail "$1" "said: $have bytes a step, really $a_step"
	fi
}
train 100
hundred=$(calls_bytes "$out" 0)
train 200
a_step=$((($(calls_bytes "$out" 0) - hundred) / 100))
like 'the cost of a run' "$said" "^[0-9.]+ kB of files and [0-9.]+ [mun]s of the job's time in a typical step, [0-9.]+ kB once, on the rank with the most \(201 steps of $out\) ?\$"
near 'bytes a step, of 200' 5
others=$(($(cat "$out"/rank0/* | wc -c) - $(calls_bytes "$out" 0)))
is 'bytes once: of the other files' "$(sed 's/.* step, \([0-9]*\)\..*kB once.*/\1/' <<<"$said")" $((others / 1000))
# Three calls in each step: our time in all of them, by their number.
ns=$(python3 -c 'import json, sys
m = json.load(open(sys.argv[1]))
print(m["own_time"]["in_calls_s"] * 1e9 / m["calls"]["recorded"] * 3)' "$out/rank0/meta.json")
said_ns=$(python3 -c 'import re, sys
n, unit = re.search(r"and ([0-9.]+) ([mun]s) of the job", sys.argv[1]).groups()
print(float(n) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit])' "$said")
is "time a step: $said_ns ns, by three calls $ns ns" "$(python3 -c 'import sys; a, b = map(float, sys.argv[1:]); print(b / 3 < a < b * 3)' "$said_ns" "$ns")" True
train 10
near 'bytes a step, of 10' 10
train 1
like 'after one step' "$said" '^[0-9.]+ kB of files .* \(2 steps of '
near 'bytes a step, of the first' 60
train 200 PROBE_STEP_INTERVAL=10
near 'bytes a step that is recorded' 10
train 30 PROBE_START_ITERATION=5000
near 'bytes a step of a training that goes on' 10
finish
