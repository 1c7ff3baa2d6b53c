/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/meta.h"

#include <string.h>

#include "journal/columns.h"
#include "journal/step_name.h"
#include "folder/json_check.h"
#include "folder/owner.h"

static const char *const state_name[] = {
	[JS_RUNNING] = "running",
	[JS_FINISHED] = "finished",
	[JS_RECOVERED] = "recovered",
};

static const char *const kind_name[] = {
	[JK_MEMORY] = "memory",
	[JK_FILE] = "file",
	[JK_SEGMENT] = "segment",
};

static void write_meta_key(struct text *t, const char *name)
{
	text_add_string(t, ",\n \"");
	text_add_string(t, name);
	text_add_string(t, "\": ");
}

static void write_clock_part(struct text *t, const struct clock_base *b)
{
	text_add_string(t, "{\"tick\": ");
	text_add_u64(t, b->tick);
	text_add_string(t, ", \"mono_ns\": ");
	text_add_u64(t, b->mono_ns);
	text_add_string(t, ", \"real_ns\": ");
	text_add_u64(t, b->real_ns);
	text_add_string(t, ", \"ns_per_tick\": ");
	text_add_double(t, b->ns_per_tick, 17);
	text_add_char(t, '}');
}

static void write_count_group(struct text *t, const uint64_t *count, enum count_group group)
{
	const char *sep = "";

	for (int k = 0; k < JC_COUNT; k++) {
		if (call_count_words[k].group != group)
			continue;
		text_add_format(t, "%s\"%s\": ", sep, call_count_words[k].word);
		text_add_u64(t, count[k]);
		sep = ", ";
	}
}

/* Writes the intervals of key max_overhead. Their times are comparable with column start_ns. */
static void write_thinned(struct text *t, const struct journal_head *h)
{
	uint32_t n = __atomic_load_n(&h->nthinned, __ATOMIC_ACQUIRE);

	if (!n)
		return;
	write_meta_key(t, "thinned");
	for (uint32_t i = 0; i < n && i < JOURNAL_THINNED; i++) {
		const struct journal_thinned *k = &h->thinned[i];

		text_add_string(t, i ? ", {\"from\": " : "[{\"from\": ");
		text_add_u64(t, clock_to_real(&h->clock, k->from_tick));
		text_add_string(t, ", \"to\": ");
		if (k->to_tick)
			text_add_u64(t, clock_to_real(&h->clock, k->to_tick));
		else
			text_add_string(t, "null");
		text_add_format(t,
			", \"level\": %u, \"one_call_in\": %llu, \"values_below\": ", k->level,
			1ull << (k->power & 63));
		if (k->values_from == UINT64_MAX)
			text_add_string(t, "null");
		else
			text_add_u64(t, k->values_from);
		text_add_format(t, ", \"from_step\": %u, \"to_step\": ", k->from_step);
		if (k->to_tick)
			text_add_u64(t, k->to_step);
		else
			text_add_string(t, "null");
		text_add_char(t, '}');
	}
	text_add_char(t, ']');
}

/* Writes the progress. Its times are in the clock of mono_ns in `clock`. */
static void write_progress(struct text *t, const struct journal_progress *p)
{
	write_meta_key(t, "progress");
	text_add_string(t, "{\"mono_ns\": ");
	text_add_u64(t, p->at_ns);
	text_add_string(t, ", \"moved_ns\": ");
	text_add_u64(t, p->moved_ns);
	text_add_string(t, ", \"quiet_ns\": ");
	text_add_u64(t, p->quiet_ns);
	text_add_string(t, ", \"cpu_s\": ");
	text_add_double(t, (double)p->cpu_ns * 1e-9, 6);
	text_add_format(t, ", \"cpu_percent\": %u, \"io_bytes\": %llu, \"descendants_seen\": %s}",
		p->cpu_percent, (unsigned long long)p->io_bytes, p->unseen ? "false" : "true");
}

