/* SPDX-License-Identifier: Apache-2.0 */
#include "call/plan.h"

#include "api/roles.h"

/*
 * Returns false if the buffer does not have the common form, or the function lacks one of the
 * arguments.
 */
static bool is_plain(struct plain_buffer *b, const struct api_spec *s, const struct extent *e)
{
	unsigned buf = find_argument_with_role(s, e->buf),
		 dtype = find_argument_with_role(s, e->dtype), count;

	if (e->form != EXT_PRODUCT || e->where != ON_ALL || e->noffset || e->nterm != 1 ||
		e->term[0] >= ROLE_NROLES)
		return false;
	count = find_argument_with_role(s, e->term[0]);
	if (!buf || !dtype || !count)
		return false;
	*b = (struct plain_buffer){(uint8_t)(buf - 1), (uint8_t)(count - 1), (uint8_t)(dtype - 1)};
	return true;
}

static bool set_plan(struct plan *p, const struct api_spec *s)
{
	const struct kind *k = s->kind;

	/* In a rooted kind, the buffers in use depend on the rank. */
	if (k->rooted || !(s->lib->dtype || s->lib->dtypes))
		return false;
	p->nin = k->nin;
	p->nout = k->nout;
	p->in_place = s->lib->in_place && k->alt_buf
			      ? (uint8_t)find_argument_with_role(s, k->alt_buf)
			      : 0;
	for (unsigned i = 0; i < k->nin; i++)
		if (!is_plain(&p->buffer[i], s, &k->in[i]))
			return false;
	for (unsigned i = 0; i < k->nout; i++)
		if (!is_plain(&p->buffer[k->nin + i], s, &k->out[i]))
			return false;
	p->one_dtype = k->nin + k->nout > 0;
	for (unsigned i = 1; i < k->nin + k->nout; i++)
		p->one_dtype &= p->buffer[i].dtype == p->buffer[0].dtype;
	return true;
}

const struct plan *plan_compute(struct api *f)
{
	uint8_t state = PLAN_NEW;

	/* A thread that arrives while another one makes the plan works without it. */
	if (!atomic_compare_exchange_strong(&f->plan.state, &state, PLAN_MAKING))
		return NULL;
	state = set_plan(&f->plan, f->spec) ? PLAN_READY : PLAN_NONE;
	atomic_store_explicit(&f->plan.state, state, memory_order_release);
	return state == PLAN_READY ? &f->plan : NULL;
}
