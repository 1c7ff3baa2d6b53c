/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of a batch, from what the DataLoader's __next__ is about to return; without a DataLoader, from the first
 * dimension of the first tensor that the model is called with.
 */
#include <string.h>

#include "terms/dtype.h"
#include "elf/loaded/elfsym.h"
#include "text/suffix.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_tree.h"
#include "wrappers/torch/tensors/tensor.h"

#define BATCH_LEVELS 4
#define BATCH_ITEMS 64u

static bool find_tensor(const void *o, const void *type, int left, struct buffer *b)
{
	size_t at = 0;
	void *k, *v;

	if (!o || left < 0)
		return false;
	if (py_is_instance(o, type)) {
		const void *impl = torch_get_tensor_of_object(o);

		return impl && torch_read_tensor(impl, b) && b->ndim;
	}
	if (py_is_dict(o)) {
		for (unsigned i = 0; i < BATCH_ITEMS && py_get_next_entry(o, &at, &k, &v); i++)
			if (find_tensor(v, type, left - 1, b))
				return true;
		return false;
	}
	for (size_t i = 0; i < py_get_item_count(o) && i < BATCH_ITEMS; i++)
		if (find_tensor(py_get_item(o, i), type, left - 1, b))
			return true;
	/* A UserDict, such as transformers' BatchEncoding. */
	if (!py_is_list(o) && !py_is_tuple(o) && !py_is_type(o) && !py_is_str(o)) {
		v = py_get_attribute(o, "data");
		return v && py_is_dict(v) && find_tensor(v, type, left - 1, b);
	}
	return false;
}

static void compute_batch(const struct buffer *b, uint64_t *samples, uint64_t *tokens)
{
	const uint64_t *dims = b->counts;

	*samples = dims[0];
	*tokens = b->ndim == 2 && b->dtype == DT_INT64 ? dims[0] * dims[1] : 0;
}

bool tree_find_batch(uint64_t *samples, uint64_t *tokens)
{
	void *const *type = elfsym_find_data("THPVariableClass");
	struct py_frame f[8];
	int n = py_get_frames(f, 8);
	char file[1024], function[256];
	struct buffer b;

	for (int i = 0; i < n && type; i++) {
		if (!py_get_frame_name(&f[i], file, sizeof(file), function, sizeof(function)) ||
			!has_suffix(file, "/torch/utils/data/dataloader.py") ||
			!has_suffix(function, "__next__"))
			continue;
		if (!find_tensor(py_find_local(&f[i], "data"), *type, BATCH_LEVELS, &b))
			return false;
		compute_batch(&b, samples, tokens);
		return true;
	}
	return false;
}

bool tree_compute_batch(const void *object, uint64_t *samples, uint64_t *tokens)
{
	void *const *type = elfsym_find_data("THPVariableClass");
	struct buffer b;

	if (!type || !find_tensor(object, *type, BATCH_LEVELS, &b))
		return false;
	compute_batch(&b, samples, tokens);
	return true;
}
