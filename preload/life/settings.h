/* SPDX-License-Identifier: Apache-2.0 */
/* The settings at a run's start, for comparing two runs: environment, Python packages, seeds. */
#ifndef PROBE_LIFE_SETTINGS_H
#define PROBE_LIFE_SETTINGS_H

/*
 * Writes these parts of meta.json at the first recorded call. Called with session.lock held, so
 * it reads no folder.
 */
void write_settings(void);

/* The hook session_hooks.describe_late: Python's packages, whose folders may be on a slow file server. */
void life_describe_late(void);

/* In a forked child. */
void settings_forked(void);

#endif
