#!/usr/bin/env bash
# libprobe.so loaded by a running program: with the least memory for thread-local storage that glibc can be told to keep in
# reserve, into threads that are there already; and `probe run` and `probe check`, which need no such memory.
# timeout: 120
. "$(dirname "$0")/lib.sh"

least=glibc.rtld.nns=1:glibc.rtld.optional_static_tls=0

cat >"$tmp/load.c" <<'EOC'
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static const char *path;
static atomic_uint waiting;
static atomic_bool loaded;
static unsigned good[8];

/* Records a row. */
static unsigned use_library(void)
{
	typedef int save_fn(const char *name, const void *data, const char *dtype, const char *shape);
	void *lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	save_fn *save = lib ? (save_fn *)dlsym(lib, "probe_save") : NULL;

	return save && save("four", (float[]){1, 2, 3, 4}, "float32", "4") == 0;
}

static void *wait_for_library(void *arg)
{
	atomic_fetch_add(&waiting, 1);
	while (!atomic_load(&loaded))
		;
	*(unsigned *)arg = use_library();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id[8];
	unsigned n = 0;

	path = argv[argc - 1];
	for (int i = 0; i < 4; i++)
		pthread_create(&id[i], NULL, wait_for_library, &good[i]);
	while (atomic_load(&waiting) < 4)
		;
	if (!dlopen(path, RTLD_NOW)) {
		puts(dlerror());
		return 1;
	}
	atomic_store(&loaded, 1);
	for (int i = 4; i < 8; i++)
		pthread_create(&id[i], NULL, wait_for_library, &good[i]);
	for (int i = 0; i < 8; i++) {
		pthread_join(id[i], NULL);
		n += good[i];
	}
	printf("%u of 8 threads\n", n);
	return 0;
}
EOC
cc -std=gnu11 -O1 -o "$tmp/load" "$tmp/load.c" -ldl -lpthread || exit 2
for reserve in $least glibc.rtld.nns=4; do
	new_out
	is "$reserve: dlopen(), with threads that were there before and later ones" \
		"$(GLIBC_TUNABLES=$reserve PROBE_OUTPUT_DIR=$out "$tmp/load" "$lib" 2>&1)" '8 of 8 threads'
	is "$reserve: each has recorded" \
		"$(rows "$out" '(len(set(r["thread"] for r in R)), set((r["op"], r["mean"]) for r in R))')" "(8, {('four', '2.5')})"
done
is 'ctypes.CDLL with the least reserve' \
	"$(GLIBC_TUNABLES=$least python3 -c "import ctypes; print(ctypes.CDLL('$lib')._name == '$lib')" 2>&1 | tail -1)" True

# A library that has more: it can be preloaded, and not loaded later.
cat >"$tmp/large.c" <<'EOC'
__thread char large[8192];
int size_of_large(void) { return large[0] + (int)sizeof(large); }
EOC
cc -O1 -fPIC -shared -ftls-model=initial-exec -o "$tmp/large.so" "$tmp/large.c"
isnt 'the test can fail: a library of 8 KiB is not loaded' "$(GLIBC_TUNABLES=$least "$tmp/load" "$tmp/large.so" 2>&1)" '8 of 8 threads'
is '... and the tool does not ask for that' \
	"$(GLIBC_TUNABLES=$least PROBE_LIBRARY="$tmp/large.so" "$probe" run sh -c 'echo started' 2>&1)" started
is 'probe run with the least reserve' "$(GLIBC_TUNABLES=$least "$probe" run sh -c 'echo started' 2>&1)" started
GLIBC_TUNABLES=$least "$probe" run -n true >"$tmp/said" 2>&1
is 'probe run -n with the least reserve: status' $? 0
GLIBC_TUNABLES=$least "$probe" check true >"$tmp/said" 2>&1
like 'probe check with the least reserve: what it finds is the program' "$(cat "$tmp/said")" 'true'
unlike '... and not the library' "$(cat "$tmp/said")" 'static TLS|cannot'

# Libraries that no program starts with.
echo 'int not_there(void); int f(void) { return not_there(); }' >"$tmp/undefined.c"
cc -fPIC -shared -Wl,-z,now -o "$tmp/undefined.so" "$tmp/undefined.c"
echo 'not a library' >"$tmp/text.so"
for f in undefined:not_there text:'file too short|invalid ELF header' none:'cannot open shared object file'; do
	for verb in run check; do
		PROBE_LIBRARY="$tmp/${f%%:*}.so" "$probe" $verb true >"$tmp/said" 2>&1
		is "probe $verb, ${f%%:*}.so: status" $? 2
		like "probe $verb, ${f%%:*}.so: why" "$(cat "$tmp/said")" "^probe: .*${f%%:*}.so: .*${f#*:}"
	done
done
finish
