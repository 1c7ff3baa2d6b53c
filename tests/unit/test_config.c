/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: defaults, configs/probe.yaml, environment; which settings of the job stay untouched; how values are written. */
#include "config_helper.h"

#include <errno.h>
#include <fenv.h>

const struct builtin_text builtin_texts[] = {{"probe.yaml", "log_level: 1\n"}, {NULL, NULL}};

/* For each key: the default and another value as they are written in a file, and that value in the environment. */
static const struct {
	const char *name, *dflt, *other, *env;
} keys[] = {
	{"output_dir", "\"/job/dir/probe_output\"", "\"/x\"", "/x"},
	{"format", "[\"csv\"]", "[\"monitor\", \"api\"]", "monitor, api"},
	{"journal_dir", "\"\"", "\"/dev/shm\"", "/dev/shm"},
	{"monitor_dir", "\"\"", "\"/job/dir/m\"", "m"},
	{"wrap_ops", "\"\"", "\"/job/dir/l.yaml\"", "l.yaml"},
	{"custom_apis", "\"\"", "\"/own/c.yaml\"", "/own/c.yaml"},
	{"only", "[]", "[\"all_reduce\", \"MPI_I*\"]", "[all_reduce, MPI_I*]"},
	{"skip", "[]", "[\"*\"]", "*"},
	{"journal_mib", "0", "17", "17"},
	{"part_mib", "256", "1", "1"},
	{"output_limit_mib", "4096", "0", "0"},
	{"step_count_per_record", "100", "7", "7"},
	{"gzip", "false", "true", "yes"},
	{"statistics", "true", "false", "no"},
	{"checksum", "\"off\"", "\"xor\"", "XOR"},
	{"eps", "1.0e-8", "0.25", ".25"},
	{"stats_isa", "\"auto\"", "\"avx2\"", "AVX2"},
	{"stats_threads", "0", "16", "16"},
	{"stats_threads_min_bytes", "4194304", "0", "0"},
	{"device_copy_mib", "64", "200", "200"},
	{"min_bytes", "0", "1024", "1024"},
	{"max_bytes", "0", "1000000000000", "1000000000000"},
	{"max_overhead", "\"off\"", "\"0.5%\"", " .5%"},
	{"overhead_window_ms", "10000", "50", "50"},
	{"device", "\"auto\"", "\"copy\"", "Copy"},
	{"nested", "false", "true", "on"},
	{"backward", "false", "true", "yes"},
	{"stack", "true", "false", "0"},
	{"stack_depth", "32", "128", "128"},
	{"stack_blacklist", "\"\"", "\"a|b+$\"", "a|b+$"},
	{"codeline", "\"\"", "\"t.py\\\\[3\\\\]\"", "t.py\\[3\\]"},
	{"rank", "[]", "[0, 2, \"4-6\"]", "0,2,4-6"},
	{"step", "[]", "[\"3-7\"]", "3-7"},
	{"profile_step", "[]", "[\"3-7\"]", "3-7"},
	{"profile_rank", "[]", "[0, 2]", "0,2"},
	{"start_step", "0", "4294967295", "4294967295"},
	{"step_interval", "1", "10", " 10 "},
	{"collect_times", "0", "3", "3"},
	{"dynamic_on", "true", "false", "false"},
	{"dynamic_monitor", "false", "true", "true"},
	{"armable", "[]", "[\"aten\", \"MPI_Bcast\"]", "aten,MPI_Bcast"},
	{"ctl_margin_s", "90", "5", "5"},
	{"step_marker", "\"\"", "\"MPI_Barrier\"", "MPI_Barrier"},
	{"step_marker_count", "1", "4", "4"},
	{"step_anchor", "\"\"", "\"any\"", "any"},
	{"step_boundary", "\"optimizer\"", "\"iteration\"", "Iteration"},
	{"grad_acc_steps", "0", "4", "4"},
	{"start_iteration", "0", "1000", "1000"},
	{"seed", "-1", "1234", "1234"},
	{"deterministic", "false", "true", "true"},
	{"append_output", "false", "true", "true"},
	{"append_between", "[]", "[\"Dec03_21-34-40\", \"Dec03_21-59-59\"]",
		"Dec03_21-34-40,Dec03_21-59-59"},
	{"scalars", "false", "[\"loss\", \"comm-time\"]", "Loss, comm-time"},
	{"loss_reduction", "\"auto\"", "\"mean\"", "Mean"},
	{"global_batch_size", "0", "1024", "1024"},
	{"micro_batch_size", "0", "8", "8"},
	{"seq_length", "0", "4096", "4096"},
	{"tensorboard_dir", "\"\"", "\"/job/dir/tb\"", "tb"},
	{"tensorboard_tags", "\"probe\"", "\"msprobe\"", "msprobe"},
	{"tensorboard_ranks", "[]", "[0, 7]", "0,7"},
	{"tensorboard_scalars", "true", "[\"loss\"]", "loss"},
	{"summary_dir", "\"\"", "\"/job/dir/s\"", "s"},
	{"summary_interval", "10", "3", "3"},
	{"summary_loss", "true", "false", "off"},
	{"summary_targets", "[]", "[\"^fc\"]", "^fc"},
	{"summary_first", "5", "0", "0"},
	{"summary_max_bytes", "0", "4096", "4096"},
	{"metrics", "false", "[\"local_norm\", \"weight_norm\"]", "local_norm,weight_norm"},
	{"metrics_interval", "1", "10", "10"},
	{"metrics_targets", "[]", "[\"^fc\"]", "^fc"},
	{"metrics_invert", "false", "true", "1"},
	{"stable_rank_interval", "100", "10", "10"},
	{"stable_rank_iterations", "5", "50", "50"},
	{"stable_rank_budget_ms", "500", "20", "20"},
	{"stable_rank_targets", "[]", "[\"^fc\"]", "^fc"},
	{"stable_rank_experts", "\"all\"", "\"full\"", "Full"},
	{"throughput_baseline", "0.0", "12.5", "12.5"},
	{"model_flops_per_step", "0.0", "1.0e+12", "1e12"},
	{"flops_interval", "100", "7", "7"},
	{"peak_flops", "0.0", "3.0e+14", "3e14"},
	{"monitor_log", "false", "[\"local_norm\", \"adam_norm\"]", "Adam_norm, local_norm"},
	{"monitor_stderr", "false", "true", "yes"},
	{"print_interval", "1", "10", "10"},
	{"tokens_log_interval", "1", "10", "10"},
	{"tokens_log_layers", "[]", "[\"0-3\", 8]", "0-3,8"},
	{"print_loss_mean", "false", "true", "on"},
	{"epochs", "0", "2", "2"},
	{"steps_per_epoch", "0", "6500", "6500"},
	{"total_steps", "0", "13000", "13000"},
	{"tensorboard_ops", "[\"norm\"]", "[\"min\", \"max\"]", "min,max"},
	{"names", "false", "true", "true"},
	{"print_struct", "false", "true", "true"},
	{"preset", "\"none\"", "\"comm\"", "comm"},
	{"kinds", "[]", "[\"param_origin\", \"mv_distribution\"]", "param_origin, mv_distribution"},
	{"ops", "[\"min\", \"max\", \"mean\", \"norm\", \"zeros\", \"nans\", \"infs\"]",
		"[\"norm\"]", "[\"norm\"]"},
	{"monitor_mbs_grad", "false", "true", "true"},
	{"squash_name", "false", "true", "true"},
	{"router_targets", "[]", "[\"gate$\"]", "gate$"},
	{"expert_capacity_factor", "0.0", "1.25", "1.25"},
	{"attention_interval", "10", "3", "3"},
	{"attention_rows", "64", "0", "0"},
	{"watch_functions", "[]", "[\"python:a.py:f\", \"python:b/c.py:D.g\"]",
		"python:a.py:f,python:b/c.py:D.g"},
	{"targets", "[]", "[\"fc1\", \"layers.[0,1]\", \"a{1,2}\"]", "fc1,\"layers.[0,1]\",a{1,2}"},
	{"dp_ranks", "[]", "[0]", "0"},
	{"tp_ranks", "[]", "[0]", "0"},
	{"pp_ranks", "[]", "[\"0-1\"]", "0,1"},
	{"dp_group", "[]", "[0, 2]", "0,2"},
	{"tp_group", "[]", "[\"0-1\"]", "[0, 1]"},
	{"process_group", "[]", "[0, 4]", "0,4"},
	{"params_have_main_grad", "\"auto\"", "\"true\"", "true"},
	{"opt_ty", "\"\"", "\"Megatron\"", "Megatron"},
	{"dump_path", "\"\"", "\"/d\"", "/d"},
	{"task", "\"statistics\"", "\"overflow_check\"", "overflow_check"},
	{"level", "\"L1\"", "\"mix\"", "MIX"},
	{"scope", "[]", "[\"Torch.mm.0.forward\", \"Torch.mm.1.forward\"]",
		"Torch.mm.0.forward, Torch.mm.1.forward"},
	{"list", "[]", "[\"all_reduce\"]", "all_reduce"},
	{"tensor_list", "[]", "[\"linear\"]", "linear"},
	{"slice", "[]", "[\"0:1:3\", \"1:-2::8\"]", "0:1:3, 1:-2::8"},
	{"request_id", "\"\"", "\"r1\"", "r1"},
	{"request_tokens", "\"\"", "\"python:a.py:f:tokens\"", "python:a.py:f:tokens"},
	{"data_mode", "[\"all\"]", "[\"forward\", \"input\"]", "forward, input"},
	{"summary_mode", "\"statistics\"", "\"md5\"", "MD5"},
	{"overflow_nums", "1", "-1", "-1"},
	{"diff_nums", "1", "3", "3"},
	{"grad_level", "\"L1\"", "\"L2\"", "L2"},
	{"param_list", "[]", "[\"fc.weight\", \"fc.bias\"]", "fc.weight, fc.bias"},
	{"bounds", "[-1, 0, 1]", "[-0.5, 2e-3]", "-0.5, 2e-3"},
	{"bench_path", "\"\"", "\"/b\"", "/b"},
	{"file_format", "\"pt\"", "\"npy\"", "npy"},
	{"dump_deflate", "false", "true", "true"},
	{"dump_limit_mib", "1024", "0", "0"},
	{"dump_buffer_mib", "64", "16", "16"},
	{"extra_info", "true", "false", "false"},
	{"alerts", "[]",
		"[{\"rule\": \"spike\", \"kind\": [\"calls\"], \"op\": [\"norm\"], \"threshold\": "
		"2.5, \"direction\": \"up\", \"warmup\": 10, \"action\": [\"log\"], \"n\": 1, "
		"\"preset\": \"nan\"}]",
		"[{rule: spike, kind: calls, threshold: 2.5}]"},
	{"anomaly_json", "false", "true", "true"},
	{"anomaly_dir", "\"\"", "\"/a\"", "/a"},
	{"health_checkpoint", "false", "true", "yes"},
	{"ckpt_pattern", "[]", "[\"a/*.pt\", \"b\"]", "a/*.pt,b"},
	{"embedding_local_norm_threshold", "1.0", "270.5", "270.5"},
	{"health_norm", "\"sum_squares\"", "\"l2\"", "L2"},
	{"hidden_size", "0", "4096", "4096"},
	{"vocab_size", "0", "32000", "32000"},
	{"use_skip_data_by_global_norm", "false", "true", "yes"},
	{"check_for_global_norm", "false", "true", "true"},
	{"global_norm_spike_threshold", "3.0", "2.5", "2.5"},
	{"global_norm_spike_count_threshold", "10", "2", "2"},
	{"monitor_layout", "\"v1\"", "\"v2\"", "V2"},
	{"ndigits", "-1", "6", "6"},
	{"cc_distribution", "false", "true", "true"},
	{"cc_pre_hook", "false", "true", "true"},
	{"cc_log_only", "false", "true", "true"},
	{"stack_info", "false", "true", "true"},
	{"log_level", "1", "4", "+4"},
	{"disable", "false", "true", "1"},
	{"fork", "\"off\"", "\"follow\"", "Follow"},
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static void defaults(void **state)
{
	struct config c;
	struct lines l = {0};

	(void)state;
	assert_int_equal(config_load(&c, NULL, NULL, CWD, collect, &l), 0);
	assert_lines(&l, 0);
	assert_string_equal(c.output_dir, "/job/dir/probe_output");
	assert_string_equal(c.journal_dir, "");
	assert_string_equal(c.wrap_ops, "");
	assert_string_equal(c.custom_apis, "");
	assert_int_equal(c.journal_mib, 0);
	assert_int_equal(c.part_mib, 256);
	assert_int_equal(c.output_limit_mib, 4096);
	assert_int_equal(c.step_count_per_record, 100);
	assert_true(c.statistics && c.stack && !c.nested && !c.disable);
	assert_true(c.eps == 1e-8);
	assert_int_equal(c.min_bytes, 0);
	assert_int_equal(c.max_bytes, 0);
	assert_int_equal(c.stack_depth, 32);
	assert_int_equal(c.rank.n, 0);
	assert_int_equal(c.step.n, 0);
	assert_int_equal(c.start_step, 0);
	assert_int_equal(c.step_interval, 1);
	assert_int_equal(c.collect_times, 0);
	assert_string_equal(c.step_marker, "");
	assert_int_equal(c.step_marker_count, 1);
	assert_int_equal(c.log_level, 1);
	assert_int_equal(c.fork, FORK_OFF);
	config_free(&c);
	config_free(&c); /* freed is freed */
	assert_int_equal(NKEYS, config_nkeys);
	assert_int_equal(config_load(&c, NULL, NULL, CWD, NULL, NULL), 0);
	for (size_t i = 0; i < NKEYS; i++)
		assert_string_equal(shown(&c, keys[i].name), keys[i].dflt);
	config_free(&c);
}

/* A withheld or noted step is also a scalar and an alert. */
static bool is_implied(const char *key, const char *by)
{
	return (strcmp(by, "use_skip_data_by_global_norm") == 0 ||
		       strcmp(by, "check_for_global_norm") == 0) &&
	       (strcmp(key, "scalars") == 0 || strcmp(key, "alerts") == 0);
}

/* The place of "\nkey: " in text; fails unless there is exactly one. */
static char *line_of(char *text, const char *name)
{
	char head[64];
	char *at;

	snprintf(head, sizeof(head), "\n%s: ", name);
	at = strstr(text, head);
	if (!at || strstr(at + 1, head))
		fail_msg("probe.yaml must have %s once", name);
	return at + strlen(head);
}

/* configs/probe.yaml names every key, with the default, and each line of it is read. */
static void shipped_file(void **state)
{
	char *text = repo_file("configs/probe.yaml"), *edited = malloc(1 << 20);
	struct config c, d;
	struct lines l;
	size_t values = 0;

	(void)state;
	assert_int_equal(config_load(&d, NULL, NULL, CWD, NULL, NULL), 0);
	assert_int_equal(load(&c, text, NULL, &l), 0);
	assert_lines(&l, 0);
	assert_same_config(&c, &d);
	config_free(&c);
	for (size_t i = 0; i < NKEYS; i++) {
		char *at = line_of(text, keys[i].name);
		size_t n = strcspn(at, "\n");

		/* As in the list, except for the working directory. */
		if (i > 0)
			assert_true(n == strlen(keys[i].dflt) && !memcmp(at, keys[i].dflt, n));
		char *before =
			at - strlen(keys[i].name) - 3; /* the end of the line before: a comment */

		while (before > text && before[-1] != '\n')
			before--;
		assert_int_equal(before[0], '#');
		snprintf(
			edited, 1 << 20, "%.*s%s%s", (int)(at - text), text, keys[i].other, at + n);
		assert_int_equal(load(&c, edited, NULL, &l), 0);
		assert_lines(&l, 0);
		for (size_t j = 0; j < NKEYS; j++)
			if (!is_implied(keys[j].name, keys[i].name))
				assert_string_equal(shown(&c, keys[j].name),
					j == i ? keys[j].other : keys[j].dflt);
		config_free(&c);
	}
	for (char *p = text; (p = strchr(p, '\n')); p++)
		values += p[1] >= 'a' && p[1] <= 'z';
	assert_int_equal(values, config_nkeys);
	config_free(&d);
	free(edited);
	free(text);
}

static void environment(void **state)
{
	struct config c;
	struct lines l;
	char entry[128];

	(void)state;
	for (size_t i = 0; i < NKEYS; i++) {
		int n = snprintf(entry, sizeof(entry), "PROBE_%s=%s", keys[i].name, keys[i].env);

		for (int j = 6; j < n && entry[j] != '='; j++)
			if (entry[j] >= 'a' && entry[j] <= 'z')
				entry[j] = (char)(entry[j] - 32);
		load_env(&c, entry, &l);
		assert_lines(&l, 0);
		for (size_t j = 0; j < NKEYS; j++)
			if (!is_implied(keys[j].name, keys[i].name))
				assert_string_equal(shown(&c, keys[j].name),
					j == i ? keys[j].other : keys[j].dflt);
		config_free(&c);
	}
}

static void precedence(void **state)
{
	struct config c;
	struct lines l;
	char *const *env = ENV("PROBE_JOURNAL_MIB=5", "PROBE_JOURNAL_MIB=6",
		"PROBE_NESTED=", "PROBE_EPS=x", "PROBE_PART_MIB=0");

	(void)state;
	load(&c, "journal_mib: 4\nnested: true\neps: 0.5\nstack: no\n", env, &l);
	assert_int_equal(c.journal_mib, 5); /* over the file; the first of two, as getenv */
	assert_false(c.nested); /* empty: the default again */
	assert_false(c.stack);
	assert_lines(&l, 2);
	assert_string_equal(l.text[0], "environment: PROBE_EPS=x: not a number; accepted: a number "
				       "of 0 or more; the file's 0.5 is used");
	assert_true(c.eps == 0.5);
	assert_string_equal(l.text[1], "environment: PROBE_PART_MIB=0: out of range; accepted: an "
				       "integer from 1 to 65536; the default 256 is used");
	config_free(&c);
}

static void unknown_environment(void **state)
{
	struct config c;
	struct lines l = {0};
	char *const *env =
		ENV("PROBE_CONFIG=/x", "PROBE_OUTPUTDIR=/y", "PROBE_KUBERNETES=1", "PROBE_",
			"PROBE_=1", "XPROBE_RANK=3", "PROBE_RANK", "probe_rank=1", "PROBE_Rank=1");

	(void)state;
	assert_int_equal(config_load(&c, NULL, env, CWD, collect, &l), 0);
	assert_lines(&l, 2);
	assert_string_equal(l.text[0], "environment: PROBE_OUTPUTDIR: unknown key; did you mean "
				       "PROBE_OUTPUT_DIR? It is ignored");
	assert_said(&l, "PROBE_Rank: unknown key; did you mean PROBE_RANK?");
	assert_int_equal(c.rank.n, 0);
	config_free(&c);
}

/* errno, rounding, sticky flags are the job's. */
static void job_untouched(void **state)
{
	struct config c;
	struct lines l;
	int raised;

	(void)state;
	feclearexcept(FE_ALL_EXCEPT);
	feraiseexcept(FE_UNDERFLOW);
	/* On some processors FE_INEXACT comes with it. */
	raised = fetestexcept(FE_ALL_EXCEPT);
	fesetround(FE_UPWARD);
	errno = EXDEV;
	load(&c, "eps: 1e-8\njournal_mib: x\nmax_bytes: 3\n", NULL, &l);
	assert_int_equal(errno, EXDEV);
	assert_string_equal(shown(&c, "eps"), "1.0e-8");
	assert_int_equal(errno, EXDEV);
	assert_int_equal(fegetround(), FE_UPWARD);
	assert_int_equal(fetestexcept(FE_ALL_EXCEPT), raised);
	fesetround(FE_TONEAREST);
	assert_true(c.eps == 1e-8);
	config_free(&c);
	load_env(&c, "PROBE_EPS=1e999", &l);
	config_free(&c);
	assert_int_equal(fetestexcept(FE_ALL_EXCEPT), raised);
	feclearexcept(FE_ALL_EXCEPT);
	errno = EXDEV;
	assert_int_equal(config_load(&c, "/nowhere/x.yaml", NULL, CWD, collect, &l), -ENOENT);
	config_free(&c);
	free(config_find("nothing", "/nowhere/lib.so"));
	assert_int_equal(errno, EXDEV);
}

struct dumped {
	char text[1 << 16];
	size_t len, lines;
};

static void sink(void *arg, const char *line)
{
	struct dumped *d = arg;

	assert_null(strchr(line, '\n'));
	d->len += (size_t)sprintf(d->text + d->len, "%s\n", line);
	d->lines++;
	errno = EIO;
}

static void dump(void **state)
{
	char *const *env =
		ENV("PROBE_OUTPUT_DIR=/q\"uo\\te # : \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
			"PROBE_STEP_ANCHOR= off", "PROBE_RANK=1,5-9", "PROBE_EPS=3e-300",
			"PROBE_FORK=follow", "PROBE_JOURNAL_DIR=null", "PROBE_MAX_BYTES=5");
	static struct dumped d;
	struct config c, back;
	struct lines l = {0};

	(void)state;
	assert_int_equal(config_load(&c, NULL, env, CWD, collect, &l), 0);
	assert_lines(&l, 0);
	config_print_yaml(&c, false, sink, &d);
	load(&back, d.text, NULL, &l);
	assert_lines(&l, 0);
	assert_same_config(&c, &back);
	assert_string_equal(back.output_dir, strchr(env[0], '=') + 1);
	assert_string_equal(back.step_anchor, " off");
	config_free(&c);
	config_free(&back);
	for (size_t i = 0; i < config_nkeys; i++)
		assert_non_null(strstr(d.text, config_keys[i].help));

	assert_non_null(
		strstr(d.text, "free memory.\n# Accepted: an integer from 0 to 4096. Default: "
			       "0\njournal_mib: 0\n"));

	d.len = d.lines = 0;
	errno = 0;
	config_print_markdown(true, sink, &d);
	assert_int_equal(errno, 0);
	assert_int_equal(d.lines, 25 + 2);
	d.len = d.lines = 0;
	config_print_markdown(false, sink, &d);
	/* Six tables, each with a heading and an empty line, and one between each two. */
	assert_int_equal(d.lines, config_nkeys + 6 * 4 + 5);
	assert_non_null(strstr(d.text,
		"\n| `journal_mib` | `0` | an integer from 0 to 4096 | Maximum size of a rank's "
		"journal in MiB; 0: 16 to 64, depending on the free memory |\n"));
	for (char *p = d.text; *p;
		p = strchr(p, '\n') + 1) { /* five bars in each line: four columns */
		int bars = 0;

		for (char *q = p; *q != '\n'; q++)
			bars += *q == '|';
		assert_int_equal(bars, *p == '|' ? 5 : 0);
	}
}

/* Lengths as snprintf's, nothing beyond the buffer; what is no text in UTF-8 or not printable is escaped. */
static void format(void **state)
{
	struct config c;
	struct lines l;
	char buf[64];

	(void)state;
	load_env(&c, "PROBE_STEP_ANCHOR=abc\"d", &l);
	assert_int_equal(config_format(&c, key("step_anchor"), NULL, 0), 8);
	for (size_t cap = 1; cap < 12; cap++) {
		memset(buf, '#', sizeof(buf));
		assert_int_equal(config_format(&c, key("step_anchor"), buf, cap), 8);
		assert_int_equal(strlen(buf), cap > 8 ? 8 : cap - 1);
		assert_memory_equal(buf, "\"abc\\\"d\"", strlen(buf));
		assert_int_equal(buf[cap], '#');
	}
	config_free(&c);
	load_env(&c, "PROBE_STEP_ANCHOR=\xff\xc3(\xed\xa0\x80\xf8\xf4\x90\x80\x80\xc0\x80z\xe2\x82",
		&l);
	assert_string_equal(shown(&c, "step_anchor"),
		"\"\\ufffd\\ufffd("
		"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"
		"z\\ufffd\\ufffd\"");
	config_free(&c);
	load_env(&c, "PROBE_STEP_ANCHOR=\xef\xbb\xbf\xe2\x80\xa8", &l);
	assert_string_equal(shown(&c, "step_anchor"), "\"\\ufeff\\u2028\"");
	config_free(&c);
}

/* A list without a word is treated alike wherever it is given. */
static void lists_without_words(void **state)
{
	static const char *const none[] = {"", " ", "[]", "[ ]", ","};
	struct config c;
	struct lines l;
	char text[64];

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(none) / sizeof(none[0]); i++) {
		snprintf(text, sizeof(text), i % 2 ? "format: \"%s\"\n" : "PROBE_FORMAT=%s",
			none[i / 2]);
		if (i % 2)
			load(&c, text, NULL, &l);
		else
			load_env(&c, text, &l);
		assert_string_equal(shown(&c, "format"), "[\"csv\"]");
		config_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_without_words),
		cmocka_unit_test(defaults),
		cmocka_unit_test(shipped_file),
		cmocka_unit_test(environment),
		cmocka_unit_test(precedence),
		cmocka_unit_test(unknown_environment),
		cmocka_unit_test(job_untouched),
		cmocka_unit_test(dump),
		cmocka_unit_test(format),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
