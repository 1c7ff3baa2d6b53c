#!/usr/bin/env bash
# Python stacks against what the interpreter itself says, with every CPython from 3.8 to 3.15 that is on this machine;
# the keys codeline and stack_blacklist; exceptions that are caught, and one that ends a program.
# timeout: 420
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

# Interpreters, one of each version.
pythons() {
	local p v root seen=' '
	root=$(pyenv root 2>/dev/null)
	for p in /usr/bin/python3 ${root:+"$root"/versions/3.*/bin/python3} $(compgen -c python3. | grep -E '^python3\.[0-9]+$') \
		$test_python; do
		v=$("$p" -c 'import ctypes, sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue
		[[ $v =~ ^3\.([89]|1[0-5])\. && $seen != *" $v "* ]] || continue
		seen+="$v "
		echo "$v $(command -v "$p")"
	done
}

play() { # PYTHON [NAME=VALUE ...]
	local python=$1
	shift
	new_out
	env "$@" OMPI_MCA_btl=self PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" "$python" tests/apps/py/stacks.py "$tmp/truth.json" \
		>"$tmp/said" 2>&1 </dev/null
	status=$?
}

found=$(pythons)
[ -n "$found" ] || { skip 'Python stacks' 'no Python 3.8 to 3.15'; finish; }
while read -r version python; do
	play "$python"
	[ $status != 77 ] || { skip "Python $version" 'no Open MPI'; continue; }
	is "Python $version: the program ends well" "$status $(cat "$tmp/said")" "0 $(grep '^stacks: ok' "$tmp/said")"
	ok "Python $version: every stack is the interpreter's own" python3 tests/e2e/python_stacks.py "$out" "$tmp/truth.json"
	contract "Python $version" "$out"
	is "Python $version: meta.json says which" "$(rows "$out" 'M["rank0"]["libraries"]["python"].split()[0]')" "$version"

	# A function that is called again from the same line is told from one that goes back in a loop of its own; 3.11 and later.
	if [[ $version != 3.[89].* && $version != 3.10.* ]]; then
		is "Python $version: the table of its instructions" "$("$python" tests/e2e/opcodes.py wrappers/python/loops.c)" 'compared: True'
		new_out
		OMPI_MCA_btl=self PROBE_STEP_MARKER=python:marked.py:train_step PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" \
			"$python" tests/apps/py/marked.py 20 >"$tmp/said" 2>&1 </dev/null
		is "Python $version: marked calls, the program ends well" "$? $(cat "$tmp/said")" '0 marked: ok, 141 collectives'
		is "Python $version: every collective is in the step of its call" \
			"$(rows "$out" '([r["step"] for r in R if r["op"] == "all_reduce" and int(r["count"]) != int(r["step"]) + 1][:9], M["rank0"]["steps"]["current"], M["rank0"]["steps"]["source"])')" \
			"([], 19, 'marker')"
	fi

	OMPI_MCA_btl=self "$python" tests/apps/py/handled.py >"$tmp/plain" 2>&1 </dev/null
	plain=$?
	new_out
	OMPI_MCA_btl=self PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" "$python" tests/apps/py/handled.py >"$tmp/said" 2>&1 </dev/null
	is "Python $version: exceptions are caught, referred to and gone as without us" "$? $(cat "$tmp/said")" "$plain $(cat "$tmp/plain")"
	like "Python $version: the exception that ended it" "$(rows "$out" '[M["rank0"]["end"][k] for k in ("code", "text")]')" \
		"^\[3, 'Own: bad, 7; at .*handled\.py:$(grep -n 'raise Own(' tests/apps/py/handled.py | cut -d: -f1) fail <- .*handled\.py:[0-9]+ <module>'\]"
done <<<"$found"

[ $status != 77 ] || finish
python=$(head -1 <<<"$found" | cut -d' ' -f2)
drop='/asyncio/|stacks\.py\[[0-9]+\] reduce$'
play "$python" PROBE_STACK_BLACKLIST="$drop"
ok 'stack_blacklist: frames are skipped' python3 tests/e2e/python_stacks.py "$out" "$tmp/truth.json" --drop "$drop"
is 'no skipped frame is in the Python stacks' "$(rows "$out" 'all(" reduce <-" not in s["python_stack"] and "/asyncio/" not in s["python_stack"] for s in S) and len(S) > 50')" True
line=$(grep -n '^        reduce(),$' tests/apps/py/stacks.py | cut -d: -f1)
printf '%s\n' 'codeline: ["stacks.py\\['"$line"'\\] lines", "coroutine$"]' >"$tmp/probe.yaml"
play "$python" PROBE_CONFIG="$tmp/probe.yaml"
is 'codeline: only calls made there' "$(rows "$out" 'sorted({re.sub(r" <- .*", "", re.sub("^[^<]* <- ", "", s["python_stack"])).split("/")[-1] for s in S})' |
	sed 's/[0-9]* coroutine/N coroutine/')" "['stacks.py:N coroutine', 'stacks.py:$line lines']"
is 'the others are counted' "$(rows "$out" '(lambda c: c["seen"] == c["recorded"] + c["skipped"]["codeline"] and c["skipped"]["codeline"] > 200)(M["rank0"]["calls"])')" True
play "$python" PROBE_CONFIG="$tmp/probe.yaml" PROBE_STACK=false
is 'codeline works without stacks in the files' "$(rows "$out" '(len(calls(R)), {r["stack_id"] for r in R})')" "(8, {''})"
printf '%s\n' 'codeline: ["a(b"]' >"$tmp/probe.yaml"
play "$python" PROBE_CONFIG="$tmp/probe.yaml"
like 'a wrong expression is reported' "$(cat "$tmp/said")" 'probe.yaml:1:11: codeline: not a regular expression; accepted: a POSIX extended regular expression'
is 'and the default holds' "$(rows "$out" 'len(calls(R)) > 200')" True
finish
