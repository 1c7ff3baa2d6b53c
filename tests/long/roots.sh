#!/usr/bin/env bash
# What README promises, in a Debian of its own (debootstrap) of each release: 12, 13 and sid. There the tree is built with that
# release's compiler and C library, from a bare system, by `make demo`; neither object needs a glibc above 2.34; both MPIs' truth
# tests, `probe run`, `probe check` and `probe report` pass, with that release's own PyTorch too. Objects that were built in one
# release run in the others, older and newer. README's command for the tests runs in the first release, with a few of them.
#   ROOTS=FOLDER         where the systems are kept, with what was built in them (3 GB each); else they are made again and removed
#   RELEASES="trixie"    only these; ROOT_TESTS="static_tls": only these scripts in each; DEBIAN_MIRROR: another archive
# Needs root, mounts, debootstrap (installed if it is not there) and Debian's archive; what is lacking is skipped. Prints TAP.
# timeout: 14400
# root: makes systems
. "$(dirname "$0")/../e2e/lib.sh"
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
roots=${ROOTS:-$tmp/roots}
here=$PWD
releases=(${RELEASES:-bookworm trixie sid})

if [ "$(id -u)" = 0 ] && ! command -v debootstrap >/dev/null; then
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q debootstrap >"$tmp/apt.log" 2>&1
fi
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! can_mount; then
	skip 'Debian 12, 13 and sid' 'no debootstrap, or nothing may be mounted'
	finish
fi
mkdir -p "$roots"
roots=$(realpath "$roots")

# ---- a system ----

mount_system() { # RELEASE
	local root=$roots/$1
	# UCX looks at /sys, PyTorch at /proc, MPI at /dev/shm.
	mountpoint -q "$root/proc" || mount -t proc none "$root/proc"
	mountpoint -q "$root/sys" || mount -t sysfs -o ro none "$root/sys"
	mountpoint -q "$root/dev" || mount --rbind --make-rslave /dev "$root/dev"
}

unmount_systems() {
	local m
	for m in $(awk -v at="$roots/" 'index($2, at) == 1 {print $2}' /proc/mounts | tac); do
		umount -l "$m"
	done
}
trap 'unmount_systems; cleanup' EXIT

make_system() { # RELEASE
	local root=$roots/$1
	if [ ! -e "$root/made" ]; then
		rm -rf --one-file-system "$root"
		debootstrap --variant=minbase "$1" "$root" "$mirror" >"$tmp/debootstrap.log" 2>&1 || return 1
		touch "$root/made"
	fi
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	# The mirror may be a copy of some day.
	echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99copy"
	# Nothing that is installed starts a service.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	mount_system "$1"
}

inside() { # RELEASE COMMAND as one text: in the copy of the tree
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive \
		chroot "$roots/$1" sh -c "cd /src && $2"
}

copy_tree() { # RELEASE
	local src=$roots/$1/src f
	mkdir -p "$src"
	find "$src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	git ls-files -z -co --exclude-standard | while read -rd '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done |
		tar -c --null -T - | tar -x -C "$src"
}

# ---- what is tried in it ----

# NAME RELEASE SCRIPT [ENVIRONMENT]: a script of tests/e2e or tests/long there; what an MPI cannot do by itself is skipped by it.
script_passes() {
	local name=$1 log=$tmp/script.log n
	inside "$2" "${4:-} timeout 3000 bash $3" >"$log" 2>&1
	local status=$?
	n=$(grep '^ok' "$log" | grep -vc '# SKIP')
	if [ "$status" = 0 ] && [ "$n" -gt 0 ]; then
		pass "$name: $n tests"
	elif [ "$status" = 0 ] && grep -q '# SKIP' "$log"; then
		skip "$name" "$(grep -m1 -o '# SKIP.*' "$log" | cut -c8-)"
	else
		fail "$name" "$(grep -A8 '^not ok' "$log" | head -60)"$'\n'"$(tail -5 "$log")"
	fi
}

