#!/usr/bin/env bash
# make wheel: what the wheel holds and needs, and that it works from a fresh virtual environment: as `probe`, as `python -m libprobe`, with
# torchrun. Its tables as data frames have the numbers that Python's csv module reads. The tools come from PyPI. Prints TAP.
# timeout: 600
# beside: does not wait busily
# root: writes the build folder
# long: the wheel for glibc 2.28; data frames of pandas, Polars and PyArrow; the wheel in a Debian 13 of its own (debootstrap), with its PyTorch
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
version=$(cat VERSION)
machine=$(uname -m)
name=libprobe-$version-py3-none-manylinux_2_34_$machine.whl

needs_newer_glibc() { # OBJECT: than 2.34
	objdump -T "$1" | grep -oE 'GLIBC_2\.[0-9]+' | sort -uV | tail -1 | grep -qvE '^GLIBC_2\.([0-9]|[12][0-9]|3[0-4])$'
}
make -s --no-print-directory "B=$B" DISTDIR="$tmp/dist" wheel >"$tmp/wheel.log" 2>&1
case $? in
0) pass 'make wheel' ;;
*)
	if grep -q 'make wheel needs' "$tmp/wheel.log"; then
		skip 'make wheel' 'auditwheel cannot be had from PyPI'
	elif grep -q 'too-recent versioned symbols' "$tmp/wheel.log" && ! needs_newer_glibc "$lib" && ! needs_newer_glibc "$probe"; then
		skip 'make wheel' "this system's libraries need a newer glibc than 2.34, libprobe.so and probe do not: Debian 12 makes the wheel"
	else
		fail 'make wheel' "$(tail -20 "$tmp/wheel.log")"
	fi
	finish
	;;
esac
is 'one wheel, named for the glibc that it needs' "$(cd "$tmp/dist" && echo *.whl)" "$name"
wheel=$tmp/dist/$name
like 'auditwheel agrees' "$("$B/wheelvenv/bin/python" -m auditwheel show "$wheel" 2>&1)" "consistent with the following platform tag: \"manylinux_2_34_$machine\""

python3 -m venv "$tmp/venv"
ok 'pip installs it without a network' "$tmp/venv/bin/pip" install -q --no-index "$wheel"
bin=$tmp/venv/bin
home=$("$bin/python" -c 'import os, libprobe; print(os.path.dirname(libprobe.__file__))')
is 'no object needs a newer glibc' "$(tests/symbols.sh "$home/bin/probe" "$home/lib/libprobe.so" "${home%/*}"/libprobe.libs/*.so* 2>&1)" ''
is 'probe --version' "$("$bin/probe" --version)" "probe $version"
is 'python -m libprobe --version' "$("$bin/python" -m libprobe --version)" "probe $version"
is 'the exit status of the command' "$("$bin/probe" nosuchverb >/dev/null 2>&1; echo $?)" 2
is 'libprobe.path()' "$(realpath "$("$bin/python" -c 'import libprobe; print(libprobe.path())')")" "$home/lib/libprobe.so"
is 'probe run preloads it' "$("$bin/probe" run sh -c 'echo $LD_PRELOAD')" "$home/lib/libprobe.so"
is 'presets are in it' "$("$bin/probe" run -p nan sh -c 'echo $PROBE_WRAP_OPS')" "$home/share/libprobe/presets/nan.yaml"
like 'so is the configuration' "$("$bin/probe" config 2>&1)" "$home/share/libprobe/probe.yaml"
is 'manual pages' "$(cd "$tmp/venv/share/man" && echo */*)" 'man1/probe.1 man7/libprobe.7'
# "libz-1a2b.so.1" is of the package whose file has that name before the hash; each package has its licence once.
is 'each library that is copied into it has its licence' "$(cd "$tmp/venv" && for f in "${home%/*}"/libprobe.libs/*.so*; do
	f=${f##*/}
	name=${f%%-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]*}
	package=$(dpkg-query -S "*/$name.*" 2>/dev/null | sed 's/:.*//' | sort -u | while read -r p; do
		[ ! -s "${home%/*}/libprobe-$version.dist-info/licenses/$p" ] || echo "$p"; done)
	[ -n "$package" ] || echo "none for $f"
