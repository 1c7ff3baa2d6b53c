#!/usr/bin/env bash
# The entries beside the exported wrappers: what the loader answers does not change, stub objects come in by every way
# that a host allows, and leave no trace where they are not wanted. Prints TAP.
# timeout: 420
# beside: does not wait busily
# root: mounts
. "$(dirname "$0")/lib.sh"
src=$PWD/tests/apps/entry
export PROBE_CUSTOM_APIS=$src/custom.yaml PROBE_WRAP_OPS=$src/ops.yaml
name=acme_allreduce

c() { # OUTPUT FLAGS...
	local out=$1
	shift
	cc -g -O1 -Wall -D_GNU_SOURCE -DLIB_C -fPIC -o "$tmp/$out" "$@" || {
		fail "$out compiles"
		finish
	}
}
cd "$tmp" || exit 2
c libthing.so.1 -shared -DFACTOR=2 "$src/lib.c" -Wl,-soname,libthing.so.1
c libuser.so -shared "$src/user.c" ./libthing.so.1 -Wl,-rpath,'$ORIGIN'
c libuser2.so -shared "$src/user.c" ./libthing.so.1 -Wl,-rpath,'$ORIGIN'
c main "$src/main.c"
c names "$src/probe_names.c"
c storm "$src/storm.c" -lpthread

hits() { # FUNCTION
	cat "$tmp"/check/*.check 2>/dev/null | awk -F'\t' -v name="$1" '$1 == name {n += $4} END {print n + 0}'
}

counted() { # NAME=VALUE... COMMAND: $said, $n
	rm -rf "$tmp/check"
	mkdir "$tmp/check"
	said=$(timeout 60 env PROBE_CHECK="$tmp/check" LD_PRELOAD="$lib" "$@" 2>&1)
	n=$(hits $name)
}

# ---- what the loader says ----

for what in "$tmp/libthing.so.1 $name" "$tmp/libuser.so $name $tmp/libthing.so.1"; do
	plain=$(./names $what 2>&1)
	is "the loader's answers: ${what/$tmp\//}" "$(LD_PRELOAD=$lib ./names $what 2>&1)" "$plain"
	is 'without descriptions' "$(PROBE_LOG_LEVEL=0 PROBE_CUSTOM_APIS=/none LD_PRELOAD=$lib ./names $what 2>&1)" "$plain"
	is 'with probe run' "$("$probe" run ./names $what 2>&1)" "$plain"
done
cat >wrapped.c <<-END
	int MPI_Allreduce(const void *a, void *b, int n, void *d, void *o, void *c) { (void)a; (void)b; (void)d; (void)o; (void)c; return n; }
END
c libwrapped.so -shared wrapped.c
plain=$(./names "$tmp/libwrapped.so" MPI_Allreduce "$tmp/libthing.so.1")
is "the loader's answers: a compiled wrapper" "$(LD_PRELOAD=$lib ./names "$tmp/libwrapped.so" MPI_Allreduce "$tmp/libthing.so.1")" "$plain"

# ---- ways in ----

counted ./main local "$tmp/libuser.so"
is 'from memory' "$n $said" "3 2
4
6"
echo '#include <errno.h>
int memfd_create(const char *n, unsigned f); int memfd_create(const char *n, unsigned f) { (void)n; (void)f; errno = ENOSYS; return -1; }' >nomemfd.c
c nomemfd.so -shared nomemfd.c
mkdir tmpdir
counted TMPDIR="$tmp/tmpdir" LD_PRELOAD="$tmp/nomemfd.so:$lib" ./main local "$tmp/libuser.so"
is 'memory refused: from a file' "$n $said" "3 2
4
6"
is 'which is not left' "$(ls tmpdir)" ''
counted TMPDIR="$tmp/none" LD_PRELOAD="$tmp/nomemfd.so:$lib" ./main local "$tmp/libuser.so"
is 'both refused: the job goes on' "$n $(grep -v libprobe: <<<"$said")" "0 2
4
6"
is 'one line reports that no stub can be loaded' "$(grep -c 'libprobe: no stub object can be loaded (memory: .*none.*: No such file' <<<"$said")" 1
if can_mount; then
	mkdir noexec
	mount -t tmpfs -o noexec none noexec
	counted TMPDIR="$tmp/noexec" LD_PRELOAD="$tmp/nomemfd.so:$lib" ./main local "$tmp/libuser.so"
	like 'a folder without execution' "$n $said" '^0 libprobe: no stub object can be loaded.* 2 4 6 ?$'
else
	skip 'a folder without execution' 'nothing can be mounted here'
fi

# ---- names without a path ----

mkdir lp
cp libthing.so.1 lp/
cp libuser.so lp/
echo '#include <dlfcn.h>
#include <stdio.h>
int main(void) { void *h = dlopen("libuser.so", RTLD_NOW); float (*f)(float) = h ? (float (*)(float))dlsym(h, "user_call") : 0;
	if (!f) puts(dlerror()); else printf("%g\n", f(5)); return !f; }' >bare.c
c bare bare.c
counted LD_LIBRARY_PATH="$tmp/lp" ./bare
is 'a library by LD_LIBRARY_PATH' "$n $said" '1 10'
c bare-run bare.c -Wl,--enable-new-dtags,-rpath,'$ORIGIN/lp'
counted ./bare-run
is "by the caller's RUNPATH" "$n $said" '1 10'
c bare-rp bare.c -Wl,--disable-new-dtags,-rpath,'$ORIGIN/lp'
counted ./bare-rp
is 'by RPATH' "$n $said" '1 10'

# ---- in memory ----

cat >maps.c <<-'END'
	#include <dlfcn.h>
	#include <stdio.h>
	#include <string.h>
	int main(int argc, char **argv)
	{
		char line[1024];
		void *h = dlopen(argv[1], RTLD_NOW);
		float (*f)(float) = (float (*)(float))dlsym(h, "user_call");
		int wx = 0, stubs = 0;
		FILE *m;

		for (int i = 0; i < 100; i++)
			f(1);
		m = fopen("/proc/self/maps", "r");
		while (fgets(line, sizeof(line), m)) {
			wx += strstr(line, " rwx") || strstr(line, " -wx");
			stubs += strstr(line, "libprobe-stubs") != NULL;
		}
		printf("%d writable and executable, stubs %s\n", wx, stubs ? "there" : "none");
		return argc < 2;
	}
END
c maps maps.c
new_out
is 'no mapping is writable and executable' "$(PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./maps "$tmp/libuser.so" 2>&1)" '0 writable and executable, stubs there'
is 'the calls of the function are recorded' "$(cat "$out"/*/calls_*.csv | grep -c ",$name,all_reduce,.*,in,")" 100
new_out
is 'where no function is wanted no stub is made' "$(PROBE_CUSTOM_APIS=/dev/null PROBE_LOG_LEVEL=0 PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./maps "$tmp/libuser.so" 2>&1)" \
	'0 writable and executable, stubs none'
