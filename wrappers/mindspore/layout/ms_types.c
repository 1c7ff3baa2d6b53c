/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of mindspore::TypeId (ir/dtype/type_id.h); newer types are appended after the last. */
#include "terms/dtype.h"
#include "wrappers/mindspore/layout/ms.h"

#define TYPE_ID_FIRST 30

static const uint8_t dtypes[] = {
	[30 - TYPE_ID_FIRST] = DT_BOOL,
	[32 - TYPE_ID_FIRST] = DT_INT8,
	[33 - TYPE_ID_FIRST] = DT_INT16,
	[34 - TYPE_ID_FIRST] = DT_INT32,
	[35 - TYPE_ID_FIRST] = DT_INT64,
	[37 - TYPE_ID_FIRST] = DT_UINT8,
	[38 - TYPE_ID_FIRST] = DT_UINT16,
	[39 - TYPE_ID_FIRST] = DT_UINT32,
	[40 - TYPE_ID_FIRST] = DT_UINT64,
	[42 - TYPE_ID_FIRST] = DT_FLOAT16,
	[43 - TYPE_ID_FIRST] = DT_FLOAT32,
	[44 - TYPE_ID_FIRST] = DT_FLOAT64,
	[45 - TYPE_ID_FIRST] = DT_BFLOAT16,
	[46 - TYPE_ID_FIRST] = DT_FLOAT8_E4M3FN,
	[47 - TYPE_ID_FIRST] = DT_FLOAT8_E5M2,
	[51 - TYPE_ID_FIRST] = DT_COMPLEX64,
	[52 - TYPE_ID_FIRST] = DT_COMPLEX128,
};

uint8_t ms_get_dtype(int64_t type_id)
{
	uint64_t i = (uint64_t)type_id - TYPE_ID_FIRST;

	return i < sizeof(dtypes) ? dtypes[i] : DT_OTHER;
}
