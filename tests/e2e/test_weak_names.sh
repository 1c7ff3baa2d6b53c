#!/usr/bin/env bash
# Objects that find out by weak references which functions a library has (mpi4py's wheels) find with us what they find without
# us: nothing if no library defines the name, and the function as soon as one does. Prints TAP.
# beside:
. "$(dirname "$0")/lib.sh"

cc=${CC:-cc}
apps=tests/apps/entry
$cc -D_GNU_SOURCE -o "$tmp/main" $apps/weak_main.c -ldl
for k in 1 2 3; do
	$cc -shared -fPIC -o "$tmp/plugin$k.so" -Wl,-soname,plugin$k.so $apps/weak_plugin.c
done
echo 'int MPI_Bcast_c(void *b, long n, void *t, int r, void *c) { return 0; } int MPI_Init(int *c, char ***v) { return 0; }' |
	$cc -xc -shared -fPIC -Wl,-soname,provider.so -o "$tmp/provider.so" -
echo 'int provider_needed;' | $cc -xc -shared -fPIC -Wl,--no-as-needed -o "$tmp/needs.so" - -L"$tmp" -l:provider.so -Wl,-rpath,"$tmp"
# Its plugin and what it needs come in one load.
$cc -shared -fPIC -o "$tmp/linked.so" $apps/weak_plugin.c -Wl,--no-as-needed -L"$tmp" -l:provider.so -Wl,-rpath,"$tmp"

same() { # TEXT FILES...
	local text=$1 plain
	shift
	plain=$("$tmp/main" "$@")
	is "$text: as without us" "$(LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$tmp/out "$tmp/main" "$@")" "$plain"
	is "$text: where nothing is recorded, too" "$(LD_PRELOAD=$lib PROBE_DISABLE=1 "$tmp/main" "$@")" "$plain"
	like "$text: what that is" "$plain" "$want"
}

want='MPI_Bcast_c 0 MPI_Init 0, dlsym 0' same 'no library has it' "$tmp/plugin1.so"
want='file 1: MPI_Bcast_c 0 MPI_Init 0, dlsym 0.*file 3: MPI_Bcast_c 1 MPI_Init 1, dlsym 1' \
	same 'a library comes later' "$tmp/plugin1.so" "$tmp/provider.so" "$tmp/plugin2.so"
want='file 1: MPI_Bcast_c 0.*file 3: MPI_Bcast_c 1' same '... as one that another needs' "$tmp/plugin1.so" "$tmp/needs.so" "$tmp/plugin2.so"
want='MPI_Bcast_c 1 MPI_Init 1' same 'the plugin brings it' "$tmp/linked.so"
want='file 2: MPI_Bcast_c 1' same 'it is there before' "$tmp/provider.so" "$tmp/plugin1.so"

# A library that has it is recorded again, though the name was hidden before it came.
is 'a library comes later: its calls come by us' \
	"$(WHERE=1 LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$tmp/out "$tmp/main" "$tmp/plugin1.so" "$tmp/provider.so" "$tmp/plugin2.so")" 'file 3: libprobe.so'
finish
