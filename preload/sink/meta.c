/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/meta.h"

#include <string.h>

#include "call/step.h"
#include "sink/json.h"
#include "sink/owner.h"

static const char *const state_name[] = {
	[JS_RUNNING] = "running",
	[JS_FINISHED] = "finished",
	[JS_RECOVERED] = "recovered",
};

struct counted {
	enum journal_count c;
	const char *name;
};

static const struct counted dropped[] = {
	{JC_DROP_FULL, "journal_full"},
	{JC_DROP_THREADS, "too_many_threads"},
	{JC_DROP_PENDING, "completion"},
	{JC_DROP_STACKS, "stack_only"},
};

static const struct counted skipped[] = {
	{JC_SKIP_RANK, "rank"},
	{JC_SKIP_STEP, "step"},
	{JC_SKIP_SIZE, "size"},
	{JC_SKIP_PAUSED, "paused"},
	{JC_SKIP_NESTED, "nested"},
	{JC_SKIP_CALLER, "codeline"},
};

static void key(struct text *t, const char *name)
{
	text_str(t, ",\n \"");
	text_str(t, name);
	text_str(t, "\": ");
}

static void clock_part(struct text *t, const struct clock_base *b)
{
	text_str(t, "{\"tick\": ");
	text_u64(t, b->tick);
	text_str(t, ", \"mono_ns\": ");
	text_u64(t, b->mono_ns);
	text_str(t, ", \"real_ns\": ");
	text_u64(t, b->real_ns);
	text_str(t, ", \"ns_per_tick\": ");
	text_double(t, b->ns_per_tick, 17);
	text_char(t, '}');
}

static void count_part(struct text *t, const uint64_t *count, const char *name,
	const struct counted *row, size_t n)
{
	text_fmt(t, ", \"%s\": {", name);
	for (size_t i = 0; i < n; i++) {
		text_fmt(t, "%s\"%s\": ", i ? ", " : "", row[i].name);
		text_u64(t, count[row[i].c]);
	}
	text_char(t, '}');
}

void meta_format(struct text *t, const struct journal *j, const struct journal_commit *c)
{
	const struct journal_head *h = j->head;
	uint32_t state = atomic_load_explicit(&h->state, memory_order_acquire);
	uint64_t count[JC_COUNT], self = 0;

	memcpy(count, h->count, sizeof(count));
	for (uint32_t i = 0; i < JOURNAL_THREADS && i < h->nthread; i++) {
		const struct journal_thread *s = journal_thread(j, i);

		for (int k = 0; k < JC_COUNT; k++)
			count[k] += __atomic_load_n(&s->count[k], __ATOMIC_RELAXED);
		self += __atomic_load_n(&s->self_ticks, __ATOMIC_RELAXED);
	}

	/* These come first: who looks for the owner reads only the beginning. */
	text_str(t, "{\n \"format\": 1");
	key(t, "state");
	text_json(t, state <= JS_RECOVERED && state_name[state] ? state_name[state] : "running");
	text_str(t, ",\n ");
	owner_format(t, &h->owner);
	key(t, "journal_path");
	text_json(t, h->journal_path);
	key(t, "journal");
	text_str(t, "{\"bytes\": ");
	text_u64(t, h->bytes);
	text_fmt(t, ", \"crash_safe\": %s, \"outside\": ", j->safe ? "true" : "false");
	text_u64(t, h->spilled);
	text_str(t, ", \"damaged\": ");
	text_u64(t, h->damaged);
	text_char(t, '}');
	key(t, "run");
	text_json(t, h->run);
	key(t, "rank");
	if (h->rank >= 0)
		text_i64(t, h->rank);
	else
		text_str(t, "null");
	key(t, "rank_guessed");
	text_str(t, h->rank_guessed ? "true" : "false");
	key(t, "world_size");
	if (h->world_size >= 0)
		text_i64(t, h->world_size);
	else
		text_str(t, "null");
	key(t, "version");
	text_json(t, PROBE_VERSION);
	key(t, "clock");
	text_str(t, "{\"first\": ");
	clock_part(t, &h->clock);
	text_str(t, ", \"last\": ");
	clock_part(t, &h->clock_last);
	text_char(t, '}');
	key(t, "first_record_ns");
	text_u64(t, c && c->have_rows ? clock_to_real(&h->clock, c->first_tick) : 0);
	key(t, "last_record_ns");
	text_u64(t, c && c->have_rows ? clock_to_real(&h->clock, c->last_tick) : 0);
	key(t, "steps");
	text_str(t, "{\"current\": ");
	text_u64(t, h->step);
	text_str(t, ", \"last_recorded\": ");
	if (c && c->have_rows)
		text_u64(t, c->last_step);
	else
		text_str(t, "null");
	text_str(t, ", \"source\": ");
	text_json(t, step_source_name(h->step_source));
	text_str(t, ", \"per_file\": ");
	text_u64(t, h->block_steps);
	text_char(t, '}');
	key(t, "calls");
	text_str(t, "{\"seen\": ");
	text_u64(t, count[JC_SEEN]);
	text_str(t, ", \"recorded\": ");
	text_u64(t, count[JC_RECORDED]);
	count_part(t, count, "dropped", dropped, sizeof(dropped) / sizeof(*dropped));
	count_part(t, count, "skipped", skipped, sizeof(skipped) / sizeof(*skipped));
	text_char(t, '}');
	key(t, "rows");
	text_u64(t, c ? c->rows : 0);
	key(t, "lost_rows");
	text_u64(t, h->lost_rows);
	key(t, "removed_blocks");
	text_u64(t, h->removed_blocks);
	key(t, "own_time");
	text_str(t, "{\"in_calls_s\": ");
	text_double(t, (double)self * h->clock.ns_per_tick * 1e-9, 6);
	text_str(t, ", \"writer_s\": ");
	text_double(t, (double)__atomic_load_n(&h->writer_ns, __ATOMIC_RELAXED) * 1e-9, 6);
	text_char(t, '}');
	key(t, "missing");
	text_char(t, '{');

	bool first = true;

	for (int i = 0; i < LOSS_COUNT; i++) {
		if (!h->loss[i][0])
			continue;
		text_str(t, first ? "" : ", ");
		text_json(t, log_loss_name((enum loss)i));
		text_str(t, ": ");
		text_json(t, h->loss[i]);
		first = false;
	}
	text_char(t, '}');
	for (uint16_t p = 1; p < META_PARTS; p++) {
		const char *name = journal_dict_get(j, DICT_META, p);

		if (!name || !json_is_value(name + strlen(name) + 1))
			continue;
		text_str(t, ",\n ");
		text_json(t, name);
		text_str(t, ": ");
		text_str(t, name + strlen(name) + 1);
	}
	text_str(t, "\n}\n");
}
