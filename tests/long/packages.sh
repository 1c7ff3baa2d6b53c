#!/usr/bin/env bash
# make deb: the packages, lintian over them, and what they install in a Debian of its own (debootstrap), where a program of MPI is
# recorded through them; they go away again. And the steps of packaging/Dockerfile, one after the other, in another one.
# Needs root, debootstrap, debhelper, lintian and Debian's archive; what is lacking is skipped. DEBIAN_MIRROR: another archive.
# PACKAGES: a folder with what `make deb` made before, which is not made again then; IMAGE=0: without the Dockerfile.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
version=$(cat VERSION)
base=$(realpath "$B")/long/debian12.tar
mkdir -p "${base%/*}"

# ---- the packages ----

made=${PACKAGES:-$tmp/dist/deb}
if [ -n "${PACKAGES:-}" ]; then
	skip 'make deb' "the packages of $PACKAGES are taken"
elif command -v dpkg-buildpackage dh >/dev/null; then
	if make -s deb DISTDIR="$tmp/dist" >"$tmp/deb.log" 2>&1; then
		pass 'make deb'
	else
		fail 'make deb' "$(tail -30 "$tmp/deb.log")"
		finish
	fi
else
	skip 'make deb' 'no debhelper: make deps-deb'
	finish
fi
debs=("$made"/*.deb)
is 'three packages, and their symbols' "$(printf '%s\n' "${debs[@]##*/}" | sed "s/_$version.*//" | sort | tr '\n' ' ')" \
	'libprobe libprobe-dbgsym libprobe-dev probe-tools probe-tools-dbgsym '
if command -v lintian >/dev/null; then
	is 'lintian finds nothing' "$(lintian --allow-root --fail-on none "$made"/*.changes 2>&1 | grep -v '^running with root' | head -20)" ''
else
	skip 'lintian' 'it is not installed: make deps-deb'
fi

# ---- a Debian of its own ----

# NAME: a fresh one in $tmp/NAME, with /proc, /sys (what MPICH's UCX lacks it prints, with time and process id) and /dev.
new_debian() {
	local root=$tmp/$1
	if [ ! -s "$base" ]; then
		debootstrap --variant=minbase bookworm "$tmp/first" "$mirror" >"$tmp/debootstrap.log" 2>&1 || return 1
		tar -C "$tmp/first" -cf "$base.new" . && mv "$base.new" "$base" && rm -rf "$tmp/first"
	fi
	mkdir "$root" && tar -C "$root" -xf "$base" || return 1
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	mount -t proc none "$root/proc" && mount -t sysfs -o ro none "$root/sys" && mount --rbind --make-rslave /dev "$root/dev"
}

inside() { # NAME COMMAND...
	local root=$tmp/$1
	shift
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		chroot "$root" "$@"
}

end_debian() {
	umount -l "$tmp/$1/dev" "$tmp/$1/sys" "$tmp/$1/proc"
	# What is still mounted below is not ours to delete.
	grep -q " $tmp/$1/" /proc/mounts || rm -rf "${tmp:?}/$1"
}

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! can_mount; then
	skip 'the packages are installed' 'no debootstrap, or nothing may be mounted'
	finish
fi
if ! new_debian installed; then
	skip 'the packages are installed' "debootstrap failed: $(tail -1 "$tmp/debootstrap.log")"
	finish
fi
mkdir "$tmp/installed/debs"
cp "${debs[@]}" "$tmp/installed/debs/"
ok 'they are installed by apt' inside installed sh -c \
	"apt-get update -q && apt-get install -y --no-install-recommends /debs/libprobe_*.deb /debs/libprobe-dev_*.deb /debs/probe-tools_*.deb gcc libc6-dev mpich libmpich-dev pkg-config"
