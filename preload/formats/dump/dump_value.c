/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "config/rooms/dump.h"
#include "terms/redop.h"
#include "text/text.h"

static void write_extreme_value(
	struct dump_json *j, const struct dtype_info *d, union stats_value v)
{
	if (d->cls == DTC_SIGNED)
		dump_write_json_i64(j, v.i);
	else if (d->cls == DTC_UNSIGNED)
		dump_write_json_u64(j, v.u);
	else
		dump_write_json_float(j, v.f, 17);
}

/*
 * Rounds like msprobe, which computes means and norms in the tensor's own type: its `compare`
 * warns about an output that differs in the last digit if the input does not differ. Values
 * beyond the range of the type are not rounded, instead of becoming infinity.
 */
static double compute_rounded_value(double v, enum dtype dt)
{
	unsigned drop = dt == DT_BFLOAT16 ? 16 : dt == DT_FLOAT16 ? 13 : 0;
	float f = (float)v, least = dt == DT_FLOAT16 ? 0x1p-14f : 0x1p-126f,
	      most = dt == DT_FLOAT16 ? 65504 : 3.3e38f;
	uint32_t bits;

	if (!(fabs(v) < (double)most) || (dt != DT_FLOAT32 && !drop))
		return v;
	if (drop && !(fabsf(f) < least)) {
		memcpy(&bits, &f, 4);
		/* Rounds to nearest, ties to even. */
		bits += (1u << (drop - 1)) - 1 + (bits >> drop & 1);
		bits &= ~((1u << drop) - 1);
		memcpy(&f, &bits, 4);
	}
	return (double)f;
}

/* The statistics that msprobe has for a type. */
enum shown { SHOWN_NONE, SHOWN_RANGE, SHOWN_BOOL, SHOWN_ALL };

static enum shown get_shown_statistics(const struct journal_tensor *t, bool scalar)
{
	switch (t->dtype) {
	case DT_BOOL:
		return SHOWN_BOOL;
	case DT_BFLOAT16:
	case DT_FLOAT16:
	case DT_FLOAT32:
		return SHOWN_ALL;
	case DT_OTHER:
	case DT_COMPLEX64:
	case DT_COMPLEX128:
	case DT_FLOAT8_E4M3FN:
	case DT_FLOAT8_E5M2:
	case DT_FLOAT8_E8M0FNU:
	case DT_FLOAT8_E4M3FNUZ:
	case DT_FLOAT8_E5M2FNUZ:
	case DT_FLOAT4_E2M1FN_X2:
		return SHOWN_NONE;
	default:
		return scalar ? SHOWN_ALL : SHOWN_RANGE;
	}
}

static void write_four(struct dump_json *j, const struct journal_tensor *t, bool blank)
{
	const struct dtype_info *d = get_dtype_info(t->dtype);
	const struct stats *s = &t->stats;
	bool scalar = t->ndim == 0, measured = s->n && !blank;
	enum shown shown = measured ? get_shown_statistics(t, scalar) : SHOWN_NONE;

	dump_write_json_raw(j, ", \"Max\": ");
	if (shown == SHOWN_NONE)
		dump_write_json_raw(j, "null, \"Min\": null, \"Mean\": null, \"Norm\": null");
	else if (shown == SHOWN_BOOL) {
		dump_write_json_raw(j, s->max.u ? "true" : "false");
		dump_write_json_raw(j, ", \"Min\": ");
		dump_write_json_raw(j, s->min.u ? "true" : "false");
		dump_write_json_raw(j, ", \"Mean\": null, \"Norm\": null");
	} else if (s->nans) {
		/* As in msprobe, one NaN makes all statistics NaN. */
		dump_write_json_raw(j,
			shown == SHOWN_ALL ? "NaN, \"Min\": NaN, \"Mean\": NaN, \"Norm\": NaN"
					   : "NaN, \"Min\": NaN, \"Mean\": null, \"Norm\": null");
	} else {
		write_extreme_value(j, d, s->max);
		dump_write_json_raw(j, ", \"Min\": ");
		write_extreme_value(j, d, s->min);
		dump_write_json_raw(j, ", \"Mean\": ");
		if (shown != SHOWN_ALL) {
			dump_write_json_raw(j, "null, \"Norm\": null");
		} else if (scalar) {
			/* For a scalar, all four statistics are its value. */
			write_extreme_value(j, d, s->max);
			dump_write_json_raw(j, ", \"Norm\": ");
			write_extreme_value(j, d, s->max);
		} else {
			dump_write_json_float(j, compute_rounded_value(s->mean, t->dtype), 17);
			dump_write_json_raw(j, ", \"Norm\": ");
			dump_write_json_float(j, compute_rounded_value(s->norm, t->dtype), 17);
		}
	}
}

