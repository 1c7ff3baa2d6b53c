/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/skew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/read/calls.h"
#include "tools/lib/intern.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"

#define ENDS_MAX 2048u /* operations that are looked at in a folder */
#define CALLS_MAX 65536u /* calls among which they are looked for */
#define FOLDERS_MAX 256u /* of all hosts */
#define SHARED_MIN 8u /* operations that two hosts must have in common */
#define LEAST_NS 1000000 /* smaller differences are not corrected */

struct moment {
	struct table_key key; /* communicator, comm_seq */
	uint64_t end;
};

struct host {
	const struct journal_owner *owner;
	struct moment *moment;
	unsigned n, cap, folders;
	int64_t ahead; /* of the first host's clock */
	bool known;
};

/* In these every rank waits for every other. */
static bool is_synchronising_op(uint32_t op)
{
	static const char *const list[] = {
		"all_reduce", "barrier", "all_gather", "all_to_all", "reduce_scatter"};

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(intern_name(op), list[i]) == 0)
			return true;
	return false;
}

static void read_moments(struct host *h, const struct rank_dir *d, uint64_t lo, uint64_t hi)
{
	struct calls s;
	struct call c;
	unsigned n = 0;

	calls_open(&s, d, 0, NULL);
	s.step_lo = lo;
	s.step_hi = hi;
	s.keep_open = true;
	for (unsigned k = 0; n < ENDS_MAX && k < CALLS_MAX && calls_next(&s, &c); k++) {
		if (!c.comm || c.comm_seq == NO_NUMBER || !is_synchronising_op(c.op) ||
			c.bits & (CALL_OPEN | CALL_ASYNC | CALL_ERROR | CALL_LOCAL | CALL_NESTED |
					 CALL_P2P))
			continue;
		TOOL_GROW(h->moment, h->n, h->cap);
		h->moment[h->n++] =
			(struct moment){{c.comm, (uint64_t)c.comm_seq}, c.start + c.dur};
		n++;
	}
	calls_close(&s);
}

static bool same_host(const struct journal_owner *a, const struct journal_owner *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->boot_id, b->boot_id) == 0;
}

/* Number of the folder's host; makes a new one. */
static unsigned host_of(
	struct host **host, unsigned *n, unsigned *cap, const struct journal_owner *o)
{
	for (unsigned i = 0; i < *n; i++)
		if (same_host((*host)[i].owner, o))
			return i;
	TOOL_GROW(*host, *n, *cap);
	(*host)[*n] = (struct host){.owner = o};
	return (*n)++;
}

static int by_difference(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

/* Sets the host's clock by the moments that are known already. */
static bool align_host_clock(struct host *h, const struct table *known)
{
	int64_t *diff = tool_alloc((h->n + 1) * sizeof(*diff));
	unsigned n = 0;

	for (unsigned i = 0; i < h->n; i++) {
		const struct moment *m = table_find(known, h->moment[i].key.a, h->moment[i].key.b);

		if (m)
			diff[n++] = (int64_t)(h->moment[i].end - m->end);
	}
	if (n >= SHARED_MIN) {
		qsort(diff, n, sizeof(*diff), by_difference);
		h->ahead = diff[n / 2];
		h->known = true;
	}
	free(diff);
	return h->known;
}

static void learn_moments(struct table *known, const struct host *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct moment *m = table_get(known, h->moment[i].key.a, h->moment[i].key.b);

		if (m && !m->end)
			m->end = h->moment[i].end - (uint64_t)h->ahead;
	}
}

static void align_all(struct host *host, unsigned n)
{
	struct table known;
	bool more = true;

	table_init(&known, sizeof(struct moment), 1u << 20);
	host[0].known = true;
	learn_moments(&known, &host[0]);
	while (more) {
		more = false;
		for (unsigned i = 1; i < n; i++) {
			if (host[i].known || !align_host_clock(&host[i], &known))
				continue;
			learn_moments(&known, &host[i]);
			more = true;
		}
	}
	table_free(&known);
}

void skew_estimate(
	struct skew_result *r, int64_t *skew, const struct folders *f, uint64_t lo, uint64_t hi)
{
	struct host *host = NULL;
	unsigned n = 0, cap = 0, *of = tool_alloc(f->n * sizeof(*of));

	*r = (struct skew_result){0};
	for (unsigned i = 0; i < f->n; i++)
		of[i] = host_of(&host, &n, &cap, &f->dir[i].meta.owner);
	r->nhost = n;
	for (unsigned i = 0; n > 1 && i < f->n; i++) {
		struct host *h = &host[of[i]];

		if (h->folders++ < (FOLDERS_MAX / n ? FOLDERS_MAX / n : 1))
			read_moments(h, &f->dir[i], lo, hi);
	}
	if (n > 1)
		align_all(host, n);
	for (unsigned i = 0; n > 1 && i < n; i++) {
		struct host *h = &host[i];

		r->unknown += !h->known;
		if (h->ahead > -LEAST_NS && h->ahead < LEAST_NS)
			h->ahead = 0;
		r->corrected += h->ahead != 0;
		if (llabs(h->ahead) > llabs(r->largest)) {
			r->largest = h->ahead;
			snprintf(r->host, sizeof(r->host), "%s", h->owner->host);
		}
	}
	for (unsigned i = 0; i < f->n; i++)
		skew[i] = -host[of[i]].ahead;
	for (unsigned i = 0; i < n; i++)
		free(host[i].moment);
	free(host);
	free(of);
}
