#!/usr/bin/env bash
# make bench: what libprobe costs, on one page: each figure with its target, `ok` or `short` of it. Figures are medians,
# and ratios or differences within one run. Nothing is tested here: machines differ, tests/bench/callgrind.sh sees
# regressions. Usage: tests/bench/bench.sh BUILD-DIR; LONG=1: also 1,000 ranks x 10,000 rows; PEERS=1: other
# tools beside it (peers.sh).
set -u
cd "$(dirname "$0")/../.." || exit 2
B=$(cd "${1:-build}" && pwd) || exit 2
. tests/e2e/mpi.sh
test_python=${PROBE_TEST_PYTHON:-} # one that has PyTorch
test_mindspore=${PROBE_TEST_MINDSPORE:-} # one that has MindSpore
unset LD_PRELOAD "${!PROBE_@}"
bin=$B/bench lib=$B/libprobe.so
dir=$B/bench/out
rm -rf "$dir"
mkdir -p "$dir"
trap 'rm -rf "$dir"; kill ${writer:-} ${busy[*]:-} 2>/dev/null' EXIT
trap 'exit 1' INT TERM
short=0 n=0

title() {
	printf '\n%s\n' "$1"
}

# TEXT VALUE UNIT [TARGET]: a figure; TARGET is a number with <= or >= before it
row() {
	local verdict='' limit=${4:-}
	if [ -z "$2" ]; then
		printf '  %-62s %12s\n' "$1" 'not measured'
		return
	fi
	if [ -n "$limit" ]; then
		verdict=$(awk -v v="$2" -v t="${limit:2}" -v op="${limit:0:2}" \
			'BEGIN {print (op == "<=" ? v <= t : v >= t) ? "ok" : "short"}')
		[ "$verdict" = ok ] || short=$((short + 1))
		n=$((n + 1))
		limit="${limit:0:2} ${limit:2}"
	fi
	printf '  %-62s %12s %-6s %-9s %s\n' "$1" "$2" "$3" "$limit" "$verdict"
}

# The value of NAME in lines "NAME VALUE ..." on stdin; with a number the further columns.
value() {
	awk -v name="$1" -v col="${2:-2}" '$1 == name {print $col; exit}'
}

calc() {
	awk "BEGIN {printf \"${2:-%.1f}\", ($1)}" 2>/dev/null
}

fresh() {
	rm -rf "$dir/probe"
}

# [NAME=VALUE ...] -- ARGS: call_cost under the preload, in an output folder of its own
cost() {
	local vars=()
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	fresh
	env "${vars[@]}" PROBE_OUTPUT_DIR="$dir/probe" LD_PRELOAD="$lib" "$bin/call_cost" "$@" 2>"$dir/err"
	grep -v 'journal is full' "$dir/err" >>"$dir/stderr"
	# A dropped record costs less than a kept one: it must be seen.
	sed -n 's/.*"seen": \([0-9]*\).*"journal_full": \([1-9][0-9]*\).*/\2 of \1 records dropped in/p' \
		"$dir"/probe/rank0/meta.json 2>/dev/null | sed "s|\$|: call_cost $*|" >>"$dir/stderr"
}

# The same, again while the core ran slower than it can, but not for ever: of some runs that at the highest clock. Hosts
# change the clock by half, and with it all that is counted in ns.
fast() {
	local t g best='' highest=0
	for _ in 1 2 3 4 5; do
		t=$(cost "$@") g=$(value ghz <<<"$t")
		[ "$(calc "${g:-0} > $highest" %d)" = 0 ] || best=$t highest=$g
		[ "$(calc "$highest < 0.97 * $clock" %d)" = 1 ] || break
	done
	printf '%s\n' "$best"
}

added() {
	fast "$@" | value added
}

printf 'libprobe %s, %s\n' "$(cat VERSION)" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
printf '%s cores, %s MiB, %s, Linux %s; load before: %s\n' "$(nproc)" \
	"$(awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo)" "$(${CC:-cc} --version | head -1)" "$(uname -r)" \
	"$(cut -d' ' -f1-3 /proc/loadavg)"