ok 'no output folder is created' test ! -e "$out"
echo 'custom: []' >noops.yaml
is 'a function that is not in the list is called straight' "$(PROBE_WRAP_OPS=$tmp/noops.yaml PROBE_LOG_LEVEL=0 PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./main local "$tmp/libuser.so" 2>&1)" "2
4
6"
ok 'the program leaves no output folder' test ! -e "$out"

# ---- several versions, unloading, a storm ----

echo 'int a1(const float *s, float *r, int n, int o); int a1(const float *s, float *r, int n, int o) { (void)o; for (int i = 0; i < n; i++) r[i] = s[i] * 2; return 0; }
int a2(const float *s, float *r, int n, int o); int a2(const float *s, float *r, int n, int o) { (void)o; for (int i = 0; i < n; i++) r[i] = s[i] * 7; return 0; }' >v.c
echo 'V1 { global: acme_allreduce; local: *; };' >v1.map
mkdir versions
cc -shared -fPIC -o versions/libthing.so.1 -x c - -Wl,-soname,libthing.so.1 -Wl,--version-script=v1.map <<<"$(sed 's/a1(/acme_allreduce(/g; 2d' v.c)"
cc -shared -fPIC -DLIB_C -D_GNU_SOURCE -o versions/libuser.so "$src/user.c" versions/libthing.so.1 -Wl,-rpath,'$ORIGIN'
counted ./main local "$tmp/versions/libuser.so"
is 'a name with a version' "$n $said" "3 2
4
6"
{ cat v.c; echo '__asm__(".symver a1, acme_allreduce@V1\n.symver a2, acme_allreduce@@V2");'; } >v2.c
echo 'V1 { global: acme_allreduce; local: *; }; V2 { global: acme_allreduce; } V1;' >v2.map
cc -shared -fPIC -o versions/libthing.so.1 v2.c -Wl,-soname,libthing.so.1 -Wl,--version-script=v2.map
counted ./main local "$tmp/versions/libuser.so"
is 'a name with two versions is left alone' "$n $(grep -v libprobe: <<<"$said")" "0 2
4
6"
like 'a function with several versions is reported' "$said" 'acme_allreduce is not recorded: the library defines several versions of it'

