#!/usr/bin/env bash
# The output of `make`, `make demo` or `make test` if something that they need is missing: one line that names it, and
# the command that installs it, for three families of systems; nothing is compiled. And a build shows how far it is. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
make=(make --no-print-directory DEPS=0 "B=$tmp/build")

for target in '' demo test; do
	said=$("${make[@]}" CC=nosuchcc $target 2>&1)
	is "make $target without a compiler: status" $? 2
	like "make $target without a compiler: it is named" "$said" "^make${target:+ $target}: missing: nosuchcc .* To install it"
	like "make $target without a compiler: Debian's command" "$said" 'Debian, Ubuntu: +apt-get update && apt-get install -y --no-install-recommends gcc .*libyaml-dev'
	like "make $target without a compiler: that of RHEL and conda" "$said" 'RHEL, openEuler: +dnf install -y gcc .*libyaml-devel .* conda: +conda install -y -c conda-forge c-compiler'
	unlike "make $target without a compiler: nothing is compiled" "$said" ' CC  | LINK '
	ok "make $target without a compiler: at most 6 lines" test "$(wc -l <<<"$said")" -le 6
done
# The packages named are those that `make deps-build` installs.
is 'make deps-build installs what the line names' "$(env -u MAKEFLAGS -u MFLAGS make --no-print-directory -n deps-build | sed 's|^tests/install_deps.sh ||')" "$("${make[@]}" CC=nosuchcc 2>&1 | sed -n 's/.*--no-install-recommends //p')"

# A header that is not there, and a library without its file.
mkdir -p "$tmp/hide/elfutils"
for h in yaml.h elfutils/libdw.h; do echo '#error none' >"$tmp/hide/$h"; done
like 'headers that are missing are named' "$("${make[@]}" "CFLAGS=-I$tmp/hide" 2>&1)" '^make: missing: yaml.h elfutils/libdw.h\. '
echo "#!/bin/sh
for a; do [ \"\$a\" != -lffi ] || exit 1; done
exec cc \"\$@\"" >"$tmp/cc"
chmod +x "$tmp/cc"
like 'a library that is missing is named' "$("${make[@]}" "CC=$tmp/cc" 2>&1)" '^make: missing: libffi\. '
like 'the demo without an MPI' "$(CFLAGS='' MPI='' tools/check_needs.sh demo cc a b 2>&1)" '^make demo: missing: mpicc.mpich\. .*install-recommends a b .*dnf install .* mpich '
is 'nothing is missing: nothing is reported' "$(MPI=mpich tools/check_needs.sh demo cc 2>&1)" ''

# ---- progress ----

cat >"$tmp/Makefile" <<'MK'
say = @printf '  %-6s %s\n' $(1) $(2);
all: $(addprefix o/,$(shell seq 100))
o/%:
	@mkdir -p o
	$(call say,CC,$@) touch $@; [ $* != 7 ] || echo 'a.c:1: warning: odd' >&2
bad: all
	$(call say,LINK,x) echo 'no such symbol'; exit 3
MK
said=$(cd "$tmp" && "$OLDPWD/tools/build_progress.sh" make -s -j2 2>&1)
is 'a build that is fine: status' $? 0
is 'six lines and the warning' "$(wc -l <<<"$said") $(tail -1 <<<"$said" | tr -s ' ') $(grep -c 'warning: odd' <<<"$said")" '7  BUILD 100 of 100 1'
said=$(cd "$tmp" && "$OLDPWD/tools/build_progress.sh" make -s bad 2>&1)
is 'a build that fails: status' $? 2
like 'a build that fails: what it said' "$said" 'no such symbol'
said=$(cd "$tmp" && "$OLDPWD/tools/build_progress.sh" make -s 2>&1)
is 'nothing to do: nothing is reported' "$said" ''
finish
