/* Made by genwrap from configs/apis; change that file instead. Sorted by symbol. */
#include <string.h>

#include "tiny_gen.h"

static struct kind kinds[] = {
	{ /* 0, barrier */
		.collective = true, .rooted = false,
	},
	{ /* 1, allreduce */
		.collective = true, .rooted = false,
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
	{ /* 2, gather */
		.collective = true, .rooted = true,
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
	{ /* 3, scatter */
		.collective = true, .rooted = true,
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
	{ /* 4, counts */
		.collective = true, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_SUM, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .counts = ROLE_RCOUNTS, .length = TERM_LSIZE},
		},
		.nout = 1, .out = {
			{.form = EXT_AT_RANK, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .counts = ROLE_RCOUNTS},
		},
	},
	{ /* 5, segments */
		.collective = true, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_SEGMENTS, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .counts = ROLE_SCOUNTS, .displs = ROLE_SDISPLS, .length = TERM_OUTDEGREE},
		},
		.nout = 1, .out = {
			{.form = EXT_TYPED_SEGMENTS, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPES, .counts = ROLE_RCOUNTS, .displs = ROLE_RDISPLS, .length = TERM_INDEGREE},
		},
	},
	{ /* 6, mine */
		.collective = true, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_SEGMENT_AT_RANK, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .counts = ROLE_RCOUNTS, .displs = ROLE_RDISPLS, .length = TERM_SIZE},
		},
		.nout = 1, .out = {
			{.form = EXT_SEGMENTS, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .counts = ROLE_RCOUNTS, .displs = ROLE_RDISPLS, .length = TERM_SIZE},
		},
	},
	{ /* 7, exscan */
		.collective = true, .rooted = false,
		.nin = 2, .in = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE},
			{.form = EXT_PRODUCT, .where = ON_SENDER, .buf = ROLE_BUF, .dtype = ROLE_DTYPE, .term = {ROLE_COUNT}, .nterm = 1},
		},
		.nout = 1, .out = {
			{.form = EXT_PRODUCT, .where = ON_NOT_FIRST, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_COUNT, TERM_SIZE, TERM_LSIZE}, .nterm = 3},
		},
	},
	{ /* 8, send */
		.collective = false, .rooted = false,
		.nin = 1, .in = {
			{.form = EXT_PRODUCT, .where = ON_ALL, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .term = {ROLE_COUNT}, .nterm = 1},
		},
	},
	{ /* 9, gemv */
		.collective = false, .rooted = false,
		.local = true,
		.nin = 3, .in = {
			{.form = EXT_MATRIX, .where = ON_ALPHA, .buf = ROLE_SEND, .dtype = ROLE_SDTYPE, .term = {ROLE_M, ROLE_N}, .nterm = 2, .step = ROLE_LDA},
			{.form = EXT_VECTOR, .where = ON_ALPHA, .buf = ROLE_BUF, .dtype = ROLE_DTYPE, .term = {ROLE_N, ROLE_M}, .nterm = 2, .step = ROLE_INCX, .trans = ROLE_TRANSA},
			{.form = EXT_VECTOR, .where = ON_BETA, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_M, ROLE_N}, .nterm = 2, .step = ROLE_INCY, .trans = ROLE_TRANSA},
		},
		.nout = 1, .out = {
			{.form = EXT_VECTOR, .where = ON_ALL, .buf = ROLE_RECV, .dtype = ROLE_RDTYPE, .term = {ROLE_M, ROLE_N}, .nterm = 2, .step = ROLE_INCY, .trans = ROLE_TRANSA},
		},
	},
};

static const struct {
	char name[48], op[48];
} kind_names[] = {
	{"barrier", "barrier"},
	{"allreduce", "all_reduce"},
	{"gather", "gather"},
	{"scatter", "scatter"},
	{"counts", "reduce_scatter_v"},
	{"segments", "neighbor_all_to_all_v"},
	{"mine", "all_gather_v"},
	{"exscan", "exscan"},
	{"send", "send"},
	{"gemv", "gemv"},
};

const struct kind *const kind_table = kinds;
const unsigned kind_count = 10;

enum { LIB_TINY, };

static const struct {
	const struct adapter *adapter;
	struct api *rows;
	unsigned count;
	void *(*wrapper)(unsigned row);
} libs[] = {
	{&adapter_tiny, tiny_rows, 44, tiny_wrapper},
};

