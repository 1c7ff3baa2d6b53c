/* SPDX-License-Identifier: Apache-2.0 */
/* Converts rows of calls back to the records from which they were made. */
#include "tools/probe/export/feed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/redop.h"
#include "tools/lib/intern.h"
#include "journal/columns.h"
#include "tools/lib/tool.h"

#define FUNCTIONS_MAX 65535u /* as in journals */
#define AHEAD_MAX 2048u /* maximum number of calls read ahead */

/* The number of a function, by which sinks cache data of it. */
struct function_number {
	struct table_key key;
	uint16_t n;
};

static int64_t get_fed_number(const struct calls *s, enum column c, int64_t none)
{
	int64_t v;

	return csv_parse_i64(calls_get_column(s, c), &v) ? v : none;
}

static double get_fed_real(const struct calls *s, enum column c)
{
	double v;

	return csv_parse_double(calls_get_column(s, c), &v) ? v : NAN;
}

static uint8_t find_word_number(const struct csv_text *t, const char *(*word)(unsigned), unsigned n)
{
	for (unsigned i = 1; t->n && i < n; i++)
		if (csv_is(t, word(i)))
			return (uint8_t)i;
	return 0;
}

static const char *get_redop_word(unsigned i)
{
	return redop_name[i];
}

/* Parses node:7 or node:7-9. */
static void read_node_flag(struct journal_call *c, const char *p)
{
	char *end;
	unsigned long long first = strtoull(p, &end, 10), last = first;

	if (*end == '-')
		last = strtoull(end + 1, NULL, 10);
	c->comm_seq = JOURNAL_NODE((int64_t)first, (int64_t)(last - first));
}

static void read_flag_words(struct journal_call *c, const struct csv_text *t)
{
	char text[512], *save = NULL;

	snprintf(text, sizeof(text), "%.*s", (int)t->n, t->s);
	for (char *word = strtok_r(text, ";", &save); word; word = strtok_r(NULL, ";", &save)) {
		char *value = strchr(word, ':');

		if (value)
			*value++ = 0;
		for (unsigned i = 0; i < CALL_FLAGS; i++) {
			if (strcmp(word, call_flag_words[i].word) || i == CF_BIT_NOSTATS)
				continue;
			c->flags |= 1u << i;
			if (i == CF_BIT_ERROR)
				c->error = value ? (int32_t)strtol(value, NULL, 10) : 0;
			else if (i == CF_BIT_NODE && value)
				read_node_flag(c, value);
		}
	}
}

static void start_call_record(
	struct feed_calls *fed_calls, const struct calls *s, const struct call *c)
{
	struct feed_call *f = fed_calls->reading;
	struct journal_call *e = &f->entry;
	int64_t micro = get_fed_number(s, COL_micro_step, -1),
		wait = get_fed_number(s, COL_wait_ns, -1);
	struct function_number *number =
		table_get(&fed_calls->numbers, (uint64_t)c->lib << 32 | c->api, c->op);

	*e = (struct journal_call){.seq = c->seq,
		.start = c->start,
		.end = c->start + c->dur,
		.comm = c->comm,
		.comm_seq = c->comm_seq == NO_NUMBER ? JOURNAL_NONE64 : c->comm_seq,
		.parent = (uint64_t)get_fed_number(s, COL_parent, 0),
		.wait = wait < 0    ? 0
			: wait == 0 ? JOURNAL_NO_WAIT
				    : (uint64_t)wait,
		.comm_rank = c->comm_rank == NO_NUMBER ? -1 : (int32_t)c->comm_rank,
		.comm_size = c->size == NO_NUMBER ? -1 : (int32_t)c->size,
		.step = (uint32_t)c->step,
		.micro_step = micro < 0 ? UINT32_MAX : (uint32_t)micro,
		.root = c->root == NO_NUMBER ? JOURNAL_NONE : (int32_t)c->root,
		.peer = c->peer == NO_NUMBER ? JOURNAL_NONE : (int32_t)c->peer,
		.tag = c->tag == NO_NUMBER ? JOURNAL_NONE : (int32_t)c->tag,
		.stack = c->stack,
		.tid = c->thread,
		.redop = find_word_number(
			calls_get_column(s, COL_redop), get_redop_word, REDOP_COUNT),
		.phase = find_word_number(calls_get_column(s, COL_phase), get_phase_word, PHASES)};
	e->e.type = JE_CALL;
	atomic_store(&e->e.state, JCS_CLOSED);
	read_flag_words(e, calls_get_column(s, COL_flags));
	if (number && !number->n)
		number->n = (uint16_t)fed_calls->numbers.n;
	e->api = number ? number->n : 0;
	f->api = (struct row_api){
		intern_get_name(c->lib), intern_get_name(c->api), intern_get_name(c->op)};
}

