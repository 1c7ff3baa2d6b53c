/* SPDX-License-Identifier: Apache-2.0 */
/* What a run began with, for who compares two: environment, Python packages, seeds. */
#ifndef PROBE_LIFE_SETTINGS_H
#define PROBE_LIFE_SETTINGS_H

/* Parts of meta.json, at the first recorded call. With session.lock held. */
void put_settings(void);

#endif
