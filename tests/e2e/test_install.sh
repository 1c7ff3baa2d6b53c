#!/usr/bin/env bash
# make install and uninstall: which files there are, that it works from there, and that nothing is left. Prints TAP.
# timeout: 420
# beside: does not wait busily
# root: writes the build folder
. "$(dirname "$0")/lib.sh"

make=(make --no-print-directory -s "B=$B")
snapshot() {
	(cd "$1" && find . ! -type d | sort)
}

# ---- PREFIX: used in place ----

prefix=$tmp/opt/libprobe
ok 'make install' "${make[@]}" install "PREFIX=$prefix"
docs=$(find docs -type f | sed 's|^|./share/doc/libprobe/|')
is 'what is installed' "$(snapshot "$prefix" | tr '\n' ' ')" \
	"$(sort <<<"$docs
$(tr ' ' '\n' <<<'./bin/probe ./include/libprobe/probe.h ./lib/libprobe.so ./lib/pkgconfig/libprobe.pc ./share/bash-completion/completions/probe ./share/doc/libprobe/CHANGELOG.md ./share/doc/libprobe/README.md ./share/libprobe/.installed ./share/libprobe/apis/README.md ./share/libprobe/apis/custom.yaml ./share/libprobe/apis/kinds.yaml ./share/libprobe/monitoring/grafana-dashboard.json ./share/libprobe/monitoring/probe-rules.yaml ./share/libprobe/presets/nan.yaml ./share/libprobe/presets/ops.yaml ./share/libprobe/probe.yaml ./share/libprobe/support_wrap_ops.yaml ./share/man/man1/probe.1 ./share/man/man7/libprobe.7 ./share/modulefiles/libprobe/'$(cat VERSION))" | tr '\n' ' ')"
is 'the same again changes nothing' "$(snapshot "$prefix"; "${make[@]}" install "PREFIX=$prefix" 2>&1)" "$(snapshot "$prefix")"
is 'modes' "$(cd "$prefix" && stat -c '%a %n' bin/probe lib/libprobe.so include/libprobe/probe.h | tr '\n' ' ')" '755 bin/probe 755 lib/libprobe.so 644 include/libprobe/probe.h '
is 'the version' "$("$prefix/bin/probe" --version)" "probe $(cat VERSION)"
is 'probe run finds its library' "$(cd / && "$prefix/bin/probe" run sh -c 'echo $LD_PRELOAD')" "$prefix/lib/libprobe.so"
is 'the installed command finds its presets' "$(cd / && "$prefix/bin/probe" run -p nan sh -c 'echo $PROBE_WRAP_OPS')" "$prefix/share/libprobe/presets/nan.yaml"
like 'the installed command finds its configuration' "$(cd / && "$prefix/bin/probe" config 2>&1)" "$prefix/share/libprobe/probe.yaml"

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
	columns=$(head -1 "$tmp"/recorded/rank0/calls_0-99.csv 2>/dev/null | tr , '\n')
	is 'libprobe(7) knows every column' "$(wc -l <<<"$columns") $(for c in $columns; do
		grep -qw "$c" <<<"$text" || echo "$c"
	done)" "$("$probe" columns --names calls | tr , '\n' | wc -l) "
else
	skip 'man pages' 'no man or groff'
fi

# ---- uninstall ----

# Edited: a list, the functions of one's own, and above the configuration. A newer version changes two of them and a preset.
share=$prefix/share/libprobe
echo '  - my_function' >>"$share/support_wrap_ops.yaml"
echo '# mine' >>"$share/apis/custom.yaml"
cp -r configs "$tmp/configs.was"
newer() { # a changed copy of the tree's configs
	rm -rf "$tmp/newer"
	cp -r "$tmp/configs.was" "$tmp/newer"
	for f in support_wrap_ops.yaml probe.yaml presets/nan.yaml; do
		echo "# newer $1" >>"$tmp/newer/$f"
	done
}
newer 1
said=$("${make[@]}" install "PREFIX=$prefix" CONFIGS="$tmp/newer" 2>&1)
is 'installed over it: the edited list is kept' "$(tail -1 "$share/support_wrap_ops.yaml")" '  - my_function'
is 'the configuration keeps its edits' "$(grep -c '^journal_mib: 33' "$share/probe.yaml")" 1
is "the user's own functions are kept" "$(tail -1 "$share/apis/custom.yaml")" '# mine'
is 'the newer ones are next to them' "$(tail -qn 1 "$share/support_wrap_ops.yaml.new" "$share/probe.yaml.new" | tr '\n' ' ')" '# newer 1 # newer 1 '
is 'an unchanged file has none next to it' "$(cd "$share" && find . -name '*.new' | sort | tr '\n' ' ')" './probe.yaml.new ./support_wrap_ops.yaml.new '
is 'a file that was not edited is the newer one' "$(tail -1 "$share/presets/nan.yaml")" '# newer 1'
like 'a line for each' "$(tr '\n' ' ' <<<"$said")" 'support_wrap_ops.yaml: edited, kept; .*support_wrap_ops.yaml.new'
newer 2
"${make[@]}" install "PREFIX=$prefix" CONFIGS="$tmp/newer" >/dev/null 2>&1
is 'once more: still kept, and the newest next to it' "$(tail -qn 1 "$share/support_wrap_ops.yaml" "$share/support_wrap_ops.yaml.new" "$share/presets/nan.yaml" | tr '\n' ' ')" '  - my_function # newer 2 # newer 2 '
cp "$share/support_wrap_ops.yaml.new" "$share/support_wrap_ops.yaml"
"${make[@]}" install "PREFIX=$prefix" CONFIGS="$tmp/newer" >/dev/null 2>&1
ok 'taken over: no longer next to it' test ! -e "$share/support_wrap_ops.yaml.new"