printf 'command: make bench%s\n' "${LONG:+ LONG=1}"

clock=$(for _ in 1 2 3 4 5 6 7 8; do "$bin/call_cost" clock && sleep 0.2; done | sort -k2gr | value ghz)
title 'Added to a direct call of the same empty function (compiled wrapper, MPI_Allreduce)'
printf 'mpi:\n  - MPI_Bcast\n' >"$dir/skip.yaml"
none=(PROBE_STACK=false PROBE_STATISTICS=false)
row 'skipped by the list' "$(added PROBE_WRAP_OPS="$dir/skip.yaml" -- call)" ns '<=3'
row 'PROBE_DISABLE=1' "$(added PROBE_DISABLE=1 -- call)" ns '<=3'
t=$(fast "${none[@]}" -- call)
v=$(value added <<<"$t") ghz=$(value ghz <<<"$t")
row 'recorded, without stack and statistics (two tensors)' "$v" ns '<=80'
row "   in cycles of the core, which ran at $ghz GHz at these moments" "$(calc "$v * $ghz" %.0f)" cycles
frames() { # of the stack that was recorded last
	tail -1 "$dir/probe/rank0/stack_info.csv" | grep -o ' <- ' | wc -l
}
deep=(PROBE_STATISTICS=false PROBE_STACK_DEPTH=64 -- call -d 27)
v=$(added "${deep[@]}")
row "recorded, stack of $(($(frames) + 1)) frames seen before, frame pointers" "$v" ns '<=300'
v=$(added "${deep[@]}" -o)
row "recorded, stack of $(($(frames) + 1)) frames seen before, none in its callers" "$v" ns '<=300'
row 'with statistics of in and out, 1 KiB each' "$(added PROBE_STACK=false -- call -b 1024)" ns
row 'with statistics of in and out, 64 KiB each' "$(calc "$(added PROBE_STACK=false -- call -b 65536) / 1000")" us
row 'with statistics of in and out, 4 MiB each' "$(calc "$(added PROBE_STACK=false -- call -b 4194304) / 1000")" us
while read -r name _ v _ _ _ _ _ ghz; do
	row "through libffi, beyond the record ($name), $ghz GHz" "$v" ns '<=250'
done < <(for _ in 1 2 3 4 5 6 7 8; do "$bin/ffi_call"; done | sed 's/on the stack/ten-arguments/' | sort -k9,9gr | sort -su -k1,1)
t=$(fast A=1 -- test)
row "MPI_Test that answers 0, a recorded request under way, $(value ghz <<<"$t") GHz" "$(value added <<<"$t")" ns '<=50'

title 'Inherited by every process of a job: /bin/true under the preload, beyond an empty library'
t=$("$bin/start_cost" 500 /bin/true "$bin/libempty.so" "$lib")
beyond() { # COLUMN
	awk -v col=$1 '{v[NR] = $col} END {print v[2] - v[1]}' <<<"$t"
}
row 'page faults' "$(beyond 3)" '' '<=20'
row 'from start to end' "$(calc "$(beyond 5) / 1000" %.3f)" ms '<=0.15'

title "The unwinder beside libunwind, on the same stacks (frames found in brackets)"
# STACK ours_seen NS FRAMES ours_anew NS FRAMES unw_backtrace NS FRAMES unw_step NS FRAMES
while read -r stack _ seen frames _ uncached also _ cached f1 _ stepped f2; do
	case $stack in
	pointers) stack='code with frame pointers' ;;
	none) stack='code without frame pointers' ;;
	libc) stack='a callback of qsort()' ;;
	signal) stack='a signal handler' ;;
	new) stack='another depth each time' ;;
	esac
	known='seen before'
	[ "$stack" != 'another depth each time' ] || known='its functions seen before'
	row "$stack, $known ($frames)" "$seen" ns
	row "   without a memory of walks ($also)" "$uncached" ns
	[ "$f1" = 0 ] || row "   unw_backtrace() ($f1)" "$cached" ns
	[ "$f2" = 0 ] || row "   unw_step(), frame by frame ($f2)" "$stepped" ns
