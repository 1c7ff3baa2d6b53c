#!/usr/bin/env bash
# README and the tutorial, to the letter: every command is run, in an empty folder, with the programs by the names that the pages have, and
# prints the page's output. In pages a comment before a block says how it is tested:
#
#   <!-- run -->, <!-- run: torch -->    it is run; exit status 0, or 1 of `probe compare` and --check; torch: needs PyTorch
#   <!-- until: TEXT -->                 it is run until it prints TEXT
#   <!-- start: COMMAND -->              no block: COMMAND is started and runs until the page's end
#   <!-- prints -->                      lines of the output before; numbers may be others, "..." stands for lines
#   <!-- by: FILE -->                    that test runs it
#
# Of README also: the lines of the table of faults, the wishes, the launchers. UPDATE=1 prints the faults' lines as they are. Prints TAP.
# timeout: 600
# long: the picture of the page of a hang, by Chromium; UPDATE=1 puts it into docs/tutorial
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
(torch_python x) >/dev/null 2>&1 && torch_python x
flavour=$(grep -m1 -x mpich <<<"$(tr ' ' '\n' <<<"$flavours")" || tr ' ' '\n' <<<"$flavours" | head -1)
[ -n "$flavour" ] || { skip 'the pages' 'no MPI, or its programs are not built (make apps)'; finish; }
pages=${PAGES:-README.md $(ls docs/tutorial/*.md)}

# ---- the names that the pages have ----

bin=$tmp/bin walk=$tmp/walk
mkdir "$bin" "$walk"
ln -s "$probe" "$bin/probe"
ln -s "$(realpath "$B/apps/$flavour/train_digits")" "$bin/train_digits"
printf '#!/bin/sh\nexec train_digits --epochs 1 "$@"\n' >"$walk/train"
ln -s "$lib" "$walk/libprobe.so"
# As in the folder of `make demo`.
ln -s "$(realpath "$B")" "$walk/build"
ln -s "$PWD/tests" "$walk/tests"
if [ "$flavour" = mpich ]; then
	printf '#!/bin/sh\nexport LD_PRELOAD="$LD_PRELOAD${LD_PRELOAD:+:}%s"\nexec mpirun.mpich "$@"\n' "$(realpath "$B/apps/mpich/libucxyield.so" 2>/dev/null)" >"$bin/mpirun"
	[ -e "$B/apps/mpich/libucxyield.so" ] || printf '#!/bin/sh\nexec mpirun.mpich "$@"\n' >"$bin/mpirun"
else
	printf '#!/bin/sh\nexec mpirun.openmpi --allow-run-as-root --oversubscribe "$@"\n' >"$bin/mpirun"
fi
if [ -n "${python:-}" ]; then
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$bin/python"
	# As torchrun starts them, without its own import of torch.
	cat >"$bin/torchrun" <<-END
		#!/usr/bin/env bash
		python=$python
		. $PWD/tests/e2e/torch.sh
		vars=("\$python")
		[ "\$1" != --nproc_per_node ] || shift
		ranks=\$1
		shift
		ranks_by_hand "\$ranks" "\$@"
	END
	cp tests/apps/train_ddp.py "$walk/train.py"
fi
chmod +x "$bin"/* "$walk/train"
export PATH=$bin:$PATH OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PROBE_STEP_MARKER=
unset PROBE_STEP_MARKER

# Numbers may be others, and blanks.
plain() {
	sed -E 's/MPICH Version: .*|Open MPI .*/MPI/; s/[0-9]+([.,][0-9]+)*/N/g; s/[[:space:]]+/ /g; s/^ | $//g; s/\bN (ns|us|ms|s)\b/N s/g'
}

run_block() { # FILE: status in $status, output in FILE.out
	(cd "$walk" && exec timeout 200 bash -e "$1") >"$1.out" 2>"$1.err" </dev/null
	status=$?
}

run_until() { # FILE TEXT
	run_block "$1"
	grep -qF -- "$2" "$1.out"
}

starts=()
end_starts() {
	local p
	for p in ${starts[@]+"${starts[@]}"}; do
		kill -9 -- "-$p" 2>/dev/null
	done
	starts=()
	for p in $(ranks_of "$walk"); do kill -9 "$p" 2>/dev/null; done
}

run_page() { # PAGE
	local page=$1 steps=$tmp/steps.${1##*/} at kind text step='' said='' n=0
	mkdir "$steps"
	awk -v dir="$steps" '
		match($0, /^<!-- (run|until|start|prints|by)(: .*)? -->$/) {
			text = substr($0, 6, length($0) - 9)
			kind = text
			sub(/:.*/, "", kind)
			if (!sub(/^[a-z]+: /, "", text)) text = "-"
			out = sprintf("%s/%03d", dir, ++n)
			printf "" >out
			printf "%03d\t%s\t%s\n", n, kind, text
			if (kind == "start") out = ""
			next
		}
		/^```sh/ && out == "" { printf "000\tbare\t%s:%d\n", FILENAME, FNR }
		/^```/ { inside = !inside; if (!inside) out = ""; next }
		inside && out != "" { print >out }' "$page" >"$steps/list"
	while IFS=$'\t' read -r at kind text; do
		step=$steps/$at
		case $kind in
		bare) fail "$page: a block of commands says who runs it" "$text" ;;
		by) ok "$page: $text is there" test -f "$text" ;;
		start)
			(cd "$walk" && exec setsid bash -c "$text") >"$step.out" 2>&1 </dev/null &
			starts+=($!)
			;;
		run)
			said=''
			if [ "$text" = torch ] && [ -z "${python:-}" ]; then
				skip "$page: $(head -1 "$step")" 'no Python with PyTorch (set PROBE_TEST_PYTHON)'
				continue
			fi
			run_block "$step"
			ok "$page: $(grep -vm1 '^cd \|^export ' "$step" | cut -c1-60): status $status" test "$status" -le "$(grep -qE 'compare|--check' "$step" && echo 1 || echo 0)"
			[ "$status" -le 1 ] || sed 's/^/# /' "$step.err" | tail -5
			said=$step.out n=$((n + 1))
			;;
		until)
			ok "$page: $(head -1 "$step" | cut -c1-60): until it says $text" wait_until 60 run_until "$step" "$text"
			said=$step.out n=$((n + 1))
			cp "$said" "$steps/hang.out"
			;;
		prints)
			[ -n "$said" ] || continue
			plain <"$said" >"$said.plain"
			is "$page: step $at: prints the page's output" "$(plain <"$step" | grep -vx '\.\.\.\|' | while IFS= read -r line; do
				grep -qxF -- "$line" "$said.plain" || grep -qxF -- "$(sed 's/ \.\.\.$//' <<<"$line")" <(cut -c"1-$((${#line} - 4))" "$said.plain") || echo "$line"
			done)" ''
			;;
		esac
	done <"$steps/list"
	end_starts
	ok "$page: commands" test "$n" -ge 1
}