done)" ''
is 'no file of it names the place where it was built' "$(grep -rlF "$tmp/dist" "$home" "$tmp/venv/share"; grep -lF "$PWD" "$home"/*/* 2>/dev/null)" ''
is 'a table that is not there' "$("$bin/python" -c '
import libprobe, os
os.makedirs("'"$tmp"'/x/rank0")
try: libprobe.load("'"$tmp"'/x").cals
except AttributeError as e: print(e)
try: libprobe.load("'"$tmp"'/dist")
except FileNotFoundError as e: print(str(e).split(": ")[1])')" 'no table cals; there are: calls, comms, modules, names, scalars, stacks
no folder of a rank (rank0, rank1 ...) in it'

# Three commands: this one after pip install, and the report.
(torch_python x) >/dev/null 2>&1 && torch_python 'torchrun under the wheel'
if [ -n "${python:-}" ]; then
	torchrun="$python -m torch.distributed.run"
	(cd "$tmp" && OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PATH=$bin:$PATH timeout 200 probe run -o "$tmp/torch" -- $torchrun --standalone --nproc_per_node 2 \
		"$OLDPWD/tests/apps/train_ddp.py" --steps 12 --nan-at 7:1) >"$tmp/with" 2>"$tmp/with.err"
	is 'torchrun under the wheel: status' $? 0
	like 'torchrun under the wheel: the report' "$("$bin/probe" report "$tmp/torch" 2>&1)" 'nan +first in step 7, rank 1: '
else
	skip 'torchrun under the wheel' 'no Python with PyTorch (set PROBE_TEST_PYTHON)'
fi

[ -n "${LONG:-}" ] || finish

# ---- for glibc 2.28 ----

if needs_newer_glibc() { # OBJECT: than 2.34
	objdump -T "$1" | grep -oE 'GLIBC_2\.[0-9]+' | sort -uV | tail -1 | grep -qvE '^GLIBC_2\.([0-9]|[12][0-9]|3[0-4])$'
}
make -s --no-print-directory "B=$B" DISTDIR="$tmp/old" GLIBC=2.28 wheel >"$tmp/old.log" 2>&1; then
	is 'a wheel for glibc 2.28' "$(cd "$tmp/old" && echo *.whl)" "libprobe-$version-py3-none-manylinux_2_28_$machine.whl"
	python3 -m venv "$tmp/venv_old"
	ok '... is installed' "$tmp/venv_old/bin/pip" install -q --no-index "$tmp"/old/*.whl
	old=$("$tmp/venv_old/bin/python" -c 'import os, libprobe; print(os.path.dirname(libprobe.__file__))')
	is '... no object needs a newer glibc' "$(NEWEST=2.28 tests/symbols.sh "$old/bin/probe" "$old/lib/libprobe.so" 2>&1)" ''
	like '... the test of that can fail' "$(NEWEST=2.28 tests/symbols.sh "$lib")" 'needs GLIBC_2.3'
	for m in $flavours; do
		new_out
		PRELOAD=$old/lib/libprobe.so run_with $m 4 PROBE_STEP_MARKER=MPI_Reduce train_digits --epochs 2 --nan-at 20:1
		like "... it records, $m" "$("$tmp/venv_old/bin/probe" report "$out")" 'nan +first in step 20, rank 1'
		break
	done
elif grep -qE 'make wheel needs|No matching distribution|lib[a-z0-9]+.a is missing' "$tmp/old.log"; then
	skip 'a wheel for glibc 2.28' "$(grep -E 'make wheel needs|No matching distribution|is missing' "$tmp/old.log" | tail -1)"
else
	fail 'a wheel for glibc 2.28' "$(tail -20 "$tmp/old.log")"
fi

# ---- data frames ----

if ! "$bin/pip" install -q pandas polars pyarrow >"$tmp/pip.log" 2>&1; then
	skip 'data frames' "pandas, Polars and PyArrow cannot be had: $(tail -1 "$tmp/pip.log")"
else
	python3 tests/e2e/fault_folders.py "$tmp" nan
	# Ids that look like numbers, a first value that is Inf, names that readers take for missing ones.
	calls=$(ls "$tmp"/nan/rank0/calls_*.csv | head -1)
	world=$(awk -F, 'NR == 2 {print $7}' "$calls")
	sed -i "s/$world/12e4567890123456/" "$tmp"/nan/rank*/calls_*.csv
	# A file that was just begun, and one that is being compressed.
	: >"$tmp/nan/rank3/calls_100-199.csv"
	gzip -k "$tmp"/nan/rank2/calls_0-99.csv
	cat >"$tmp/compare.py" <<-'PY'
		import csv, glob, math, os, sys
		import libprobe
		folder, library = sys.argv[1:]
		run = libprobe.load(folder, library)
		kinds = {"Int64": int, "float64": float, "string": str}
		import json, subprocess
		for table, pattern, name in (("calls", "calls_*.csv", "calls"), ("comms", "comms.csv", "comms"), ("stacks", "stack_info.csv", "stack_info"),
		                             ("scalars", "scalars_*.csv", "scalar_rows")):
		    types = json.loads(subprocess.check_output([libprobe.command(), "columns", "--pandas", name]))
		    want = []
		    for rank in range(4):
		        for f in sorted(glob.glob(f"{folder}/rank{rank}/{pattern}")):
		            want += [dict(world_rank=rank, **{n: kinds[types[n]](v) if v else None for n, v in r.items()}) for r in csv.DictReader(open(f, newline=""))]
		    frame = getattr(run, table)
		    if library == "pandas":
		        import pandas as pd
		        have = [{n: None if pd.isna(v) else v for n, v in r.items()} for r in frame.to_dict("records")]
		        # pandas has one missing value for numbers: nan is one.
		        for r in want:
		            for n, v in r.items():
		                if isinstance(v, float) and math.isnan(v):
		                    r[n] = None
		    else:
		        have = frame.to_dicts() if library == "polars" else frame.to_pylist()
		    assert list(frame.columns if library != "arrow" else frame.column_names)[1:] == list(types)[:len(frame.columns) - 1], table
		    assert len(have) == len(want), (table, len(have), len(want))
		    for h, w in zip(have, want):
		        for n in w:
		            same = h[n] == w[n] or (isinstance(w[n], float) and math.isnan(w[n]) and math.isnan(h[n]))
		            assert same, (table, n, h[n], w[n])
		    print(table, len(want) > 0)
	PY
	for library in pandas polars arrow; do
		is "$library: every field of every table" "$("$bin/python" "$tmp/compare.py" "$tmp/nan" $library 2>&1 | tail -4 | tr '\n' ' ')" \
			'calls True comms True stacks True scalars False '
	done
