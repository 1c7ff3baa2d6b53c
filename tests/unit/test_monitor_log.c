/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write */
/*
 * monitor.log: lines that MindSpore Transformers 2.1.0 logged (its MFLossMonitor and TrainingStateMonitor around a tiny network)
 * from the numbers that it had; numbers as Python writes them; and that each line is there once, whatever fails on the way.
 */
#include "broken_write.h"
#include "core_helper.h"
#include "scalar_entry.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "config/config.h"
#include "terms/metric.h"
#include "text/pytext.h"
#include "terms/scalar.h"
#include "terms/train_kind.h"

/* ---- numbers ---- */

static const char *python_float(double v)
{
	static char buf[64];
	struct text t = text_init(buf, sizeof(buf));

	text_add_python_float(&t, v);
	return buf;
}

static const char *python_single(float v)
{
	static char buf[64];
	struct text t = text_init(buf, sizeof(buf));

	text_add_python_single(&t, v);
	return buf;
}

static const char *numpy_single(float v)
{
	static char buf[64];
	struct text t = text_init(buf, sizeof(buf));

	text_add_numpy_single(&t, v);
	return buf;
}

static const char *timedelta(uint64_t s)
{
	static char buf[64];
	struct text t = text_init(buf, sizeof(buf));

	text_add_timedelta(&t, s);
	return buf;
}

/* The expected texts are those that Python 3.11 and NumPy 2 print. */
static void numbers(void **state)
{
	(void)state;
	assert_string_equal(python_float(0), "0.0");
	assert_string_equal(python_float(-0.0), "-0.0");
	assert_string_equal(python_float(0.01), "0.01");
	assert_string_equal(python_float(1e-4), "0.0001");
	assert_string_equal(python_float(1e-5), "1e-05");
	assert_string_equal(python_float(2.5641025e-08), "2.5641025e-08");
	assert_string_equal(python_float(1024), "1024.0");
	assert_string_equal(python_float(1e15), "1000000000000000.0");
	assert_string_equal(python_float(1e16), "1e+16");
	assert_string_equal(python_float(1.5e300), "1.5e+300");
	assert_string_equal(python_float(0.1 + 0.2), "0.30000000000000004");
	assert_string_equal(python_float(-123.25), "-123.25");
	assert_string_equal(python_float((double)NAN), "nan");
	assert_string_equal(python_float(-(double)INFINITY), "-inf");
	assert_string_equal(python_single(251.79117f), "251.79117");
	assert_string_equal(python_single(291.3603f), "291.3603");
	assert_string_equal(python_single(0), "0.0");
	assert_string_equal(numpy_single(44.313248f), "[44.313248]");
	assert_string_equal(numpy_single(0.49492535f), "[0.49492535]");
	assert_string_equal(numpy_single(167.25568f), "[167.25568]");
	assert_string_equal(numpy_single(3), "[3.]");
	assert_string_equal(numpy_single(0), "[0.]");
	assert_string_equal(numpy_single(1.5e-5f), "[1.5e-05]");
	assert_string_equal(numpy_single(1e-5f), "[1.e-05]");
	assert_string_equal(numpy_single(0.00012345678f), "[0.00012346]");
	assert_string_equal(numpy_single(-2.5f), "[-2.5]");
	assert_string_equal(numpy_single(INFINITY), "[inf]");
	assert_string_equal(numpy_single(NAN), "[nan]");
	assert_string_equal(timedelta(0), "0:00:00");
	assert_string_equal(timedelta(748), "0:12:28");
	assert_string_equal(timedelta(86400 + 5 * 3600 + 50 * 60 + 52), "1 day, 5:50:52");
	assert_string_equal(timedelta(25 * 86400 + 2 * 3600 + 7 * 60 + 47), "25 days, 2:07:47");
}

/* ---- lines ---- */

static struct config log_config(void)
{
	return (struct config){.alerts = (char *)"",
		.monitor_log = UINT64_C(1) << MONITOR_LOG_LOSS | METRIC_BIT(WEIGHT_NORM) |
			       METRIC_BIT(ADAM_NORM),
		.print_interval = 1,
		.print_loss_mean = true,
		.epochs = 1,
		.steps_per_epoch = 8};
}

static void open_log(struct rank *r, const struct config *cfg)
{
	assert_int_equal(sink_open(&r->sink, &r->j, r->dirfd, cfg, FORMAT_BIT(CSV)), 0);
	assert_int_equal(files_reset_to_commit(&r->sink.files), 0);
	assert_int_equal(drain_open(&r->drain, &r->j, &r->sink), 0);
}

