/* SPDX-License-Identifier: Apache-2.0 */
/* libprobe's environment variables and the working directory, as they were at process start. */
#ifndef PROBE_BASE_ENVIRONMENT_H
#define PROBE_BASE_ENVIRONMENT_H

/* Copies both into static memory. Call in the constructor. */
void startup_copy_environment(void);

/* libprobe's variables at process start: "NAME=value" strings, NULL-terminated. */
char *const *startup_get_environment(void);
const char *startup_get_cwd(void);

/* Returns the value of one of these variables, or NULL if it is not set or empty. */
const char *startup_find_variable(const char *name);

#endif