done < <("$bin/unwind_bench")

title 'Many threads at once, each on a communicator of its own (processor time of a call, without stack and statistics)'
t=$(cost "${none[@]}" -- threads -p 16)
row '1 of 16 threads calls' "$(value alone <<<"$t")" ns
row "all 16 call (it had $(value cores <<<"$t") cores: less than 2 tell little)" "$(value cpu <<<"$t")" ns
row "   as a multiple, in turn (a loop that shares nothing: $(calc "$(value control_times <<<"$t")" %.2f))" \
	"$(calc "$(value times <<<"$t")" %.2f)" x '<=1.25'

title 'Stores into the journal, call by call at a pace of 20 us, while another process writes to the same disk'
while :; do dd if=/dev/zero of="$dir/other" bs=1M count=256 conv=fdatasync 2>/dev/null; done &
writer=$!
for place in disk /dev/shm; do
	extra=()
	[ $place = disk ] || extra=(PROBE_JOURNAL_DIR=$place)
	t=$(cost "${none[@]}" "${extra[@]}" -- tail)
	row "journal on $place: median" "$(value median <<<"$t")" ns
	row "journal on $place: p99.9 (the same loop without a call: $(value p999_idle <<<"$t"))" "$(value p999 <<<"$t")" ns
	row "journal on $place: worst (without: $(calc "$(value worst_idle <<<"$t") / 1000"))" "$(calc "$(value worst <<<"$t") / 1000")" us
done
kill $writer
wait $writer 2>/dev/null
writer=''
rm -f "$dir/other"

title 'Statistics in one pass, as a share of the rate at which the same core merely reads the memory (processor time)'
# Lines `isa dtype bytes GB/s share`
rate() { # DTYPE COLUMN
	awk -v d="$1" -v col="$2" '$2 == d && $1 != "read" {print $col; exit}' <<<"$t"
}
share() { # TEXT DTYPE TARGET
	row "$1 ($(rate $2 4) GB/s${in_l2:+; in L2 $(t=$in_l2 rate $2 4)})" "$(rate $2 5)" x "$3"
}
# A loop that takes as long from the cache as from DRAM is limited by its instructions, not by the memory.
ghz=$("$bin/call_cost" clock | value ghz)
in_l2=$("$bin/stats_bench" -s 65536 -r 5)
t=$("$bin/stats_bench" -s dram -r 5)
ghz="$ghz, $("$bin/call_cost" clock | value ghz) GHz"
where="from DRAM"
printf '  kernels: %s; reading %s MiB: %s GB/s; clock of the core before and after: %s\n' "$(rate float32 1)" \
	"$(($(rate float32 3) >> 20))" "$(awk '$1 == "read" {print $4}' <<<"$t")" "$ghz"
for d in float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool; do
	share "$d $where" $d '>=0.85'
done
for d in bfloat16 float16; do
	share "$d $where" $d '>=0.80'
done
for d in float8_e4m3fn float8_e5m2 complex64 complex128; do
	share "$d $where" $d ''
done
# "No less than 60 % of that": useful bytes a second against those of the same kernel on a contiguous tensor.
while read -r l text; do
	row "$text, of contiguous (merely reading it: $(calc "$(rate float32:$l 4) / $(rate float32:$l 5) / $(rate float32 4)" %.2f))" \
		"$(calc "$(rate float32:$l 4) / $(rate float32 4)" %.2f)" x '>=0.60'
	row "   of merely reading it, in the fastest of several ways" "$(rate float32:$l 5)" x