static void put_value(struct chain *c, enum train_kind kind, const char *name, uint32_t step,
	uint32_t micro, double value)
{
	uint32_t bytes =
		(uint32_t)(sizeof(struct journal_kind_row) + 8 + strlen(name) + 3 + 7) & ~7u;
	struct journal_kind_row *e = chain_reserve(c, bytes, NO_WAKE);

	assert_non_null(e);
	memset(e, 0, bytes);
	*e = (struct journal_kind_row){.e = {.bytes = bytes, .type = JE_KIND, .n = 1},
		.count = 8,
		.step = step,
		.micro_step = micro,
		.kind = kind,
		.dtype = DT_FLOAT32};
	memcpy(e + 1, &value, 8);
	strcpy((char *)(e + 1) + 8, name);
	chain_publish(c, bytes);
}

static char *log_text(const struct rank *r)
{
	char path[128];
	size_t n;

	snprintf(path, sizeof(path), "%s/monitor.log", r->dir);
	return access(path, F_OK) ? strdup("") : read_test_file(path, &n);
}

/* Two steps of that tool's run, its numbers and its lines. */
static void lines(void **state)
{
	struct config cfg = log_config();
	struct rank r;
	struct chain c = {0};
	char *text;

	(void)state;
	rank_make(&r, 1 << 20);
	open_log(&r, &cfg);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	put_value(&c, TK_ADAM_M_NORM, "embedding.weight", 0, UINT32_MAX, 0.018132707104086876);
	put_scalar_entry(&c, SCALAR_BATCH_SIZE, 0, 32);
	put_scalar_entry(&c, SCALAR_LOSS, 0, 1.4156602621078491);
	put_scalar_entry(&c, SCALAR_LEARNING_RATE, 0, 0.01);
	put_scalar_entry(&c, SCALAR_LOSS_SCALE, 0, 1);
	put_scalar_entry(&c, SCALAR_GRAD_NORM, 0, 0.4949253499507904);
	put_scalar_entry(&c, SCALAR_ITERATION_TIME, 0, 2698.59);
	put_scalar_entry(&c, SCALAR_WEIGHT_NORM, 0, 2.668071746826172);
	atomic_store(&r.j.head->step, 1);
	assert_int_equal(drain_all(&r.drain, false), 0);
	put_scalar_entry(&c, SCALAR_LOSS, 1, 1.3509248495101929);
	put_scalar_entry(&c, SCALAR_GRAD_NORM, 1, 0.35299721360206604);
	put_scalar_entry(&c, SCALAR_THROUGHPUT, 1, 41.158935546875);
	put_scalar_entry(&c, SCALAR_ITERATION_TIME, 1, 777.47);
	/* A step that has not ended. */
	put_scalar_entry(&c, SCALAR_LOSS, 2, 5);
	atomic_store(&r.j.head->step, 2);
	atomic_store(&r.j.head->state, JS_ENDED);
	assert_int_equal(drain_all(&r.drain, true), 0);
	text = log_text(&r);
	assert_string_equal(text,
		"{ Epoch:[  1/  1], step:[    1/    8], loss:[1.415660/1.415660], per_step_time: "
		"2698ms, "
		"lr: 0.01, overflow cond: False, loss_scale: 1.0, global_norm: [0.49492535]\n"
		"  12.5% |██████                                            | 11.85804 samples/s/p "
		" "
		"0:00:18 }\n"
		"Epoch:[  1/  1], step:[    1/    8] adam_m_norm/embedding.weight: "
		"0.018132707104086876\n"
		"Epoch:[  1/  1], step:[    1/    8] weight_norm: 2.668071746826172\n"
		"{ Epoch:[  1/  1], step:[    2/    8], loss:[1.350925/1.383293], per_step_time: "
		"777ms, "
		"overflow cond: False, loss_scale: unavailable, global_norm: [0.3529972]\n"
		"  25.0% |████████████                                      | 41.15894 samples/s/p "
		" "
		"0:00:04 }\n");
	free(text);
	rank_drop(&r);
}

/* ---- tokens of experts ---- */

