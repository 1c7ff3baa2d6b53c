#!/usr/bin/env bash
# The libffi entry on the other processor: tests/unit/test_ffi.c, built by the cross compiler, run by qemu-user. Needs
# libffi-dev and libcmocka-dev of arm64, here or unpacked below $AARCH64_ROOT. Prints TAP.
# timeout: 420
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

root=${AARCH64_ROOT:-}/usr
cross=aarch64-linux-gnu
libs=$root/lib/$cross
what='the libffi entry on aarch64'
if ! command -v $cross-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
	skip "$what" 'no cross compiler or no qemu-user'
	finish
elif [ ! -e "$libs/libffi.a" ] || [ ! -e "$libs/libcmocka.so" ]; then
	skip "$what" 'no libffi or cmocka for arm64'
	finish
fi
ffi=$libs/libffi_pic.a
[ -e "$ffi" ] || ffi=$libs/libffi.a
flags=(-std=gnu11 -O2 -D_GNU_SOURCE -fPIC -fno-strict-aliasing -fexceptions -fasynchronous-unwind-tables
	-fno-omit-frame-pointer -ftls-model=initial-exec -Ipreload -I. -Itests/unit
	-I"$root/include/$cross" -idirafter "$root/include")
ok 'it builds' $cross-gcc "${flags[@]}" -o "$tmp/test_ffi" tests/unit/test_ffi.c preload/entry/stubs/ffi.c preload/api/runtime_registry.c \
	preload/entry/stubs/ffi_enter.S "$ffi" "$libs/libcmocka.so" -ldl -lpthread
ok "$what" env CC=$cross-gcc CXX=$cross-g++ qemu-aarch64 -L /usr/$cross -E LD_LIBRARY_PATH="$libs" "$tmp/test_ffi"
finish
