#!/usr/bin/env bash
# UCX 1.14.1 and 1.16.0 (PyPI libucx-cu12): mremap() with MREMAP_FIXED in a process in which UCX watches memory.
#
# Question: a program asks the kernel to move a page to a given place. Is it there after UCX has put its own mremap before that of
#           the C library (ucm, to know when registered memory goes away)?
# Guess:    yes: a hook hands all arguments on.
# Real:     up to 1.14 the hook takes four arguments and drops the fifth, the place. The kernel is asked for address 0: as root the
#           page lies there, another user gets an error. 1.16 hands it on. Debian 12's MPICH uses UCX 1.13.1, with the same outcome.
# Matters:  who uses mremap(MREMAP_FIXED) in an MPI job (allocators, tools beside the job) works without UCX and not with it. A raw
#           system call is not hooked.
. "$(dirname "$0")/lib.sh"
cat >"$work/move.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void ignore(int event, void *what, void *arg) { (void)event, (void)what, (void)arg; }
static void *map(void) { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void move(const char *how, int raw)
{
	char *from = map(), *to = map(), *is;
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	is = raw ? (void *)syscall(SYS_mremap, from, 4096, 4096, flags, to) : mremap(from, 4096, 4096, flags, to);
	printf("%s: %s\n", how, is == to ? "at the place asked for" : "not at the place asked for");
}
int main(int argc, char **argv)
{
	move("before UCX is loaded", 0);
	void *ucp = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*watch)(int, int, void (*)(int, void *, void *), void *) = ucp ? dlsym(ucp, "ucm_set_event_handler") : NULL;
	if (!watch || watch(1 << 16 | 1 << 17, 1000, ignore, NULL)) /* UCM_EVENT_VM_MAPPED and _UNMAPPED */
		return puts("UCX cannot watch"), 2;
	move("UCX watches", 0);
	move("UCX watches, system call", 1);
	return 0;
}
C
cc -o "$work/move" "$work/move.c" -ldl || exit 2
for version in 1.14.1.post2 1.16.0.post2; do
	environment ucx "libucx-cu12==$version"
	ucp=$(find "$(dirname "$python")/.." -name libucp.so.0 | head -1)
	echo "UCX $version" >>"$work/seen"
	LD_LIBRARY_PATH=$(dirname "$ucp") "$work/move" "$ucp" >>"$work/seen" 2>"$work/errors" || { cat "$work/errors"; exit 2; }
done
expect_output "$work/seen" <<'S'
UCX 1.14.1.post2
before UCX is loaded: at the place asked for
UCX watches: not at the place asked for
UCX watches, system call: at the place asked for
UCX 1.16.0.post2
before UCX is loaded: at the place asked for
UCX watches: at the place asked for
UCX watches, system call: at the place asked for
S