said=$("${make[@]}" uninstall "PREFIX=$prefix" 2>&1)
is 'make uninstall' $? 0
is 'edited files are left, nothing else' "$(snapshot "$prefix" | tr '\n' ' ')" './share/libprobe/apis/custom.yaml ./share/libprobe/probe.yaml '
like 'the kept file is reported' "$(tr '\n' ' ' <<<"$said")" 'custom.yaml: edited, kept'
# As an installation of a version that kept no list of what it installed.
"${make[@]}" install "PREFIX=$prefix" >/dev/null 2>&1
is 'installed again: they are still there' "$(tail -1 "$share/apis/custom.yaml") $(grep -c '^journal_mib: 33' "$share/probe.yaml")" '# mine 1'
rm -f "$share/apis/custom.yaml" "$share/probe.yaml" "$share/.installed"
"${make[@]}" uninstall "PREFIX=$prefix" >/dev/null 2>&1
is 'nothing is left' "$(snapshot "$prefix" | grep -v '\.new$')" ''

# ---- DESTDIR: for packages; nothing outside it, nothing in the files that names it ----

dest=$tmp/pkg
ok 'make install DESTDIR=' "${make[@]}" install DESTDIR="$dest" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu
is 'everything is below it' "$(snapshot "$dest" | grep -v '^\./usr/')" ''
ok 'LIBDIR' test -f "$dest/usr/lib/x86_64-linux-gnu/libprobe.so" -a -f "$dest/usr/lib/x86_64-linux-gnu/pkgconfig/libprobe.pc"
is 'no file of it names the place where it was built' "$(grep -rlF "$dest" "$dest")" ''
is 'pkg-config file' "$(grep -E '^(prefix|libdir)=' "$dest/usr/lib/x86_64-linux-gnu/pkgconfig/libprobe.pc" | tr '\n' ' ')" 'prefix=/usr libdir=/usr/lib/x86_64-linux-gnu '
ok 'make uninstall DESTDIR=' "${make[@]}" uninstall DESTDIR="$dest" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu
is 'nothing is left there' "$(snapshot "$dest")" ''
ok 'make install-strip' "${make[@]}" install-strip DESTDIR="$dest" PREFIX=/usr
is 'without symbols, and it runs' "$(readelf -SW "$dest/usr/lib/libprobe.so" "$dest/usr/bin/probe" | grep -c '\.symtab\|\.debug_info') $("$dest/usr/bin/probe" --version)" "0 probe $(cat VERSION)"
like 'the module file' "$(cat "$dest/usr/share/modulefiles/libprobe/$(cat VERSION)")" 'prepend-path PATH /usr/bin .*setenv LIBPROBE /usr/lib/libprobe.so'

# ---- make deb where one of its two tools is missing, of which the check must see each ----

mkdir "$tmp/bin"
cp -s /bin/* /usr/bin/* "$tmp/bin" 2>/dev/null
for tool in dpkg-buildpackage dh; do
	ln -sf /bin/true "$tmp/bin/dpkg-buildpackage"
	ln -sf /bin/true "$tmp/bin/dh"
	rm "$tmp/bin/$tool"
	said=$(PATH=$tmp/bin "${make[@]}" deb "DISTDIR=$tmp/dist" 2>&1)
	is "make deb without $tool: status" $? 2
	like "make deb without $tool: what is missing, and what installs it" "$said" "$tool is missing: make deps-deb"
done
finish