static const char texts[] = "\0"
	"ptiny_AllReduce\0"
	"tiny_AllReduce\0"
	"ptiny_AllReduceConfig\0"
	"tiny_AllReduce\0"
	"ptiny_AllReduceConfig_c\0"
	"tiny_AllReduce\0"
	"ptiny_AllReduce_c\0"
	"tiny_AllReduce\0"
	"ptiny_Count\0"
	"tiny_Count\0"
	"ptiny_Counts\0"
	"tiny_Counts\0"
	"ptiny_Exscan\0"
	"tiny_Exscan\0"
	"ptiny_Gather\0"
	"tiny_Gather\0"
	"ptiny_Gemv\0"
	"tiny_Gemv\0"
	"ptiny_GroupEnd\0"
	"tiny_GroupEnd\0"
	"ptiny_GroupStart\0"
	"tiny_GroupStart\0"
	"ptiny_Handle\0"
	"tiny_Handle\0"
	"ptiny_Igather\0"
	"tiny_Gather\0"
	"ptiny_Mine\0"
	"tiny_Segments\0"
	"ptiny_Mix\0"
	"tiny_Mix\0"
	"mix\0"
	"ptiny_Parent\0"
	"tiny_Parent\0"
	"parent\0"
	"ptiny_Scatter\0"
	"tiny_Scatter\0"
	"ptiny_Segments\0"
	"tiny_Segments\0"
	"ptiny_Send\0"
	"tiny_Send\0"
	"ptiny_dSum\0"
	"tiny_Sum\0"
	"ptiny_fSum\0"
	"tiny_Sum\0"
	"ptinyx_AllReduce\0"
	"tiny_AllReduce\0"
	"tiny_AllReduce\0"
	"tiny_AllReduceConfig\0"
	"tiny_AllReduce\0"
	"tiny_AllReduceConfig_c\0"
	"tiny_AllReduce\0"
	"tiny_AllReduce_c\0"
	"tiny_AllReduce\0"
	"tiny_Count\0"
	"tiny_Counts\0"
	"tiny_Exscan\0"
	"tiny_Gather\0"
	"tiny_Gemv\0"
	"tiny_GroupEnd\0"
	"tiny_GroupStart\0"
	"tiny_Handle\0"
	"tiny_Igather\0"
	"tiny_Gather\0"
	"tiny_Mine\0"
	"tiny_Segments\0"
	"tiny_Mix\0"
	"mix\0"
	"tiny_Parent\0"
	"parent\0"
	"tiny_Scatter\0"
	"tiny_Segments\0"
	"tiny_Send\0"
	"tiny_dSum\0"
	"tiny_Sum\0"
	"tiny_fSum\0"
	"tiny_Sum\0"
	"tinyx_AllReduce\0"
	"tiny_AllReduce\0";

/* The pointers of a row of specs[]. symbol, list_name, how: offsets in texts[]. lib: index of libs[]. kind: index of kinds[] plus 1. row: index of libs[lib].rows. */
static const struct {
	uint32_t symbol, list_name, how;
	uint16_t row;
	uint8_t lib, kind;
} names[] = {
	{1, 17, 0, 0, LIB_TINY, 2},
	{32, 54, 0, 1, LIB_TINY, 2},
	{69, 93, 0, 2, LIB_TINY, 2},
	{108, 126, 0, 3, LIB_TINY, 2},
	{141, 153, 0, 4, LIB_TINY, 0},
	{164, 177, 0, 5, LIB_TINY, 5},
	{189, 202, 0, 6, LIB_TINY, 8},
	{214, 227, 0, 7, LIB_TINY, 3},
	{239, 250, 0, 8, LIB_TINY, 10},
	{260, 275, 0, 9, LIB_TINY, 0},
	{289, 306, 0, 10, LIB_TINY, 0},
	{322, 335, 0, 11, LIB_TINY, 0},
	{347, 361, 0, 12, LIB_TINY, 3},
	{373, 384, 0, 13, LIB_TINY, 7},
	{398, 408, 417, 14, LIB_TINY, 0},
	{421, 434, 446, 15, LIB_TINY, 0},
	{453, 467, 0, 16, LIB_TINY, 4},
	{480, 495, 0, 17, LIB_TINY, 6},
	{509, 520, 0, 18, LIB_TINY, 9},
	{530, 541, 0, 19, LIB_TINY, 9},
	{550, 561, 0, 20, LIB_TINY, 9},
	{570, 587, 0, 21, LIB_TINY, 2},
	{602, 602, 0, 22, LIB_TINY, 2},
	{617, 638, 0, 23, LIB_TINY, 2},
	{653, 676, 0, 24, LIB_TINY, 2},
	{691, 708, 0, 25, LIB_TINY, 2},
	{723, 723, 0, 26, LIB_TINY, 0},
	{734, 734, 0, 27, LIB_TINY, 5},
	{746, 746, 0, 28, LIB_TINY, 8},
	{758, 758, 0, 29, LIB_TINY, 3},
	{770, 770, 0, 30, LIB_TINY, 10},
	{780, 780, 0, 31, LIB_TINY, 0},
	{794, 794, 0, 32, LIB_TINY, 0},
	{810, 810, 0, 33, LIB_TINY, 0},
	{822, 835, 0, 34, LIB_TINY, 3},
	{847, 857, 0, 35, LIB_TINY, 7},
	{871, 871, 880, 36, LIB_TINY, 0},
	{884, 884, 896, 37, LIB_TINY, 0},
	{903, 903, 0, 38, LIB_TINY, 4},
	{916, 916, 0, 39, LIB_TINY, 6},
	{930, 930, 0, 40, LIB_TINY, 9},
	{940, 950, 0, 41, LIB_TINY, 9},
	{959, 969, 0, 42, LIB_TINY, 9},
	{978, 994, 0, 43, LIB_TINY, 2},
};

