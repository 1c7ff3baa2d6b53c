#!/usr/bin/env bash
# make dist twice, in this tree, with another umask, and from what the archive holds: equal sums, and nothing that was built.
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
finish
