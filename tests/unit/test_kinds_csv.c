/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write */
/* Values of a training: from entries of the journal to files of kinds, whatever is written there, and when the process is killed. */
#include "core_helper.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "terms/train_kind.h"

/* ---- the process is killed in its n-th write, half done ---- */

static unsigned kill_at, writes;

ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	if (kill_at && ++writes == kill_at) {
		assert_true(__real_write(fd, buf, n / 2) >= 0);
		kill(getpid(), SIGKILL);
	}
	return __real_write(fd, buf, n);
}

static struct stats some_stats(float lo, float hi)
{
	return (struct stats){.n = 8,
		.zeros = 2,
		.nans = 1,
		.min.f = lo,
		.max.f = hi,
		.mean = 0.125,
		.norm = 3.5};
}

struct put {
	enum train_kind kind;
	const char *name, *word;
	uint32_t step, micro, ops;
	unsigned ndim, nvalue;
};

static bool put_kind_entry(struct chain *c, const struct put *p)
{
	uint32_t bytes = (uint32_t)(sizeof(struct journal_kind_row) + 8 * (p->ndim + p->nvalue) +
				    strlen(p->name) + 1 + strlen(p->word) + 1 + sizeof("fw.") + 7) &
			 ~7u;
	struct journal_kind_row *e = chain_reserve(c, bytes, NO_WAKE);
	char *to;

	if (!e)
		return false;
	memset(e, 0, bytes);
	*e = (struct journal_kind_row){
		.e = {.bytes = bytes, .type = JE_KIND, .n = (uint16_t)p->nvalue},
		.count = 8,
		.stats = some_stats(-1, 2.5f),
		.step = p->step,
		.micro_step = p->micro,
		.ops = p->ops,
		.vpp_stage = 1,
		.kind = (uint8_t)p->kind,
		.dtype = DT_FLOAT32,
		.ndim = (uint8_t)p->ndim};
	to = (char *)(e + 1);
	for (unsigned i = 0; i < p->ndim; i++, to += 8)
		*(uint64_t *)to = 16 >> i;
	for (unsigned i = 0; i < p->nvalue; i++, to += 8)
		*(double *)to = i + 0.5;
	to = stpcpy(to, p->name) + 1;
	to = stpcpy(to, p->word) + 1;
	strcpy(to, "fw.");
	chain_publish(c, bytes);
	return true;
}

static char *file_text(const struct rank *r, const char *name)
{
	char path[128], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	f = fopen(path, "r");
	if (f) {
		size_t n = fread(text, 1, (1 << 20) - 1, f);

		text[n] = 0;
		fclose(f);
	}
	return text;
}

static void assert_file(const struct rank *r, const char *name, const char *want)
{
	char *text = file_text(r, name);

	assert_string_equal(text, want);
	free(text);
}

static void rows(void **state)
{
	const uint32_t all = parse_ops("min\nmax\nmean\nnorm\nzeros\nnans\ninfs");
	struct rank r;
	struct chain c = {0};
	char *text;

	(void)state;
	rank_make(&r, 1 << 20);
	rank_sink(&r);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	put_kind_entry(
		&c, &(struct put){TK_PARAM_ORIGIN, "fc1.weight", "", 7, UINT32_MAX, all, 2, 0});
	put_kind_entry(
		&c, &(struct put){TK_PARAM_ORIGIN, "odd, \"x\"", "", 99, UINT32_MAX, all, 0, 0});
	put_kind_entry(&c, &(struct put){TK_PARAM_ORIGIN, "b", "", 100, UINT32_MAX, all, 1, 0});
	put_kind_entry(&c, &(struct put){TK_GRAD_UNREDUCED, "b", "", 3, 2,
				   parse_ops("norm\nid\nmin\nshape"), 1, 0});
	put_kind_entry(
		&c, &(struct put){TK_STATE, "b", "momentum_buffer", 3, UINT32_MAX, all, 1, 0});
	put_kind_entry(&c, &(struct put){TK_MG_DIRECTION, "b", "", 3, UINT32_MAX, all, 1, 1});
	put_kind_entry(&c, &(struct put){TK_UR_DISTRIBUTION, "b", "", 3, UINT32_MAX, all, 1, 60});
	/* What no writer of ours makes: another folder, too many values, a kind that is not known. */
	put_kind_entry(&c, &(struct put){TK_STATE, "b", "../evil", 3, UINT32_MAX, all, 1, 0});
	put_kind_entry(&c, &(struct put){TK_STATE, "b", "", 3, UINT32_MAX, all, 1, 0});
	put_kind_entry(&c, &(struct put){TK_UPDATE_RATIO, "b", "", 3, UINT32_MAX, all, 1, 2});
	put_kind_entry(&c, &(struct put){(enum train_kind)200, "b", "", 3, UINT32_MAX, all, 1, 0});
	assert_int_equal(drain_all(&r.drain, true), 0);
	assert_file(&r, "param_origin_0-99.csv",
		"vpp_stage,name,step,min,max,mean,norm,zeros,nans,infs,shape,dtype\n"
		"1,fc1.weight,7,-1,2.5,0.125,3.5,0.25,1,0,\"[16, 8]\",fw.float32\n"
		"1,\"odd, \"\"x\"\"\",99,-1,2.5,0.125,3.5,0.25,1,0,[],fw.float32\n");
	assert_file(&r, "param_origin_100-199.csv",
		"vpp_stage,name,step,min,max,mean,norm,zeros,nans,infs,shape,dtype\n"
		"1,b,100,-1,2.5,0.125,3.5,0.25,1,0,[16],fw.float32\n");
	assert_file(&r, "grad_unreduced_0-99.csv",
		"vpp_stage,name,step,micro_step,norm,id,min,shape,dtype\n"
		"1,b,3,2,3.5,nan,-1,[16],fw.float32\n");
	assert_file(&r, "momentum_buffer_0-99.csv",
		"vpp_stage,name,step,min,max,mean,norm,zeros,nans,infs,shape,dtype\n"
		"1,b,3,-1,2.5,0.125,3.5,0.25,1,0,[16],fw.float32\n");
	assert_file(&r, "mg_direction_0-99.csv",
		"vpp_stage,name,step,value,shape,dtype\n1,b,3,0.5,[16],fw.float32\n");
	text = file_text(&r, "ur_distribution_0-99.csv");
	assert_int_equal(strncmp(text, "vpp_stage,name,step,update_0,update_1,", 38), 0);
	assert_non_null(strstr(text, ",update_29,ratio_0,"));
	assert_non_null(strstr(text, ",ratio_29,shape,dtype\n1,b,3,0.5,1.5,"));
	assert_non_null(strstr(text, ",59.5,[16],fw.float32\n"));
	free(text);
	assert_int_equal(r.j.head->damaged, 3);
	text = file_text(&r, "update_ratio_0-99.csv");
	assert_string_equal(text, "");
	free(text);
	rank_drop(&r);
}

