#!/usr/bin/env bash
# Runs test programs that print TAP (cmocka's, or the scripts of tests/e2e) and sums them up.
#
#   tests/run.sh [-l LOGDIR] [-j JOBS] [-r] [-u USER] PROGRAM...
#
# A program that ends badly without having said so counts as one failure; one that runs longer than its limit (a line
# "# timeout: SECONDS" in the script, else 300) is killed and counts as one too. Each has a TMPDIR of its own. With -j several
# run side by side: test programs, scripts with a line "# beside: REASON", and of the other scripts one at a time, for MPI's
# ranks wait busily, and two jobs of them take more than twice as long as one. A script with a line "# alone: REASON" has the
# machine to itself. Those that may take longest come first. What each took is printed, the ten slowest again at the end. The
# last line is "N passed, N failed, N skipped"; exit 1 if anything failed.
#
# -r: programs that failed and that tests/retries.table lists (RETRIES: another table) are run once more after all others, each
# with the machine to itself. That run counts. "again: NAME" is printed under the table for each. Others stay failed.
#
# -u USER: scripts are run as that ordinary user, who is made where there is none; only root can do this. Those with a line
# "# root: REASON", and test programs, run as root. So does everything, with the reason, where that user cannot read this tree.
set -u
logs=build/test-logs
retries=${RETRIES:-$(dirname "$0")/retries.table}
jobs=1
retry=''
user=''
while getopts l:j:ru: o; do
	case $o in
	l) logs=$OPTARG ;;
	j) jobs=$OPTARG ;;
	r) retry=1 ;;
	u) user=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$logs"
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C
# Short: Open MPI makes sockets there, whose paths hold 107 bytes.
temp=$(mktemp -d "${TMPDIR:-/tmp}/lp.XXXX")
chmod 755 "$temp" # some tests run as other users
nth=0
trap 'rm -rf "$temp"' EXIT

line_of() { # PROGRAM KEY: what stands after "# KEY:" near the script's top
	head -c 2048 "$1" | grep -m1 -aoE "^# $2: .*" | sed "s/^# $2: //"
}

# Sets $as: the words before a command that run it as $user; empty if that is not possible.
as=()
become() {
	local try
	[ "$(id -u)" = 0 ] || { echo "# scripts run as $(id -un): only root can become $user"; return; }
	id "$user" >/dev/null 2>&1 || useradd --system --no-create-home --home-dir /nonexistent --shell /bin/sh "$user" ||
		{ echo "# scripts run as root: there is no user $user, and none can be made"; return; }
	try=(setpriv --reuid "$user" --regid "$(id -gn "$user")" --init-groups)
	# Git asks whose a tree is.
	try=(env "HOME=$temp/home" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory 'GIT_CONFIG_VALUE_0=*' "${try[@]}")
	mkdir -p "$temp/home" && chown "$user" "$temp/home"
	if "${try[@]}" sh -c 'test -r tests/run.sh && test -x tests/run.sh && cd "$PWD"' 2>/dev/null; then
		as=("${try[@]}")
	else
		echo "# scripts run as root: $user cannot read $PWD"
	fi
}
[ -z "$user" ] || become