for page in $pages; do
	run_page "$page"
done

# ---- the picture ----

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "${LONG:-}" ] && [ -s "$walk/hang.html" ]; then
	if [ -z "$browser" ]; then
		skip 'the picture of a hang' 'no Chromium'
	else
		timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile" --window-size=1000,900 \
			--virtual-time-budget=6000 --screenshot="$tmp/hang.png" "file://$walk/hang.html" >/dev/null 2>&1
		ok 'the picture of a hang' test "$(stat -c %s "$tmp/hang.png" 2>/dev/null || echo 0)" -gt 20000
		like 'it shows the guilty rank' "$(timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" --virtual-time-budget=6000 \
			--dump-dom "file://$walk/hang.html" 2>/dev/null)" 'rank 2 never entered it'
		[ -z "${UPDATE:-}" ] || cp "$tmp/hang.png" docs/tutorial/hang.png
	fi
fi
[[ " $pages " == *' README.md '* ]] || finish
is 'README has at most 200 lines' "$(($(wc -l <README.md) <= 200))" 1
is 'no page has more than 400' "$(wc -l docs/*/*.md | awk '$2 != "total" && $1 > 400')" ''

is 'the page of findings has a next step for each kind' "$(for k in $(probe columns --names findings | tr , '\n' | sort -u); do
	sed -n '/^| kind | why/,/^$/p' docs/reference/findings.md | cut -d'|' -f2 | grep -qF "\`$k\`" || echo "$k"
