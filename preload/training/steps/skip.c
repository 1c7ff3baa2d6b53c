/* SPDX-License-Identifier: Apache-2.0 */
#include "training/steps/skip.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "config/rooms/alerts.h"
#include "config/rooms/files.h"
#include "text/pytext.h"
#include "text/text.h"
#include "call/step.h"
#include "config/config_value.h"
#include "journal/meta_part.h"
#include "session/generation.h"
#include "session/state.h"
#include "training/steps/scalar.h"

#define PEER_FOLDER "skip"
#define PEER_OFF "off" /* one line for each rank that no longer withholds */
#define PEER_BYTES 256
/* backward passes in which the promise is tried: there may be no optimizer yet */
#define PROMISE_TRIES 4
#define PEER_OFF_BYTES 65536 /* maximum bytes; a longer file is not read */
#define PART_BYTES 640

enum skip_state { SKIP_UNSEEN, SKIP_WAITING, SKIP_ON, SKIP_REFUSED };

static const char state_words[][8] = {"waiting", "waiting", "on", "refused"};

static _Atomic uint8_t state; /* enum skip_state */
static char refusal[SKIP_WHY_MAX];
static bool told; /* the other ranks have been informed, because this rank's file exists */
static bool all_on; /* each rank's file was read once; later changes are in PEER_OFF */
static unsigned promise_tries, promised; /* tries to make the promise; number of optimizers in it */
static uint64_t withheld;
static uint32_t last_step;
static double last_norm;
static uint64_t last_count; /* withheld steps in a row of the last optimizer that stepped */
static bool was_withheld;

/* For each optimizer: */
static struct {
	uint64_t steps, consecutive;
	uint32_t put; /* 1 + the last step with the scalar */
} of[SKIP_OPTIMIZERS];

bool skip_is_wanted(void)
{
	return get_alerts_keys(get_config())->use_skip_data_by_global_norm;
}

void skip_forked(void)
{
	atomic_store(&state, SKIP_UNSEEN);
	memset(of, 0, sizeof(of));
	told = all_on = was_withheld = false;
	promise_tries = promised = 0;
	withheld = 0;
	refusal[0] = 0;
}

bool skip_is_refused(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) == SKIP_REFUSED;
}

/* ---- content of meta.json ---- */

static void write_skip_member(struct text *t, const char *key, bool first)
{
	text_add_string(t, first ? "{" : ", ");
	text_add_json(t, key);
	text_add_string(t, ": ");
}

/* Writes the part of meta.json after a withheld step, or (changed) after another change. */
static void write_skip_meta(bool changed)
{
	const struct config *cfg = get_config();
	const struct alerts_keys *keys = get_alerts_keys(cfg);
	char part[PART_BYTES];
	struct text t = text_init(part, sizeof(part));

	/* Each text takes space in the dictionary permanently, so not every step is written. */
	if (!session.journal.head || (!changed && withheld > 16 && withheld & (withheld - 1)))
		return;
	text_add_bytes(&t, "skip_on_spike", sizeof("skip_on_spike"));
	write_skip_member(&t, "state", true);
	text_add_json(&t, state_words[atomic_load(&state)]);
	write_skip_member(&t, "why", false);
	text_add_json(
		&t, atomic_load(&state) == SKIP_WAITING
			    ? "no step of an optimizer has been seen (a compiled one shows none)"
			    : refusal);
	write_skip_member(&t, "threshold", false);
	text_add_double(&t, keys->global_norm_spike_threshold, 17);
	write_skip_member(&t, "count_threshold", false);
	text_add_i64(&t, keys->global_norm_spike_count_threshold);
	write_skip_member(&t, "withheld", false);
	text_add_u64(&t, withheld);
	write_skip_member(&t, "last_step", false);
	if (withheld)
		text_add_u64(&t, last_step);
	else
		text_add_string(&t, "null");
	text_add_char(&t, '}');
	if (!t.cut)
		journal_dict_add(&session.journal, DICT_META, META_SKIP_ON_SPIKE, part, t.len + 1);
}

void skip_start(void)
{
	uint8_t none = SKIP_UNSEEN;

	if (atomic_load_explicit(&state, memory_order_relaxed) == SKIP_UNSEEN &&
		atomic_compare_exchange_strong(&state, &none, SKIP_WAITING))
		write_skip_meta(true);
}

/* ---- messages between ranks ---- */

/*
 * Writes a text that identifies the job: equal on all its ranks, and, if the launcher gives a
 * name, different from that of other jobs in the same folder.
 */
static void write_peer_text(struct text *t, const char *word)
{
	text_add_string(t, word);
	text_add_char(t, ' ');
	text_add_i64(t, session.world_size);
	text_add_char(t, ' ');
	text_add_string(t, session.run);
	text_add_char(t, '\n');
}

