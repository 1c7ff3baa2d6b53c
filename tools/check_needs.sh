#!/bin/sh
# Checks for everything that a build needs, or that the demo needs in addition. Prints one line with what is missing and the command that
# installs it.
# Usage: tools/check_needs.sh build|demo|test CC [DEBIAN-PACKAGE...]    status 1: something is missing
# MPI: a compiler wrapper of MPI is there. CPPFLAGS, CFLAGS and LDFLAGS are used, as for the objects.
what=$1 cc=$2
shift 2
missing=
tool() { # COMMAND
	command -v "${1%% *}" >/dev/null 2>&1 || missing="$missing ${1%% *}"
}
# As in a recipe of make: a quoted part of a variable is one word.
compile() { # WORD...
	eval "$cc $CPPFLAGS $CFLAGS $LDFLAGS $*"
}
# Needs a header and its library.
package() { # HEADER LIBRARY
	if ! printf '#include <stddef.h>\n#include <%s>\n' "$1" | compile -D_GNU_SOURCE -E - >/dev/null 2>&1; then
		missing="$missing $1"
		return
	fi
	out=$(mktemp)
	echo 'int main(void) { return 0; }' | compile -x c -o "$out" - "-l$2" >/dev/null 2>&1 || missing="$missing lib$2"
	rm -f "$out"
}

tool "$cc"
tool ar
tool make
if [ -z "$missing" ]; then
	package stdio.h c
fi
if [ -z "$missing" ]; then
	package yaml.h yaml
	package zlib.h z
	package ffi.h ffi
	package elfutils/libdw.h dw
	package libelf.h elf
	[ "$what" != test ] || package cmocka.h cmocka
else
	missing="$missing (and perhaps headers)"
fi
dnf='gcc glibc-devel make binutils libyaml-devel zlib-devel libffi-devel elfutils-devel elfutils-libelf-devel'
conda='c-compiler make binutils yaml zlib libffi elfutils'
if [ "$what" = test ]; then
	dnf="$dnf libcmocka-devel mpich mpich-devel python3 python3-numpy" conda="$conda cmocka mpich numpy"
elif [ "$what" = demo ] && [ -z "$MPI" ]; then
	missing="$missing mpicc.mpich"
	dnf="$dnf mpich mpich-devel" conda="$conda mpich"
fi
[ -n "$missing" ] || exit 0

[ "$(id -u)" = 0 ] && may='' || may=' as root (an administrator can do it)'
[ "$what" != build ] && name="make $what" || name=make
{
	echo "$name: missing:$missing. To install it$may:"
	echo "  Debian, Ubuntu:    apt-get update && apt-get install -y --no-install-recommends $*"
	echo "  RHEL, openEuler:   dnf install -y $dnf"
	echo "  conda:             conda install -y -c conda-forge $conda"
} >&2
exit 1
