#!/usr/bin/env bash
# Programs of another C library under the preload: they start, run and end as without it, unrecorded, and `probe check`
# says why. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

command -v musl-gcc >/dev/null || { skip 'musl' 'musl-gcc is not installed'; finish; }
cat >"$tmp/say.c" <<-'END'
	#include <dlfcn.h>
	#include <errno.h>
	#include <pthread.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <sys/wait.h>
	#include <unistd.h>
	int MPI_Allreduce(const void *a, void *b, int n, void *d, void *o, void *c);
	static void *work(void *arg) { return malloc(100) ? arg : NULL; }
	static void bye(void) { puts("bye"); fflush(stdout); }
	__attribute__((constructor)) static void early(void)
	{
		printf("early %d %d\n", dlopen(NULL, RTLD_NOW) != NULL, dlsym(RTLD_DEFAULT, "MPI_Barrier") != NULL);
	}
	int main(int argc, char **argv)
	{
		char *args[] = {"sh", "-c", "exit 3", NULL};
		void *thing = dlopen(argc > 1 ? argv[1] : NULL, RTLD_NOW), *value;
		int (*f)(int) = thing ? dlsym(thing, "thing") : NULL, status = -1;
		pthread_t t;
		printf("%d %d %d %d\n", thing != NULL, f ? f(20) : -1, dlsym(RTLD_NEXT, "puts") != NULL, dlsym(thing, "none") != NULL);
		printf("%d %d\n", dlsym(RTLD_DEFAULT, "MPI_Barrier") != NULL, dlsym(dlopen(NULL, RTLD_NOW), "MPI_Barrier") != NULL);
		pthread_create(&t, NULL, work, &t);
		pthread_join(t, &value);
		printf("%d %d\n", value != NULL, dlclose(thing));
		fflush(stdout);
		for (int how = 0; how < 3; how++) {
			if (fork() == 0) {
				if (how == 0)
					execvp(args[0], args);
				if (how == 1)
					execl("/bin/sh", "sh", "-c", "exit 3", NULL);
				_exit(3);
			}
			wait(&status);
			printf("0x%x\n", status);
			fflush(stdout);
		}
	#ifdef CALLS
		printf("%d\n", MPI_Allreduce(NULL, NULL, 7, NULL, NULL, NULL));
	#endif
		atexit(bye);
		return 7;
	}
END
echo 'int thing(int n) { return 2 * n; }' >"$tmp/thing.c"
echo 'int MPI_Allreduce(const void *a, void *b, int n, void *d, void *o, void *c) { return 6 * n; }' >"$tmp/mpi.c"
musl-gcc -w -o "$tmp/say" "$tmp/say.c" && musl-gcc -shared -fPIC -o "$tmp/thing.so" "$tmp/thing.c" &&
	musl-gcc -w -shared -fPIC -o "$tmp/libmpi.so" "$tmp/mpi.c" &&
	musl-gcc -w -DCALLS -o "$tmp/calls" "$tmp/say.c" "$tmp/libmpi.so" || { fail 'the programs compile'; finish; }

for what in say calls; do
	rm -rf "$tmp/out"
	"$tmp/$what" "$tmp/thing.so" >"$tmp/plain" 2>&1
	is "$what: without us" "$? $(tail -n 1 "$tmp/plain")" '7 bye'
	LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$tmp/out "$tmp/$what" "$tmp/thing.so" >"$tmp/with" 2>&1
	is "$what: status" $? 7
	is "$what: the same output" "$(diff "$tmp/plain" "$tmp/with")" ''
	is "$what: nothing is written" "$(ls -A "$tmp/out" 2>&1 | grep -c 'No such file')" 1
	PROBE_LIBRARY=$lib "$probe" run -o "$tmp/out" "$tmp/$what" "$tmp/thing.so" >"$tmp/with" 2>"$tmp/with.err"
	is "$what: \`probe run\`: status" $? 7
	is "$what: \`probe run\`: the same output" "$(diff "$tmp/plain" "$tmp/with")" ''
	like "$what: \`probe run\` says so" "$(cat "$tmp/with.err")" 'will have no effect: .*musl'
	said=$(PROBE_LIBRARY=$lib "$probe" check "$tmp/$what" "$tmp/thing.so" 2>&1)
	is "$what: \`probe check\`: status" $? 1
	like "$what: \`probe check\` says so" "$said" "$tmp/$what: it is linked against musl.*glibc"
done

# Nothing that musl lacks is needed to start. Its loader finds lseek64, which zlib of Debian 13 needs, under the name lseek.
libc=$(ls /lib/ld-musl-*.so.1 | head -1)
is 'symbols that libprobe.so needs are weak, or musl has them' "$(comm -23 <(nm -D --undefined-only "$lib" |
	awk '$1 == "U" {sub("@.*", "", $2); sub("^lseek64$", "lseek", $2); print $2}' | sort -u) <(nm -D --defined-only "$libc" | awk '{print $3}' | sort -u))" ''
finish