like 'the command is theirs' "$(inside installed probe --version)" "$version"
is 'what users edit lies in /etc, and dpkg keeps it' "$(inside installed dpkg-query -W -f '${Conffiles}\n' libprobe | awk 'NF {print $1}' | sort | tr '\n' ' ')" \
	'/etc/libprobe/apis/custom.yaml /etc/libprobe/probe.yaml /etc/libprobe/support_wrap_ops.yaml '
is 'pkg-config finds the library' "$(inside installed sh -c 'test -f "$(pkg-config --variable=preload libprobe)" && echo there')" there
cp tests/apps/mpi_collectives.c tests/apps/*.h "$tmp/installed/srv/"
ok 'a program of MPI is built there' inside installed mpicc -O1 -o /srv/mpi_collectives /srv/mpi_collectives.c -lm -lpthread
inside installed sh -c 'cd /srv && mpirun -n 2 ./mpi_collectives' >"$tmp/alone" 2>/dev/null
is 'it ends well' $? 0
inside installed sh -c 'cd /srv && probe run -o /srv/out -- mpirun -n 2 ./mpi_collectives' >"$tmp/recorded" 2>/dev/null
is 'and under probe run' $? 0
is 'with the same output' "$(sort "$tmp/recorded")" "$(sort "$tmp/alone")"
like 'it is recorded' "$(inside installed probe report /srv/out 2>&1)" 'ranks? .*2.*finished'
sed -i 's/^  - MPI_Allreduce$/  # - MPI_Allreduce/' "$tmp/installed/etc/libprobe/support_wrap_ops.yaml"
inside installed sh -c 'cd /srv && probe run -o /srv/less -- mpirun -n 2 ./mpi_collectives' >/dev/null 2>&1
is 'an edit in /etc is followed' "$(inside installed sh -c 'grep -c MPI_Allreduce, /srv/out/rank0/calls_*.csv; grep -c MPI_Allreduce, /srv/less/rank0/calls_*.csv' | sed 's/^[1-9][0-9]*$/some/' | tr '\n' ' ')" 'some 0 '
ok 'they are removed' inside installed dpkg --purge probe-tools libprobe-dev libprobe
is 'and nothing stays' "$(cd "$tmp/installed" && find etc usr \( -path '*libprobe*' -o -name probe -o -name 'probe.*' \) -not -path '*/dpkg/*' | head -5)" ''
end_debian installed

# ---- the steps of the Dockerfile ----

if [ "${IMAGE:-}" = 0 ]; then
	skip 'the Dockerfile' 'IMAGE=0'
	finish
fi
if ! new_debian image; then
	fail "the Dockerfile's Debian" "$(tail -3 "$tmp/debootstrap.log")"
	finish
fi
is 'it starts from the Debian that is here' "$(sed -n 's/^FROM //p' packaging/Dockerfile)" debian:12
where=/
# COPY . . puts what packaging/Dockerfile.dockerignore leaves; here what git has.
while read -r word rest; do
	case $word in
	'' | '#'* | FROM | ENV) ;;
	WORKDIR)
		where=$rest
		mkdir -p "$tmp/image$where"
		;;
	COPY) git ls-files -z | tar --null -T - -cf - | tar -C "$tmp/image$where" -xf - ;;
	RUN) ok "RUN $(cut -c1-60 <<<"$rest")" inside image sh -c "cd $where && $rest" </dev/null ;; # mpirun would read the rest
	CMD)
		readarray -t words < <(python3 -c 'import json, sys; print("\n".join(json.loads(sys.argv[1])))' "$rest")
		said=$(inside image sh -c "cd $where && exec \"\$@\"" sh "${words[@]}" 2>&1 </dev/null)
		is "CMD ${words[*]}" $? 0
		shown=1
		like 'which shows the report of a training' "$said" 'ranks? .*4.*finished'
		;;
	*) fail 'a step of the Dockerfile that is known here' "$word" ;;
	esac
done <packaging/Dockerfile
is 'all its steps were done' "${shown:-}" 1
end_debian image
finish
