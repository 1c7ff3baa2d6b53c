#!/usr/bin/env bash
# make install and uninstall: what is there, that it works from there, and that nothing is left. Prints TAP.
# timeout: 420
. "$(dirname "$0")/lib.sh"

make=(make --no-print-directory -s "B=$B")
snapshot() {
	(cd "$1" && find . ! -type d | sort)
}

# ---- PREFIX: used in place ----

prefix=$tmp/opt/libprobe
ok 'make install' "${make[@]}" install "PREFIX=$prefix"
is 'what is installed' "$(snapshot "$prefix" | tr '\n' ' ')" \
	'./bin/probe ./include/libprobe/probe.h ./lib/libprobe.so ./lib/pkgconfig/libprobe.pc ./share/bash-completion/completions/probe ./share/libprobe/apis/README.md ./share/libprobe/apis/custom.yaml ./share/libprobe/presets/nan.yaml ./share/libprobe/presets/ops.yaml ./share/libprobe/probe.yaml ./share/libprobe/support_wrap_ops.yaml ./share/man/man1/probe.1 ./share/man/man7/libprobe.7 '
is 'modes' "$(cd "$prefix" && stat -c '%a %n' bin/probe lib/libprobe.so include/libprobe/probe.h | tr '\n' ' ')" '755 bin/probe 755 lib/libprobe.so 644 include/libprobe/probe.h '
is 'the version' "$("$prefix/bin/probe" --version)" "probe $(cat VERSION)"
is 'probe run finds its library' "$(cd / && "$prefix/bin/probe" run sh -c 'echo $LD_PRELOAD')" "$prefix/lib/libprobe.so"
is 'and its presets' "$(cd / && "$prefix/bin/probe" run -p nan sh -c 'echo $PROBE_WRAP_OPS')" "$prefix/share/libprobe/presets/nan.yaml"
like 'and its configuration' "$(cd / && "$prefix/bin/probe" config 2>&1)" "$prefix/share/libprobe/probe.yaml"

# An edit of the installed file counts, without a rebuild.
sed -i 's/^journal_mib: .*/journal_mib: 33/' "$prefix/share/libprobe/probe.yaml"
like 'an edit of it counts' "$(cd / && "$prefix/bin/probe" config)" 'journal_mib: 33'

if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
	ok 'pkg-config: valid' pkg-config --validate libprobe
	is 'pkg-config: version' "$(pkg-config --modversion libprobe)" "$(cat VERSION)"
	is 'pkg-config: the library to preload' "$(pkg-config --variable=preload libprobe)" "$prefix/lib/libprobe.so"
	cat >"$tmp/weak.c" <<-'C'
		#include <libprobe/probe.h>
		#include <stdio.h>
		int main(void)
		{
			printf("%s %ld\n", probe_version ? probe_version() : "none", probe_step ? probe_step() : -2L);
			return 0;
		}
	C
	ok 'a program with the header' cc -Wall -Wextra -Werror $(pkg-config --cflags libprobe) -o "$tmp/weak" "$tmp/weak.c"
	is 'runs without the preload' "$("$tmp/weak")" 'none -2'
	is 'and with it' "$(cd "$tmp" && "$prefix/bin/probe" run "$tmp/weak")" "$(cat VERSION) 1"
	if command -v c++ >/dev/null; then
		cp "$tmp/weak.c" "$tmp/weak.cpp"
		ok 'the header in C++' c++ -Wall -Wextra -Werror $(pkg-config --cflags libprobe) -o "$tmp/weakpp" "$tmp/weak.cpp"
	fi
else
	skip 'pkg-config' 'not installed'
fi

flavour=$(mpi_flavours | head -1)
if [ -n "$flavour" ]; then
	app=$(realpath "$B/apps/$flavour/mpi_children")
	(cd "$tmp" && timeout 60 "$prefix/bin/probe" run -o "$tmp/recorded" -- "$app" alone) >"$tmp/with" 2>&1
	timeout 60 "$app" alone >"$tmp/plain" 2>&1
	is 'a program under the installed library: the same lines' "$(diff "$tmp/plain" "$tmp/with")" ''
	is 'and its records' "$(rows "$tmp/recorded" 'len(calls(R)), M["rank0"]["config"]["journal_mib"]')" '(10, 33)'
else
	skip 'a program under the installed library' 'no MPI'
fi

# ---- man pages ----

if command -v man >/dev/null && command -v groff >/dev/null; then
	for page in man1/probe.1 man7/libprobe.7; do
		is "$page: no warnings" "$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$prefix/share/man/$page" 2>&1 >/dev/null)" ''
	done
	text=$(MANWIDTH=200 man -l "$prefix/share/man/man1/probe.1" 2>/dev/null | col -b)
	for verb in run check report recover config; do
		like "probe(1) knows $verb" "$text" "probe $verb"
	done
	text=$(MANWIDTH=200 man -l "$prefix/share/man/man7/libprobe.7" 2>/dev/null | col -b)
	is 'libprobe(7) knows every column' "$(head -1 "$tmp"/recorded/rank0/calls_0-99.csv 2>/dev/null | tr , '\n' | while read -r c; do
		grep -qw "$c" <<<"$text" || echo "$c"
	done)" ''
else
	skip 'man pages' 'no man or groff'
fi

# ---- uninstall ----

ok 'make uninstall' "${make[@]}" uninstall "PREFIX=$prefix"
is 'nothing is left' "$(snapshot "$prefix")" ''

# ---- DESTDIR: for packages; nothing outside it, nothing in the files that names it ----

dest=$tmp/pkg
ok 'make install DESTDIR=' "${make[@]}" install DESTDIR="$dest" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu
is 'everything is below it' "$(snapshot "$dest" | grep -v '^\./usr/')" ''
ok 'LIBDIR' test -f "$dest/usr/lib/x86_64-linux-gnu/libprobe.so" -a -f "$dest/usr/lib/x86_64-linux-gnu/pkgconfig/libprobe.pc"
is 'no file of it names the place where it was built' "$(grep -rlF "$dest" "$dest")" ''
is 'pkg-config file' "$(grep -E '^(prefix|libdir)=' "$dest/usr/lib/x86_64-linux-gnu/pkgconfig/libprobe.pc" | tr '\n' ' ')" 'prefix=/usr libdir=/usr/lib/x86_64-linux-gnu '
ok 'make uninstall DESTDIR=' "${make[@]}" uninstall DESTDIR="$dest" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu
is 'nothing is left there' "$(snapshot "$dest")" ''
finish