fi

# ---- Debian 13: three commands ----

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=${WHEEL_ROOT:-$tmp/trixie}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! can_mount; then
	skip 'Debian 13' 'no debootstrap, or nothing may be mounted'
	finish
fi
inside() {
	env -i PATH=/srv/v/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo \
		chroot "$root" sh -c "cd /srv && $1"
}
[ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv trixie "$root" "$mirror" >"$tmp/debootstrap.log" 2>&1 || {
	skip 'Debian 13' "$(tail -1 "$tmp/debootstrap.log")"
	finish
}
cp /etc/resolv.conf "$root/etc/resolv.conf"
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
mount -t proc none "$root/proc" && mount -t sysfs -o ro none "$root/sys" && mount --rbind --make-rslave /dev "$root/dev"
trap 'umount -l "$root/dev" "$root/sys" "$root/proc"; cleanup' EXIT
# If a proxy has its own certificates, pip needs them there too.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null
cp "$wheel" tests/apps/train_ddp.py "$root/srv/"
ok 'Debian 13: pip install' inside "python3 -m venv --system-site-packages v && pip install -q --no-index $name"
is 'Debian 13: probe --version' "$(inside 'probe --version')" "probe $version"
# PyTorch as Debian has it: that of PyPI brings 3 GB of CUDA. Its torchrun may lack libuv.
if inside 'apt-get update -q && apt-get install -y -q --no-install-recommends python3-torch' >"$tmp/apt.log" 2>&1; then
	inside 'rm -rf out; USE_LIBUV=0 timeout 400 probe run -o out python3 -m torch.distributed.run --standalone --nproc_per_node 2 train_ddp.py --steps 12 --nan-at 7:1' \
		>"$tmp/with" 2>&1
	is 'Debian 13: probe run, torchrun: status' $? 0
	like 'Debian 13: probe report' "$(inside 'probe report out' 2>&1)" 'nan +first in step 7, rank 1: '
else
	skip 'Debian 13: torchrun' "$(tail -1 "$tmp/apt.log")"
fi
finish