# RELEASE: the user's way, with PyTorch as that release has it. Ranks are started by hand: its torchrun may lack libuv.
pytorch() {
	local release=$1 name="$1: PyTorch" version line
	version=$(inside "$release" "python3 -c 'import platform, torch; print(torch.__version__, platform.python_version())'" 2>/dev/null)
	[ -n "$version" ] || { skip "$name" 'python3-torch cannot be installed there'; return; }
	name+=" ${version% *}, CPython ${version#* }"
	cat >"$roots/$release/src/build/ranks.sh" <<-'END'
		# COMMAND...: two ranks
		port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
		for i in 0 1; do
			env USE_LIBUV=0 OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo RANK=$i LOCAL_RANK=$i WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 \
				MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" "$@" >"build/rank$i.said" 2>"build/rank$i.err" || touch build/failed &
		done
		wait
		[ ! -e build/failed ]
	END
	inside "$release" 'rm -rf build/failed build/torch_out; timeout 300 bash build/ranks.sh python3 tests/apps/train_ddp.py --steps 12 --nan-at 7:1'
	is "$name: the program itself" $? 0
	cp "$roots/$release/src/build/rank0.said" "$tmp/plain"
	inside "$release" 'timeout 300 bash build/ranks.sh build/probe run -o build/torch_out -- python3 tests/apps/train_ddp.py --steps 12 --nan-at 7:1'
	is "$name: probe run: ends well" $? 0
	is "$name: probe run: the same output" "$(diff "$tmp/plain" "$roots/$release/src/build/rank0.said")" ''
	is "$name: probe run: nothing is reported" "$(libprobe_lines "$roots/$release"/src/build/rank[01].err)" ''
	line=$(grep -n 'loss.backward()' tests/apps/train_ddp.py | cut -d: -f1)
	like "$name: probe report: the first NaN, its rank and line" "$(inside "$release" 'build/probe report build/torch_out' 2>&1)" \
		"nan +first in step 7, rank 1: [^:]* in the input of all_reduce #[0-9]+ .*called from train_step \(train_ddp.py:$line\)"
	inside "$release" 'USE_LIBUV=0 OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 \
		MASTER_PORT=$(python3 -c "import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); print(s.getsockname()[1])") \
		timeout 300 build/probe check python3 tests/apps/train_ddp.py --steps 2' >"$tmp/check" 2>&1
	is "$name: probe check: status" $? 0
	like "$name: probe check: what it says" "$(tail -1 "$tmp/check")" 'fine: calls of this program will be recorded'
}

# RELEASE: README's command for the tests, of which it runs a few. It installs what all of them need.
readme_tests() {
	local name="$1: README's command for the tests" log=$tmp/log line
	line=$(grep -m1 '^apt-get .*make test' README.md | sed "s/make test.*/make test WERROR=1 PTVENV=0 T='${README_TESTS:-test_read_meta test_config_value test_report_head test_contract}'/")
	isnt "$name is there" "$line" ''
	inside "$1" "timeout 5400 sh -c \"$line\"" >"$log" 2>&1
	is "$name: status" $? 0
	like "$name: its last line" "$(tail -1 "$log")" '^[1-9][0-9]* passed, 0 failed'
	tail -12 "$log" | sed 's/^/# /'
}