static void write_tensor_shape(struct dump_json *j, const struct journal_tensor *t)
{
	const uint64_t *dims = (const uint64_t *)(t + 1);

	dump_write_json_raw(j, ", \"shape\": [");
	if (t->ndim == JOURNAL_NDIM_NONE)
		dump_write_json_u64(j, t->count);
	for (unsigned i = 0; t->ndim != JOURNAL_NDIM_NONE && i < t->ndim; i++) {
		if (i)
			dump_write_json_raw(j, ", ");
		dump_write_json_u64(j, dims[i]);
	}
	dump_write_json_raw(j, "]");
}

/* Writes a numeric argument; None, and other values, are written as null. */
static void write_argument_number(struct dump_json *j, const struct journal_tensor *t)
{
	if (!t->count || !t->stats.n) {
		dump_write_json_raw(j, "null");
	} else if (t->dtype == DT_BOOL) {
		dump_write_bool(j, t->stats.max.u);
	} else if (t->dtype == DT_INT64) {
		dump_write_int(j, t->stats.max.i);
	} else {
		dump_write_json_raw(j, "{\"type\": \"float\", \"value\": ");
		dump_write_json_float(j, t->stats.nans ? NAN : t->stats.max.f, 17);
		dump_write_json_raw(j, "}");
	}
}

/*
 * PyTorch makes a tensor without dimensions from a number: float64 from a float, int64 from an
 * int. If the call has a tensor of another type, such a tensor is taken for a number; an int only
 * for arithmetic operators, because an index may have no dimensions either.
 */
bool dump_is_number(const struct staged_call *c, const struct journal_tensor *t)
{
	static const char computing[][16] = {"add", "sub", "rsub", "mul", "div", "pow", "eq", "ne",
		"lt", "le", "gt", "ge", "remainder", "fmod", "floor_divide"};
	bool computes = false;

	if (t->io != IO_IN || t->ndim != 0 || !t->stats.n || !(t->arg & TENSOR_NO_GRAD) ||
		TENSOR_IS_VALUE(t->arg) || strcmp(c->lib, "aten") != 0 ||
		(t->dtype != DT_FLOAT64 && t->dtype != DT_INT64))
		return false;
	for (unsigned i = 0; i < sizeof(computing) / sizeof(*computing); i++)
		computes |= strncmp(c->op, computing[i], strlen(computing[i])) == 0 &&
			    strcmp(c->op + strlen(computing[i]), ".Tensor") == 0;
	if (t->dtype == DT_INT64 && !computes)
		return false;
	for (unsigned i = 0; i < c->n; i++) {
		const struct journal_tensor *o = c->tensor[i];

		if (o->io == IO_IN && o != t && o->ndim != JOURNAL_NDIM_NONE &&
			!TENSOR_IS_VALUE(o->arg) && o->dtype != t->dtype &&
			get_dtype_info(o->dtype)->cls == DTC_FLOAT)
			return true;
	}
	return false;
}

void dump_write_number(struct dump_json *j, const struct journal_tensor *t)
{
	write_argument_number(j, t);
}

/* Writes the type as the framework's str() prints it: torch.float32, Float32. */
static void write_tensor_type(struct dump_json *j, const struct journal_tensor *t)
{
	static const char names[DT_COUNT][16] = {[DT_BOOL] = "Bool",
		[DT_INT8] = "Int8",
		[DT_INT16] = "Int16",
		[DT_INT32] = "Int32",
		[DT_INT64] = "Int64",
		[DT_UINT8] = "UInt8",
		[DT_UINT16] = "UInt16",
		[DT_UINT32] = "UInt32",
		[DT_UINT64] = "UInt64",
		[DT_FLOAT8_E4M3FN] = "Float8E4M3FN",
		[DT_FLOAT8_E5M2] = "Float8E5M2",
		[DT_BFLOAT16] = "BFloat16",
		[DT_FLOAT16] = "Float16",
		[DT_FLOAT32] = "Float32",
		[DT_FLOAT64] = "Float64",
		[DT_COMPLEX64] = "Complex64",
		[DT_COMPLEX128] = "Complex128"};

	dump_write_json_raw(j, j->mindspore ? "{\"type\": \"mindspore.Tensor\", \"dtype\": \""
					    : "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.");
	dump_write_json_raw(j, j->mindspore && t->dtype < DT_COUNT && names[t->dtype][0]
				       ? names[t->dtype]
				       : get_dtype_info(t->dtype)->name);
	dump_write_json_raw(j, "\"");
}

/*
 * True if a checksum is written. An empty tensor is not measured, but the CRC-32 of no bytes is
 * known: 0. msprobe writes it too, but no XOR.
 */
