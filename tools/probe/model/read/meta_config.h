/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_READ_META_CONFIG_H
#define PROBE_TOOLS_PROBE_READ_META_CONFIG_H

/*
 * Returns the object "config" of the folder's meta.json as JSON text, malloc'd, or NULL if there is
 * none.
 */
char *meta_read_config(const char *folder);

#endif