static struct api_spec specs[] = {
	{ /* ptiny_AllReduce */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I32, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* ptiny_AllReduceConfig */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I32, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
			{ROLE_NONE, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* ptiny_AllReduceConfig_c */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
			{ROLE_NONE, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* ptiny_AllReduce_c */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* ptiny_Count */
		.task = TASK_INIT, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_NONE, CT_I64, 0, 0, 0, false},
		},
		.at = {},
	},
	{ /* ptiny_Counts */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNTS, CT_P, 8, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_RCOUNTS] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* ptiny_Exscan */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_BUF, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_BUF] = 2, [ROLE_RECV] = 3, [ROLE_COUNT] = 4, [ROLE_DTYPE] = 5, [ROLE_OP] = 6, [ROLE_COMM] = 7, },
	},
	{ /* ptiny_Gather */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_SCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_SDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_RDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_ROOT, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, },
	},
	{ /* ptiny_Gemv */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 12,
		.buf_dtype[ROLE_SEND] = DT_COMPLEX64,
		.buf_dtype[ROLE_BUF] = DT_FLOAT32,
		.buf_dtype[ROLE_RECV] = DT_COMPLEX64,
		.args = {
			{ROLE_ORDER, CT_I32, 0, 0, 0, false},
			{ROLE_TRANSA, CT_P, 0, DT_INT8, 0, false},
			{ROLE_M, CT_P, 4, DT_INT32, 0, false},
			{ROLE_N, CT_P, 8, DT_INT64, 0, false},
			{ROLE_ALPHA, CT_F64, 0, 0, 0, false},
			{ROLE_SEND, CT_P, 0, DT_COMPLEX64, 0, false},
			{ROLE_LDA, CT_I32, 0, 0, 0, false},
			{ROLE_BUF, CT_P, 0, DT_FLOAT32, 0, false},
			{ROLE_INCX, CT_I64, 0, 0, 0, false},
			{ROLE_BETA, CT_P, 0, DT_COMPLEX64, 0, false},
			{ROLE_RECV, CT_P, 0, DT_COMPLEX64, 0, false},
			{ROLE_INCY, CT_P, 4, DT_INT32, 0, false},
		},
		.at = {[ROLE_ORDER] = 1, [ROLE_TRANSA] = 2, [ROLE_M] = 3, [ROLE_N] = 4, [ROLE_ALPHA] = 5, [ROLE_SEND] = 6, [ROLE_LDA] = 7, [ROLE_BUF] = 8, [ROLE_INCX] = 9, [ROLE_BETA] = 10, [ROLE_RECV] = 11, [ROLE_INCY] = 12, },
	},
	{ /* ptiny_GroupEnd */
		.task = TASK_GROUP_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{ /* ptiny_GroupStart */
		.task = TASK_GROUP_START, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{ /* ptiny_Handle */
		.task = TASK_COMM_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_COMM] = 1, },
	},
	{ /* ptiny_Igather */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_REQUEST, .nargs = 9,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_SCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_SDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_RDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_ROOT, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_REQUEST, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, [ROLE_REQUEST] = 9, },
	},
	{ /* ptiny_Mine */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNTS, CT_P, 8, DT_INT64, 0, false},
			{ROLE_RDISPLS, CT_P, 8, DT_INT64, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_RECV] = 1, [ROLE_RCOUNTS] = 2, [ROLE_RDISPLS] = 3, [ROLE_DTYPE] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{ /* ptiny_Mix */
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 12,
		.args = {
			{ROLE_NONE, CT_I8, 0, 0, 0, false},
			{ROLE_NONE, CT_U8, 0, 0, 0, false},
			{ROLE_NONE, CT_I16, 0, 0, 0, false},
			{ROLE_NONE, CT_U16, 0, 0, 0, false},
			{ROLE_NONE, CT_U32, 0, 0, 0, false},
			{ROLE_NONE, CT_F32, 0, 0, 0, false},
			{ROLE_NONE, CT_F64, 0, 0, 0, false},
			{ROLE_ID, CT_STRUCT, 0, 0, 3, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_NEWCOMM, CT_P, 0, 0, 0, false},
			{ROLE_NONE, CT_P, 0, DT_INT8, 0, true},
			{ROLE_NONE, CT_U8, 0, 0, 0, false},
		},
		.at = {[ROLE_ID] = 8, [ROLE_COMM] = 9, [ROLE_NEWCOMM] = 10, },
	},
	{ /* ptiny_Parent */
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_NEWCOMM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_NEWCOMM] = 1, },
	},
	{ /* ptiny_Scatter */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_ROOT, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_ROOT] = 5, [ROLE_COMM] = 6, },
	},
	{ /* ptiny_Segments */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 10,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_SCOUNTS, CT_P, 4, DT_INT32, 0, false},
			{ROLE_SDISPLS, CT_P, 4, DT_INT32, 0, false},
			{ROLE_SDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNTS, CT_P, 8, DT_INT64, 0, false},
			{ROLE_RDISPLS, CT_P, 8, DT_UINT64, 0, false},
			{ROLE_RDTYPES, CT_P, 4, DT_INT32, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNTS] = 2, [ROLE_SDISPLS] = 3, [ROLE_SDTYPE] = 4, [ROLE_RECV] = 5, [ROLE_RCOUNTS] = 6, [ROLE_RDISPLS] = 7, [ROLE_RDTYPES] = 8, [ROLE_COMM] = 9, [ROLE_STREAM] = 10, },
	},
	{ /* ptiny_Send */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_PEER, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_DTYPE] = 3, [ROLE_PEER] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{ /* ptiny_dSum */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 5,
		.buf_dtype[ROLE_SEND] = DT_FLOAT64,
		.args = {
			{ROLE_SEND, CT_P, 0, DT_FLOAT64, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_PEER, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_PEER] = 3, [ROLE_COMM] = 4, [ROLE_STREAM] = 5, },
	},
	{ /* ptiny_fSum */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 5,
		.buf_dtype[ROLE_SEND] = DT_FLOAT32,
		.args = {
			{ROLE_SEND, CT_P, 0, DT_FLOAT32, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_PEER, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_PEER] = 3, [ROLE_COMM] = 4, [ROLE_STREAM] = 5, },
	},
	{ /* ptinyx_AllReduce */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I32, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* tiny_AllReduce */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I32, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* tiny_AllReduceConfig */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I32, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
			{ROLE_NONE, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* tiny_AllReduceConfig_c */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
			{ROLE_NONE, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* tiny_AllReduce_c */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* tiny_Count */
		.task = TASK_INIT, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_NONE, CT_I64, 0, 0, 0, false},
		},
		.at = {},
	},
	{ /* tiny_Counts */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNTS, CT_P, 8, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_RCOUNTS] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
	{ /* tiny_Exscan */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_BUF, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_BUF] = 2, [ROLE_RECV] = 3, [ROLE_COUNT] = 4, [ROLE_DTYPE] = 5, [ROLE_OP] = 6, [ROLE_COMM] = 7, },
	},
	{ /* tiny_Gather */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 8,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_SCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_SDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_RDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_ROOT, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, },
	},
	{ /* tiny_Gemv */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 12,
		.buf_dtype[ROLE_SEND] = DT_COMPLEX64,
		.buf_dtype[ROLE_BUF] = DT_FLOAT32,
		.buf_dtype[ROLE_RECV] = DT_COMPLEX64,
		.args = {
			{ROLE_ORDER, CT_I32, 0, 0, 0, false},
			{ROLE_TRANSA, CT_P, 0, DT_INT8, 0, false},
			{ROLE_M, CT_P, 4, DT_INT32, 0, false},
			{ROLE_N, CT_P, 8, DT_INT64, 0, false},
			{ROLE_ALPHA, CT_F64, 0, 0, 0, false},
			{ROLE_SEND, CT_P, 0, DT_COMPLEX64, 0, false},
			{ROLE_LDA, CT_I32, 0, 0, 0, false},
			{ROLE_BUF, CT_P, 0, DT_FLOAT32, 0, false},
			{ROLE_INCX, CT_I64, 0, 0, 0, false},
			{ROLE_BETA, CT_P, 0, DT_COMPLEX64, 0, false},
			{ROLE_RECV, CT_P, 0, DT_COMPLEX64, 0, false},
			{ROLE_INCY, CT_P, 4, DT_INT32, 0, false},
		},
		.at = {[ROLE_ORDER] = 1, [ROLE_TRANSA] = 2, [ROLE_M] = 3, [ROLE_N] = 4, [ROLE_ALPHA] = 5, [ROLE_SEND] = 6, [ROLE_LDA] = 7, [ROLE_BUF] = 8, [ROLE_INCX] = 9, [ROLE_BETA] = 10, [ROLE_RECV] = 11, [ROLE_INCY] = 12, },
	},
	{ /* tiny_GroupEnd */
		.task = TASK_GROUP_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{ /* tiny_GroupStart */
		.task = TASK_GROUP_START, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 0,
	},
	{ /* tiny_Handle */
		.task = TASK_COMM_END, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_COMM] = 1, },
	},
	{ /* tiny_Igather */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_REQUEST, .nargs = 9,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_SCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_SDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNT, CT_U64, 0, 0, 0, false},
			{ROLE_RDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_ROOT, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_REQUEST, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNT] = 2, [ROLE_SDTYPE] = 3, [ROLE_RECV] = 4, [ROLE_RCOUNT] = 5, [ROLE_RDTYPE] = 6, [ROLE_ROOT] = 7, [ROLE_COMM] = 8, [ROLE_REQUEST] = 9, },
	},
	{ /* tiny_Mine */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNTS, CT_P, 8, DT_INT64, 0, false},
			{ROLE_RDISPLS, CT_P, 8, DT_INT64, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_RECV] = 1, [ROLE_RCOUNTS] = 2, [ROLE_RDISPLS] = 3, [ROLE_DTYPE] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{ /* tiny_Mix */
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 12,
		.args = {
			{ROLE_NONE, CT_I8, 0, 0, 0, false},
			{ROLE_NONE, CT_U8, 0, 0, 0, false},
			{ROLE_NONE, CT_I16, 0, 0, 0, false},
			{ROLE_NONE, CT_U16, 0, 0, 0, false},
			{ROLE_NONE, CT_U32, 0, 0, 0, false},
			{ROLE_NONE, CT_F32, 0, 0, 0, false},
			{ROLE_NONE, CT_F64, 0, 0, 0, false},
			{ROLE_ID, CT_STRUCT, 0, 0, 3, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_NEWCOMM, CT_P, 0, 0, 0, false},
			{ROLE_NONE, CT_P, 0, DT_INT8, 0, true},
			{ROLE_NONE, CT_U8, 0, 0, 0, false},
		},
		.at = {[ROLE_ID] = 8, [ROLE_COMM] = 9, [ROLE_NEWCOMM] = 10, },
	},
	{ /* tiny_Parent */
		.task = TASK_COMM_NEW, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 1,
		.args = {
			{ROLE_NEWCOMM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_NEWCOMM] = 1, },
	},
	{ /* tiny_Scatter */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_RETURN, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_ROOT, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_ROOT] = 5, [ROLE_COMM] = 6, },
	},
	{ /* tiny_Segments */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 10,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_SCOUNTS, CT_P, 4, DT_INT32, 0, false},
			{ROLE_SDISPLS, CT_P, 4, DT_INT32, 0, false},
			{ROLE_SDTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_RCOUNTS, CT_P, 8, DT_INT64, 0, false},
			{ROLE_RDISPLS, CT_P, 8, DT_UINT64, 0, false},
			{ROLE_RDTYPES, CT_P, 4, DT_INT32, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_SCOUNTS] = 2, [ROLE_SDISPLS] = 3, [ROLE_SDTYPE] = 4, [ROLE_RECV] = 5, [ROLE_RCOUNTS] = 6, [ROLE_RDISPLS] = 7, [ROLE_RDTYPES] = 8, [ROLE_COMM] = 9, [ROLE_STREAM] = 10, },
	},
	{ /* tiny_Send */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 6,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_PEER, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_DTYPE] = 3, [ROLE_PEER] = 4, [ROLE_COMM] = 5, [ROLE_STREAM] = 6, },
	},
	{ /* tiny_dSum */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 5,
		.buf_dtype[ROLE_SEND] = DT_FLOAT64,
		.args = {
			{ROLE_SEND, CT_P, 0, DT_FLOAT64, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_PEER, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_PEER] = 3, [ROLE_COMM] = 4, [ROLE_STREAM] = 5, },
	},
	{ /* tiny_fSum */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 5,
		.buf_dtype[ROLE_SEND] = DT_FLOAT32,
		.args = {
			{ROLE_SEND, CT_P, 0, DT_FLOAT32, 0, false},
			{ROLE_COUNT, CT_U64, 0, 0, 0, false},
			{ROLE_PEER, CT_I32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_COUNT] = 2, [ROLE_PEER] = 3, [ROLE_COMM] = 4, [ROLE_STREAM] = 5, },
	},
	{ /* tinyx_AllReduce */
		.task = TASK_DATA, .sub = SUB_NONE, .completion = DONE_STREAM, .nargs = 7,
		.args = {
			{ROLE_SEND, CT_P, 0, 0, 0, false},
			{ROLE_RECV, CT_P, 0, 0, 0, false},
			{ROLE_COUNT, CT_I32, 0, 0, 0, false},
			{ROLE_DTYPE, CT_I32, 0, 0, 0, false},
			{ROLE_OP, CT_U32, 0, 0, 0, false},
			{ROLE_COMM, CT_U64, 0, 0, 0, false},
			{ROLE_STREAM, CT_P, 0, 0, 0, false},
		},
		.at = {[ROLE_SEND] = 1, [ROLE_RECV] = 2, [ROLE_COUNT] = 3, [ROLE_DTYPE] = 4, [ROLE_OP] = 5, [ROLE_COMM] = 6, [ROLE_STREAM] = 7, },
	},
};

