/* Made by genwrap from configs/apis; change that file instead. Sorted by symbol. */
#include <string.h>

#include "wrappers.h"

extern const struct lib lib_tiny;

static const struct kind kinds[] = {
	{ /* 0 */
		.name = "barrier", .op = "barrier", .collective = true, .rooted = false,
	},
	{ /* 1 */
		.name = "allreduce", .op = "all_reduce", .collective = true, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .term = {ROLE_COUNT}, .nterm = 1},
		},
		.nout = 1, .out = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_COUNT}, .nterm = 1},
		},
		.alt_buf = ROLE_SEND, .alt_no_out = false,
		.alt_nin = 1, .alt_in = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_COUNT}, .nterm = 1},
		},
	},
	{ /* 2 */
		.name = "gather", .op = "gather", .collective = true, .rooted = true,
		.nin = 1, .in = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .term = {ROLE_SCOUNT}, .nterm = 1},
		},
		.nout = 1, .out = {
			{.form = EXT_PRODUCT, .where = ON_ROOT, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_RCOUNT, TERM_SIZE}, .nterm = 2},
		},
		.alt_buf = ROLE_SEND, .alt_no_out = false,
		.alt_nin = 1, .alt_in = {
			{.form = EXT_PRODUCT, .where = ON_ROOT, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_RCOUNT}, .nterm = 1, .offset = {TERM_RANK, ROLE_RCOUNT}, .noffset = 2},
		},
	},
	{ /* 3 */
		.name = "scatter", .op = "scatter", .collective = true, .rooted = true,
		.nin = 1, .in = {
			{.form = EXT_PRODUCT, .where = ON_ROOT, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .term = {ROLE_SCOUNT, TERM_SIZE}, .nterm = 2},
		},
		.nout = 1, .out = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_RCOUNT}, .nterm = 1},
		},
		.alt_buf = ROLE_RECV, .alt_no_out = true,
		.alt_nin = 1, .alt_in = {
			{.form = EXT_PRODUCT, .where = ON_ROOT, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .term = {ROLE_SCOUNT, TERM_SIZE}, .nterm = 2},
		},
	},
	{ /* 4 */
		.name = "counts", .op = "reduce_scatter_v", .collective = true, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_SUM, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .counts = ROLE_RCOUNTS, .length = TERM_LSIZE},
		},
		.nout = 1, .out = {
			{.form = EXT_AT_RANK, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .counts = ROLE_RCOUNTS},
		},
	},
	{ /* 5 */
		.name = "segments", .op = "neighbor_all_to_all_v", .collective = true, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_SEGMENTS, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .counts = ROLE_SCOUNTS, .displs = ROLE_SDISPLS, .length = TERM_OUTDEGREE},
		},
		.nout = 1, .out = {
			{.form = EXT_TYPED_SEGMENTS, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPES, .counts = ROLE_RCOUNTS, .displs = ROLE_RDISPLS, .length = TERM_INDEGREE},
		},
	},
	{ /* 6 */
		.name = "mine", .op = "all_gather_v", .collective = true, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_SEGMENT_AT_RANK, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .counts = ROLE_RCOUNTS, .displs = ROLE_RDISPLS, .length = TERM_SIZE},
		},
		.nout = 1, .out = {
			{.form = EXT_SEGMENTS, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .counts = ROLE_RCOUNTS, .displs = ROLE_RDISPLS, .length = TERM_SIZE},
		},
	},
	{ /* 7 */
		.name = "exscan", .op = "exscan", .collective = true, .rooted = false,
		.nin = 2, .in = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE},
			{.form = EXT_PRODUCT, .where = ON_SENDER, .buf = ROLE_BUF, .dtype = ROLE_DTYPE, .term = {ROLE_COUNT}, .nterm = 1},
		},
		.nout = 1, .out = {
			{.form = EXT_PRODUCT, .where = ON_NOT_FIRST, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_COUNT, TERM_SIZE, TERM_LSIZE}, .nterm = 3},
		},
	},
	{ /* 8 */
		.name = "send", .op = "send", .collective = false, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .term = {ROLE_COUNT}, .nterm = 1},
		},
	},
};

const struct kind *const kind_table = kinds;
const unsigned kind_count = 9;

