/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub objects in use.
 *
 *	dlopen_hook.c  a library is about to be loaded: finds the stubs that it needs
 *	stub_load.c    puts a stub object into the process
 *	stub.c         the first call of each stub, and their rows
 *	stub_file.c    stub objects for libraries that a program loads at start: `probe stub`, `probe run`
 *
 * Locks: the loader's come before libprobe's. The stub lock is held only while a row is made; the loader is not called under it
 * (except dl_iterate_phdr, which no constructor can block). It is taken before session.lock. A forked child initialises it
 * again. The hook of dlopen takes no lock of libprobe at all: two threads that load the same library at once may both make
 * stubs for it; the first object of the global scope then gets all calls.
 */
#ifndef PROBE_ENTRY_STUB_H
#define PROBE_ENTRY_STUB_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "entry/stubs/stub_elf.h"

/* The hook of dlopen: file and mode from the program, pc: its return address. Keeps errno. */
void stub_before_load(const char *file, int mode, uintptr_t pc);

/* Names of functions to be recorded, sorted, each once. */
struct stub_names {
	struct stub_name *item;
	uint32_t n, cap;
	bool failed; /* out of memory: the list is not complete */
};

/* Collects them for the libraries that the program `file` needs, whatever is loaded in this process. */
void stub_collect(struct stub_names *names, const char *program, const char *library_path);
void stub_names_free(struct stub_names *names);

/* Makes a stub object for the names and loads it RTLD_GLOBAL. 0 or -errno (reported). */
int stub_load(const struct stub_names *names);

/* A function with a stub was found in a second library that is being loaded: from now on the caller decides. */
void stub_second(const char *name);

/* The same for all functions that have been called, in a file that was examined at an earlier load. */
struct elf_file;
bool stub_any_in_use(void);
void stub_second_copies(const struct elf_file *f);

/*
 * Whether the calls through the stub of that row are recorded (as initially), or go straight to the real function without cost.
 * Not if they depend on the caller. Any thread.
 */
void stub_watch(struct api *a, bool watch);

/*
 * Call when it may have changed whether rows are wanted: the stubs of rows that have nothing else to do (adapter.idle) then
 * bypass libprobe or lead to it. Any thread, no lock.
 */
void stub_rest_unwanted(void);

/* A library is about to be unloaded: the next call of every stub searches its real function again. */
void stub_forget(void);

/* For `probe check`: calls visit for the row of each stub, which is made if it does not exist yet. */
void stub_each(void (*visit)(struct api *a, void *arg), void *arg);

/* The functions for which no row could be made, by their linker's names. */
void stub_each_without_row(void (*visit)(const char *name, void *arg), void *arg);

/* With PROBE_STUB_FILE and PROBE_STUB_FOR in the environment: writes the stub object for that program into that file. */
void stub_file_write(void);

/* Functions that are wanted, were loaded at program start and have no stub. Reads the files of all loaded objects. */
void stub_each_missed(void (*visit)(const char *name, const char *object, void *arg), void *arg);
void stub_report_missed(void); /* one line, once per process */

/* Objects that were loaded with RTLD_DEEPBIND, as a note for `probe check`: their own calls cannot be intercepted. */
const char *stub_deepbound(void);

#endif
