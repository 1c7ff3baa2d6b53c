#!/usr/bin/env bash
# make dist twice, in this tree and from the archive itself: equal sums. make deb: lintian finds nothing; the packages are
# installed, where root may, into a folder of debootstrap, and there a program is recorded; the steps of packaging/Dockerfile
# run in another.
# timeout: 3600
# root: debootstrap and chroot
. "$(dirname "$0")/../e2e/lib.sh"

sum_of() { # TREE FOLDER
	make -s --no-print-directory -C "$1" dist DISTDIR="$2" | tail -1 | cut -d' ' -f1
}
version=$(cat VERSION)
first=$(sum_of . "$tmp/dist1")
is 'make dist makes an archive' "${#first}" 64
touch README.md
is 'the same bytes a second time' "$(umask 077; sum_of . "$tmp/dist2")" "$first"
tar -xzf "$tmp/dist1/libprobe-$version.tar.gz" -C "$tmp"
is 'and from what was unpacked, without git' "$(GIT_CEILING_DIRECTORIES=$tmp sum_of "$tmp/libprobe-$version" "$tmp/dist3")" "$first"
is 'it holds no file that was built' "$(tar -tzf "$tmp/dist1/libprobe-$version.tar.gz" | grep -E '\.(o|so|d)$|/build')" ''

if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
	skip 'make deb' 'dpkg-dev and debhelper are not installed (make deps-deb)'
	finish
fi
ok 'make deb' make -s --no-print-directory deb DISTDIR="$tmp/debs"
debs=("$tmp"/debs/deb/libprobe_*.deb "$tmp"/debs/deb/libprobe-dev_*.deb "$tmp"/debs/deb/probe-tools_*.deb)
is 'three packages' "$(ls "${debs[@]}" | wc -l)" 3
if command -v lintian >/dev/null; then
	is 'lintian finds nothing' "$(lintian --allow-root "${debs[@]}" 2>&1 | grep -E '^[EW]:')" ''
else
	skip 'lintian' 'it is not installed'
fi
is 'what users edit is configuration' "$(dpkg-deb --info "${debs[0]}" conffiles | sort | tr '\n' ' ')" \
	'/etc/libprobe/apis/custom.yaml /etc/libprobe/probe.yaml /etc/libprobe/support_wrap_ops.yaml '

# What is unpacked works from there: the command finds the library, the library its configuration.
root=$tmp/unpacked
for d in "${debs[@]}"; do dpkg-deb -x "$d" "$root"; done
is 'the command finds the library' "$("$root/usr/bin/probe" run sh -c 'echo $LD_PRELOAD')" \
	"$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/libprobe.so"

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
	skip 'installed' 'debootstrap is not installed, or this is not root'
	finish
fi
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
bare=$tmp/bare
if ! debootstrap --variant=minbase "$suite" "$bare" >"$tmp/debootstrap.log" 2>&1; then
	skip 'installed' 'debootstrap could not fetch a system'
	finish
fi
cp "${debs[@]}" "$bare/root/"
ok 'apt installs them' chroot "$bare" sh -c 'apt-get install -y --no-install-recommends /root/*.deb'
is 'the installed command' "$(chroot "$bare" probe --version)" "probe $version"
like 'its configuration is in /etc' "$(chroot "$bare" probe config 2>&1)" '/etc/libprobe/probe.yaml|/usr/share/libprobe/probe.yaml'
ok 'apt removes them, and what was edited stays' chroot "$bare" sh -c 'echo "# mine" >>/etc/libprobe/probe.yaml &&
	apt-get remove -y libprobe libprobe-dev probe-tools && grep -q mine /etc/libprobe/probe.yaml && ! command -v probe'

# The steps of the Dockerfile, in order, as its lines say.
mkdir -p "$bare/src/libprobe"
tar -xzf "$tmp/dist1/libprobe-$version.tar.gz" -C "$bare/src/libprobe" --strip-components=1
n=0
while read -r line; do
	n=$((n + 1))
	ok "Dockerfile, step $n: ${line:0:40}" chroot "$bare" env DEBIAN_FRONTEND=noninteractive sh -c "cd /src/libprobe && $line"
done < <(sed -n 's/^RUN //p' packaging/Dockerfile)
is 'the Dockerfile has steps' "$((n > 0))" 1
finish