const unsigned api_count = 44;

struct api *api_get(unsigned i)
{
	return &libs[names[i].lib].rows[names[i].row];
}

void api_fill(void)
{
	static _Atomic bool filled;

	if (atomic_load_explicit(&filled, memory_order_acquire))
		return;
	for (unsigned i = 0; i < kind_count; i++) {
		kinds[i].name = kind_names[i].name;
		kinds[i].op = kind_names[i].op;
	}
	for (unsigned i = 0; i < api_count; i++) {
		struct api_spec *s = &specs[i];
		struct api *a = api_get(i);

		if (__atomic_load_n(&a->spec, __ATOMIC_ACQUIRE))
			continue;
		s->symbol = texts + names[i].symbol;
		s->list_name = texts + names[i].list_name;
		s->how = names[i].how ? texts + names[i].how : NULL;
		s->lib = libs[names[i].lib].adapter;
		s->kind = names[i].kind ? &kinds[names[i].kind - 1] : NULL;
		__atomic_store_n(&a->spec, s, __ATOMIC_RELEASE);
	}
	atomic_store_explicit(&filled, true, memory_order_release);
}

struct api *api_find(const char *symbol)
{
	unsigned lo = 0, hi = api_count;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		int c = strcmp(symbol, texts + names[mid].symbol);

		if (c == 0) {
			api_fill();
			return api_get(mid);
		}
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

void *api_wrapper(const struct api *a)
{
	for (unsigned i = 0; i < sizeof(libs) / sizeof(libs[0]); i++)
		if (a >= libs[i].rows && a < libs[i].rows + libs[i].count)
			return libs[i].wrapper((unsigned)(a - libs[i].rows));
	return NULL;
}
