#!/usr/bin/env bash
# Other compile flags than the last time: objects with the old ones are compiled again, and no others.
# Prints TAP.
# beside: does not wait busily
# root: writes the build folder
. "$(dirname "$0")/lib.sh"

command -v cc >/dev/null || { skip 'flags' 'no compiler'; finish; }
tree=$tmp/tree
mkdir "$tree"
git ls-files -z -co --exclude-standard | tar -c --null -T - | tar -x -C "$tree" || { fail 'the sources are copied'; finish; }
o=build/obj/preload/text/text.o stats=build/obj/preload/stats/scalar.o
unset MAKEFLAGS MFLAGS MAKELEVEL

# Flags as the compiler wrote them into the object; `build` says whether one was compiled.
flags() {
	readelf --debug-dump=info "$tree/$1" | sed -n 's/.*DW_AT_producer.*: //p' | head -1
}
build() {
	local before after
	before=$(stat -c %y "$tree/$o" "$tree/$stats" 2>/dev/null)
	make -C "$tree" --no-print-directory -s "$@" $o $stats >"$tmp/make" 2>&1 || cat "$tmp/make"
	after=$(stat -c %y "$tree/$o" "$tree/$stats")
	if [ "$before" = "$after" ]; then
		echo none
	elif [ "$(head -1 <<<"$before")" = "$(head -1 <<<"$after")" ]; then
		echo one
	else
		echo all
	fi
}
is 'make alone makes the library and the tool' \
	"$(make -C "$tree" -n 2>&1 | grep -oE -- '-o build/(libprobe.so|probe) ' | sort | tr -d '\n')" '-o build/libprobe.so -o build/probe '
is 'the first time' "$(build)" all
is 'again: nothing' "$(build)" none
is 'other CFLAGS' "$(build CFLAGS='-O1 -g')" all
like 'the object is compiled with those flags' "$(flags $o)" ' -O1 '
is 'the same CFLAGS: nothing' "$(build CFLAGS='-O1 -g')" none
is 'flags with quotes and blanks' "$(build CFLAGS="-O1 -g -DTEXT='\"a b\"'")" all
is 'the same' "$(build CFLAGS="-O1 -g -DTEXT='\"a b\"'")" none
is 'without' "$(build)" all
like 'the defaults are in it' "$(flags $o)" ' -O2 '
is 'warnings as errors make no other code' "$(build WERROR=1)" none
is 'another compiler' "$(build CC=gcc)" all
is 'back' "$(build)" all
sed -i 's/-ffp-contract=off/& -fno-math-errno/' "$tree/preload/stats/stats.mk"
is "a file's own flags" "$(build)" all
like 'the object is compiled with its own flag' "$(flags $stats)" ' -fno-math-errno '
printf 'note: 1\n' >"$tree/configs/apis/none.yaml"
is 'a library more: nothing that does not list the libraries' "$(build)" none
rm "$tree/configs/apis/none.yaml"
make -C "$tree" -s clean help >/dev/null
is 'make help leaves nothing' "$(cd "$tree" && ls -d build 2>&1 >/dev/null | wc -l)" 1
finish
