/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks: walking the calling thread, the program's modules, and names for addresses.
 *
 * A walk goes from frame to frame by the call frame information of the code (.eh_frame), which also holds where code
 * was built without frame pointers; by frame pointers where there is none. A frame pointer chain alone would skip
 * callers of code built without them and not show it. What a walk has read is kept per thread with its result: the
 * next walk from the same place reads the same words again, and if they are unchanged so is the stack (cache.h).
 * No allocation, no dl* call but dl_iterate_phdr where an address is seen for the first time.
 */
#ifndef PROBE_STACK_STACK_H
#define PROBE_STACK_STACK_H

#include <stddef.h>
#include <stdint.h>

#define STACK_DEPTH_MAX 128

/*
 * The memory of a thread's stack that can be read without asking: [lo, hi); it may grow down to `floor`, and walks
 * lower lo as it does. hi == 0: not known; every page is then asked for (0.1 us each).
 */
struct stack_bounds {
	uintptr_t lo, hi, floor;
};

/*
 * Finds the bounds of the calling thread's stack; *b is all zero where they cannot be found. May allocate and read
 * /proc: call once per thread. Walks outside of them (fibers, alternate signal stacks) work and cost more.
 */
void stack_bounds_init(struct stack_bounds *b);

/*
 * One thread's memory of its walks: 256 KiB of address space, of which as much is used as there are different stacks;
 * the oldest are forgotten. Not shared between threads. A signal handler may walk in the middle of a walk.
 */
struct stack_cache;

/* NULL if there is no memory: stack_walk() takes that, and is slower. */
struct stack_cache *stack_cache_new(void);
void stack_cache_free(struct stack_cache *c);

/*
 * Return addresses of the callers, innermost first, starting with the code that called the wrapper: `pc` is the
 * wrapper's own return address (its first entry) and `fp` its frame address (__builtin_frame_address(0)). The wrapper
 * and what lies between it and stack_walk() must keep frame pointers and must not realign the stack.
 * Returns their number, at most max (1..STACK_DEPTH_MAX); never 0 when max > 0. Frames that a signal interrupted
 * stand with the interrupted address itself. A stack that cannot be followed to its end is cut there, not guessed.
 * Keeps errno; never faults, whatever the stack and the modules' tables hold.
 */
int stack_walk(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max);

/*
 * Is there a frame up from the wrapper (pc, fp: as above) that returns by way of the word at `slot`, up the same stack?
 * 1: there is; 0: there is none, the walk has gone past it; -1: it did not come that far.
 */
int stack_returns_by(const struct stack_bounds *b, struct stack_cache *c, uintptr_t pc,
	uintptr_t fp, uintptr_t slot);

/*
 * The program's modules (executable and shared objects) at one moment.
 */
#define MODULE_PATH_MAX 512
#define BUILD_ID_MAX 20

struct module {
	uint64_t lo, hi; /* address range of its load segments, hi exclusive */
	uint64_t bias; /* added to the file's virtual addresses */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: has none */
	char path[MODULE_PATH_MAX]; /* the executable's is resolved; "[vdso]" for the vdso */
};

/*
 * Calls fn for each module. Uses dl_iterate_phdr only; fn must not call the dynamic loader.
 * modules_generation() changes whenever a module was loaded or unloaded since the last look.
 */
void modules_each(void (*fn)(void *arg, const struct module *m), void *arg);
uint64_t modules_generation(void);

/*
 * Names for addresses, read from the modules' files (.symtab, else .dynsym). Used on the writer thread and by the
 * tools, never on a thread of the job. Memory is bounded by `limit_bytes`; over it the largest tables are dropped.
 */
struct symbols;

struct symbols *symbols_new(size_t limit_bytes);
void symbols_free(struct symbols *s);

/*
 * C++ names are written as they stand in the file unless there is somebody to write them readably: fn puts the
 * readable form of `name` into buf and returns its length, or -1 if it is no name of its kind.
 */
void symbols_set_demangler(struct symbols *s, int (*fn)(const char *name, char *buf, size_t cap));

/* Where files with separate symbols lie, <dir>/.build-id/xx/yyyy.debug; default /usr/lib/debug. dir must live on. */
void symbols_set_debug_dir(struct symbols *s, const char *dir);

/* Tells of a module; it replaces those that it overlaps. Copies *m. */
void symbols_add_module(struct symbols *s, const struct module *m);

/*
 * Writes "module!function+0x1f" for the return address pc (module: base name of the path; function: as in the symbol
 * table; the call instruction decides, so pc - 1 is looked up), "module+0x1234" (the address in the file, as addr2line
 * takes it) when no symbol covers it, "0x7f..." when no module does. Returns the length as snprintf does. A file whose
 * build id differs from the module's is not used for names.
 */
int symbols_name(struct symbols *s, uint64_t pc, char *buf, size_t cap);

#endif
