#!/usr/bin/env bash
# Names, kinds, scalars, modules and activations with the CPython and the PyTorch of Debian sid (3.14 and 2.14 at the end of 2026), and the
# stacks of each CPython that it has, in a root of its own in $B/long/sid (debootstrap; about 2 GB). SID_ROOT=DIR takes one that is there.
# A free-threaded CPython, which Debian does not have, is built from the newest source that the archive gives, in $B/long/free;
# FREE_PYTHON=COMMAND takes one that is there. ONLY_FREE=1: only that.
# timeout: 7200
# root: debootstrap and chroot
. "$(dirname "$0")/../e2e/lib.sh"
root=${SID_ROOT:-$(realpath "$B")/long/sid}
# The newest source that the archive still has, built without the GIL with this machine's compiler. Says the command.
build_free_threaded() {
	local at package version
	at=$(realpath "$B")/long/free
	if [ ! -x "$at/bin/python3" ]; then
		mkdir -p "$at/source"
		in_root "sed 's/^deb /deb-src /' /etc/apt/sources.list >/etc/apt/sources.list.d/source.list && apt-get update -qq" >&2
		for package in python3.15 python3.14 python3.13; do
			for version in $(in_root "apt-cache madison $package" | awk '$NF == "Sources" {print $3}' | sort -rVu); do
				in_root "cd /tmp && apt-get source --download-only --tar-only $package=$version" >&2 || continue
				tar -xf "$root/tmp/${package}_${version%-*}.orig.tar.xz" -C "$at/source" --strip-components=1 && break 2
			done
		done
		(cd "$at/source" && ./configure -q --prefix="$at" --disable-gil --disable-test-modules --without-ensurepip CFLAGS='-O1 -g0' &&
			nice make -s -j2 && make -s install) >&2 || return
		rm -rf "$at/source"
	fi
	echo "$at/bin/python3"
}
# Stacks, names and the text of an exception need the interpreter's own lock: there are none, and one line says so. All else is recorded.
free_threaded() {
	local python=${FREE_PYTHON:-} name='free-threaded CPython' plain
	[ -n "$python" ] || python=$(build_free_threaded 2>"$tmp/free.log" </dev/null)
	[ "$("$python" -c 'import sys; print(sys._is_gil_enabled())' 2>&1)" = False ] || {
		skip "$name" "none is here, and none could be built: $(tail -1 "$tmp/free.log" 2>/dev/null)"
		return
	}
	name+=" $("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')"
	new_out
	OMPI_MCA_btl=self PROBE_NAMES=true PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" "$python" tests/apps/py/free_threads.py 8 300 >"$tmp/said" 2>&1 </dev/null
	status=$?
	[ $status != 77 ] || { skip "$name" 'no Open MPI with MPI_THREAD_MULTIPLE'; return; }
	is "$name: threads that call at the same time: results" "$status $(cat "$tmp/said")" '0 free threads: 0 wrong of 2400'
	is "$name: their rows: each thread's communicator is counted by itself" \
		"$(rows "$out" '(lambda d: (len(d), {tuple(v) == tuple(range(300)) for v in d.values()}))({c: sorted(int(r["comm_seq"]) for r in R if r["comm"] == c and r["io"] == "in" and r["op"] == "all_reduce") for c in {r["comm"] for r in R if r["op"] == "all_reduce"}})')" '(8, {True})'
	contract "$name" "$out"
	is "$name: no Python stacks" "$(rows "$out" '{s["python_stack"] for s in S}')" "{''}"
	like "$name: the report says why in one line" "$("$B/probe" report "$out")" "python +${name##* } .*free-threading build; no Python stacks: a free-threaded build"
	"$python" tests/apps/py/handled.py >"$tmp/plain" 2>&1 </dev/null
	plain=$?
	new_out
	OMPI_MCA_btl=self PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" "$python" tests/apps/py/handled.py >"$tmp/said" 2>&1 </dev/null
	is "$name: exceptions are caught, referred to and gone as without libprobe" "$? $(cat "$tmp/said")" "$plain $(cat "$tmp/plain")"
}
[ -z "${FREE_PYTHON:-}" ] || [ -z "${ONLY_FREE:-}" ] || { free_threaded; finish; }
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
[ -z "${ONLY_FREE:-}" ] || { free_threaded; finish; }
# Debian builds PyTorch without libuv.
for t in torch_names torch_kinds torch_scalars torch_modules torch_actv python_stacks; do
	in_root "USE_LIBUV=0 B=${B@Q} PROBE_TEST_PYTHON=/usr/bin/python3 timeout -k 5 1500 tests/e2e/test_$t.sh" >"$tmp/$t" 2>/dev/null
	is "$t" "$(grep -E '^not ok' "$tmp/$t" || tail -1 "$tmp/$t" | grep -c '^1\.\.')" 1
done
free_threaded
finish
