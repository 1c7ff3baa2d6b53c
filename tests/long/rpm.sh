#!/usr/bin/env bash
# make rpm: the spec file builds, the package has what `make install-strip` installs, and the command runs from where rpm put it: a folder
# of its own as root of the system (rpm --root). On Debian its needs are no RPM packages, so rpmbuild is told to take them as given.
# RPM: a package that was made before. Prints TAP.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
command -v rpmbuild >/dev/null || { skip 'make rpm' 'no rpmbuild (Debian: rpm; RHEL, openEuler: rpm-build)'; finish; }
version=$(cat VERSION)
rpm=${RPM:-}
if [ -n "$rpm" ]; then
	skip 'make rpm' "$rpm is taken"
else
	if make --no-print-directory -s rpm DISTDIR="$tmp/dist" NODEPS="$([ -e /etc/debian_version ] && echo 1)" >"$tmp/rpm.log" 2>&1; then
		pass 'make rpm'
	else
		fail 'make rpm' "$(tail -30 "$tmp/rpm.log")"
		finish
	fi
	is 'one package' "$(cd "$tmp/dist/rpm/RPMS" && find . -name '*.rpm' | sed "s/-1.*//")" "./$(uname -m)/libprobe-$version"
	rpm=$(echo "$tmp"/dist/rpm/RPMS/*/*.rpm)
fi
query() { rpm --dbpath "$tmp/db" -qp "$@" "$rpm" 2>"$tmp/query.err"; }
is 'its name, version and licence' "$(query --qf '%{NAME} %{VERSION} %{LICENSE}')" "libprobe $version Apache-2.0"

# ---- what it holds ----

libdir=$(query -l | sed -n 's|/libprobe.so$||p')
make --no-print-directory -s "B=$B" install-strip DESTDIR="$tmp/plain" PREFIX=/usr LIBDIR="$libdir" >"$tmp/plain.log" 2>&1
# rpm compresses manual pages; the list of installed files is for `make uninstall`.
files() { sed 's/\.gz$//' | grep -v '/\.installed$' | sort; }
is 'it holds what make install-strip installs, and the licence' "$(query -l --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' | grep '^-' | awk '{print $2}' | files)" \
	"$( (cd "$tmp/plain" && find . ! -type d | sed 's|^\.||'; query -L) | files)"
is 'files that users edit are kept at an update' "$(query -c | xargs -n 1 basename | sort | tr '\n' ' ' | grep -o 'custom.yaml\|probe.yaml\|support_wrap_ops.yaml' | tr '\n' ' ')" 'custom.yaml probe.yaml support_wrap_ops.yaml '
unlike 'it needs no debug packages' "$(query --requires)" debug
like 'the libraries that it needs are known to rpm' "$(query --requires)" 'libdw.so.1.*libelf.so.1.*'

# ---- installed ----

root=$tmp/root
mkdir -p "$root"
ok 'rpm installs it into an empty root' rpm --root "$root" --nodeps --noscripts -i "$rpm"
is 'no file was changed by it' "$(rpm --root "$root" -V --nodeps libprobe 2>&1)" ''
is 'probe --version, from there' "$("$root/usr/bin/probe" --version)" "probe $version"
is 'probe run finds the library there' "$(cd / && "$root/usr/bin/probe" run sh -c 'echo $LD_PRELOAD')" "$root$libdir/libprobe.so"
is 'the presets, too' "$(cd / && "$root/usr/bin/probe" run -p nan sh -c 'echo $PROBE_WRAP_OPS')" "$root/usr/share/libprobe/presets/nan.yaml"
is 'stripped' "$(readelf -SW "$root$libdir/libprobe.so" "$root/usr/bin/probe" | grep -c '\.symtab\|\.debug_info')" 0
for m in $flavours; do
	new_out
	PRELOAD=$root$libdir/libprobe.so run_with "$m" 2 PROBE_STEP_MARKER=MPI_Reduce train_digits --steps 14 --nan-at 7:1
	is "a job of $m: status" "$status" 0
	like "a job of $m is recorded" "$("$root/usr/bin/probe" report "$out")" 'nan +first in step 7, rank 1: '
	break
done
echo '# mine' >>"$root/usr/share/libprobe/probe.yaml"
ok 'it is removed' rpm --root "$root" --nodeps --noscripts -e libprobe
is 'and nothing is left but the edited file' "$(cd "$root" && find . \( -path ./var -o -name .rpmdb \) -prune -o ! -type d -print)" './usr/share/libprobe/probe.yaml.rpmsave'
finish
