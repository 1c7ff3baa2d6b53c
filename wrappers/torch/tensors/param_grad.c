/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/tensors/param_grad.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/log.h"
#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensors/tensor.h"

#define GRAD_SYMBOL "_ZNK3c1010TensorImpl4gradEv"
#define META_MAX_BYTES 256 /* bytes of an AutogradMeta that are searched */
#define NOT_THERE (-1)

static _Atomic int grad_at; /* from the AutogradMeta; 0: not known yet, NOT_THERE */

/* autograd_meta_ follows the storage, which follows the header that every object has. */
static const char *get_autograd_meta(const void *impl)
{
	int header = torch_get_header_bytes();

	return header ? *(const char *const *)((const char *)impl + header + 8) : NULL;
}

static int find_grad_offset(const void *impl, const char *meta)
{
	const void *const *(*grad)(const void *);
	struct provider p;
	intptr_t at = NOT_THERE;
	bool good = false;

	if (elfsym_find_all(GRAD_SYMBOL, &p, 1) > 0 && !p.ifunc) {
		grad = (const void *const *(*)(const void *))p.addr;
		at = (const char *)grad(impl) - meta;
		good = at >= 8 && at < META_MAX_BYTES && at % 8 == 0;
	}
	session_record_layout_fact(LAYOUT_TORCH_GRAD, good);
	if (!good)
		log_loss(LOSS_ENTRY,
			"PyTorch: the offset of a tensor's gradient in this version is unknown: "
			"kinds of gradients are not written; update libprobe");
	at = good ? at : NOT_THERE;
	atomic_store_explicit(&grad_at, (int)at, memory_order_relaxed);
	return (int)at;
}

const void *torch_get_grad(const void *impl)
{
	const char *meta = impl ? get_autograd_meta(impl) : NULL;
	int at = atomic_load_explicit(&grad_at, memory_order_relaxed);

	if (!meta)
		return NULL;
	if (!at)
		at = find_grad_offset(impl, meta);
	return at > 0 ? *(const void *const *)(meta + at) : NULL;
}

const void *torch_get_undefined(void)
{
	static _Atomic(const void *) undefined;
	const void *at = atomic_load_explicit(&undefined, memory_order_relaxed);

	if (at)
		return at;
	/* c10::UndefinedTensorImpl::_singleton (c10/core/UndefinedTensorImpl.h) */
	at = elfsym_find_data("_ZN3c1019UndefinedTensorImpl10_singletonE");
	atomic_store_explicit(&undefined, at, memory_order_relaxed);
	return at;
}

bool torch_get_grad_buffer(const void *impl, struct buffer *b)
{
	const void *grad = torch_get_grad(impl);

	return grad && torch_read_tensor(grad, b);
}

bool torch_buffer_is_dense(const struct buffer *b)
{
	const int64_t *size = b->counts, *stride = b->displs;
	int64_t expected = 1;

	if (b->layout == BUFFER_CONTIG)
		return true;
	if (b->layout != BUFFER_STRIDED)
		return false;
	for (uint32_t i = b->n; i-- > 0;) {
		if (size[i] != 1 && stride[i] != expected)
			return false;
		expected *= size[i];
	}
	return true;
}

bool torch_set_buffer_range(
	struct buffer *b, uint64_t at, uint64_t count, const uint64_t *dims, uint8_t ndim)
{
	uint64_t size = b->count ? b->bytes / b->count : 0;

	if (!torch_buffer_is_dense(b) || at + count > b->count)
		return false;
	b->layout = BUFFER_CONTIG;
	if (b->base)
		b->base = (const char *)b->base + at * size;
	b->count = count;
	b->bytes = count * size;
	b->counts = dims;
	b->ndim = ndim;
	return true;
}