done <<'END'
rows rows of 4 KiB, as much between
segs v-form, segments of 4 KiB
pairs every other element
END
in_l2=''
t=$("$bin/stats_bench" -s 4194304 -t float32)
share 'float32 at 4 MiB' float32 '>=0.90'
t=$("$bin/stats_bench" -s 65536 -t float32)
share 'float32 at 64 KiB (L2)' float32 '>=0.30'
# Wall-clock time, float32. The helper needs a core of its own: where it gets none it is 1 at best.
while read -r bytes _ rate gain read; do
	row "times as fast with a helper thread, $((bytes >> 20)) MiB ($rate GB/s; reading: $read)" "$gain" x
done < <("$bin/stats_helpers" 1 4194304 268435456)
for python in "$test_python" "$B/ptvenv/bin/python" python3; do
	[ -n "$python" ] && "$python" -c 'import torch' 2>/dev/null || continue
	t=$(PYTHON=$python B=$B tests/bench/stats_torch.sh 128 float32 bfloat16 2>/dev/null)
	torch=$(sed -n 's/^torch \([^,]*\),.*/\1/p' <<<"$t")
	while read -r d figures theirs ours times; do
		row "$d: times as fast as PyTorch $torch, ${figures/four/max, min, mean, norm} ($theirs GB/s)" $times x \
			">=$([ $figures = four ] && echo 4 || echo 30)"
	done < <(grep -E ' (four|seven) ' <<<"$t")
	break
done
[ -n "${torch:-}" ] || row 'PyTorch beside it (PROBE_TEST_PYTHON names a Python that has it)' ''

# Average length of the rows of that dtype in the output folder.
row_bytes() {
	awk -F, -v d="$1" 'FNR > 1 && $16 == d {n++; b += length($0) + 1} END {if (n) printf "%.0f", b / n}' \
		"$dir"/probe/rank*/calls_*.csv
}

title 'Writer and tools'
# FILE: [TOOL ARGS]: what a command costs, into $t
costs() {
	t=$("$bin/run_cost" "$@")
}
row 'rows of 256 B tensors that the writer makes a second' "$(calc "1000 / $(cost PROBE_STACK=false -- drain -b 256 | value row)" %.2f)" 'M'
s=$("$bin/stats_bench" -j)
row 'journal: bytes a tensor, of a call with one' "$(($(value call <<<"$s") + $(value tensor <<<"$s")))" B '<=256'
# RANKS STEPS CALLS
report() {
	"$bin/gen_folder" -r $1 -s $2 -c $3 "$dir/gen"
	rows=$(($(cat "$dir"/gen/rank0/calls_*.csv | wc -l) - $(ls "$dir"/gen/rank0/calls_*.csv | wc -l)))
	rows=$((rows * $1))
	costs "$B/probe" report "$dir/gen"
	row "probe report: $1 ranks x $((rows / $1)) rows, of 1 core" "$(calc "$rows / $(value cpu <<<"$t") / 1e6" %.2f)" 'M/s' '>=1'
	row "probe report: memory for it" "$(value memory <<<"$t")" MiB
	rm -rf "$dir/gen"
}
report 8 3000 8
report 8 12000 8
[ -z "${LONG:-}" ] || report 1000 625 8
cost "${none[@]}" PROBE_JOURNAL_MIB=1024 -- killed -n 600000 >/dev/null 2>&1
before=$(cat "$dir"/probe/rank0/calls_*.csv 2>/dev/null | wc -l)
costs "$B/probe" recover "$dir/probe"
after=$(cat "$dir"/probe/rank0/calls_*.csv | wc -l)
row "probe recover: $((after - before)) rows from a journal, of 1 core" "$(calc "($after - $before) / $(value cpu <<<"$t") / 1e6" %.2f)" 'M/s' '>=1'
fresh

