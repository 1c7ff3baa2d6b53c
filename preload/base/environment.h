/* SPDX-License-Identifier: Apache-2.0 */
/* libprobe's environment variables and the working directory, as they were at process start. */
#ifndef PROBE_BASE_ENVIRONMENT_H
#define PROBE_BASE_ENVIRONMENT_H

/* Copies both into static memory. Call in the constructor. */
void startup_remember(void);

/* libprobe's variables at process start: "NAME=value" strings, NULL-terminated. */
char *const *startup_env(void);
const char *startup_cwd(void);

#endif