static const struct api_spec specs[] = {
	{
		.symbol = "ptiny_AllReduce", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I32, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "ptiny_AllReduceConfig", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I32, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
			{ROLE_NONE, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "ptiny_AllReduceConfig_c", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
			{ROLE_NONE, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "ptiny_AllReduce_c", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "ptiny_Count", .list_name = "tiny_Count", .lib = &lib_tiny,
		.task = TASK_INIT, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_NONE, CT_I64, 0, 0},
		},
		.at = {},
	},
	{
		.symbol = "ptiny_Counts", .list_name = "tiny_Counts", .lib = &lib_tiny,
		.kind = &kinds[4], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNTS, CT_P, 8, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_RCOUNTS] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "ptiny_Exscan", .list_name = "tiny_Exscan", .lib = &lib_tiny,
		.kind = &kinds[7], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_BUF, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_BUF] = 2, [ROLE_RECV] = 3, [ROLE_COUNT] = 4, [ROLE_DTYPE] = 5, [ROLE_OP] = 6, [ROLE_COMM] = 7, },
	},
	{
		.symbol = "ptiny_Gather", .list_name = "tiny_Gather", .lib = &lib_tiny,
		.kind = &kinds[2], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_SCOUNT, CT_U64, 0, 0},
			{ROLE_SDTYPE, CT_I32, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNT, CT_U64, 0, 0},
			{ROLE_RDTYPE, CT_I32, 0, 0},
			{ROLE_ROOT, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, },
	},
	{
		.symbol = "ptiny_GroupEnd", .list_name = "tiny_GroupEnd", .lib = &lib_tiny,
		.task = TASK_GROUP_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{
		.symbol = "ptiny_GroupStart", .list_name = "tiny_GroupStart", .lib = &lib_tiny,
		.task = TASK_GROUP_START, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{
		.symbol = "ptiny_Handle", .list_name = "tiny_Handle", .lib = &lib_tiny,
		.task = TASK_COMM_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_COMM] = 1, },
	},
	{
		.symbol = "ptiny_Igather", .list_name = "tiny_Gather", .lib = &lib_tiny,
		.kind = &kinds[2], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_REQUEST, .nargs = 9,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_SCOUNT, CT_U64, 0, 0},
			{ROLE_SDTYPE, CT_I32, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNT, CT_U64, 0, 0},
			{ROLE_RDTYPE, CT_I32, 0, 0},
			{ROLE_ROOT, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_REQUEST, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, [ROLE_REQUEST] = 9, },
	},
	{
		.symbol = "ptiny_Mine", .list_name = "tiny_Segments", .lib = &lib_tiny,
		.kind = &kinds[6], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNTS, CT_P, 8, 0},
			{ROLE_RDISPLS, CT_P, 8, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_RECV] = 1, [ROLE_RCOUNTS] = 2, [ROLE_RDISPLS] = 3, [ROLE_DTYPE] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{
		.symbol = "ptiny_Mix", .list_name = "tiny_Mix", .lib = &lib_tiny,
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 12,
		.how = "mix",
		.args = {
			{ROLE_NONE, CT_I8, 0, 0},
			{ROLE_NONE, CT_U8, 0, 0},
			{ROLE_NONE, CT_I16, 0, 0},
			{ROLE_NONE, CT_U16, 0, 0},
			{ROLE_NONE, CT_U32, 0, 0},
			{ROLE_NONE, CT_F32, 0, 0},
			{ROLE_NONE, CT_F64, 0, 0},
			{ROLE_ID, CT_STRUCT, 0, 3},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_NEWCOMM, CT_P, 0, 0},
			{ROLE_NONE, CT_P, 0, 0},
			{ROLE_NONE, CT_U8, 0, 0},
		},
		.at = {[ROLE_ID] = 8, [ROLE_COMM] = 9, [ROLE_NEWCOMM] = 10, },
	},
	{
		.symbol = "ptiny_Parent", .list_name = "tiny_Parent", .lib = &lib_tiny,
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.how = "parent",
		.args = {
			{ROLE_NEWCOMM, CT_P, 0, 0},
		},
		.at = {[ROLE_NEWCOMM] = 1, },
	},
	{
		.symbol = "ptiny_Scatter", .list_name = "tiny_Scatter", .lib = &lib_tiny,
		.kind = &kinds[3], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_U64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_ROOT, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_ROOT] = 5, [ROLE_COMM] = 6, },
	},
	{
		.symbol = "ptiny_Segments", .list_name = "tiny_Segments", .lib = &lib_tiny,
		.kind = &kinds[5], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 10,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_SCOUNTS, CT_P, 4, 0},
			{ROLE_SDISPLS, CT_P, 4, 0},
			{ROLE_SDTYPE, CT_I32, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNTS, CT_P, 8, 0},
			{ROLE_RDISPLS, CT_P, 8, 0},
			{ROLE_RDTYPES, CT_P, 4, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNTS] = 2, [ROLE_SDISPLS] = 3, [ROLE_SDTYPE] = 4, [ROLE_RECV] = 5, [ROLE_RCOUNTS] = 6, [ROLE_RDISPLS] = 7, [ROLE_RDTYPES] = 8, [ROLE_COMM] = 9, [ROLE_STREAM] = 10, },
	},
	{
		.symbol = "ptiny_Send", .list_name = "tiny_Send", .lib = &lib_tiny,
		.kind = &kinds[8], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_COUNT, CT_U64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_PEER, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_DTYPE] = 3, [ROLE_PEER] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{
		.symbol = "ptinyx_AllReduce", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I32, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "tiny_AllReduce", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I32, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "tiny_AllReduceConfig", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I32, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
			{ROLE_NONE, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "tiny_AllReduceConfig_c", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
			{ROLE_NONE, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "tiny_AllReduce_c", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "tiny_Count", .list_name = "tiny_Count", .lib = &lib_tiny,
		.task = TASK_INIT, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_NONE, CT_I64, 0, 0},
		},
		.at = {},
	},
	{
		.symbol = "tiny_Counts", .list_name = "tiny_Counts", .lib = &lib_tiny,
		.kind = &kinds[4], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNTS, CT_P, 8, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_RCOUNTS] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{
		.symbol = "tiny_Exscan", .list_name = "tiny_Exscan", .lib = &lib_tiny,
		.kind = &kinds[7], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_BUF, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_BUF] = 2, [ROLE_RECV] = 3, [ROLE_COUNT] = 4, [ROLE_DTYPE] = 5, [ROLE_OP] = 6, [ROLE_COMM] = 7, },
	},
	{
		.symbol = "tiny_Gather", .list_name = "tiny_Gather", .lib = &lib_tiny,
		.kind = &kinds[2], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_SCOUNT, CT_U64, 0, 0},
			{ROLE_SDTYPE, CT_I32, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNT, CT_U64, 0, 0},
			{ROLE_RDTYPE, CT_I32, 0, 0},
			{ROLE_ROOT, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, },
	},
	{
		.symbol = "tiny_GroupEnd", .list_name = "tiny_GroupEnd", .lib = &lib_tiny,
		.task = TASK_GROUP_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{
		.symbol = "tiny_GroupStart", .list_name = "tiny_GroupStart", .lib = &lib_tiny,
		.task = TASK_GROUP_START, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{
		.symbol = "tiny_Handle", .list_name = "tiny_Handle", .lib = &lib_tiny,
		.task = TASK_COMM_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_COMM] = 1, },
	},
	{
		.symbol = "tiny_Igather", .list_name = "tiny_Gather", .lib = &lib_tiny,
		.kind = &kinds[2], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_REQUEST, .nargs = 9,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_SCOUNT, CT_U64, 0, 0},
			{ROLE_SDTYPE, CT_I32, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNT, CT_U64, 0, 0},
			{ROLE_RDTYPE, CT_I32, 0, 0},
			{ROLE_ROOT, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_REQUEST, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, [ROLE_REQUEST] = 9, },
	},
	{
		.symbol = "tiny_Mine", .list_name = "tiny_Segments", .lib = &lib_tiny,
		.kind = &kinds[6], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNTS, CT_P, 8, 0},
			{ROLE_RDISPLS, CT_P, 8, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_RECV] = 1, [ROLE_RCOUNTS] = 2, [ROLE_RDISPLS] = 3, [ROLE_DTYPE] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{
		.symbol = "tiny_Mix", .list_name = "tiny_Mix", .lib = &lib_tiny,
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 12,
		.how = "mix",
		.args = {
			{ROLE_NONE, CT_I8, 0, 0},
			{ROLE_NONE, CT_U8, 0, 0},
			{ROLE_NONE, CT_I16, 0, 0},
			{ROLE_NONE, CT_U16, 0, 0},
			{ROLE_NONE, CT_U32, 0, 0},
			{ROLE_NONE, CT_F32, 0, 0},
			{ROLE_NONE, CT_F64, 0, 0},
			{ROLE_ID, CT_STRUCT, 0, 3},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_NEWCOMM, CT_P, 0, 0},
			{ROLE_NONE, CT_P, 0, 0},
			{ROLE_NONE, CT_U8, 0, 0},
		},
		.at = {[ROLE_ID] = 8, [ROLE_COMM] = 9, [ROLE_NEWCOMM] = 10, },
	},
	{
		.symbol = "tiny_Parent", .list_name = "tiny_Parent", .lib = &lib_tiny,
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.how = "parent",
		.args = {
			{ROLE_NEWCOMM, CT_P, 0, 0},
		},
		.at = {[ROLE_NEWCOMM] = 1, },
	},
	{
		.symbol = "tiny_Scatter", .list_name = "tiny_Scatter", .lib = &lib_tiny,
		.kind = &kinds[3], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_U64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_ROOT, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_ROOT] = 5, [ROLE_COMM] = 6, },
	},
	{
		.symbol = "tiny_Segments", .list_name = "tiny_Segments", .lib = &lib_tiny,
		.kind = &kinds[5], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 10,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_SCOUNTS, CT_P, 4, 0},
			{ROLE_SDISPLS, CT_P, 4, 0},
			{ROLE_SDTYPE, CT_I32, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_RCOUNTS, CT_P, 8, 0},
			{ROLE_RDISPLS, CT_P, 8, 0},
			{ROLE_RDTYPES, CT_P, 4, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNTS] = 2, [ROLE_SDISPLS] = 3, [ROLE_SDTYPE] = 4, [ROLE_RECV] = 5, [ROLE_RCOUNTS] = 6, [ROLE_RDISPLS] = 7, [ROLE_RDTYPES] = 8, [ROLE_COMM] = 9, [ROLE_STREAM] = 10, },
	},
	{
		.symbol = "tiny_Send", .list_name = "tiny_Send", .lib = &lib_tiny,
		.kind = &kinds[8], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_COUNT, CT_U64, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_PEER, CT_I32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_DTYPE] = 3, [ROLE_PEER] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{
		.symbol = "tinyx_AllReduce", .list_name = "tiny_AllReduce", .lib = &lib_tiny,
		.kind = &kinds[1], .task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0},
			{ROLE_RECV, CT_P, 0, 0},
			{ROLE_COUNT, CT_I32, 0, 0},
			{ROLE_DTYPE, CT_I32, 0, 0},
			{ROLE_OP, CT_U32, 0, 0},
			{ROLE_COMM, CT_U64, 0, 0},
			{ROLE_STREAM, CT_P, 0, 0},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
};

