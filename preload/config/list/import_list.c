/* SPDX-License-Identifier: Apache-2.0 */
#include "config/list/import_list.h"

#include <string.h>

#include "config/config_value.h"

#define NAME_MAX_BYTES 128

/* Sections with collectives in msprobe's lists for PyTorch and for MindSpore. */
static const char comm_sections[][28] = {
	"distributed", "npu_distributed", "communication.comm_func", "mint.distributed"};
static const char op_sections[][28] = {"functional", "tensor", "torch", "_VF", "aten", "torch_npu",
	"mindspeed", "ops", "mint.ops", "mint.nn.functional"};

bool import_list_is(const struct wraplist *w)
{
	static const char others[][16] = {"functional", "tensor", "torch", "mint.ops",
		"npu_distributed", "torch_npu", "mindspeed"};
	static const char ours[][12] = {
		"mpi", "nccl", "hccl", "c10d", "oneccl", "ucc", "mindspore", "custom"};
	bool one = wraplist_find_section(w, "distributed") != WRAPLIST_NONE;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		one |= wraplist_find_section(w, others[i]) != WRAPLIST_NONE;
	/* A section that only libprobe's lists have: then this is libprobe's list. */
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (wraplist_find_section(w, ours[i]) != WRAPLIST_NONE)
			return false;
	/* msprobe's lists contain only plain Python names. */
	for (uint32_t e = 0; one && e < w->n; e++)
		one = !strpbrk(wraplist_get_text(w, w->entry[e].name), "*?[:");
	return one;
}

/* ---- collectives: the operation for a name of any library ---- */

enum {
	OP_ALLREDUCE = 1,
	OP_REDUCE_SCATTER = 2,
	OP_ALLGATHER = 4,
	OP_ALLTOALL = 8,
	OP_BROADCAST = 16,
	OP_SCATTER = 32,
	OP_GATHER = 64,
	OP_REDUCE = 128,
	OP_SEND = 256,
	OP_RECV = 512
};

/*
 * The operation of a name: the first row whose text is part of the name, in lower case and
 * without underscores.
 */
static const struct {
	char part[16];
	uint16_t op;
} comm_words[] = {
	{"allreduce", OP_ALLREDUCE},
	{"reducescatter", OP_REDUCE_SCATTER},
	{"allgather", OP_ALLGATHER},
	{"alltoall", OP_ALLTOALL},
	{"broadcast", OP_BROADCAST},
	{"bcast", OP_BROADCAST},
	{"scatter", OP_SCATTER},
	{"gather", OP_GATHER},
	{"sendrecv", OP_SEND | OP_RECV},
	{"isendirecv", OP_SEND | OP_RECV},
	{"send", OP_SEND},
	{"recv", OP_RECV},
	{"reduce", OP_REDUCE},
};

static uint16_t get_ops_by_name(const char *name)
{
	char plain[NAME_MAX_BYTES];
	const char *last = strrchr(name, ':');
	size_t n = 0;

	for (const char *p = last ? last + 1 : name; *p && n + 1 < sizeof(plain); p++)
		if (*p != '_')
			plain[n++] = get_lower_case(*p);
	plain[n] = 0;
	for (size_t i = 0; i < sizeof(comm_words) / sizeof(*comm_words); i++)
		if (strstr(plain, comm_words[i].part))
			return comm_words[i].op;
	return 0;
}

static bool match_comm(const struct wraplist *w, const char *name)
{
	uint16_t want = get_ops_by_name(name), have = 0;
	/*
	 * batch_isend_irecv covers both methods, which also have names of their own: a listed
	 * isend alone is no reason to record recv.
	 */
	bool each = strcmp(name, "batch_isend_irecv") == 0;

	for (size_t i = 0; i < sizeof(comm_sections) / sizeof(*comm_sections); i++) {
		uint32_t s = wraplist_find_section(w, comm_sections[i]);

		for (uint32_t e = 0; s != WRAPLIST_NONE && e < w->n; e++)
			if (w->entry[e].section == s)
				have |= get_ops_by_name(wraplist_get_text(w, w->entry[e].name));
	}
	return each ? (want & have) == want : (want & have) != 0;
}

/* ---- operators ---- */

static bool has_listed_operator(const struct wraplist *w, const char *name)
{
	for (size_t i = 0; i < sizeof(op_sections) / sizeof(*op_sections); i++) {
		uint32_t s = wraplist_find_section(w, op_sections[i]);

		if (s != WRAPLIST_NONE && w->nslot && w->slot[wraplist_find_slot(w, s, name)])
			return true;
	}
	return false;
}

/* Operators whose name in Python differs from that in C++. */
static const char renamed[][2][36] = {
	{"cross_entropy_loss", "cross_entropy"},
	{"nll_loss_nd", "nll_loss"},
	{"add", "__add__"},
	{"sub", "__sub__"},
	{"mul", "__mul__"},
	{"div", "__truediv__"},
	{"add_", "__iadd__"},
	{"sub_", "__isub__"},
	{"mul_", "__imul__"},
	{"div_", "__itruediv__"},
	{"neg", "__neg__"},
	{"matmul", "__matmul__"},
	{"pow", "__pow__"},
	{"eq", "__eq__"},
	{"ne", "__ne__"},
	{"lt", "__lt__"},
	{"le", "__le__"},
	{"gt", "__gt__"},
	{"ge", "__ge__"},
};

/* aten::linalg_norm.ord_str is linalg.norm in msprobe's list. */
static bool match_operator(const struct wraplist *w, const char *name)
{
	char base[NAME_MAX_BYTES];
	const char *from = strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
	size_t n = strcspn(from, ".");

	if (n >= sizeof(base))
		return false;
	memcpy(base, from, n);
	base[n] = 0;
	if (has_listed_operator(w, base))
		return true;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (strcmp(renamed[i][0], base) == 0 && has_listed_operator(w, renamed[i][1]))
			return true;
	/* The Python module of the function: linalg, fft, special. */
	char *under = strchr(base, '_');

	if (!under || under == base)
		return false;
	*under = '.';
	return has_listed_operator(w, base);
}

bool import_list_match(const struct wraplist *w, const char *section, const char *name)
{
	/* Kernels of these libraries have no Python names. */
	if (strcmp(section, "blas") == 0 || strcmp(section, "cublas") == 0 ||
		strcmp(section, "acl") == 0)
		return false;
	return strcmp(section, "aten") == 0 ? match_operator(w, name) : match_comm(w, name);
}
