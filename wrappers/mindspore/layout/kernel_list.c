/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the kernels that are listed. Section mindspore has their own names and patterns. Lists written for msprobe have names of
 * Python functions (ops.matmul, Tensor.add, mint.ops.sum), each of which covers the kernels that it may become.
 */
#include <string.h>

#include "text/text.h"
#include "config/config_value.h"
#include "config/list/glob.h"
#include "config/list/wraplist.h"
#include "session/state.h"
#include "wrappers/mindspore/layout/kernel.h"

#define PLAIN_MAX 64
#define SECTION "mindspore"

/*
 * In section mindspore these names are functions of the communication library: kernels of these
 * names only call them, and the collective is recorded. Gather and Scatter are also names of
 * operators without communication, which are listed by a pattern or as kernel::Gather.
 */
static const char collectives[][16] = {"AllReduce", "AllGather", "Broadcast", "ReduceScatter",
	"Gather", "Scatter", "Send", "Recv", "Barrier"};
#define GATHER 4
#define SCATTER 5
#define QUALIFIER "kernel::"

/* Prefixes of the names of kernels that only communicate, besides the ones above. */
static const char communicating[][20] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll",
	"AllToAll", "NeighborExchange", "CollectiveGather", "CollectiveScatter", "DistComm",
	"InnerComm", "BatchISendIRecv", "Receive", "MatmulAllReduce", "Barrier"};

static bool is_collective_name(const char *name)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (strcmp(collectives[i], name) == 0)
			return true;
	return false;
}

static bool is_communication_kernel(const char *name)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (i != GATHER && i != SCATTER && strcmp(collectives[i], name) == 0)
			return true;
	for (size_t i = 0; i < sizeof(communicating) / sizeof(*communicating); i++)
		if (strncmp(name, communicating[i], strlen(communicating[i])) == 0)
			return true;
	return false;
}

/* ---- Python's names ---- */

static const char python_sections[][20] = {"ops", "mint.ops", "mint.nn.functional", "tensor"};
#define PYTHON_SECTIONS (sizeof(python_sections) / sizeof(*python_sections))

/*
 * Writes `name` in the form that compare_names() uses: lower-case letters and digits only.
 * Returns false if it is too long.
 */
static bool write_plain_name(char *out, const char *name, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (name[i] == '_')
			continue;
		if (n + 1 == PLAIN_MAX)
			return false;
		out[n++] = get_lower_case(name[i]);
	}
	out[n] = 0;
	return n > 0;
}

/*
 * Kernels whose name differs from the Python function's, both in plain form. Sources:
 * mindspore/ops/function, mindspore/ops/auto_generate.
 */
static const struct {
	char function[20], kernel[28];
} other_names[] = {
	{"sum", "reducesum"},
	{"mean", "reducemean"},
	{"max", "reducemax"},
	{"amax", "reducemax"},
	{"min", "reducemin"},
	{"amin", "reducemin"},
	{"prod", "reduceprod"},
	{"all", "reduceall"},
	{"any", "reduceany"},
	{"max", "argmaxwithvalue"},
	{"min", "argminwithvalue"},
	{"truediv", "div"},
	{"div", "realdiv"},
	{"divide", "div"},
	{"multiply", "mul"},
	{"subtract", "sub"},
	{"negative", "neg"},
	{"absolute", "abs"},
	{"mm", "matmul"},
	{"bmm", "batchmatmul"},
	{"matmul", "batchmatmul"},
	{"linear", "dense"},
	{"gt", "greater"},
	{"ge", "greaterequal"},
	{"lt", "less"},
	{"le", "lessequal"},
	{"eq", "equal"},
	{"ne", "notequal"},
	{"where", "select"},
	{"cat", "concat"},
	{"permute", "transpose"},
	{"swapaxes", "transpose"},
	{"gatherelements", "gatherd"},
	{"to", "cast"},
	{"float", "cast"},
	{"half", "cast"},
	{"crossentropy", "nllloss"},
	{"maxpool2d", "maxpool"},
	{"avgpool2d", "avgpool"},
	{"getitem", "stridedslice"},
};

/*
 * True if `kernel` is `wanted`, possibly followed by a suffix that distinguishes generations of a
 * kernel.
 */