/* Two steps of two micro steps and five routers. */
static void assert_token_lines(const struct config *cfg, const char *want)
{
	static const char *const routers[] = {"model.decoder.layers.2.mlp.router",
		"model.decoder.layers.10.mlp.router", "mtp.layers.0.transformer_layer.mlp.router",
		"mtp.layers.1.mtp_model_layer.layers.3.mlp.router", "gate"};
	struct rank r;
	struct chain c = {0};
	char name[96], *text;

	rank_make(&r, 1 << 20);
	open_log(&r, cfg);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	for (uint32_t pass = 0; pass < 4; pass++)
		for (unsigned i = 0; i < sizeof(routers) / sizeof(*routers); i++) {
			double tokens[] = {10 * i + pass + 1, pass % 2, 3, 101 + pass / 2};

			for (int k = 0; k < 4; k++) {
				snprintf(name, sizeof(name), "%s/expert_%d", routers[i], k);
				put_value(&c, TK_TOKENS, name, pass / 2, pass % 2, tokens[k]);
			}
		}
	atomic_store(&r.j.head->step, 2);
	atomic_store(&r.j.head->state, JS_ENDED);
	assert_int_equal(drain_all(&r.drain, true), 0);
	text = log_text(&r);
	assert_string_equal(text, want);
	free(text);
	rank_drop(&r);
}

/* The lines that MindSpore Transformers 2.1.0's own MoeMonitor logged of these numbers; `gate` has no layer. */
static void tokens_lines(void **state)
{
	static struct range ten[] = {{10, 10}};
	struct config cfg = {.alerts = (char *)"",
		.monitor_log = UINT64_C(1) << MONITOR_LOG_TOKENS,
		.print_interval = 1,
		.tokens_log_interval = 1};

	(void)state;
	assert_token_lines(&cfg,
		"{\"iter\": 1, \"step\": 1, \"micro_step\": 0, \"block\": \"decoder\", \"layer\": "
		"2, \"tpe\": [[1, 0, 3, 101]]}\n"
		"{\"iter\": 2, \"step\": 1, \"micro_step\": 1, \"block\": \"decoder\", \"layer\": "
		"2, \"tpe\": [[2, 1, 3, 101]]}\n"
		"{\"iter\": 1, \"step\": 1, \"micro_step\": 0, \"block\": \"decoder\", \"layer\": "
		"10, \"tpe\": [[11, 0, 3, 101]]}\n"
		"{\"iter\": 2, \"step\": 1, \"micro_step\": 1, \"block\": \"decoder\", \"layer\": "
		"10, \"tpe\": [[12, 1, 3, 101]]}\n"
		"{\"iter\": 1, \"step\": 1, \"micro_step\": 0, \"block\": \"mtp\", \"mtp_idx\": 0, "
		"\"layer\": 0, \"tpe\": [[21, 0, 3, 101]]}\n"
		"{\"iter\": 2, \"step\": 1, \"micro_step\": 1, \"block\": \"mtp\", \"mtp_idx\": 0, "
		"\"layer\": 0, \"tpe\": [[22, 1, 3, 101]]}\n"
		"{\"iter\": 1, \"step\": 1, \"micro_step\": 0, \"block\": \"mtp\", \"mtp_idx\": 1, "
		"\"layer\": 3, \"tpe\": [[31, 0, 3, 101]]}\n"
		"{\"iter\": 2, \"step\": 1, \"micro_step\": 1, \"block\": \"mtp\", \"mtp_idx\": 1, "
		"\"layer\": 3, \"tpe\": [[32, 1, 3, 101]]}\n"
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"decoder\", \"layer\": "
		"2, \"tpe\": [[3, 0, 3, 102]]}\n"
		"{\"iter\": 4, \"step\": 2, \"micro_step\": 1, \"block\": \"decoder\", \"layer\": "
		"2, \"tpe\": [[4, 1, 3, 102]]}\n"
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"decoder\", \"layer\": "
		"10, \"tpe\": [[13, 0, 3, 102]]}\n"
		"{\"iter\": 4, \"step\": 2, \"micro_step\": 1, \"block\": \"decoder\", \"layer\": "
		"10, \"tpe\": [[14, 1, 3, 102]]}\n"
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"mtp\", \"mtp_idx\": 0, "
		"\"layer\": 0, \"tpe\": [[23, 0, 3, 102]]}\n"
		"{\"iter\": 4, \"step\": 2, \"micro_step\": 1, \"block\": \"mtp\", \"mtp_idx\": 0, "
		"\"layer\": 0, \"tpe\": [[24, 1, 3, 102]]}\n"
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"mtp\", \"mtp_idx\": 1, "
		"\"layer\": 3, \"tpe\": [[33, 0, 3, 102]]}\n"
		"{\"iter\": 4, \"step\": 2, \"micro_step\": 1, \"block\": \"mtp\", \"mtp_idx\": 1, "
		"\"layer\": 3, \"tpe\": [[34, 1, 3, 102]]}\n");
	cfg.tokens_log_interval = 3;
	assert_token_lines(&cfg,
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"decoder\", \"layer\": "
		"2, \"tpe\": [[3, 0, 3, 102]]}\n"
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"decoder\", \"layer\": "
		"10, \"tpe\": [[13, 0, 3, 102]]}\n"
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"mtp\", \"mtp_idx\": 0, "
		"\"layer\": 0, \"tpe\": [[23, 0, 3, 102]]}\n"
		"{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": \"mtp\", \"mtp_idx\": 1, "
		"\"layer\": 3, \"tpe\": [[33, 0, 3, 102]]}\n");
	cfg.tokens_log_interval = 1;
	cfg.tokens_log_layers = (struct ranges){.item = ten, .n = 1};
	assert_token_lines(&cfg, "{\"iter\": 1, \"step\": 1, \"micro_step\": 0, \"block\": "
				 "\"decoder\", \"layer\": 10, \"tpe\": [[11, 0, 3, 101]]}\n"
				 "{\"iter\": 2, \"step\": 1, \"micro_step\": 1, \"block\": "
				 "\"decoder\", \"layer\": 10, \"tpe\": [[12, 1, 3, 101]]}\n"
				 "{\"iter\": 3, \"step\": 2, \"micro_step\": 0, \"block\": "
				 "\"decoder\", \"layer\": 10, \"tpe\": [[13, 0, 3, 102]]}\n"
				 "{\"iter\": 4, \"step\": 2, \"micro_step\": 1, \"block\": "
				 "\"decoder\", \"layer\": 10, \"tpe\": [[14, 1, 3, 102]]}\n");
}

