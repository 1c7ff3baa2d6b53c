/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction operations; every library's own enum is mapped to them. The names are used in column `redop`. */
#ifndef PROBE_BASE_REDOP_H
#define PROBE_BASE_REDOP_H

enum redop {
	REDOP_NONE,
	REDOP_SUM,
	REDOP_PROD,
	REDOP_MIN,
	REDOP_MAX,
	REDOP_AVG,
	REDOP_LAND,
	REDOP_LOR,
	REDOP_LXOR,
	REDOP_BAND,
	REDOP_BOR,
	REDOP_BXOR,
	REDOP_MINLOC,
	REDOP_MAXLOC,
	REDOP_REPLACE,
	REDOP_USER,
	REDOP_COUNT
};

extern const char *const redop_name[REDOP_COUNT]; /* "" for REDOP_NONE */

#endif