void meta_format(struct text *t, const struct journal *j, const struct journal_commit *c)
{
	const struct journal_head *h = j->head;
	uint32_t state = atomic_load_explicit(&h->state, memory_order_acquire);
	uint64_t count[JC_COUNT], self = 0;

	memcpy(count, h->count, sizeof(count));
	for (uint32_t i = 0, n = journal_get_nthread(j); i < n; i++) {
		const struct journal_thread *s = journal_get_thread(j, i);

		for (int k = 0; k < JC_COUNT; k++)
			count[k] += __atomic_load_n(&s->count[k], __ATOMIC_RELAXED);
		self += __atomic_load_n(&s->self_ticks, __ATOMIC_RELAXED);
	}

	/*
	 * These fields come first, because readers that look for the owner read only the
	 * beginning.
	 */
	text_add_string(t, "{\n \"format\": 1");
	write_meta_key(t, "state");
	text_add_json(
		t, state <= JS_RECOVERED && state_name[state] ? state_name[state] : "running");
	text_add_string(t, ",\n ");
	owner_format(t, &h->owner);
	write_meta_key(t, "journal_path");
	text_add_json(t, h->journal_path);
	write_meta_key(t, "journal");
	text_add_string(t, "{\"bytes\": ");
	text_add_u64(t, journal_get_size(j));
	text_add_string(t, ", \"kind\": ");
	text_add_json(t, kind_name[j->kind]);
	text_add_format(t, ", \"crash_safe\": %s, \"outside\": ", j->safe ? "true" : "false");
	text_add_u64(t, h->spilled);
	text_add_string(t, ", \"damaged\": ");
	text_add_u64(t, h->damaged);
	text_add_char(t, '}');
	write_meta_key(t, "next_seq");
	text_add_u64(t, h->seq_next);
	write_meta_key(t, "run");
	text_add_json(t, h->run);
	write_meta_key(t, "rank");
	if (h->rank >= 0)
		text_add_i64(t, h->rank);
	else
		text_add_string(t, "null");
	write_meta_key(t, "rank_guessed");
	text_add_string(t, h->rank_guessed ? "true" : "false");
	write_meta_key(t, "world_size");
	if (h->world_size >= 0)
		text_add_i64(t, h->world_size);
	else
		text_add_string(t, "null");
	write_meta_key(t, "version");
	text_add_json(t, PROBE_VERSION);
	write_meta_key(t, "clock");
	text_add_string(t, "{\"first\": ");
	write_clock_part(t, &h->clock);
	text_add_string(t, ", \"last\": ");
	write_clock_part(t, &h->clock_last);
	text_add_char(t, '}');
	write_meta_key(t, "first_record_ns");
	text_add_u64(t, c && c->have_rows ? clock_to_real(&h->clock, c->first_tick) : 0);
	write_meta_key(t, "last_record_ns");
	text_add_u64(t, c && c->have_rows ? clock_to_real(&h->clock, c->last_tick) : 0);
	write_meta_key(t, "steps");
	text_add_string(t, "{\"current\": ");
	text_add_u64(t, h->step);
	text_add_string(t, ", \"last_recorded\": ");
	if (c && c->have_rows)
		text_add_u64(t, c->last_step);
	else
		text_add_string(t, "null");
	text_add_string(t, ", \"source\": ");
	text_add_json(t, get_step_source_name(h->step_source));
	text_add_string(t, ", \"per_file\": ");
	text_add_u64(t, h->block_steps);
	text_add_char(t, '}');
	write_meta_key(t, "calls");
	text_add_char(t, '{');
	write_count_group(t, count, COUNTS_TOP);
	text_add_string(t, ", \"dropped\": {");
	write_count_group(t, count, COUNTS_DROPPED);
	text_add_string(t, "}, \"skipped\": {");
	write_count_group(t, count, COUNTS_SKIPPED);
	text_add_char(t, '}');
	text_add_char(t, '}');
	write_meta_key(t, "rows");
	text_add_u64(t, c ? c->rows : 0);
	write_meta_key(t, "lost_rows");
	text_add_u64(t, h->lost_rows);
	write_meta_key(t, "removed_blocks");
	text_add_u64(t, h->removed_blocks);
	write_meta_key(t, "own_time");
	text_add_string(t, "{\"in_calls_s\": ");
	text_add_double(t, (double)self * h->clock.ns_per_tick * 1e-9, 6);
	text_add_string(t, ", \"writer_s\": ");
	text_add_double(t, (double)__atomic_load_n(&h->writer_ns, __ATOMIC_RELAXED) * 1e-9, 6);
	text_add_char(t, '}');
	write_thinned(t, h);
	if (h->progress.at_ns)
		write_progress(t, &h->progress);
	write_meta_key(t, "missing");
	text_add_char(t, '{');

	bool first = true;

	for (int i = 0; i < LOSS_COUNT; i++) {
		if (!h->loss[i][0])
			continue;
		text_add_string(t, first ? "" : ", ");
		text_add_json(t, log_loss_name((enum loss)i));
		text_add_string(t, ": ");
		text_add_json(t, h->loss[i]);
		first = false;
	}
	text_add_char(t, '}');
	for (uint16_t p = 1; p < META_PARTS; p++) {
		const char *name = journal_dict_get(j, DICT_META, p);

		if (!name || !json_is_value(name + strlen(name) + 1))
			continue;
		text_add_string(t, ",\n ");
		text_add_json(t, name);
		text_add_string(t, ": ");
		text_add_string(t, name + strlen(name) + 1);
	}
	text_add_string(t, "\n}\n");
}