/* Writes the line by which a rank promises, before the first step, to withhold it if necessary. */
static void format_promise(struct text *t)
{
	text_add_string(t, "from the first step, optimizers: ");
	text_add_u64(t, promised);
	text_add_char(t, '\n');
}

static void write_peer_path(struct text *t, int rank)
{
	text_add_string(t, get_files_keys(get_config())->output_dir);
	text_add_string(t, "/" PEER_FOLDER);
	if (rank >= 0) {
		text_add_string(t, "/rank");
		text_add_i64(t, rank);
	}
}

/*
 * Appends a line to PEER_OFF. text: "" if the file only has to be made, so that no rank takes a
 * cached absence of the file on its host for the truth.
 */
static int write_peer_off(const char *text, size_t n)
{
	char path[CONFIG_PATH_MAX + 64];
	struct text p = text_init(path, sizeof(path));
	int fd, err = 0;

	write_peer_path(&p, -1);
	text_add_string(&p, "/" PEER_OFF);
	fd = io_open_regular(
		AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return fd;
	if (n)
		err = io_write_all(fd, text, n);
	close(fd);
	/*
	 * If the line cannot be written, PEER_OFF is removed: a missing file has the same
	 * meaning.
	 */
	if (err)
		unlink(path);
	return err;
}

/* Writes this rank's file. Returns 0 or -errno. */
static int write_skip_file(const char *word)
{
	char path[CONFIG_PATH_MAX + 64], line[PEER_BYTES];
	struct text p = text_init(path, sizeof(path)), l = text_init(line, sizeof(line));
	int err;

	if (session.world_size <= 1)
		return 0;
	write_peer_path(&p, -1);
	write_peer_text(&l, word);
	if (strcmp(word, "on") == 0 && promised)
		format_promise(&l);
	err = io_add_folders(path);
	p = text_init(path, sizeof(path));
	write_peer_path(&p, session.world_rank);
	if (!err)
		err = write_peer_off(line, strcmp(word, "off") == 0 ? l.len : 0);
	if (!err || strcmp(word, "off") == 0)
		err = io_replace_file(AT_FDCWD, path, line, l.len);
	/* The file must not keep the line `on`. */
	if (err)
		unlink(path);
	return err;
}

/* True if a rank of this run no longer withholds, or if this cannot be determined. */
static bool has_peer_left(void)
{
	char path[CONFIG_PATH_MAX + 64], line[PEER_BYTES], *have = malloc(PEER_OFF_BYTES);
	struct text p = text_init(path, sizeof(path)), l = text_init(line, sizeof(line));
	ssize_t n = -1;
	bool left;

	write_peer_path(&p, -1);
	text_add_string(&p, "/" PEER_OFF);
	write_peer_text(&l, "off");
	if (have)
		n = io_read_file(AT_FDCWD, path, have, PEER_OFF_BYTES);
	left = n < 0 || n == PEER_OFF_BYTES || memmem(have, (size_t)n, line, l.len) != NULL;
	free(have);
	return left;
}

/*
 * Returns the first rank that has not announced that it withholds (first: the first step, too);
 * -1: all have.
 */
static int find_unready_peer(bool first)
{
	char path[CONFIG_PATH_MAX + 64], line[PEER_BYTES], have[PEER_BYTES];
	struct text l = text_init(line, sizeof(line)), p;
	ssize_t n;

	write_peer_text(&l, "on");
	if (first)
		format_promise(&l);
	for (int r = 0; r < session.world_size; r++) {
		p = text_init(path, sizeof(path));
		write_peer_path(&p, r);
		n = io_read_file(AT_FDCWD, path, have, sizeof(have));
		if (n < 0 || (size_t)n < l.len || memcmp(have, line, l.len) != 0)
			return r;
	}
	return -1;
}

void skip_stop(const char *why)
{
	if (skip_is_refused())
		return;
	snprintf(refusal, sizeof(refusal), "%s", why);
	atomic_store(&state, SKIP_REFUSED);
	write_skip_file("off");
	write_skip_meta(true);
	log_loss(LOSS_SKIP,
		"use_skip_data_by_global_norm: no step is withheld: %s; a spike of the global norm "
		"is an alert",
		refusal);
}

bool is_skip_promise_due(void)
{
	return session.world_size > 1 && !told && !skip_is_refused() &&
	       promise_tries < PROMISE_TRIES;
}

void record_skip_promise(unsigned count)
{
	if (!is_skip_promise_due())
		return;
	promise_tries++;
	promised = count;
	/* A file of an earlier run must be replaced. */
	if (write_skip_file(count ? "on" : "waiting"))
		promised = 0;
	told = promised > 0;
}

static bool can_first_be_withheld(bool is_promised)
{
	int r = is_promised ? find_unready_peer(true) : session.world_rank;

	if (r < 0 && !has_peer_left())
		return true;
	log_info(1,
		"step %u is not withheld: rank %d had not reported before it that it can "
		"withhold steps; the first step shows whether all ranks can",
		step_now(), r < 0 ? session.world_rank : r);
	return false;
}

static bool is_everybody_ready(bool first, bool is_promised)
{
	char why[SKIP_WHY_MAX];
	int r;

	if (session.world_size <= 1)
		return true;
	if (first)
		return can_first_be_withheld(is_promised);
	if (all_on && !has_peer_left())
		return true;
	r = find_unready_peer(false);
	if (r < 0 && !all_on && !has_peer_left()) {
		all_on = true;
		return true;
	}
	if (r < 0) {
		skip_stop("another rank has said in folder " PEER_FOLDER
			  " of output_dir that it no longer withholds steps");
		return false;
	}
	snprintf(why, sizeof(why),
		"rank %d has not said in %.80s/" PEER_FOLDER " that it withholds steps", r,
		get_files_keys(get_config())->output_dir);
	skip_stop(why);
	return false;
}

/* ---- a step ---- */

/* Reports the first withheld step; each one is in monitor.log and in the scalars. */
static void print_first_withheld(double norm)
{
	static bool reported;
	char value[32], most[32];
	struct text v = text_init(value, sizeof(value)), m = text_init(most, sizeof(most));

	if (reported)
		return;
	reported = true;
	text_add_double(&v, norm, 9);
	text_add_double(&m, get_alerts_keys(get_config())->global_norm_spike_threshold, 9);
	log_info(1,
		"step %u is withheld: its global norm %s is %s%s: weights and optimizer "
		"state stay as they are, a learning rate scheduler that the script steps "
		"continues",
		last_step, value, isfinite(norm) ? "at or above the threshold " : "not finite",
		isfinite(norm) ? most : "");
}

/*
 * If an optimizer steps several times in one step of the training, its first withheld step is
 * counted.
 */
static void write_withheld(unsigned optimizer)
{
	if (of[optimizer].put != last_step + 1)
		scalar_write_of(SCALAR_WITHHELD, last_step, (uint16_t)optimizer, JOURNAL_NO_GROUP,
			(double)last_count);
	of[optimizer].put = last_step + 1;
}

bool skip_check_step(unsigned optimizer, double norm, bool is_promised)
{
	double most = get_alerts_keys(get_config())->global_norm_spike_threshold;
	bool first;

	was_withheld = false;
	if (skip_is_refused() || optimizer >= SKIP_OPTIMIZERS)
		return false;
	first = !of[optimizer].steps++;
	if (atomic_load(&state) != SKIP_ON) {
		atomic_store(&state, SKIP_ON);
		write_skip_meta(true);
	}
	if (!told && session.world_size > 1) {
		if (write_skip_file("on")) {
			skip_stop("the file that tells the other ranks could not be written "
				  "(folder " PEER_FOLDER " in output_dir)");
			return false;
		}
		told = true;
	}
	if (norm < most) {
		of[optimizer].consecutive = 0;
		return false;
	}
	if (!is_everybody_ready(first, is_promised))
		return false;
	last_count = ++of[optimizer].consecutive;
	last_step = step_now();
	last_norm = norm;
	withheld++;
	was_withheld = true;
	write_skip_meta(false);
	print_first_withheld(norm);
	write_withheld(optimizer);
	return true;
}

bool skip_reached_limit(char *text, size_t cap)
{
	const struct config *cfg = get_config();
	const struct alerts_keys *keys = get_alerts_keys(cfg);
	struct text t = text_init(text, cap);
	int64_t limit = keys->global_norm_spike_count_threshold;

	if (!was_withheld || limit <= 0 || last_count < (uint64_t)limit)
		return false;
	was_withheld = false;
	text_add_string(&t, "Current global norm ");
	text_add_numpy_single(&t, (float)last_norm);
	text_add_string(&t, " of step ");
	text_add_u64(&t, (uint64_t)last_step + 1);
	text_add_string(&t, " has been ");
	text_add_u64(&t, last_count);
	if (isnan(last_norm)) {
		text_add_string(&t, " consecutive times not finite, stop training...");
		return true;
	}
	text_add_string(&t, " consecutive times greater than threshold ");
	text_add_python_float(&t, keys->global_norm_spike_threshold);
	text_add_string(&t, ", stop training...");
	return true;
}