/* ---- each row that was entered is in the files once ---- */

#define KINDS_OF_TEST 14u /* more files than a pass may have open, with those of two blocks */

static const char *kind_file_of(unsigned i, uint32_t step, char *buf, size_t cap)
{
	snprintf(buf, cap, "state_%c_%u-%u.csv", 'a' + (int)i, step / 100 * 100,
		step / 100 * 100 + 99);
	return buf;
}

static void write_until_killed(struct rank *r, _Atomic uint32_t *entered)
{
	struct chain c = {0};

	rank_sink(r);
	if (chain_open(&c, &r->j, 1))
		_exit(2);
	for (uint32_t step = 60; step < 20000; step++) {
		for (unsigned i = 0; i < KINDS_OF_TEST; i++) {
			char word[16];

			snprintf(word, sizeof(word), "state_%c", 'a' + (int)i);
			if (!put_kind_entry(&c, &(struct put){TK_STATE, "p.q", word, step,
							UINT32_MAX, 1, 2, 0}))
				_exit(3);
		}
		atomic_store(entered, step);
		if (step % 7 == 0 && drain_one_pass(&r->drain, 8192, false, false) < 0)
			_exit(4);
		if (step % 31 == 0 && drain_all(&r->drain, false) < 0)
			_exit(5);
	}
	_exit(6);
}

static unsigned count_rows_of_step(const char *text, uint32_t step)
{
	char row[64];
	unsigned n = 0;

	snprintf(row, sizeof(row), "\n1,p.q,%u,", step);
	for (; (text = strstr(text, row)); text++)
		n++;
	return n;
}

static void killed(void **state)
{
	_Atomic uint32_t *entered =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	for (unsigned round = 0; round < 25; round++) {
		struct rank r;
		uint32_t last;
		pid_t pid;
		int how;

		rank_make(&r, 2 << 20);
		atomic_store(entered, 0);
		pid = fork();
		kill_at = pid ? 0 : 1 + 5 * round;
		if (!pid)
			write_until_killed(&r, entered);
		assert_int_equal(waitpid(pid, &how, 0), pid);
		assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
		last = atomic_load(entered);
		assert_true(last > 60);
		assert_int_equal(recover(r.dir), 0);
		for (unsigned i = 0; i < KINDS_OF_TEST; i++) {
			char name[64];
			uint32_t block = UINT32_MAX;
			char *text = NULL;

			for (uint32_t step = 60; step <= last; step++) {
				if (step / 100 != block) {
					free(text);
					text = file_text(
						&r, kind_file_of(i, step, name, sizeof(name)));
					assert_int_equal(
						strncmp(text,
							"vpp_stage,name,step,min,shape,dtype\n",
							36),
						0);
					block = step / 100;
				}
				if (count_rows_of_step(text, step) != 1)
					fail_msg("round %u: %s: step %u of %u: %u rows", round,
						name, step, last, count_rows_of_step(text, step));
			}
			free(text);
		}
		rank_drop(&r);
	}
}

static void words(void **state)
{
	(void)state;
	assert_int_equal(parse_kinds("wg_distribution\nexp_avg"),
		KIND_BIT(GRAD_UNREDUCED) | KIND_BIT(GRAD_REDUCED) | KIND_BIT(EXP_AVG));
	assert_int_equal(parse_kinds(""), 0);
	assert_int_equal(find_kind_mask("", 0), 0);
	assert_int_equal(find_kind_mask("exp", 3), 0);
	assert_int_equal(parse_ops("max\nmax\nmin\ndtype"), TO_MAX | TO_MIN << 4);
	assert_int_equal(get_train_op(TO_MAX | TO_MIN << 4, 2), TO_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words), cmocka_unit_test(rows), cmocka_unit_test(killed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
