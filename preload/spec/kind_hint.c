/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kind that was probably meant: by its name, its operation's name, or the function's buffers. */
#include <string.h>

#include "spec/spec.h"

#define HINT_NAME_BYTES 32

static unsigned compute_name_edits(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned row[HINT_NAME_BYTES + 1];

	if (n > HINT_NAME_BYTES || m > HINT_NAME_BYTES)
		return HINT_NAME_BYTES;
	for (unsigned j = 0; j <= m; j++)
		row[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
		}
	}
	return row[m];
}

const struct kind *kinds_nearest(const struct kinds *k, const char *name)
{
	/* with more edits it is a different word */
	unsigned least = 1 + (unsigned)strlen(name) / 3;
	const struct kind *best = NULL;

	for (unsigned i = 0; i < k->n; i++) {
		unsigned edits = compute_name_edits(name, k->item[i].name);

		if (strcmp(k->item[i].op, name) == 0)
			return &k->item[i];
		if (edits < least) {
			least = edits;
			best = &k->item[i];
		}
	}
	return best;
}

/* Returns bits for ROLE_SEND, ROLE_RECV and ROLE_BUF. */
static unsigned get_kind_buffers(const struct kind *k)
{
	unsigned roles = 0;

	for (unsigned i = 0; i < k->nin; i++)
		roles |= 1u << k->in[i].buf;
	for (unsigned i = 0; i < k->nout; i++)
		roles |= 1u << k->out[i].buf;
	return roles;
}

const struct kind *kinds_with_buffers(const struct kinds *k, const struct func *f)
{
	unsigned roles = 0;

	for (unsigned i = 0; i < f->args.n; i++)
		if (f->args.item[i].role >= ROLE_SEND && f->args.item[i].role <= ROLE_BUF)
			roles |= 1u << f->args.item[i].role;
	if (!f->kind || get_kind_buffers(f->kind) == roles)
		return NULL;
	for (unsigned i = 0; i < k->n; i++)
		if (strcmp(k->item[i].op, f->kind->op) == 0 &&
			get_kind_buffers(&k->item[i]) == roles)
			return &k->item[i];
	return NULL;
}
