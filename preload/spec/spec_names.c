/* SPDX-License-Identifier: Apache-2.0 */
/* Roles and terms are named as in preload/api/api.h, in lower case. */
#include "spec/spec_names.h"

#include <string.h>

const char *const role_name[ROLE_NROLES] = {
	[ROLE_NONE] = "",
	[ROLE_SEND] = "send",
	[ROLE_RECV] = "recv",
	[ROLE_BUF] = "buf",
	[ROLE_COUNT] = "count",
	[ROLE_SCOUNT] = "scount",
	[ROLE_RCOUNT] = "rcount",
	[ROLE_SCOUNTS] = "scounts",
	[ROLE_SDISPLS] = "sdispls",
	[ROLE_RCOUNTS] = "rcounts",
	[ROLE_RDISPLS] = "rdispls",
	[ROLE_DTYPE] = "dtype",
	[ROLE_SDTYPE] = "sdtype",
	[ROLE_RDTYPE] = "rdtype",
	[ROLE_SDTYPES] = "sdtypes",
	[ROLE_RDTYPES] = "rdtypes",
	[ROLE_OP] = "op",
	[ROLE_ROOT] = "root",
	[ROLE_PEER] = "peer",
	[ROLE_RPEER] = "rpeer",
	[ROLE_TAG] = "tag",
	[ROLE_RTAG] = "rtag",
	[ROLE_COMM] = "comm",
	[ROLE_STREAM] = "stream",
	[ROLE_REQUEST] = "request",
	[ROLE_REQUESTS] = "requests",
	[ROLE_NREQ] = "nreq",
	[ROLE_STATUS] = "status",
	[ROLE_STATUSES] = "statuses",
	[ROLE_FLAG] = "flag",
	[ROLE_INDEX] = "index",
	[ROLE_INDICES] = "indices",
	[ROLE_OUTCOUNT] = "outcount",
	[ROLE_NEWCOMM] = "newcomm",
	[ROLE_COMMP] = "commp",
	[ROLE_GROUP] = "group",
	[ROLE_COLOR] = "color",
	[ROLE_NEWTAG] = "newtag",
	[ROLE_PEERCOMM] = "peercomm",
	[ROLE_MESSAGE] = "message",
	[ROLE_NAME] = "name",
	[ROLE_LEVEL] = "level",
	[ROLE_NRANKS] = "nranks",
	[ROLE_RANK] = "rank",
	[ROLE_ID] = "id",
	[ROLE_ITEMS] = "items",
	[ROLE_NITEMS] = "nitems",
	[ROLE_WIN] = "win",
	[ROLE_NEWWIN] = "newwin",
	[ROLE_WINP] = "winp",
	[ROLE_ORDER] = "order",
	[ROLE_TRANSA] = "transa",
	[ROLE_TRANSB] = "transb",
	[ROLE_SIDE] = "side",
	[ROLE_M] = "m",
	[ROLE_N] = "n",
	[ROLE_K] = "k",
	[ROLE_LDA] = "lda",
	[ROLE_LDB] = "ldb",
	[ROLE_LDC] = "ldc",
	[ROLE_INCX] = "incx",
	[ROLE_INCY] = "incy",
	[ROLE_ALPHA] = "alpha",
	[ROLE_BETA] = "beta",
	[ROLE_STRIDEA] = "stridea",
	[ROLE_STRIDEB] = "strideb",
	[ROLE_STRIDEC] = "stridec",
	[ROLE_COMPUTE] = "compute",
	[ROLE_HANDLE] = "handle",
};

const char *const term_name[TERM_NTERMS] = {
	[TERM_SIZE] = "size",
	[TERM_LSIZE] = "lsize",
	[TERM_RANK] = "rank",
	[TERM_INDEGREE] = "indegree",
	[TERM_OUTDEGREE] = "outdegree",
	[TERM_SIDE] = "side",
};

const char *const completion_name[] = {
	[DONE_RETURN] = "return",
	[DONE_REQUEST] = "request",
	[DONE_START] = "start",
	[DONE_STREAM] = "stream",
	[DONE_END] = "end",
	NULL,
};

const char *const abi_name[] = {
	[CT_VOID] = "opaque",
	[CT_I8] = "i8",
	[CT_U8] = "u8",
	[CT_I16] = "i16",
	[CT_U16] = "u16",
	[CT_I32] = "i32",
	[CT_U32] = "u32",
	[CT_I64] = "i64",
	[CT_U64] = "u64",
	[CT_F32] = "f32",
	[CT_F64] = "f64",
	[CT_P] = "ptr",
	NULL,
};