run_one() {
	local prog=$1 name log rc limit p f s from took who=()
	name=$(basename "$prog")
	log=$logs/$name.log
	limit=$(line_of "$prog" timeout | grep -oE '^[0-9]+')
	limit=${limit:-300}
	mkdir -p "$temp/$nth"
	if [ ${#as[@]} -gt 0 ] && [[ $prog == *.sh ]] && [ -z "$(line_of "$prog" root)" ]; then
		chown "$user" "$temp/$nth"
		who=("${as[@]}")
	fi
	from=$(date +%s%N)
	TMPDIR=$temp/$nth timeout -k 10 "$limit" ${who[@]+"${who[@]}"} "$prog" >"$log" 2>&1 </dev/null
	rc=$?
	took=$((($(date +%s%N) - from) / 100000000))
	rm -rf "${temp:?}/$nth"
	# cmocka prints a skipped test as "not ok ... # SKIP".
	s=$(grep -acE '^(not )?ok .*# ?SKIP' "$log")
	p=$(grep -aE '^ok ' "$log" | grep -vcE '# ?SKIP')
	f=$(grep -aE '^not ok ' "$log" | grep -vcE '# ?SKIP')
	if [ $rc -eq 124 ] || [ $rc -eq 137 ]; then
		echo "not ok - $name: killed after $limit s" >>"$log"
		f=$((f + 1))
	elif [ $rc -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok - $name: exit status $rc" >>"$log"
		f=$((f + 1))
	elif [ $((p + f + s)) -eq 0 ]; then
		echo "not ok - $name: ran no test" >>"$log"
		f=1
	fi
	printf '%s %s %s %s %s\n' "$p" "$f" "$s" "$took" "$name" >"$log.sum"
	# At once, so that lines of programs that run side by side stay together.
	{
		printf '%-34s %4d passed %3d failed %3d skipped %6d.%d s\n' "$name" "$p" "$f" "$s" $((took / 10)) $((took % 10))
		grep -aE '^not ok |# ?SKIP' "$log" | sed 's/^/    /'
	} >"$log.said"
	cat "$log.said"
}

rm -f "$logs"/*.sum
beside=() single=() alone=()
while read -r _ prog; do
	if [[ $prog != *.sh ]] || [ -n "$(line_of "$prog" beside)" ]; then
		beside+=("$prog")
	elif [ -z "$(line_of "$prog" alone)" ]; then
		single+=("$prog")
	else
		alone+=("$prog")
	fi
done < <(for prog; do
	limit=$([[ $prog != *.sh ]] || line_of "$prog" timeout | grep -oE '^[0-9]+')
	echo "${limit:-300} $prog"
done | sort -srnk1,1)

start_one() {
	nth=$((nth + 1))
	run_one "$1" &
}

lone='' # the process that runs the one of `single`
while :; do
	running=$(jobs -rp)
	if [ "$(wc -w <<<"$running")" -ge "$jobs" ]; then
		wait -n
	elif [ ${#single[@]} -gt 0 ] && ! grep -qx "${lone:-none}" <<<"$running"; then
		start_one "${single[0]}"
		lone=$!
		single=("${single[@]:1}")
	elif [ ${#beside[@]} -gt 0 ]; then
		start_one "${beside[0]}"
		beside=("${beside[@]:1}")
	elif [ -n "$running" ]; then
		wait -n
	else
		break
	fi
done
for prog in ${alone[@]+"${alone[@]}"}; do
	start_one "$prog"
	wait
done
run_again() {
	local prog name
	for prog; do
		name=$(basename "$prog")
		mv "$logs/$name.log" "$logs/$name.log.first"
		start_one "$prog"
		wait
		echo "again: $name failed beside others; alone: $(awk '{print ($2 > 0 ? "failed too" : "passed")}' "$logs/$name.log.sum")"
		grep -aE -B3 -A8 '^not ok ' "$logs/$name.log.first" | grep -vaE '# ?SKIP' | cut -c1-300 | head -30 | sed 's/^/again:   /'
	done
}

is_listed() { # PROGRAM: the table gives a reason for it
	awk -v name="$(basename "$1")" '$1 == name && NF > 1 {found = 1} END {exit !found}' "$retries"
}
listed=()
for prog; do
	read -r _ n _ <"$logs/$(basename "$prog").log.sum"
	[ -z "$retry" ] || [ "$n" -eq 0 ] || ! is_listed "$prog" || listed+=("$prog")
done
run_again ${listed[@]+"${listed[@]}"}
if [ $# -gt 10 ]; then
	cat "$logs"/*.sum | sort -k4,4nr | awk 'NR <= 10 {printf "%s%s %.0f s", NR == 1 ? "slowest: " : ", ", $5, $4 / 10} END {print ""}'
fi
cat "$logs"/*.sum 2>/dev/null | awk '{p += $1; f += $2; s += $3}
	END {printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0}'
