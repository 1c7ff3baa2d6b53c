/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of calls_*.csv (DESIGN section 7): one per tensor of a call.
 */
#ifndef PROBE_SINK_ROW_H
#define PROBE_SINK_ROW_H

#include "base/text.h"
#include "journal/journal.h"

#define ROW_HEADER                                                                               \
	"step,micro_step,seq,lib,api,op,comm,comm_seq,rank,size,redop,root,peer,io,index,dtype," \
	"shape,"                                                                                 \
	"count,bytes,min,max,mean,norm,zeros,nans,infs,start_ns,dur_ns,thread,stack_id,flags,"   \
	"parent,"                                                                                \
	"phase,name,tag,wait_ns,dev_ns,crc32\n"

#define ROW_MAX 8192 /* bytes that any row fits in */
#define ROW_STRING_MAX 500 /* of an api or a name that many bytes are written */
#define ROW_DIMS_MAX 64 /* a shape with more dimensions is left empty */

/* What the columns lib, api and op hold for a dictionary id. */
struct row_api {
	const char *lib, *symbol, *op;
};

/*
 * Appends the row. end: the call's completion, NULL for a synchronous call. t: the tensor, NULL for a call without.
 * open: the call was entered and not left, or started and not completed.
 */
void row_format(struct text *out, const struct clock_base *clock, const struct row_api *api,
	const struct journal_call *c, const struct journal_end *end, const struct journal_tensor *t,
	bool open, const char *name);

/* A CSV field: quoted if it has to be (RFC 4180). */
void csv_field(struct text *out, const char *s);
void csv_field_max(
	struct text *out, const char *s, size_t max); /* at most max bytes of s, whole characters */

/* Ends the text with a newline, in the place of its last byte if it was cut: a line is never torn. */
void csv_end(struct text *out);

extern const char *const phase_name[];

#endif