# RELEASE: MPIs of it that come with the standard's binary interface, as tests/long/newer_mpi.sh wants them.
standard_interfaces() {
	local release=$1 root=$roots/$1 libs=/usr/lib/x86_64-linux-gnu mpis='' at
	at=$root/src/build/long/mpich5
	if [ -e "$root$libs/libmpi_abi_mpich.so.1.0.0" ]; then
		mkdir -p "$at/bin" "$at/lib"
		ln -sfn "$libs/mpich/include" "$at/include"
		ln -sf "$libs/libmpich.so.12" "$at/lib/libmpi.so"
		ln -sf "$libs/libmpi_abi_mpich.so.1.0.0" "$at/lib/libmpi_abi.so.1"
		ln -sf /usr/bin/mpiexec.hydra /usr/bin/hydra_pmi_proxy "$at/bin/"
		ln -sf /usr/bin/mpicc.mpich "$at/bin/mpicc"
		mpis='mpich5 mpich5abi'
	fi
	if [ -e "$root$libs/libmpi_abi_openmpi.so.1.0.0" ]; then
		at=$root/src/build/long/openmpi6
		mkdir -p "$at/bin" "$at/lib"
		ln -sfn "$libs/openmpi/include/standard_abi" "$at/include"
		ln -sf "$libs/libmpi_abi_openmpi.so.1.0.0" "$at/lib/libmpi_abi.so.1"
		ln -sf /usr/bin/mpirun.openmpi "$at/bin/mpirun"
		mpis+=' openmpi6abi'
	fi
	[ -n "$mpis" ] || return
	for at in "$root"/src/build/long/*/lib; do
		ln -sf libmpi_abi.so.1 "$at/libmpi_abi.so"
	done
	script_passes "$release: the standard's interface of its MPIs" "$release" tests/long/newer_mpi.sh "MPIS='$mpis' NEWER_TESTS='contract mpi_truth'"
}

try_release() {
	local release=$1 said n
	if ! make_system "$release"; then
		skip "$release" "debootstrap failed: $(tail -1 "$tmp/debootstrap.log")"
		return
	fi
	copy_tree "$release"
	said="Debian $(cat "$roots/$release/etc/debian_version")"
	# The line of README, as it is there, by root on a bare system.
	if inside "$release" "$(grep -m1 '^apt-get .*make demo' README.md | sed 's/make demo.*/make demo WERROR=1/')" >"$tmp/log" 2>&1; then
		pass "$release: README's command for the demo ($said, $(inside "$release" 'ldd --version | head -1'))"
	elif ! grep -q 'BUILD' "$tmp/log"; then
		skip "$release" "nothing can be installed: $(tail -1 "$tmp/log")"
		return
	else
		fail "$release: README's command for the demo ($said)" "$(tail -20 "$tmp/log")"
		return
	fi
	n=$(sed '1,/^  DEPS/d' "$tmp/log" | wc -l)
	ok "$release: make demo: at most 60 lines on the screen ($n)" test "$n" -le 60
	like "$release: make demo: the training" "$(cat "$tmp/log")" 'test accuracy 9[5-9]\.[0-9] % loss [0-9.]+ weights crc32 [0-9a-f]{8}'
	like "$release: make demo: the report" "$(cat "$tmp/log")" 'ranks +4 \(0-3\) of 4, all finished .*all_reduce +MPI_Allreduce +MPI_COMM_WORLD'
	crc32[$release]=$(grep -oE 'weights crc32 [0-9a-f]+' "$tmp/log" | head -1)
	is "$release: no glibc above 2.34 is needed" "$(inside "$release" 'tests/symbols.sh build/libprobe.so build/probe' 2>&1)" ''

	# The tests' needs, of which not every release has all.
	inside "$release" 'tests/install_deps.sh g++ gfortran python3 python3-numpy mpich libmpich-dev openmpi-bin libopenmpi-dev procps -o python3-torch' >"$tmp/log" 2>&1 ||
		fail "$release: what the tests need is installed" "$(tail -5 "$tmp/log")"
	ok "$release: the programs of the tests are built, without warnings" inside "$release" 'make -s apps WERROR=1'
	for n in ${ROOT_TESTS:-static_tls run_check mpi_truth contract}; do
		script_passes "$release: $n" "$release" "tests/e2e/test_$n.sh"
	done
	pytorch "$release"
	standard_interfaces "$release"
	[ ${#done_releases[@]} -gt 0 ] || readme_tests "$release"
	done_releases+=("$release")
}

# OF IN: what was built in the one runs in the other.
try_foreign() {
	local of=$1 in=$2 name="built in $1, run in $2" at
	at=$roots/$in/src/build-of-$of
	rm -rf "$at"
	mkdir "$at"
	cp "$roots/$of/src/build/libprobe.so" "$roots/$of/src/build/probe" "$at/"
	ln -s ../build/apps "$at/apps"
	script_passes "$name" "$in" tests/e2e/test_static_tls.sh "B=build-of-$of"
	script_passes "$name: probe run and check" "$in" tests/e2e/test_run_check.sh "B=build-of-$of"
	script_passes "$name: rows written by hand" "$in" tests/e2e/test_contract.sh "B=build-of-$of"
	rm -rf "$at"
}

declare -A crc32
done_releases=()
for release in "${releases[@]}"; do
	try_release "$release"
done
n=${#done_releases[@]}
if [ "$n" -ge 2 ]; then
	is 'the demo has the same weights in each' "$(printf '%s\n' "${crc32[@]}" | sort -u | wc -l)" 1
	# The oldest in the newest, and the other way round.
	try_foreign "${done_releases[0]}" "${done_releases[n - 1]}"
	try_foreign "${done_releases[n - 1]}" "${done_releases[0]}"
fi
cd "$here" || exit
finish