struct api api_table[] = {
	{.spec = &specs[0]},
	{.spec = &specs[1]},
	{.spec = &specs[2]},
	{.spec = &specs[3]},
	{.spec = &specs[4]},
	{.spec = &specs[5]},
	{.spec = &specs[6]},
	{.spec = &specs[7]},
	{.spec = &specs[8]},
	{.spec = &specs[9]},
	{.spec = &specs[10]},
	{.spec = &specs[11]},
	{.spec = &specs[12]},
	{.spec = &specs[13]},
	{.spec = &specs[14]},
	{.spec = &specs[15]},
	{.spec = &specs[16]},
	{.spec = &specs[17]},
	{.spec = &specs[18]},
	{.spec = &specs[19]},
	{.spec = &specs[20]},
	{.spec = &specs[21]},
	{.spec = &specs[22]},
	{.spec = &specs[23]},
	{.spec = &specs[24]},
	{.spec = &specs[25]},
	{.spec = &specs[26]},
	{.spec = &specs[27]},
	{.spec = &specs[28]},
	{.spec = &specs[29]},
	{.spec = &specs[30]},
	{.spec = &specs[31]},
	{.spec = &specs[32]},
	{.spec = &specs[33]},
	{.spec = &specs[34]},
	{.spec = &specs[35]},
	{.spec = &specs[36]},
	{.spec = &specs[37]},
};

