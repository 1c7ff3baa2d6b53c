/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/statistic.h"

#include "terms/dtype.h"

bool find_statistic(
	const struct stats *s, unsigned dtype, uint64_t count, enum train_op op, double *out)
{
	unsigned cls = get_dtype_info(dtype)->cls;

	if (!s->n || (op == TO_ID && count != 1))
		return false;
	switch (op) {
	case TO_MIN:
	case TO_ID:
		*out = stats_value_as_double(cls, s->min);
		break;
	case TO_MAX:
		*out = stats_value_as_double(cls, s->max);
		break;
	case TO_MEAN:
		*out = s->mean;
		break;
	case TO_NORM:
		*out = s->norm;
		break;
	case TO_ZEROS:
		*out = (double)s->zeros / (double)s->n;
		break;
	case TO_NANS:
		*out = (double)s->nans;
		break;
	case TO_INFS:
		*out = (double)s->infs;
		break;
	default:
		return false;
	}
	return true;
}