const struct task_name task_names[] = {
	{"wait_one", TASK_WAIT, SUB_ONE, {ROLE_REQUEST}},
	{"wait_all", TASK_WAIT, SUB_ALL, {ROLE_NREQ, ROLE_REQUESTS}},
	{"wait_any", TASK_WAIT, SUB_ANY, {ROLE_NREQ, ROLE_REQUESTS, ROLE_INDEX}},
	{"wait_some", TASK_WAIT, SUB_SOME, {ROLE_NREQ, ROLE_REQUESTS, ROLE_OUTCOUNT, ROLE_INDICES}},
	{"wait_end", TASK_WAIT, SUB_END, {ROLE_WIN}},
	{"test_one", TASK_TEST, SUB_ONE, {ROLE_REQUEST, ROLE_FLAG}},
	{"test_all", TASK_TEST, SUB_ALL, {ROLE_NREQ, ROLE_REQUESTS, ROLE_FLAG}},
	{"test_any", TASK_TEST, SUB_ANY, {ROLE_NREQ, ROLE_REQUESTS, ROLE_INDEX, ROLE_FLAG}},
	{"test_some", TASK_TEST, SUB_SOME, {ROLE_NREQ, ROLE_REQUESTS, ROLE_OUTCOUNT, ROLE_INDICES}},
	/* the result shows whether the request is complete */
	{"ask_one", TASK_TEST, SUB_LOOK, {ROLE_REQUEST}},
	{"progress", TASK_TEST, SUB_NONE, {ROLE_NONE}}, /* works on all pending requests */
	{"start_one", TASK_START, SUB_ONE, {ROLE_REQUEST}},
	{"start_all", TASK_START, SUB_ALL, {ROLE_NREQ, ROLE_REQUESTS}},
	{"request_free", TASK_REQUEST, SUB_FREE, {ROLE_REQUEST}},
	{"request_cancel", TASK_REQUEST, SUB_CANCEL, {ROLE_REQUEST}},
	{"request_look", TASK_REQUEST, SUB_LOOK, {ROLE_REQUEST, ROLE_FLAG}},
	{"look_all", TASK_TEST, SUB_LOOK_ALL, {ROLE_NREQ, ROLE_REQUESTS, ROLE_FLAG}},
	{"look_any", TASK_TEST, SUB_LOOK_ANY, {ROLE_NREQ, ROLE_REQUESTS, ROLE_INDEX, ROLE_FLAG}},
	{"look_some", TASK_TEST, SUB_LOOK_SOME,
		{ROLE_NREQ, ROLE_REQUESTS, ROLE_OUTCOUNT, ROLE_INDICES}},
	{"comm_new", TASK_COMM_NEW, SUB_NONE, {ROLE_NEWCOMM}},
	{"comm_end", TASK_COMM_END, SUB_NONE, {ROLE_NONE}}, /* needs comm or commp */
	{"comm_name", TASK_COMM_NAME, SUB_NONE, {ROLE_COMM, ROLE_NAME}},
	{"win_new", TASK_WIN_NEW, SUB_NONE, {ROLE_COMM, ROLE_NEWWIN}},
	{"win_end", TASK_WIN_END, SUB_NONE,
		{ROLE_NONE}}, /* needs win or winp; or name, that of a file that is not open */
	{"probe", TASK_PROBE, SUB_NONE, {ROLE_PEER, ROLE_TAG, ROLE_COMM}},
	{"match", TASK_MATCH, SUB_NONE, {ROLE_PEER, ROLE_TAG, ROLE_COMM, ROLE_MESSAGE}},
	{"init", TASK_INIT, SUB_NONE, {ROLE_NONE}},
	{"finalize", TASK_FINALIZE, SUB_NONE, {ROLE_NONE}},
	{"abort", TASK_ABORT, SUB_NONE, {ROLE_NONE}},
	{"group_start", TASK_GROUP_START, SUB_NONE, {ROLE_NONE}},
	{"group_end", TASK_GROUP_END, SUB_NONE, {ROLE_NONE}},
	{"group_cancel", TASK_GROUP_END, SUB_CANCEL, {ROLE_NONE}},
	{"", 0, 0, {ROLE_NONE}},
};

int name_find(const char *const *list, size_t max, const char *s, size_t len)
{
	for (size_t i = 0; max ? i < max : list[i] != NULL; i++)
		if (list[i] && *list[i] && strlen(list[i]) == len && memcmp(list[i], s, len) == 0)
			return (int)i;
	return -1;
}

const char *name_list(struct spec_load *l, const char *const *list, size_t max)
{
	size_t len = 0;
	char *text, *end;

	for (size_t i = 0; max ? i < max : list[i] != NULL; i++)
		if (list[i] && *list[i])
			len += strlen(list[i]) + 2;
	text = end = load_new(l, len + 1);
	for (size_t i = 0; max ? i < max : list[i] != NULL; i++) {
		if (!list[i] || !*list[i])
			continue;
		if (end != text)
			end = stpcpy(end, ", ");
		end = stpcpy(end, list[i]);
	}
	return text;
}

uint8_t role_fallback(uint8_t role)
{
	switch (role) {
	case ROLE_SCOUNT:
	case ROLE_RCOUNT:
		return ROLE_COUNT;
	case ROLE_SDTYPE:
	case ROLE_RDTYPE:
		return ROLE_DTYPE;
	default:
		return ROLE_NONE;
	}
}
