/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/hist.h"

#include <stdlib.h>

#include "tools/lib/tool.h"

#define SUB (1u << HIST_SUB_BITS)

/*
 * Octave 0 holds 0..31 exactly. Octave k holds the values of k + 5 bits, in 32 classes by the five
 * bits after the leading one.
 */
static unsigned octave_of(uint64_t v)
{
	return v < SUB ? 0 : (unsigned)(63 - __builtin_clzll(v)) - HIST_SUB_BITS + 1;
}

static unsigned class_of(uint64_t v, unsigned octave)
{
	return octave ? (unsigned)(v >> (octave - 1)) - SUB : (unsigned)v;
}

static uint64_t *octave_classes(struct hist *h, unsigned octave)
{
	if (!h->octave[octave])
		h->octave[octave] = tool_alloc(SUB * sizeof(uint64_t));
	return h->octave[octave];
}

void hist_add(struct hist *h, uint64_t v)
{
	unsigned o = octave_of(v);

	octave_classes(h, o)[class_of(v, o)]++;
	if (!h->n || v < h->min)
		h->min = v;
	if (!h->n || v > h->max)
		h->max = v;
	h->n++;
	h->sum += (double)v;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	if (!from->n)
		return;
	for (unsigned o = 0; o < HIST_OCTAVES; o++)
		for (unsigned i = 0; from->octave[o] && i < SUB; i++)
			octave_classes(to, o)[i] += from->octave[o][i];
	if (!to->n || from->min < to->min)
		to->min = from->min;
	if (!to->n || from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t before = 0, want = (uint64_t)(q * (double)(h->n ? h->n - 1 : 0));

	if (!h->n)
		return 0;
	if (q >= 1)
		return h->max;
	for (unsigned o = 0; o < HIST_OCTAVES; o++) {
		for (unsigned i = 0; h->octave[o] && i < SUB; i++) {
			uint64_t n = h->octave[o][i];

			if (before + n <= want) {
				before += n;
				continue;
			}

			/*
			 * The middle of the class. The smallest and largest value are known
			 * exactly.
			 */
			uint64_t width = o ? UINT64_C(1) << (o - 1) : 1;
			uint64_t v = (o ? ((uint64_t)SUB + i) << (o - 1) : i) + width / 2;

			return v < h->min ? h->min : v > h->max ? h->max : v;
		}
	}
	return h->max;
}

void hist_free(struct hist *h)
{
	for (unsigned o = 0; o < HIST_OCTAVES; o++)
		free(h->octave[o]);
	*h = (struct hist){0};
}
