/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/tensors/optype.h"

#include <string.h>

#define PREFIX "_ZN5torch8autograd9generated"
#define APPLY "5applyEOSt6vectorIN2at6TensorESaIS"

const char *get_op_name_after(const char *symbol, const char *prefix, char *out, size_t cap)
{
	size_t n = 0, len = strlen(prefix);
	const char *p = symbol + len;

	if (strncmp(symbol, prefix, len) != 0)
		return NULL;
	while (*p >= '0' && *p <= '9' && n < 1000)
		n = n * 10 + (size_t)(*p++ - '0');
	if (!n || n >= cap || memchr(p, 0, n))
		return NULL;
	memcpy(out, p, n);
	out[n] = 0;
	return p + n;
}

bool parse_node_class(const char *symbol, char *out, size_t cap)
{
	const char *p = get_op_name_after(symbol, PREFIX, out, cap);

	if (!p || strncmp(p, APPLY, sizeof(APPLY) - 1) != 0)
		return false;
	/* S4_EE, S5_EE: a reference to an earlier name by its index. */
	p += sizeof(APPLY) - 1;
	return *p >= '0' && *p <= '9' && strcmp(p + 1, "_EE") == 0;
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* "_log_softmax" -> "LogSoftmax", "conv2d" -> "Conv2D": like the generator of PyTorch, with Python's title(). */
static size_t format_camel_case(const char *base, size_t len, char *out, size_t cap)
{
	bool begins = true;
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < cap; i++) {
		if (base[i] != '_')
			out[n++] =
				(char)(begins && is_lower(base[i]) ? base[i] - 'a' + 'A' : base[i]);
		begins = base[i] == '_' || (base[i] >= '0' && base[i] <= '9');
	}
	out[n] = 0;
	return n;
}

/* True if s, of n bytes, ends with `end` and is longer than it. */
static bool has_proper_suffix(const char *s, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n > m && memcmp(s + n - m, end, m) == 0;
}

bool is_node_of_op(const char *node, const char *base)
{
	char name[128];
	size_t len = strlen(base), n;

	/* TBackward0_copy belongs to t_copy; ToCopyBackward0 to _to_copy. */
	if (has_proper_suffix(node, strlen(node), "_copy")) {
		if (!has_proper_suffix(base, len, "_copy"))
			return false;
		len -= strlen("_copy");
	}
	n = format_camel_case(base, len, name, sizeof(name));
	if (has_proper_suffix(name, n, "Forward"))
		n -= strlen("Forward");
	if (!n || strncmp(node, name, n) != 0 || strncmp(node + n, "Backward", 8) != 0)
		return false;
	/*
	 * The rest after "Backward" begins with a number, or with the dispatch key of the node
	 * ("Autograd...").
	 */
	node += n + 8;
	return (*node >= '0' && *node <= '9') || strncmp(node, "Autograd", 8) == 0;
}

#define LEAF UINT64_MAX
/* offset in words: after the pointer to virtual functions and the reference counts */
#define AT_FIRST 2
#define AT_LAST 5

int find_node_number_offset(int was, const uint64_t *leaf)
{
	int found = NODE_NO_PLACE;

	if (was == NODE_NO_PLACE)
		return was;
	if (was != NODE_NOT_KNOWN)
		return leaf[was] == LEAF ? was : NODE_NO_PLACE;
	for (int i = AT_FIRST; i <= AT_LAST; i++)
		if (leaf[i] == LEAF) {
			/*
			 * The value is at two offsets of this leaf's node, so another leaf will
			 * decide.
			 */
			if (found != NODE_NO_PLACE)
				return NODE_NOT_KNOWN;
			found = i;
		}
	return found;
}
