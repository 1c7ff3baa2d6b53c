/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/live/live_verdict.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"

#define TIMES_OF_READING 4

static void add_live_fault(struct live_verdict *v, const struct finding *f)
{
	if (f->severity == FIND_NOTE || v->n == LIVE_FAULTS_MAX)
		return;
	v->fault[v->n++] = (struct live_fault){.kind = f->kind,
		.severity = f->severity,
		.ranks = tool_strdup(f->nrank ? out_format_rank_range(f->rank, f->nrank) : ""),
		.rank = tool_alloc((f->nrank + 1) * sizeof(*f->rank)),
		.nrank = f->nrank,
		.has_step = f->has_call,
		.step = f->call.step,
		.line = tool_strndup(f->text, strcspn(f->text, "\n"))};
	if (f->nrank)
		memcpy(v->fault[v->n - 1].rank, f->rank, f->nrank * sizeof(*f->rank));
}

void free_live_verdict(struct live_verdict *v)
{
	for (unsigned i = 0; i < v->n; i++) {
		free(v->fault[i].ranks);
		free(v->fault[i].rank);
		free(v->fault[i].line);
	}
	free(v->text);
	free(v->detail);
	free(v->nonfinite);
	free_verdict(&v->verdict);
	*v = (struct live_verdict){0};
}

static void copy_nonfinite(struct live_verdict *v, const struct gather *g)
{
	v->nonfinite = tool_alloc((g->folders.n + 1) * sizeof(*v->nonfinite));
	v->nnonfinite = g->folders.n;
	for (unsigned i = 0; i < g->folders.n; i++)
		v->nonfinite[i] =
			(struct live_nonfinite){g->folders.dir[i].rank, g->bad.rank[i].rows};
}

uint64_t get_nonfinite_of_rank(const struct live_verdict *v, int rank)
{
	for (unsigned i = 0; v && i < v->nnonfinite; i++)
		if (v->nonfinite[i].rank == rank)
			return v->nonfinite[i].tensors;
	return UINT64_MAX;
}

void update_live_verdict(struct live_verdict *v, const char *path)
{
	struct gather_options o = {.path = path, .top = 0, .step_hi = UINT64_MAX};
	double began = read_monotonic_s();
	struct report *r;

	if (v->known && began < v->next_s)
		return;
	r = tool_alloc(sizeof(*r));
	if (report_gather(r, &o) == STATUS_DONE) {
		free_live_verdict(v);
		v->known = true;
		v->text = format_verdict(&r->verdict);
		v->detail = format_verdict_detail(&r->verdict);
		for (unsigned i = 0; i < r->nfinding; i++)
			add_live_fault(v, &r->finding[i]);
		copy_nonfinite(v, &r->g);
		v->verdict = r->verdict;
		r->verdict = (struct run_verdict){0};
		report_free(r);
	}
	free(r);
	v->read_s = read_monotonic_s() - began;
	v->next_s = read_monotonic_s() + TIMES_OF_READING * v->read_s;
}