/* Only the first part of each line of the loss, for steps 0 to n - 1. */
static char *heads_of_run(const struct config *cfg, uint32_t from, uint32_t n)
{
	struct rank r;
	struct chain c = {0};
	char *text, *out = calloc(1, 1 << 16), *save = NULL;

	rank_make(&r, 1 << 20);
	open_log(&r, cfg);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	for (uint32_t s = from; s < from + n; s++)
		put_scalar_entry(&c, SCALAR_LOSS, s, 1);
	atomic_store(&r.j.head->step, from + n);
	atomic_store(&r.j.head->state, JS_ENDED);
	assert_int_equal(drain_all(&r.drain, true), 0);
	text = log_text(&r);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *end = *l == '{' ? strchr(l, ']') : NULL;

		end = end ? strchr(end + 1, ']') : strstr(l, "% ");
		strncat(out, l, (size_t)(end + 1 - l));
		strcat(out, *l == '{' ? "" : "\n");
	}
	free(text);
	rank_drop(&r);
	return out;
}

static void assert_heads(const struct config *cfg, uint32_t from, uint32_t n, const char *want)
{
	char *have = heads_of_run(cfg, from, n);

	assert_string_equal(have, want);
	free(have);
}

static void places(void **state)
{
	struct config cfg = {.alerts = (char *)"",
		.monitor_log = UINT64_C(1) << MONITOR_LOG_LOSS,
		.print_interval = 1};

	(void)state;
	/* Nothing is known of the training's length. */
	assert_heads(&cfg, 0, 1, "{ Epoch:[  1/  1], step:[    1/    0]   0.0%\n");
	cfg.epochs = 2;
	cfg.steps_per_epoch = 3;
	assert_heads(&cfg, 2, 2,
		"{ Epoch:[  1/  2], step:[    3/    3]  50.0%\n"
		"{ Epoch:[  2/  2], step:[    1/    3]  66.7%\n");
	cfg.epochs = 0;
	cfg.total_steps = 9;
	assert_heads(&cfg, 8, 1, "{ Epoch:[  3/  3], step:[    3/    3]  100.0%\n");
	cfg.steps_per_epoch = 0;
	assert_heads(&cfg, 8, 1, "{ Epoch:[  1/  1], step:[    9/    9]  100.0%\n");
	/* Each fourth; a training that goes on counts from where it began. */
	cfg.print_interval = 4;
	assert_heads(&cfg, 0, 9,
		"{ Epoch:[  1/  1], step:[    4/    9]  44.4%\n"
		"{ Epoch:[  1/  1], step:[    8/    9]  88.9%\n");
	cfg.start_iteration = 2;
	assert_heads(&cfg, 2, 5, "{ Epoch:[  1/  1], step:[    6/    9]  66.7%\n");
}