static bool is_same_kernel(const char *kernel, const char *wanted)
{
	static const char suffix[][4] = {"", "ext", "v2", "v3", "op"};
	size_t n = strlen(wanted);

	if (strncmp(kernel, wanted, n) != 0)
		return false;
	for (size_t i = 0; i < sizeof(suffix) / sizeof(*suffix); i++)
		if (strcmp(kernel + n, suffix[i]) == 0)
			return true;
	return false;
}

/*
 * True if the Python function `function` may become `kernel`; both names are plain. of_operator:
 * the list had it as __function__.
 */
static bool is_kernel_of_function(const char *function, const char *kernel, bool of_operator)
{
	/* x + y is __add__, __radd__ or __iadd__. */
	const char *forms[2] = {function, ""};

	if (of_operator && (function[0] == 'r' || function[0] == 'i'))
		forms[1] = function + 1;
	for (unsigned f = 0; f < 2; f++) {
		if (!*forms[f])
			continue;
		if (is_same_kernel(kernel, forms[f]))
			return true;
		for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++)
			if (strcmp(other_names[i].function, forms[f]) == 0 &&
				is_same_kernel(kernel, other_names[i].kernel))
				return true;
	}
	return false;
}

/* sum_ex, relu_ext: other entries of one function. */
static size_t get_base_length(const char *name)
{
	size_t n = strlen(name);

	if (n > 3 && strcmp(name + n - 3, "_ex") == 0)
		return n - 3;
	return n > 4 && strcmp(name + n - 4, "_ext") == 0 ? n - 4 : n;
}

static bool is_listed_by_python(struct wraplist *w, const char *name)
{
	char kernel[PLAIN_MAX], function[PLAIN_MAX];

	if (!write_plain_name(kernel, name, strlen(name)))
		return false;
	for (size_t i = 0; i < PYTHON_SECTIONS; i++) {
		uint32_t s = wraplist_find_section(w, python_sections[i]);

		for (uint32_t e = 0; s != WRAPLIST_NONE && e < w->n; e++) {
			const char *text = wraplist_get_text(w, w->entry[e].name);

			if (w->entry[e].section != s)
				continue;
			if (w->entry[e].glob
					? glob_match(text, name)
					: write_plain_name(function, text, get_base_length(text)) &&
						  is_kernel_of_function(function, kernel,
							  strncmp(text, "__", 2) == 0))
				return true;
		}
	}
	return false;
}

/* ---- libprobe's own section ---- */

static bool is_listed_by_name(struct wraplist *w, const char *name)
{
	char qualified[sizeof(QUALIFIER) + 128];
	struct text t = text_init(qualified, sizeof(qualified));
	uint32_t s = wraplist_find_section(w, SECTION);
	bool hit;

	if (s == WRAPLIST_NONE || w->imported)
		return false;
	text_add_string(&t, QUALIFIER);
	text_add_string(&t, name);
	hit = wraplist_match(w, SECTION, qualified);
	if (!is_collective_name(name))
		return wraplist_match(w, SECTION, name) || hit;
	for (uint32_t i = w->section[s].first_glob; i != WRAPLIST_NONE && !hit;
		i = w->entry[i].next_glob)
		hit = glob_match(wraplist_get_text(w, w->entry[i].name), name);
	return hit;
}

bool ms_kernel_listed(const char *name)
{
	struct wraplist *w = get_wraplist();

	return !is_communication_kernel(name) &&
	       (is_listed_by_name(w, name) || is_listed_by_python(w, name));
}

static bool has_kernel_patterns(const struct wraplist *w)
{
	if (!w)
		return false;
	for (uint32_t e = 0; e < w->n; e++) {
		const char *section = wraplist_get_text(w, w->section[w->entry[e].section].name);

		if (strcmp(section, SECTION) == 0 && !w->imported &&
			(w->entry[e].glob ||
				!is_collective_name(wraplist_get_text(w, w->entry[e].name))))
			return true;
		for (size_t i = 0; i < PYTHON_SECTIONS; i++)
			if (strcmp(section, python_sections[i]) == 0)
				return true;
	}
	return false;
}

bool ms_kernels_listed(void)
{
	return has_kernel_patterns(get_wraplist()) || has_kernel_patterns(generation_armable);
}
