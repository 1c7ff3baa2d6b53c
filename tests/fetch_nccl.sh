#!/bin/sh
# fetch_nccl.sh [-l] VERSION...: puts nccl.h (-l: and libnccl.so.2) of these versions of NCCL into the cache,
# $NCCL_CACHE/<version>/include and lib, from the wheels that NVIDIA publishes on PyPI. NCCL_CACHE: default
# ${XDG_CACHE_HOME:-~/.cache}/libprobe/nccl. What is there already is not fetched again. Exits 1, with a reason, for what
# cannot be had.
cache=${NCCL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libprobe/nccl}
lib=
[ "$1" != -l ] || {
	lib=1
	shift
}
pip='python3 -m pip'
for p in 'python3 -m pip' pip3 '/usr/bin/python3 -m pip'; do
	$p --version >/dev/null 2>&1 && pip=$p && break
done
status=0
for v in "$@"; do
	[ -f "$cache/$v/include/nccl.h" ] && { [ -z "$lib" ] || [ -f "$cache/$v/lib/libnccl.so.2" ]; } && continue
	mkdir -p "$cache" && tmp=$(mktemp -d "$cache/fetch.XXXXXX") || exit 1
	if timeout 300 $pip download -q --no-deps --disable-pip-version-check -d "$tmp" "nvidia-nccl-cu12==$v" >"$tmp/said" 2>&1 &&
		python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); [z.extract(n, sys.argv[2]) for n in z.namelist() if n.endswith(tuple(sys.argv[3:]))]' \
			"$tmp"/*.whl "$tmp" /nccl.h ${lib:+/libnccl.so.2} >"$tmp/said" 2>&1; then
		mkdir -p "$cache/$v"
		for d in include ${lib:+lib}; do
			rm -rf "$cache/$v/$d"
			mv "$tmp/nvidia/nccl/$d" "$cache/$v/$d"
		done
	else
		echo "NCCL $v: $(tail -1 "$tmp/said" | cut -c1-200)"
		status=1
	fi
	rm -rf "$tmp"
done
exit $status