flavours=$(mpi_flavours)
f=${flavours%%$'\n'*}
if [ -n "$f" ]; then
	title "Real programs ($f; without the preload and with everything on, in turn)"
	# RANKS NAME PROGRAM ARGS: medians of NAME, printed by the program, without and with, of three runs each
	pair() {
		local ranks=$1 name=$2 i
		shift 2
		: >"$dir/a" >"$dir/b"
		for i in 1 2 3; do
			mpi_run $f $ranks "$@" 2>/dev/null | grep -oE "$name [0-9.]+" | awk '{print $2}' >>"$dir/a"
			fresh
			mpi_run $f $ranks LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/probe" "$@" 2>/dev/null | grep -oE "$name [0-9.]+" |
				awk '{print $2}' >>"$dir/b"
		done
		plain=$(sort -g "$dir/a" | sed -n 2p) with=$(sort -g "$dir/b" | sed -n 2p)
	}
	ranks=$(nproc)
	[ "$ranks" -lt 2 ] || ranks=2
	pair $ranks step "$bin/$f/mpi_step" 30 50 16 65536
	row 'steps of 50 ms with 16 all-reduces of 64 KiB: longer by' "$(calc "100 * ($with - $plain) / $plain" %.2f)" % '<=1'
	fresh
	mpi_run $f 4 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/probe" PROBE_STEP_MARKER=MPI_Reduce train_digits >/dev/null 2>&1
	# Own time of a rank from meta.json; the time from the first to the last record too.
	own=$(sed -n 's/.*"own_time": {"in_calls_s": \([0-9.e-]*\).*/\1/p' "$dir/probe/rank0/meta.json")
	span=$(sed -n 's/.*"\(first\|last\)_record_ns": \([0-9]*\).*/\2/p' "$dir/probe/rank0/meta.json" | paste -sd' ')
	row 'demo: share of the training spent in libprobe' "$(calc "100 * $own / ((${span#* } - ${span% *}) / 1e9)" %.2f)" %
	row 'demo: bytes of CSV a row (float32)' "$(row_bytes float32)" B '<=280'
fi
# FLAVOUR RANKS: the table of mpi_sizes without and with everything on, medians of three runs each
table() {
	local i n=$2
	rm -f "$dir"/plain.* "$dir"/with.*
	for i in 1 2 3; do
		mpi_run $1 $n "$bin/$1/mpi_sizes" 2>/dev/null | grep -E '^[0-9]+ [0-9]+$' >"$dir/plain.$i"
		fresh
		mpi_run $1 $n LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/probe" "$bin/$1/mpi_sizes" 2>/dev/null |
			grep -E '^[0-9]+ [0-9]+$' >"$dir/with.$i"
	done
	for i in plain with; do
		sort -n "$dir/$i".* | awk '{v[$1, ++c[$1]] = $2; s[$1]} END {for (k in s) print k, v[k, int((c[k] + 1) / 2)]}' |
			sort -n >"$dir/$i"
	done
	join -j 1 "$dir/plain" "$dir/with" | awk '{printf "%s %.2f %+.2f\n", $1, $2 / 1000, ($3 - $2) / 1000}' >"$dir/table.$1.$n"
}
for f in $flavours; do
	table $f 1
	table $f $ranks
done
if [ -n "$flavours" ]; then
	title 'All-reduce of float32: us of a call without the preload, and what everything on adds'
	printf '  %10s' bytes
	for f in $flavours; do
		printf '  %18s' "$f, 1 rank" "$f, $ranks ranks"
	done
	printf '\n'
	for ((s = 8; s <= 64 << 20; s *= 2)); do
		printf '  %10s' $s
		for f in $flavours; do
			for r in 1 $ranks; do
				read -r a b <<<"$(awk -v s=$s '$1 == s {print $2, $3}' "$dir/table.$f.$r")"
				printf '  %9s %8s' "$a" "$b"
			done
		done
		printf '\n'
	done
fi
# One run of mpi_latency, lines `SIZE MEAN P50 P99 P999 MAX JOB OTHER CALLS`, to $dir/lat.VARIANT.ROUND
latency() { # ROUND VARIANT [NAME=VALUE ...]
	local round=$1 variant=$2 preload=()
	shift 2
	[ "$variant" = plain ] || preload=(LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$dir/probe")
	fresh
	mpi_run $f 2 "${preload[@]}" "$@" "$bin/$f/mpi_latency" -t "$seconds" 2>/dev/null | grep -E '^[0-9]+ ' >"$dir/lat.$variant.$round"
	# As in cost().
	sed -n 's/.*"seen": \([0-9]*\).*"journal_full": \([1-9][0-9]*\).*/\2 of \1 records dropped in/p' \
		"$dir"/probe/rank0/meta.json 2>/dev/null | sed "s|\$|: mpi_latency, $variant, load $load|" >>"$dir/stderr"
}
# VARIANT COLUMN PRINTF [difference]: of each size the median over the rounds of what it has there; with `difference` less
# what the run without the preload had in the same round
latency_of() {
	local i
	for ((i = 1; i <= rounds; i++)); do
		paste -d' ' "$dir/lat.plain.$i" "$dir/lat.$1.$i"
	done | awk -v s="$size" -v c="$2" -v d="${4:-}" '$1 == s && NF == 18 {print $(9 + c) - (d ? $c : 0)}' |
		sort -g | awk -v p="$3" '{v[NR] = $1} END {if (NR) printf p, v[int((NR + 1) / 2)]}'
}
# The page of one load. The writer has no core of its own here: what it takes, the ranks wait for.
latency_page() {
	local i variant
	for ((i = 1; i <= rounds; i++)); do
		latency $i plain
		latency $i disabled PROBE_DISABLE=1
		latency $i bare PROBE_STATISTICS=false PROBE_STACK=false
		latency $i no-statistics PROBE_STATISTICS=false
		latency $i no-stack PROBE_STACK=false
		latency $i all
	done
	printf '  %9s %10s |%39s |%39s |%17s\n' '' '' 'mean, added:' 'all, added:' 'all, processor'
	printf '  %9s %10s |%9s %9s %9s %9s |%9s %9s %9s %9s |%8s %8s\n' bytes 'mean us' disabled bare no-stack all p50 p99 \
		p99.9 max job writer
	for size in 8 1024 16384 65536 1048576; do
		printf '  %9s %10s |' $size "$(latency_of plain 2 %.2f)"
		for variant in disabled bare no-stack all; do
			printf '%9s ' "$(latency_of $variant 2 %+.2f difference)"
		done
		printf '|'
		for i in 3 4 5 6; do
			printf '%9s ' "$(latency_of all $i %+.2f difference)"
		done
		printf '|%8s %8s\n' "$(latency_of all 7 %+.2f difference)" "$(latency_of all 8 %.2f)"
	done
	for size in 8 1024; do
		row "load $load, all-reduce of $size B: added to a call" "$(latency_of all 2 %.2f difference)" us '<=0.5'
	done
	for size in 65536 1048576; do
		row "load $load, all-reduce of $size B: longer by" \
			"$(calc "100 * $(latency_of all 2 %.3f difference) / $(latency_of plain 2 %.3f)")" % '<=15'
	done
	size=8
	row "load $load: longest call of 8 B is longer by" "$(calc "$(latency_of all 6 %.3f difference) / 1000" %.3f)" ms '<=1'
}
f=mpich
if grep -qx $f <<<"$flavours"; then
	rounds=5 seconds=1
	for load in 0 20; do
		title "All-reduce of float32 in OSU's loop, $f, 2 ranks, beside $load busy processes: us of the slower rank's call"
		busy=()
		for ((i = 0; i < load; i++)); do
			while :; do :; done &
			busy+=($!)
		done
		latency_page
		[ $load = 0 ] || kill "${busy[@]}"
		wait "${busy[@]}" 2>/dev/null
	done
fi
cost A=1 -- rows -n 5000 -b 256 -y float64 >/dev/null
row 'bytes of CSV a row of float64, full precision' "$(row_bytes float64)" B '<=320'

. tests/bench/torch_cost.sh
. tests/bench/ms_cost.sh
[ -z "${PEERS:-}" ] || . tests/bench/peers.sh

printf '\n%s of %s targets reached; load after: %s\n' $((n - short)) $n "$(cut -d' ' -f1-3 /proc/loadavg)"
sort -u "$dir/stderr" | sed 's/^/meanwhile: /'
exit 0