static void *const wrappers[] = {
	(void *)ptiny_AllReduce,
	(void *)ptiny_AllReduceConfig,
	(void *)ptiny_AllReduceConfig_c,
	(void *)ptiny_AllReduce_c,
	(void *)ptiny_Count,
	(void *)ptiny_Counts,
	(void *)ptiny_Exscan,
	(void *)ptiny_Gather,
	(void *)ptiny_GroupEnd,
	(void *)ptiny_GroupStart,
	(void *)ptiny_Handle,
	(void *)ptiny_Igather,
	(void *)ptiny_Mine,
	(void *)ptiny_Mix,
	(void *)ptiny_Parent,
	(void *)ptiny_Scatter,
	(void *)ptiny_Segments,
	(void *)ptiny_Send,
	(void *)ptinyx_AllReduce,
	(void *)tiny_AllReduce,
	(void *)tiny_AllReduceConfig,
	(void *)tiny_AllReduceConfig_c,
	(void *)tiny_AllReduce_c,
	(void *)tiny_Count,
	(void *)tiny_Counts,
	(void *)tiny_Exscan,
	(void *)tiny_Gather,
	(void *)tiny_GroupEnd,
	(void *)tiny_GroupStart,
	(void *)tiny_Handle,
	(void *)tiny_Igather,
	(void *)tiny_Mine,
	(void *)tiny_Mix,
	(void *)tiny_Parent,
	(void *)tiny_Scatter,
	(void *)tiny_Segments,
	(void *)tiny_Send,
	(void *)tinyx_AllReduce,
};

const unsigned api_count = 38;

struct api *api_find(const char *symbol)
{
	unsigned lo = 0, hi = api_count;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		int c = strcmp(symbol, specs[mid].symbol);

		if (c == 0)
			return &api_table[mid];
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

void *api_wrapper(const struct api *a)
{
	if (a < api_table || a >= api_table + api_count)
		return NULL;
	return wrappers[a - api_table];
}