done)" ''

# ---- the table of faults ----

mpi_cc "$flavour" -std=gnu11 -O2 -g -D_GNU_SOURCE -o "$bin/train_faults" tests/faults/train.c -ldl || { fail 'tests/faults/train.c compiles'; finish; }
in_walk() { # COMMAND as one text
	(cd "$walk" && timeout 100 bash -c "$1") >"$tmp/in_walk" 2>&1 </dev/null
}
fault_run() { # NAME: the folder in $walk
	case $1 in
	'a NaN') in_walk 'PROBE_STEP_MARKER=MPI_Reduce mpirun -n 4 probe run -o f1 -- train_digits --epochs 1 --nan-at 12:2'; echo f1 ;;
	'a hang') echo out3 ;;
	'a skipped call') in_walk 'mpirun -n 4 probe run -o f3 -- timeout 12 train_faults fault=skip rank=1 step=6 site=loss'; echo f3 ;;
	'a slow rank') in_walk 'PROBE_STEP_MARKER=MPI_Reduce mpirun -n 2 probe run -o f4 -- train_digits --steps 60 --slow 1:50'; echo f4 ;;
	'ranks that disagree') in_walk 'mpirun -n 4 probe run -o f5 -- timeout 12 train_faults fault=dtype rank=1 step=6 site=loss'; echo f5 ;;
	'a rank that ended early') in_walk 'mpirun -n 4 probe run -o f6 -- timeout 12 train_faults fault=exits rank=2 step=6'; echo f6 ;;
	esac
}
rows=0
while IFS='|' read -r _ name line _; do
	name=$(sed 's/^ *//; s/ *$//' <<<"$name")
	dir=$(fault_run "$name")
	[ -n "$dir" ] || { fail "README: the fault $name is made by this test"; continue; }
	# The hang as it was looked at while it hung.
	text=$([ "$dir" = out3 ] && cat "$tmp/steps.README.md/hang.out" || probe report "$walk/$dir" 2>&1)
	# The first finding, in one line.
	found=$(awk '/^[0-9]+ faults? found|^Warnings/ {on = 1; next} on && /^  [a-z]/ {if (n++) exit} on && /evidence:/ {exit} on {printf "%s ", $0}' <<<"$text" | tr -s ' ' | sed 's/^ //; s/ $//')
	want=$(sed 's/^ *`//; s/` *$//; s/ \.\.\.$//' <<<"$line")
	[ -z "${UPDATE:-}" ] || echo "# $name | $found"
	rows=$((rows + 1))
	is "README: $name: the report prints it" "$(plain <<<"$found" | cut -c"1-$(plain <<<"$want" | tr -d '\n' | wc -c)")" "$(plain <<<"$want")"
done < <(sed -n '/<!-- faults -->/,/^\[/p' README.md | grep '^| ' | sed 1d)
is 'README: six faults' "$rows" 6

# ---- the wishes ----

