#!/usr/bin/env bash
# Installs Debian packages and says what that takes. Usage: tests/install_deps.sh [-m] PACKAGE... [-o OPTIONAL...]
#
#   -m   only those that are missing, and only where that is possible (root, Debian): else nothing is done, without an
#        error
#   -o   packages after it are skipped where Debian has none of that name
#
# Size and log are printed before, progress meanwhile; the log's end if it fails.
set -u
missing_only=''
if [ "${1:-}" = -m ]; then
	missing_only=1
	shift
fi
need=() optional=() to=need
for p; do
	if [ "$p" = -o ]; then
		to=optional
	elif [ $to = need ]; then
		need+=("$p")
	else
		optional+=("$p")
	fi
done

installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

if [ -n "$missing_only" ]; then
	command -v dpkg-query apt-get >/dev/null && [ "$(id -u)" = 0 ] || exit 0
	for p in "${need[@]}"; do
		installed "$p" || break
		p=''
	done
	[ -n "$p" ] || exit 0
fi

log=$(mktemp "${TMPDIR:-/tmp}/libprobe-deps.XXXXXX.log")
export DEBIAN_FRONTEND=noninteractive
failed() {
	tail -20 "$log"
	echo "  DEPS   $1: see $log; what is needed: ${need[*]}" >&2
	exit 1
}

echo '  DEPS   reading the lists of packages'
apt-get update -q >"$log" 2>&1 || failed 'apt-get update failed'
for p in ${optional[@]+"${optional[@]}"}; do
	apt-cache show "$p" >/dev/null 2>&1 && need+=("$p")
done
what=(apt-get install -y --no-install-recommends "${need[@]}")
plan=$("${what[@]}" --print-uris -q 2>>"$log") || failed 'no such packages'
read -r n mb < <(awk '/^'"'"'/ {n++; s += $3} END {printf "%d %d\n", n, (s + 999999) / 1000000}' <<<"$plan")
# An archive that was downloaded before is installed without being downloaded.
m=$("${what[@]}" -s 2>>"$log" | grep -c '^Inst ')
if [ "$m" -gt 0 ]; then
	echo "  DEPS   $m packages, $mb MB to download; log: $log"
	"${what[@]}" 2>&1 | tee -a "$log" | awk -v n="$n" -v m="$m" '
		/^Get:/ {g++; if (int(2 * g / n) > int(2 * (g - 1) / n)) {print "  DEPS   " g " of " n " downloaded"; fflush()}}
		/^Setting up / {s++; if (int(2 * s / m) > int(2 * (s - 1) / m)) {print "  DEPS   " s " of " m " installed"; fflush()}}'
	[ "${PIPESTATUS[0]}" = 0 ] || failed 'apt-get install failed'
fi
rm -f "$log"
