/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unwritten.h"

#include <stddef.h>
#include <string.h>

/*
 * Operators that allocate uninitialised memory, make views of it, or fill it without reading it.
 * A * at the end matches any text.
 */
static const char make[][20] = {
	"empty*", "new_empty*", "_empty*", "resize_", "resize_as_", "_resize_output_", "set_"};
static const char look[][20] = {"detach", "detach_", "alias", "view*", "_unsafe_view",
	"_reshape_alias", "reshape", "as_strided", "as_strided_", "t", "transpose", "permute",
	"expand", "expand_as", "slice", "select", "narrow", "squeeze", "squeeze_", "unsqueeze",
	"unsqueeze_", "split*", "chunk", "unbind", "unfold", "diagonal", "movedim", "flatten",
	"unflatten", "lift_fresh", "is_pinned"};
static const char fill[][20] = {"zero_", "fill_", "copy_", "normal_", "uniform_", "random_",
	"bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_"};
/*
 * The same for lists of tensors: FSDP gathers parameters with _foreach_copy_. The length of the first
 * list is unknown here. A NaN in the second list of _foreach_copy_ is in the outputs, too.
 */
static const char fill_list[][20] = {"_foreach_zero_", "_foreach_copy_"};

static bool is_operator_in(const char *op, const char (*list)[20], size_t n)
{
	size_t len = strcspn(op, ".");

	for (size_t i = 0; i < n; i++) {
		size_t same = strcspn(list[i], "*");

		if (strncmp(op, list[i], same) == 0 && (list[i][same] == '*' || same == len))
			return true;
	}
	return false;
}

#define IS_IN(op, list) is_operator_in(op, list, sizeof(list) / sizeof(*(list)))

bool unwritten_is_made(const char *op)
{
	return IS_IN(op, make);
}

bool is_possibly_unwritten(const char *op, bool out, int64_t index)
{
	return IS_IN(op, look) || IS_IN(op, make) || (!out && index == 0 && IS_IN(op, fill)) ||
	       (!out && IS_IN(op, fill_list));
}

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

const char *get_unwritten_pattern(unsigned i, enum unwritten_part *part)
{
	*part = UNWRITTEN_ALL;
	if (i < COUNT(make))
		return make[i];
	i -= COUNT(make);
	if (i < COUNT(look))
		return look[i];
	i -= COUNT(look);
	*part = UNWRITTEN_FIRST_INPUT;
	if (i < COUNT(fill))
		return fill[i];
	i -= COUNT(fill);
	*part = UNWRITTEN_INPUTS;
	return i < COUNT(fill_list) ? fill_list[i] : NULL;
}