static bool has_checksum(const struct config *cfg, const struct journal_tensor *t)
{
	switch (get_dump_keys(cfg)->summary_mode) {
	case SUMMARY_XOR:
		return t->flags & TF_XOR;
	case SUMMARY_MD5:
		return t->flags & TF_CRC || !t->count;
	default:
		return t->flags & TF_CRC;
	}
}

void dump_write_tensor(struct dump_json *j, const struct config *cfg,
	const struct journal_tensor *t, bool blank, const char *data_name)
{
	const struct dump_keys *keys = get_dump_keys(cfg);
	char sum[24];

	if (t->ndim != JOURNAL_NDIM_NONE && TENSOR_IS_VALUE(t->arg)) {
		write_argument_number(j, t);
		return;
	}
	write_tensor_type(j, t);
	write_tensor_shape(j, t);
	if (keys->summary_mode != SUMMARY_XOR)
		write_four(j, t, blank);
	if (t->ndim != JOURNAL_NDIM_NONE && t->arg & (TENSOR_GRAD | TENSOR_NO_GRAD))
		dump_write_json_raw(j, t->arg & TENSOR_GRAD ? ", \"requires_grad\": true"
							    : ", \"requires_grad\": false");
	if (has_checksum(cfg, t) && !blank) {
		if (keys->summary_mode == SUMMARY_XOR)
			snprintf(sum, sizeof(sum), "0x%016llx", (unsigned long long)t->stats.min.u);
		else
			snprintf(sum, sizeof(sum), "%08x", t->count ? t->crc : 0);
		dump_write_json_raw(j, ", \"md5\": \"");
		dump_write_json_raw(j, sum);
		dump_write_json_raw(j, "\"");
	}
	if (data_name && *data_name) {
		dump_write_json_raw(j, ", \"data_name\": ");
		dump_write_json_text(j, data_name);
	}
	if (t->flags & TF_LEFT_OUT && data_name)
		dump_write_json_raw(j, ", \"left_out\": true");
	dump_write_json_raw(j, "}");
}

void dump_write_int(struct dump_json *j, int64_t v)
{
	dump_write_json_raw(j, "{\"type\": \"int\", \"value\": ");
	dump_write_json_i64(j, v);
	dump_write_json_raw(j, "}");
}

void dump_write_bool(struct dump_json *j, bool v)
{
	dump_write_json_raw(j, v ? "{\"type\": \"bool\", \"value\": true}"
				 : "{\"type\": \"bool\", \"value\": false}");
}

void dump_format_group_id(const struct staged_comm *c, char out[9])
{
	uLong sum = crc32(0, (const Bytef *)"[", 1);
	int32_t rank;
	char buf[16];

	for (uint32_t i = 0; (rank = dump_get_comm_member(c, i)) >= 0; i++) {
		int n = snprintf(buf, sizeof(buf), "%s%d", i ? ", " : "", rank);

		sum = crc32(sum, (const Bytef *)buf, (uInt)n);
	}
	sum = crc32(sum, (const Bytef *)"]", 1);
	snprintf(out, 9, "%08lx", sum & 0xffffffffUL);
}

void dump_write_group(struct dump_json *j, const struct staged_comm *c)
{
	char id[9];
	int32_t rank;

	dump_format_group_id(c, id);
	dump_write_json_raw(j, j->mindspore
				       ? "{\"type\": \"mindspore.ProcessGroup\", \"group_ranks\": ["
				       : "{\"type\": \"torch.ProcessGroup\", \"group_ranks\": [");
	for (uint32_t i = 0; (rank = dump_get_comm_member(c, i)) >= 0; i++) {
		if (i)
			dump_write_json_raw(j, ", ");
		dump_write_json_i64(j, rank);
	}
	dump_write_json_raw(j, "], \"group_id\": \"");
	dump_write_json_raw(j, id);
	dump_write_json_raw(j, "\"}");
}

void dump_write_redop(struct dump_json *j, uint8_t redop)
{
	static const char *const word[REDOP_COUNT] = {[REDOP_SUM] = "SUM",
		[REDOP_PROD] = "PRODUCT",
		[REDOP_MIN] = "MIN",
		[REDOP_MAX] = "MAX",
		[REDOP_AVG] = "AVG",
		[REDOP_BAND] = "BAND",
		[REDOP_BOR] = "BOR",
		[REDOP_BXOR] = "BXOR"};

	dump_write_json_raw(
		j, j->mindspore
			   ? "{\"type\": \"mindspore.ReduceOp\", \"value\": \""
			   : "{\"type\": \"torch.distributed.ReduceOp\", \"value\": \"RedOpType.");
	dump_write_json_raw(j, redop < REDOP_COUNT && word[redop] ? word[redop] : "UNUSED");
	dump_write_json_raw(j, "\"}");
}