/* Parses "8x512"; "-": a scalar; "": not known. */
static uint8_t read_fed_shape(const struct csv_text *t, uint64_t dim[64])
{
	unsigned n = 0;

	if (!t->n)
		return JOURNAL_NDIM_NONE;
	if (csv_is(t, "-"))
		return 0;
	for (size_t i = 0; i < t->n && n < 64; i++) {
		uint64_t v = 0;

		for (; i < t->n && t->s[i] >= '0' && t->s[i] <= '9'; i++)
			v = v * 10 + (uint64_t)(t->s[i] - '0');
		dim[n++] = v;
	}
	return (uint8_t)n;
}

static uint8_t read_fed_dtype(const struct csv_text *t)
{
	char name[32];
	int dt;

	snprintf(name, sizeof(name), "%.*s", (int)t->n, t->s);
	dt = dtype_from_name(name);
	return dt < 0 ? DT_OTHER : (uint8_t)dt;
}

static union stats_value read_extreme(const struct csv_text *t, const struct dtype_info *d)
{
	union stats_value v = {.f = NAN};

	if (d->cls == DTC_SIGNED)
		csv_parse_i64(t, &v.i);
	else if (d->cls == DTC_UNSIGNED)
		csv_parse_u64(t, &v.u);
	else
		csv_parse_double(t, &v.f);
	return v;
}

static void read_fed_statistics(struct journal_tensor *t, const struct calls *s)
{
	const struct dtype_info *d = get_dtype_info(t->dtype);
	bool pairs = d->component != t->dtype;

	if (!calls_get_column(s, COL_nans)->n)
		return;
	t->stats = (struct stats){.n = t->count * (pairs ? 2 : 1),
		.nans = (uint64_t)get_fed_number(s, COL_nans, 0),
		.infs = (uint64_t)get_fed_number(s, COL_infs, 0),
		.min = read_extreme(calls_get_column(s, COL_min), d),
		.max = read_extreme(calls_get_column(s, COL_max), d),
		.mean = get_fed_real(s, COL_mean),
		.norm = get_fed_real(s, COL_norm)};
	t->stats.zeros = (uint64_t)llround(get_fed_real(s, COL_zeros) * (double)t->stats.n);
}

static bool has_flag(const struct csv_text *flags, const char *word)
{
	return flags->n && memmem(flags->s, flags->n, word, strlen(word));
}

static void add_fed_tensor(struct feed_call *f, const struct calls *s)
{
	const struct csv_text *name = calls_get_column(s, COL_name),
			      *crc = calls_get_column(s, COL_crc32);
	const struct journal_call *e = &f->entry;
	int64_t comm_seq = get_fed_number(s, COL_comm_seq, JOURNAL_NONE64);
	int64_t peer = get_fed_number(s, COL_peer, JOURNAL_NONE),
		tag = get_fed_number(s, COL_tag, JOURNAL_NONE);
	struct feed_tensor *r;

	TOOL_GROW(f->row, f->n, f->cap);
	r = &f->row[f->n++];
	memset(&r->t, 0, sizeof(r->t));
	r->t.count = (uint64_t)get_fed_number(s, COL_count, 0);
	r->t.bytes = (uint64_t)get_fed_number(s, COL_bytes, 0);
	r->t.comm_seq = e->flags & CF_NODE || comm_seq == e->comm_seq ? JOURNAL_NONE64 : comm_seq;
	r->t.peer = peer == e->peer ? JOURNAL_NONE : (int32_t)peer;
	r->t.tag = tag == e->tag ? JOURNAL_NONE : (int32_t)tag;
	r->t.index = (uint16_t)get_fed_number(s, COL_index, 0);
	r->t.io = csv_is(calls_get_column(s, COL_io), "in") ? IO_IN : IO_OUT;
	r->t.dtype = read_fed_dtype(calls_get_column(s, COL_dtype));
	r->t.ndim = read_fed_shape(calls_get_column(s, COL_shape), r->dim);
	r->t.flags = has_flag(calls_get_column(s, COL_flags), call_flag_words[CF_BIT_NOSTATS].word)
			     ? TF_NOSTATS
			     : 0;
	read_fed_statistics(&r->t, s);
	if (crc->n && crc->n <= 8) {
		char hex[9] = "";

		memcpy(hex, crc->s, crc->n);
		r->t.crc = (uint32_t)strtoul(hex, NULL, 16);
		r->t.flags |= TF_CRC;
	}
	csv_copy_field_to(r->name, sizeof(r->name), name);
}

