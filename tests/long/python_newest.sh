#!/usr/bin/env bash
# Names, kinds, scalars, modules and activations with the CPython and the PyTorch of Debian sid (3.14 and 2.14 at the end of 2026), and the
# stacks of each CPython that it has, in a root of its own in $B/long/sid (debootstrap; about 2 GB). SID_ROOT=DIR takes one that is there.
# timeout: 5400
# root: debootstrap and chroot
. "$(dirname "$0")/../e2e/lib.sh"
root=${SID_ROOT:-$(realpath "$B")/long/sid}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! unshare -m true 2>/dev/null; then
	skip 'CPython and PyTorch of Debian sid' 'needs root, debootstrap and mounts'
	finish
fi
packages='python3-torch python3-numpy python3.15 libdw1t64 zlib1g libyaml-0-2'
# A mirror's list may be older than it says it is good for: this root lives for one test.
install_root() {
	mkdir -p "${root%/*}"
	[ -x "$root/usr/bin/apt-get" ] || debootstrap --variant=minbase --include=ca-certificates sid "$root" || return
	printf 'Acquire::Check-Valid-Until "false";\n' >"$root/etc/apt/apt.conf.d/90valid"
	cp /etc/resolv.conf "$root/etc/"
	in_root "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $packages"
}
# COMMAND, in the root, with this tree where it is here
in_root() {
	mkdir -p "$root$PWD"
	unshare -m bash -c 'mount --make-rprivate / && mount --bind "$2" "$1$2" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
		mount --rbind /sys "$1/sys" && exec chroot "$1" bash -c "cd \"$2\" && $3"' _ "$root" "$PWD" "$1"
}
install_root >"$tmp/install" 2>&1 </dev/null || {
	skip 'CPython and PyTorch of Debian sid' "$(tail -1 "$tmp/install")"
	finish
}
echo "# $(in_root 'python3 -c "import sys, torch; print(\"CPython\", sys.version.split()[0], \"PyTorch\", torch.__version__)"')"
# Debian builds PyTorch without libuv.
for t in torch_names torch_kinds torch_scalars torch_modules torch_actv python_stacks; do
	in_root "USE_LIBUV=0 B=${B@Q} PROBE_TEST_PYTHON=/usr/bin/python3 timeout -k 5 1500 tests/e2e/test_$t.sh" >"$tmp/$t" 2>/dev/null
	is "$t" "$(grep -E '^not ok' "$tmp/$t" || tail -1 "$tmp/$t" | grep -c '^1\.\.')" 1
done
finish
