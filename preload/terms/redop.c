/* SPDX-License-Identifier: Apache-2.0 */
#include "terms/redop.h"

const char *const redop_name[REDOP_COUNT] = {
	[REDOP_NONE] = "",
	[REDOP_SUM] = "sum",
	[REDOP_PROD] = "prod",
	[REDOP_MIN] = "min",
	[REDOP_MAX] = "max",
	[REDOP_AVG] = "avg",
	[REDOP_LAND] = "land",
	[REDOP_LOR] = "lor",
	[REDOP_LXOR] = "lxor",
	[REDOP_BAND] = "band",
	[REDOP_BOR] = "bor",
	[REDOP_BXOR] = "bxor",
	[REDOP_MINLOC] = "minloc",
	[REDOP_MAXLOC] = "maxloc",
	[REDOP_REPLACE] = "replace",
	[REDOP_USER] = "user",
};
