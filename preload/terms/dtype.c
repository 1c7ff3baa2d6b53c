/* SPDX-License-Identifier: Apache-2.0 */
#include "terms/dtype.h"

#include <errno.h>
#include <string.h>

const struct dtype_info dtype_table[DT_COUNT] = {
	[DT_OTHER] = {"other", 0, DTC_NONE, DT_OTHER, 0},
	[DT_BOOL] = {"bool", 1, DTC_UNSIGNED, DT_BOOL, 0},
	[DT_INT8] = {"int8", 1, DTC_SIGNED, DT_INT8, 0},
	[DT_INT16] = {"int16", 2, DTC_SIGNED, DT_INT16, 0},
	[DT_INT32] = {"int32", 4, DTC_SIGNED, DT_INT32, 0},
	[DT_INT64] = {"int64", 8, DTC_SIGNED, DT_INT64, 1},
	[DT_UINT8] = {"uint8", 1, DTC_UNSIGNED, DT_UINT8, 0},
	[DT_UINT16] = {"uint16", 2, DTC_UNSIGNED, DT_UINT16, 0},
	[DT_UINT32] = {"uint32", 4, DTC_UNSIGNED, DT_UINT32, 0},
	[DT_UINT64] = {"uint64", 8, DTC_UNSIGNED, DT_UINT64, 1},
	[DT_FLOAT8_E4M3FN] = {"float8_e4m3fn", 1, DTC_FLOAT, DT_FLOAT8_E4M3FN, 0},
	[DT_FLOAT8_E5M2] = {"float8_e5m2", 1, DTC_FLOAT, DT_FLOAT8_E5M2, 0},
	[DT_BFLOAT16] = {"bfloat16", 2, DTC_FLOAT, DT_BFLOAT16, 0},
	[DT_FLOAT16] = {"float16", 2, DTC_FLOAT, DT_FLOAT16, 0},
	[DT_FLOAT32] = {"float32", 4, DTC_FLOAT, DT_FLOAT32, 0},
	[DT_FLOAT64] = {"float64", 8, DTC_FLOAT, DT_FLOAT64, 1},
	[DT_COMPLEX64] = {"complex64", 8, DTC_FLOAT, DT_FLOAT32, 0},
	[DT_COMPLEX128] = {"complex128", 16, DTC_FLOAT, DT_FLOAT64, 1},
	[DT_FLOAT8_E8M0FNU] = {"float8_e8m0fnu", 1, DTC_FLOAT, DT_FLOAT8_E8M0FNU, 0},
	[DT_FLOAT8_E4M3FNUZ] = {"float8_e4m3fnuz", 1, DTC_FLOAT, DT_FLOAT8_E4M3FNUZ, 0},
	[DT_FLOAT8_E5M2FNUZ] = {"float8_e5m2fnuz", 1, DTC_FLOAT, DT_FLOAT8_E5M2FNUZ, 0},
	[DT_FLOAT4_E2M1FN_X2] = {"float4_e2m1fn_x2", 1, DTC_FLOAT, DT_OTHER, 0},
};

int dtype_from_name(const char *name)
{
	for (int i = 0; i < DT_COUNT; i++)
		if (strcmp(dtype_table[i].name, name) == 0)
			return i;
	return -ENOENT;
}