plain=$(./storm 300 "$tmp/libuser.so" "$tmp/libuser2.so" "$tmp/lp/libuser.so" 2>&1)
is 'a storm of loading and unloading' "$plain" '1200 calls, 0 wrong, 0 bad children'
new_out
is 'under the preload' "$(PROBE_OUTPUT_DIR=$out PROBE_LOG_LEVEL=0 LD_PRELOAD=$lib timeout 100 ./storm 300 "$tmp/libuser.so" "$tmp/libuser2.so" "$tmp/lp/libuser.so" 2>&1)" "$plain"

# The lock of the loader's list of objects, which fork() leaves as it was.
c fork_walk "$src/fork_walk.c" -lpthread
plain=$(./fork_walk "$tmp/libuser.so")
is 'forked while another thread walks over the loaded objects' "$plain" 6
counted ./fork_walk "$tmp/libuser.so"
is 'under the preload' "$n $said" "2 $plain"

# Two copies that come and go: a caller of one while the other is being loaded must not be taken for its only user.
c copies_storm "$src/copies_storm.c" -lpthread
for kind in MPI C; do
	for n in 1 2; do
		c libcopy$n-$kind.so -U LIB_C -DLIB_$kind -shared -DFACTOR=$((n + 1)) "$src/lib.c" -Wl,-soname,libcopy$n-$kind.so
		c libcopyuser$n-$kind.so -U LIB_C -DLIB_$kind -shared "$src/user.c" ./libcopy$n-$kind.so -Wl,-rpath,'$ORIGIN'
	done
	plain=$(./copies_storm 4000 ./libcopyuser1-$kind.so ./libcopyuser2-$kind.so 2>&1)
	is "$kind: two copies that come and go" "$plain" $'8 calls, 0 wrong\n48008 calls, 0 wrong'
	new_out
	is "$kind: under the preload" "$(PROBE_OUTPUT_DIR=$out PROBE_LOG_LEVEL=0 LD_PRELOAD=$lib timeout 100 ./copies_storm 4000 ./libcopyuser1-$kind.so ./libcopyuser2-$kind.so 2>&1)" "$plain"
done

# A thread that a constructor waits for must not wait for the loader.
cat >waits.c <<-'END'
	#include <pthread.h>
	#include <stdio.h>
	int acme_allreduce(const float *send, float *recv, int n, int op);
	static void *work(void *arg) { float x = 4; acme_allreduce(&x, arg, 1, 0); return NULL; }
	__attribute__((constructor)) static void start(void)
	{ pthread_t t; float out = 0; pthread_create(&t, NULL, work, &out); pthread_join(t, NULL); printf("%g\n", out); }
	float user_call(float x); float user_call(float x) { return x; }
END
c libwaits.so -shared waits.c ./libthing.so.1 -Wl,-rpath,'$ORIGIN' -lpthread
counted timeout 20 ./main local "$tmp/libwaits.so"
is 'a first call in a thread that a constructor waits for' "$n $said" "1 8
1
2
3"

# ---- the file for LD_PRELOAD ----

c linked -DLINKED "$src/main.c" ./libthing.so.1 -Wl,-rpath,'$ORIGIN'
"$probe" stub -o "$tmp/s.so" ./linked
is 'probe stub' "$?" 0
rm -rf check
mkdir check
PROBE_CHECK=$tmp/check LD_PRELOAD=$lib:$tmp/s.so ./linked needed >/dev/null
is 'in LD_PRELOAD after libprobe.so' "$(hits $name)" 3
LD_PRELOAD=$tmp/s.so ./linked needed >plain.txt
is 'even without it in front' "$?$(cat plain.txt)" "02
4
6"
"$probe" stub -o "$tmp/s2.so" /bin/true 2>err
is 'no stub is written for a program that needs none' "$?$(ls s2.so 2>/dev/null)" 1
like 'the reason is printed' "$(cat err)" 'define no function that needs a stub'
printf '#!/usr/bin/env %s\n' "$tmp/linked" >script
chmod +x script
ok 'of a script its interpreter' "$probe" stub -o "$tmp/s3.so" ./script
mkdir run-tmp
new_out
TMPDIR=$tmp/run-tmp "$probe" run -o "$out" ./linked needed >/dev/null
TMPDIR=$tmp/run-tmp "$probe" run -o "$out" ./linked needed >/dev/null
is 'probe run keeps one file for all runs' "$(ls run-tmp/* | wc -l)" 1
is 'the calls of the function are recorded in rows' "$(cat "$out"/*/calls_*.csv | grep -c ",$name,all_reduce,.*,in,")" 6
chmod 777 run-tmp/*
like 'a folder that others can write is not used' "$(TMPDIR=$tmp/run-tmp "$probe" run -n ./linked 2>&1)" 'libprobe-[0-9]*: a folder that others can write'
finish
