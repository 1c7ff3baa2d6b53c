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

/*
 * Called by the hook of dlopen. file, mode: the program's arguments; pc: its return address.
 * Keeps errno.
 */
void stub_before_load(const char *file, int mode, uintptr_t pc);

/* Names of functions to be recorded, sorted and unique. */
struct stub_names {
	struct stub_name *item;
	uint32_t n, cap;
	bool failed; /* out of memory: the list is not complete */
};

/*
 * Collects the names for the libraries that the program file `program` needs, whatever is loaded
 * in this process.
 */
void stub_collect(struct stub_names *names, const char *program, const char *library_path);
void stub_names_free(struct stub_names *names);

/* Makes a stub object for the names and loads it RTLD_GLOBAL. Returns 0 or -errno (reported). */
int stub_load(const struct stub_names *names);

/*
 * A second library that is being loaded defines a function that has a stub: from now on the real
 * function depends on the caller.
 */
void stub_second(const char *name);

/*
 * Calls stub_second() for all functions of a file that have been called; the file was examined at
 * an earlier load.
 */
struct elf_file;
bool stub_any_in_use(void);
void stub_second_copies(const struct elf_file *f);

/*
 * Sets whether calls through the row's stub are recorded (as initially), or go straight to the
 * real function without cost. No effect if the real function depends on the caller. Any thread.
 */
void stub_watch(struct api *a, bool watch);

/*
 * To be called when it may have changed whether rows are wanted. Stubs of rows that have nothing
 * else to do (adapter.idle) then bypass libprobe, or lead to it again. Any thread, no lock.
 */
void stub_rest_unwanted(void);

/*
 * To be called when a library is about to be unloaded: the next call of every stub searches for
 * its real function again.
 */
void stub_forget(void);

/* For `probe check`: calls visit() for the row of each stub; makes the row if necessary. */
void stub_each(void (*visit)(struct api *a, void *arg), void *arg);

/* Calls visit() for each function for which no row could be made; name: the linker's. */
void stub_each_without_row(void (*visit)(const char *name, void *arg), void *arg);

/*
 * If PROBE_STUB_FILE and PROBE_STUB_FOR are in the environment: writes the stub object for
 * program PROBE_STUB_FOR into file PROBE_STUB_FILE.
 */
void stub_file_write(void);

/*
 * Calls visit() for each wanted function that was loaded at program start and has no stub. Reads
 * the files of all loaded objects.
 */
void stub_each_missed(void (*visit)(const char *name, const char *object, void *arg), void *arg);
void stub_report_missed(void); /* one line, once per process */

/*
 * Returns a note for `probe check` about objects loaded with RTLD_DEEPBIND, whose own calls
 * cannot be intercepted.
 */
const char *stub_deepbound(void);

#endif
