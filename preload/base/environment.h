/* SPDX-License-Identifier: Apache-2.0 */
/* What the process had at its start: environment variables of ours, and the working directory. */
#ifndef PROBE_BASE_ENVIRONMENT_H
#define PROBE_BASE_ENVIRONMENT_H

/* To be called in the constructor: reads both, into static memory. */
void startup_remember(void);

/* Environment as it was at process start: "NAME=value" strings of our own variables, NULL-terminated. */
char *const *startup_env(void);
const char *startup_cwd(void);

#endif
