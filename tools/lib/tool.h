/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Used by all verbs of the probe command: exit status, messages, memory. Unlike the library, the
 * command may print, and it ends if memory runs out.
 */
#ifndef PROBE_TOOLS_LIB_TOOL_H
#define PROBE_TOOLS_LIB_TOOL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit status of every verb. */
enum { STATUS_DONE = 0, STATUS_PROBLEM = 1, STATUS_USAGE = 2 };

/* The verbs. argv[0] is the name of the verb. Each returns the exit status. */
int verb_run(int argc, char **argv);
int verb_check(int argc, char **argv);
int verb_stub(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_recover(int argc, char **argv);
int verb_config(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_ckpt(int argc, char **argv);
int verb_analyze(int argc, char **argv);
int verb_watch(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_serve(int argc, char **argv);
int verb_ctl(int argc, char **argv);
int verb_columns(int argc, char **argv);
int verb_csv(int argc, char **argv);
int verb_names(int argc, char **argv);
int verb_compare(int argc, char **argv);
int verb_sql(int argc, char **argv);
int verb_bundle(int argc, char **argv);

/* Print one line on stderr that begins with "probe: ": what failed, on what, what to do. */
void tool_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tool_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Never return NULL: if memory runs out, the command ends with status 2. Memory from tool_alloc()
 * is zero.
 */
void *tool_alloc(size_t bytes);
void *tool_realloc(void *p, size_t bytes);
char *tool_strdup(const char *s);
char *tool_strndup(const char *s, size_t n);
char *tool_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Adds formatted text at the end of *text, which is malloc'd, or NULL for "". The second adds the
 * separator first, unless *text is empty.
 */
void tool_add_text(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tool_add_item(char **text, const char *separator, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Makes sure that the array has memory for one more element. cap: its capacity, which doubles if
 * necessary.
 */
#define TOOL_GROW(array, n, cap) \
	((n) < (cap) ? (void)0   \
		     : (void)((array) = tool_grow_array((array), &(cap), sizeof(*(array)))))
void *tool_grow_array(void *array, unsigned *cap, size_t element);

/* Returns the time of CLOCK_MONOTONIC in seconds. */
double read_monotonic_s(void);

/* Returns the path of the running command with links resolved, or "" if it is not known. */
const char *tool_get_own_path(void);

/* Makes the path absolute with the working directory; malloc'd. */
char *tool_get_absolute_path(const char *path);

/* Removes a folder and the files in it, as far as possible. Does not remove files whose names begin with a dot. */
void tool_remove_folder(const char *path);

/* Flushes stdout. Returns `status`, or 2 (reported) if the output could not be written. */
int tool_close_output(int status);

#endif