/* ---- once ---- */

#define STEPS 24u

static void put_log_steps(struct rank *r, struct chain *c, uint32_t from, uint32_t to)
{
	for (uint32_t s = from; s < to; s++) {
		put_value(c, TK_ADAM_M_NORM, "w", s, UINT32_MAX, s + 0.5);
		put_scalar_entry(c, SCALAR_LOSS, s, s);
		atomic_store(&r->j.head->step, s + 1);
	}
}

/* Each step has its three lines, in their order. complete: all of them have; else some at the end may lack. */
static void assert_each_once(const struct rank *r, bool complete)
{
	char *text = log_text(r), *save = NULL;
	unsigned n = 0;

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save), n++) {
		char want[80];

		if (n % 3 == 0)
			snprintf(want, sizeof(want), "step:[%5u/    8], loss", n / 3 % 8 + 1);
		else if (n % 3 == 1)
			snprintf(want, sizeof(want), "samples/s/p");
		else
			snprintf(want, sizeof(want), " adam_m_norm/w: %u.5", n / 3);
		if (!strstr(l, want))
			fail_msg("line %u: %s instead of %s", n, l, want);
	}
	assert_true(complete ? n == 3 * STEPS : n <= 3 * STEPS);
	free(text);
}

static void given_log_again(void **state)
{
	struct config cfg = log_config();

	(void)state;
	for (unsigned at = 1; at < 60; at++) {
		struct rank r;
		struct chain c = {0};
		bool failed;

		rank_make(&r, 1 << 20);
		open_log(&r, &cfg);
		assert_int_equal(chain_open(&c, &r.j, 1), 0);
		writes = 0;
		fail_at = at;
		for (uint32_t s = 0; s < STEPS; s += 4) {
			put_log_steps(&r, &c, s, s + 4);
			drain_all(&r.drain, false);
		}
		failed = writes >= at;
		fail_at = 0;
		atomic_store(&r.j.head->state, JS_ENDED);
		assert_int_equal(drain_all(&r.drain, true), 0);
		assert_each_once(&r, true);
		rank_drop(&r);
		if (!failed)
			return;
	}
	fail_msg("more writes than expected");
}

static void killed_log(void **state)
{
	struct config cfg = log_config();
	unsigned survived = 0;

	(void)state;
	for (unsigned at = 1; at < 90 && !survived; at++) {
		struct rank r, again;
		struct chain c = {0};
		int status;
		pid_t pid;

		rank_make(&r, 1 << 20);
		assert_int_equal(chain_open(&c, &r.j, 1), 0);
		pid = fork();
		if (!pid) {
			open_log(&r, &cfg);
			writes = 0;
			kill_at = at;
			for (uint32_t s = 0; s < STEPS; s += 4) {
				put_log_steps(&r, &c, s, s + 4);
				drain_all(&r.drain, false);
			}
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		survived = WIFEXITED(status);
		again = (struct rank){.dirfd = r.dirfd};
		assert_int_equal(journal_open(&again.j, r.dirfd, "journal.bin", false), 0);
		open_log(&again, &cfg);
		assert_int_equal(drain_all(&again.drain, true), 0);
		rank_unsink(&again);
		journal_close(&again.j);
		assert_each_once(&r, survived);
		rank_drop(&r);
	}
	assert_true(survived);
}

/* Without the key there is nothing: no file, no work. */
static void no_log(void **state)
{
	struct config cfg = {.alerts = (char *)"", .print_interval = 1};
	struct rank r;
	struct chain c = {0};
	char *text;

	(void)state;
	rank_make(&r, 1 << 20);
	open_log(&r, &cfg);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	put_log_steps(&r, &c, 0, 3);
	atomic_store(&r.j.head->state, JS_ENDED);
	assert_int_equal(drain_all(&r.drain, true), 0);
	text = log_text(&r);
	assert_string_equal(text, "");
	free(text);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(lines),
		cmocka_unit_test(places),
		cmocka_unit_test(tokens_lines),
		cmocka_unit_test(given_log_again),
		cmocka_unit_test(killed_log),
		cmocka_unit_test(no_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