wish() { # TEXT: the settings of its row
	grep -F "| $1 |" README.md | grep -m1 -oE '`PROBE_[^`]*`' | tr -d '`' | grep . || echo "$1" >>"$tmp/no_wish"
}
train='mpirun -n 2 probe run -o'
wish_run() { # TEXT FOLDER
	ok "README: $1" in_walk "export PROBE_STEP_MARKER=MPI_Reduce $(wish "$1"); $train $2 -- train_digits --steps 14"
	is "README: $1: nothing is wrong with the line" "$(libprobe_lines "$tmp/in_walk")" ''
}
wish_run 'only rank 0, steps 10 to 12' w1
is '... and only these are recorded' "$(cut -d, -f1 "$walk"/w1/rank*/calls_*.csv | grep -v step | sort -un | tr '\n' ' ')$(cd "$walk/w1" && ls -d rank*/calls_* | cut -d/ -f1 | sort -u)" '10 11 12 rank0'
wish_run 'no broadcasts' w2
is '... none is recorded, other calls are' "$(cut -d, -f6 "$walk"/w2/rank*/calls_*.csv | sort -u | grep -x 'broadcast\|all_reduce')" all_reduce
wish_run 'call stacks, but no statistics of values' w3
is '... stacks, and no values' "$(awk -F, '$20 != "" && $20 != "min"' "$walk"/w3/rank*/calls_*.csv | wc -l) $(($(wc -l <"$walk/w3/rank0/stack_info.csv") > 1))" '0 1'
wish_run 'less than 1 % overhead' w9
wish_run 'curves in TensorBoard' w8
like '... event files' "$(find "$walk/w8" -name '*tfevents*' | head -1)" tfevents
in_walk "export PROBE_ONLY='[all_reduce, \"MPI_I*\"]'; $train w2b -- train_digits --steps 14"
is 'README: PROBE_ONLY' "$(cut -d, -f6 "$walk"/w2b/rank*/calls_*.csv | grep -vx op | sort -u)" all_reduce
like 'README: the cost is a line of the report' "$(probe report "$walk/w2")" '^time|  ?time ' 
like 'README: a slow rank is a finding' "$(probe report "$walk/f4")" ' (slow|straggler) '
if [ -n "${python:-}" ]; then
	in_walk "export $(wish 'the gradients of one module, and nothing else'); probe run -o w6 torchrun --nproc_per_node 2 train.py --steps 4"
	is 'README: the gradients of one module, and nothing else' "$(cut -d, -f6 "$walk"/w6/rank*/calls_*.csv 2>/dev/null | grep -vcx op) $(ls "$walk"/w6/rank0 | grep -c '^grad_reduced')" '0 1'
	# The job is stopped a moment after the spike, by another thread: a step that takes 50 ms, as a real one, is not over before it has a turn.
	sed 's/^    loss.backward()/    train_step.n = getattr(train_step, "n", 0) + 1\n    loss = loss * (3 if train_step.n == 14 else 1)\n    __import__("time").sleep(0.05 * (train_step.n > 13))\n&/' "$walk/train.py" >"$walk/spike.py"
	in_walk "export $(wish 'the job stopped a few steps after a spike of the loss (5 % above its average, from the 11th step on; PyTorch)'); probe run -o w7 torchrun --nproc_per_node 2 spike.py --steps 200"
	like 'README: the job stopped a few steps after a spike of the loss' "$(probe report "$walk/w7")" \
		'(ended|died) +step 1[3-9]: rank [01] left by .*alert of rule AnomalyTurbulence in step 13 of rank'
	in_walk "$(grep -F '| the operator that made the first NaN |' README.md | grep -oE '`probe run[^`]*`' | tr -d '`' | sed 's/ \.\.\. train.py/ -o w4 --nproc_per_node 2 train.py --nan-at 7:1/; s/run --preset nan torchrun -o w4/run --preset nan -o w4 torchrun/')"
	like 'README: the operator that made the first NaN' "$(probe report "$walk/w4")" 'in the result of log'
fi

is 'README: each of these wishes is a row of the table' "$(cat "$tmp/no_wish" 2>/dev/null)" ''

# ---- after make demo ----

tree=$tmp/tree
mkdir "$tree"
ln -s "$(realpath "$B")" "$tree/build"
line=$(grep -m1 '^export PATH=.*/apps/' README.md | sed "s|/apps/mpich:|/apps/$flavour:|")
found=$(cd "$tree" && PATH=/usr/bin:/bin && eval "$line" && command -v probe train_digits)
is 'README: its PATH finds what the first run needs' "$found" "$tree/build/probe"$'\n'"$tree/build/apps/$flavour/train_digits"

# ---- launchers ----

n=0
while IFS='|' read -r _ name line _; do
	line=$(sed 's/^ *`//; s/` *$//' <<<"$line")
	[[ $name != *'from its manual'* ]] || continue
	if [[ $line == *torchrun* && -z ${python:-} ]]; then
		continue
	fi
	ok "README: $line" in_walk "rm -rf probe_output; $line"
	n=$((n + 1))
done < <(sed -n '/<!-- launchers -->/,/^More/p' README.md | grep '^| ' | sed 1d)
ok 'README: launchers' test $n -ge 2
finish