static void handle_call_row(void *arg, struct calls *s, const struct call *c)
{
	struct feed_calls *f = arg;

	if (c->rows == 1) {
		f->reading->n = 0;
		start_call_record(f, s, c);
	}
	if (calls_get_column(s, COL_io)->n)
		add_fed_tensor(f->reading, s);
}

static bool is_fed_before(const struct feed_call *a, const struct feed_call *b)
{
	return a->call.step != b->call.step ? a->call.step < b->call.step : a->order < b->order;
}

static void add_fed_call(struct feed_calls *f, struct feed_call *c)
{
	unsigned i = f->n++;

	for (; i && is_fed_before(c, f->ahead[(i - 1) / 2]); i = (i - 1) / 2)
		f->ahead[i] = f->ahead[(i - 1) / 2];
	f->ahead[i] = c;
}

static struct feed_call *remove_first_fed_call(struct feed_calls *f)
{
	struct feed_call *first = f->ahead[0], *last = f->ahead[--f->n];
	unsigned i = 0;

	for (;;) {
		unsigned k = 2 * i + 1;

		if (k + 1 < f->n && is_fed_before(f->ahead[k + 1], f->ahead[k]))
			k++;
		if (k >= f->n || is_fed_before(last, f->ahead[k]))
			break;
		f->ahead[i] = f->ahead[k];
		i = k;
	}
	f->ahead[i] = last;
	return first;
}

static void free_fed_call(struct feed_call *c)
{
	if (c)
		free(c->row);
	free(c);
}

/* reuse: a call that is no longer needed, or NULL. */
static void read_fed_calls(struct feed_calls *f, struct feed_call *reuse)
{
	while (f->n < AHEAD_MAX) {
		f->reading = reuse ? reuse : tool_alloc(sizeof(*f->reading));
		reuse = NULL;
		if (!calls_read_next(&f->reader, &f->reading->call)) {
			free_fed_call(f->reading);
			break;
		}
		f->reading->order = f->read++;
		add_fed_call(f, f->reading);
	}
	free_fed_call(reuse);
	f->reading = NULL;
}

void feed_calls_open(struct feed *f)
{
	struct feed_calls *c = &f->calls;

	calls_open(&c->reader, f->dir, 0, f->overlay);
	c->reader.step_lo = f->options->step_lo;
	c->reader.step_hi = f->options->step_hi;
	c->reader.keep_open = true;
	c->reader.row = handle_call_row;
	c->reader.row_arg = c;
	c->ahead = tool_alloc(AHEAD_MAX * sizeof(struct feed_call *));
	table_init(&c->numbers, sizeof(struct function_number), FUNCTIONS_MAX);
	feed_calls_next(f);
}

void feed_calls_next(struct feed *f)
{
	read_fed_calls(&f->calls, f->calls.now);
	f->calls.now = f->calls.n ? remove_first_fed_call(&f->calls) : NULL;
}

void feed_calls_close(struct feed *f)
{
	struct feed_calls *c = &f->calls;

	f->damaged += c->reader.damaged;
	calls_close(&c->reader);
	table_free(&c->numbers);
	free_fed_call(c->now);
	while (c->n)
		free_fed_call(c->ahead[--c->n]);
	free(c->ahead);
	free(c->tensor);
	free(c->name);
}

struct record feed_call_record(struct feed *f)
{
	struct feed_calls *all = &f->calls;
	struct feed_call *c = all->now;

	all->tensor = tool_realloc(all->tensor, (c->n + 1) * sizeof(*all->tensor));
	all->name = tool_realloc(all->name, (c->n + 1) * sizeof(*all->name));
	for (unsigned i = 0; i < c->n; i++) {
		all->tensor[i] = &c->row[i].t;
		all->name[i] = c->row[i].name;
	}
	return (struct record){.api = c->api,
		.clock = &f->clock,
		.call = &c->entry,
		.open = (c->call.bits & CALL_OPEN) != 0,
		.n = c->n,
		.tensor = all->tensor,
		.name = all->name};
}
