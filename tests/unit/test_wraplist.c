/* SPDX-License-Identifier: Apache-2.0 */
/* The list of functions: the shipped one, matching against fnmatch(3), unknown names, broken lists. */
#include "config_helper.h"

#include <errno.h>
#include <fnmatch.h>
#include <time.h>

#include "config/list/glob.h"
#include "config/list/wraplist.h"

const struct builtin_text builtin_texts[] = {
	{"support_wrap_ops.yaml", "built:\n  - in\n"}, {"broken", "a: ["}, {NULL, NULL}};

static struct wraplist *list(const char *yaml, struct lines *l)
{
	l->n = 0;

	struct wraplist *w = wraplist_load_text("l.yaml", yaml, strlen(yaml), collect, l);

	assert_non_null(w);
	return w;
}

static void matching(void **state)
{
	struct lines l;
	struct wraplist *w =
		list("mpi:\n  - MPI_Send\n  # - MPI_Recv\n  - MPI_*all*\nempty:\nnone: []\n"
		     "functional:\n  - conv1d\n  - \n  - # relu\n  - ~\n"
		     "nccl: [ncclSend, 'nccl[GR]*', \"*Reduce\", 'a\\*b']\n",
			&l);

	(void)state;
	assert_lines(&l, 0);
	assert_true(wraplist_match(w, "mpi", "MPI_Send"));
	assert_false(wraplist_match(w, "mpi", "MPI_Recv"));
	assert_false(wraplist_match(w, "mpi", "MPI_Sen"));
	assert_false(wraplist_match(w, "mpi", "MPI_Send_c"));
	assert_false(wraplist_match(w, "mpi", "mpi_send"));
	assert_false(wraplist_match(w, "mpi", ""));
	assert_true(wraplist_match(w, "mpi", "MPI_Neighbor_alltoall"));
	assert_false(wraplist_match(w, "MPI", "MPI_Send"));
	assert_false(wraplist_match(w, "mp", "MPI_Send"));
	assert_false(wraplist_match(w, "empty", "MPI_Send"));
	assert_false(wraplist_match(w, "none", "MPI_Send"));
	assert_false(wraplist_match(w, "absent", "MPI_Send"));
	assert_true(wraplist_match(w, "functional", "conv1d"));
	assert_false(wraplist_match(w, "functional", "relu"));
	assert_false(wraplist_match(w, "functional", ""));
	assert_false(wraplist_match(w, "functional", "~"));
	assert_true(wraplist_match(w, "nccl", "ncclGather"));
	assert_true(wraplist_match(w, "nccl", "ncclAllReduce"));
	assert_false(wraplist_match(w, "nccl", "ncclBcast"));
	assert_true(wraplist_match(w, "nccl", "a*b"));
	assert_false(wraplist_match(w, "nccl", "a\\*b")); /* a pattern is not a name */
	assert_false(wraplist_match(NULL, "nccl", "a"));
	wraplist_free(w);
	wraplist_free(NULL);
}

static void unknown(void **state)
{
	struct lines l;
	struct wraplist *w =
		list("mpi:\n  - MPI_Send\n  - MPI_Alreduce\n  - MPI_S*\n  - MPI_Q*\n"
		     "  - MPI_Send\n  - MPI_R*\n  - MPI_Recv\nnccl: [x]\nall: [\"*\"]\n",
			&l);

	(void)state;
	assert_true(wraplist_match(w, "mpi", "MPI_Send")); /* also makes MPI_S* known */
	assert_true(wraplist_match(w, "mpi", "MPI_Rsend"));
	wraplist_emit_unknown(w, "mpi", collect, &l);
	assert_lines(&l, 3);
	assert_string_equal(l.text[0],
		"l.yaml:3:5: mpi: \"MPI_Alreduce\": unknown name; nothing is "
		"recorded for it");
	assert_string_equal(l.text[1],
		"l.yaml:5:5: mpi: \"MPI_Q*\": no known function matches this pattern; "
		"nothing is recorded for it");
	assert_said(&l, "l.yaml:8:5: mpi: \"MPI_Recv\": unknown name");
	wraplist_emit_unknown(w, "mpi", collect, &l); /* once */
	wraplist_emit_unknown(w, "all", collect, &l); /* all that there is: it may be nothing */
	wraplist_emit_unknown(w, "absent", collect, &l);
	wraplist_emit_unknown(NULL, "mpi", collect, &l);
	wraplist_emit_unknown(w, "nccl", NULL, NULL);
	assert_lines(&l, 3);
	wraplist_free(w);

	char text[4000], *p = text + sprintf(text, "s:\n");

	for (int i = 0; i < 100; i++)
		p += sprintf(p, "  - name%d\n", i);
	w = list(text, &l);
	wraplist_emit_unknown(w, "s", collect, &l);
	assert_lines(&l, 33);
	assert_string_equal(l.text[32], "l.yaml: 68 further problems are not shown");
	wraplist_free(w);
}

static void wrong_shapes(void **state)
{
	struct lines l;
	struct wraplist *w =
		list("mpi: MPI_Send\nnccl:\n  ncclSend: true\nhccl:\n  - [a, b]\n  - {c: d}\n"
		     "  - HcclSend\n  - *Reduce\n  - two words\n  - 'bad['\n  - 'a[[:digit:]]'\n"
		     "  - \"tab\\t\"\n  - 'end\\'\n-MPI_Send: 1\n[x]: [y]\nhccl:\n  - HcclRecv\n",
			&l);

	(void)state;
	assert_lines(&l, 13);
	assert_said(&l, "l.yaml:1:6: mpi: a single value where a list is expected; accepted: lines "
			"\"  - name\"; treated as an empty list");
	assert_said(&l, "l.yaml:3:3: nccl: a group of keys where a list is expected");
	assert_said(&l, "l.yaml:5:5: hccl: a list where a name is expected; it is skipped");
	assert_said(&l, "l.yaml:6:5: hccl: a group of keys where a name is expected");
	assert_said(
		&l, "l.yaml:8:5: hccl: *Reduce is read as a YAML alias; put the pattern in quotes");
	assert_said(&l, "l.yaml:9:5: hccl: \"two words\": holds a space; one name per line");
	assert_said(&l, "l.yaml:10:5: hccl: \"bad[\": has a [ without its ]; it is skipped");
	assert_said(
		&l, "l.yaml:11:5: hccl: \"a[[:digit:]]\": uses [:class:], which is not supported");
	assert_said(&l, "l.yaml:12:5: hccl: \"tab?\": holds a control character");
	assert_said(&l, "l.yaml:13:5: hccl: \"end\\\": ends in a backslash");
	assert_said(&l, "l.yaml:14:12: -MPI_Send: a single value where a list is expected");
	assert_said(&l, "l.yaml:15:1: a list where the name of a section is expected");
	assert_said(&l, "l.yaml:16:1: section \"hccl\": begun before on line 4; both are used");
	assert_false(wraplist_match(w, "mpi", "MPI_Send"));
	assert_true(wraplist_match(w, "hccl", "HcclSend"));
	assert_true(wraplist_match(w, "hccl", "HcclRecv"));
	wraplist_free(w);
}

static void twice(void **state)
{
	struct lines l;
	struct wraplist *w = list("mpi:\n  - a\nucc:\n  - b\nmpi:\n  - c\n", &l);

	(void)state;
	assert_lines(&l, 1);
	assert_string_equal(
		l.text[0], "l.yaml:5:1: section \"mpi\": begun before on line 1; both are used");
	assert_true(wraplist_match(w, "mpi", "a") && wraplist_match(w, "mpi", "c"));
	assert_false(wraplist_match(w, "mpi", "b"));
	wraplist_free(w);
}

/* A file that is no list is not used; the list used instead is reported. */
static void unusable(void **state)
{
	static const char *const text[][2] = {
		{"mpi:\n  - a\n  - *\n",
			"l.yaml:3:6: no valid YAML: did not find expected alphabetic or "
			"numeric character, while scanning an alias (quotes are needed around "
			"what begins with *)"},
		{"mpi: [a\n", "no valid YAML"},
		{"- mpi\n",
			"l.yaml:1:1: a list where sections are expected; accepted: lines \"mpi:\""},
		{"mpi\n", "a single value where sections are expected"},
		{"mpi:\n  - \xff\n", "l.yaml:2:5: no valid YAML"},
		{"mpi: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[a\n", "nested more than 32 deep"},
	};
	struct lines l;
	struct wraplist *w;

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		w = list(text[i][0], &l);
		assert_said(&l, text[i][1]);
		assert_said(&l, "; the whole file is ignored and the built-in list is used");
		assert_false(wraplist_match(w, "mpi", "a"));
		assert_true(wraplist_match(w, "built", "in"));
		wraplist_free(w);
	}
	/* Nothing listed is what the user asked for, but worth a line. */
	static const char *const none[] = {
		"", "# no\n", "mpi:\n", "mpi:\n#  - a\nnccl: []\n", "{}\n"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		w = list(none[i], &l);
		assert_lines(&l, 1);
		assert_string_equal(
			l.text[0], "l.yaml: lists no function; nothing will be recorded");
		assert_false(wraplist_match(w, "built", "in"));
		wraplist_free(w);
	}
	w = list("mpi: [a]\n---\nmpi: [b]\n", &l);
	assert_lines(&l, 1);
	assert_said(&l, "l.yaml:2:1: a second YAML document begins; it is ignored");
	assert_true(wraplist_match(w, "mpi", "a"));
	wraplist_free(w);
}

static void files(void **state)
{
	struct lines l = {0};
	struct wraplist *w;
	const char *path = temp_file("list.yaml", "mpi: [a]\n", 9);
	char big[64];

	(void)state;
	errno = EXDEV;
	w = wraplist_load(path, collect, &l);
	assert_true(wraplist_match(w, "mpi", "a"));
	wraplist_free(w);
	w = wraplist_load(NULL, collect, &l);
	assert_true(wraplist_match(w, "built", "in"));
	assert_false(wraplist_match(w, "mpi", "a"));
	assert_lines(&l, 0);
	wraplist_emit_unknown(w, "built", collect, &l);
	assert_lines(&l, 0);
	wraplist_free(w);
	assert_null(wraplist_load("/nowhere/list", collect, &l));
	assert_string_equal(l.text[0],
		"/nowhere/list: cannot be read: No such file or directory; this "
		"list is not used");
	assert_null(wraplist_load("/dev/zero", collect, &l));
	assert_said(&l, "/dev/zero: cannot be read: not a regular file; this list is not used");
	snprintf(big, sizeof(big), "/tmp");
	assert_null(wraplist_load(big, NULL, NULL));
	assert_int_equal(errno, EXDEV);
}

/* Random patterns over a small alphabet against the C library's own matcher. */
static void glob_against_fnmatch(void **state)
{
	static const char in_pattern[] = "aabbc*?[]-!^\\*", in_name[] = "abc-!]\\*[^";
	unsigned hits = 0, checked = 0;

	(void)state;
	srand(4);
	for (int i = 0; i < 400000; i++) {
		char p[12] = "", s[12] = "";
		int np = rand() % 11, ns = rand() % 8;

		for (int j = 0; j < np; j++)
			p[j] = in_pattern[rand() % (int)(sizeof(in_pattern) - 1)];
		for (int j = 0; j < ns; j++)
			s[j] = in_name[rand() % (int)(sizeof(in_name) - (rand() % 4 ? 8 : 1))];
		if (glob_check(p))
			continue; /* never gets that far */

		bool want = fnmatch(p, s, 0) == 0;

		if (glob_match(p, s) != want)
			fail_msg("pattern %s, name %s: fnmatch says %d", p, s, want);
		checked++;
		hits += want;
	}
	assert_true(checked > 100000 && hits > 10000);
	assert_false(glob_is("MPI_Send::x(int)"));
	assert_true(glob_is("a*") && glob_is("?") && glob_is("a[b]") && glob_is("\\"));
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void large(void **state)
{
	char *text = malloc(2 << 20), *p = text, name[2000];
	struct lines l;
	double t = seconds();

	(void)state;
	p += sprintf(p, "aten:\n");
	for (int i = 0; i < 60000; i++)
		p += sprintf(p, "- aten::op%d\n", i);
	struct wraplist *w = list(text, &l);

	assert_lines(&l, 0);
	t = seconds();
	for (int i = 0; i < 120000; i++) {
		sprintf(name, "aten::op%d", i);
		assert_int_equal(wraplist_match(w, "aten", name), i < 60000);
	}
	t = seconds() - t;
	if (getenv("VERBOSE"))
		print_message("# %.0f ns per name\n", t / 120000 * 1e9);
	assert_true(t < 5); /* a search along the list would take minutes */
	wraplist_free(w);

	/* More patterns than a section may have, many copies of one, an endless pattern. */
	p = text + sprintf(text, "s:\n");
	for (int i = 0; i < 60000; i++)
		p += sprintf(p, "- '%d*'\n", i % 2000 + 10000);
	t = seconds();
	w = list(text, &l);
	assert_lines(&l, 1);
	assert_string_equal(
		l.text[0], "l.yaml:1026:3: s: more than 1024 patterns; further ones are skipped");
	assert_true(wraplist_match(w, "s", "11023x"));
	assert_false(wraplist_match(w, "s", "11024x"));
	wraplist_free(w);
	p = text + sprintf(text, "s:\n- ");
	for (int i = 0; i < 490; i++)
		p += sprintf(p, "*a");
	sprintf(p, "b\n- %01000d\n- %01001d\n", 0, 0);
	memcpy(text, "s:\n- x", 6); /* x for the first *: unquoted it would be an alias */
	w = list(text, &l);
	assert_lines(&l, 1);
	assert_said(&l, "l.yaml:4:3: s: \"000");
	assert_said(&l, "too long a name; it is skipped");
	memset(name, 'a', sizeof(name) - 1);
	name[0] = 'x';
	name[sizeof(name) - 1] = 0;
	assert_false(wraplist_match(w, "s", name));
	wraplist_free(w);

	/* The same name in many sections, which share one hash table. */
	p = text;
	for (int i = 0; i < 100; i++)
		p += sprintf(p, "s%d: [%s]\n", i, i % 2 ? "y" : "x");
	w = list(text, &l);
	for (int i = 0; i < 100; i++) {
		sprintf(name, "s%d", i);
		assert_int_equal(wraplist_match(w, name, "x"), i % 2 == 0);
		assert_int_equal(wraplist_match(w, name, "y"), i % 2 == 1);
	}
	wraplist_free(w);

	/* More sections than there can be. */
	p = text;
	for (int i = 0; i < 300; i++)
		p += sprintf(p, "s%d: [a%d]\n", i, i);
	w = list(text, &l);
	assert_said(&l, "l.yaml:257:1: section \"s256\": more than 256 sections; it is skipped");
	assert_true(wraplist_match(w, "s255", "a255"));
	assert_false(wraplist_match(w, "s256", "a256"));
	wraplist_free(w);
	assert_true(seconds() - t < 10);
	free(text);
}

/*
 * MPI 4.0, all blocking functions of chapters 3 (point-to-point), 6 (collectives), 8.6 (neighbourhoods) and 12 (one-sided)
 * that move data or synchronise, in their plain form, and of chapter 14 (files) some.
 */
static const char *const mpi[] = {"MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Recv",
	"MPI_Mrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Barrier", "MPI_Bcast",
	"MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Allgather",
	"MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw", "MPI_Reduce",
	"MPI_Allreduce", "MPI_Reduce_scatter_block", "MPI_Reduce_scatter", "MPI_Scan", "MPI_Exscan",
	"MPI_Neighbor_allgather", "MPI_Neighbor_allgatherv", "MPI_Neighbor_alltoall",
	"MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw", "MPI_Put", "MPI_Get", "MPI_Accumulate",
	"MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Win_fence",
	"MPI_Win_lock", "MPI_Win_lock_all", "MPI_Win_unlock", "MPI_Win_unlock_all", "MPI_Win_flush",
	"MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all", "MPI_Win_post",
	"MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait", "MPI_File_read", "MPI_File_write",
	"MPI_File_read_at", "MPI_File_write_at_all", "MPI_File_read_ordered",
	"MPI_File_write_shared", "MPI_File_sync", "MPI_File_set_view", "MPI_File_set_size",
	"MPI_File_preallocate", "MPI_File_set_atomicity", "MPI_File_seek_shared", "MPIX_Comm_agree",
	"MPIX_Comm_revoke"};

static void shipped_list(void **state)
{
	static const char *const others[][2] = {{"nccl", "ncclAllReduce"}, {"nccl", "ncclSend"},
		{"hccl", "HcclAllReduce"}, {"hccl", "HcclBarrier"}, {"ucc", "ucc_collective_post"},
		{"oneccl", "onecclAllReduce"}, {"gloo", "gloo::allreduce"},
		{"c10d", "c10d::ProcessGroupGloo::allreduce"},
		{"c10d", "c10d::ProcessGroupNCCL::barrier"}};
	static const char *const off[][2] = {{"aten", "aten::mm"}, {"cblas", "cblas_sgemm"},
		{"cublas", "cublasGemmEx"}, {"acl", "aclnnAdd"}, {"mpi", "MPI_Wait"},
		{"mpi", "MPI_Init"}, {"mpi", "MPI_Win_test"}, {"nccl", "ncclGroupEnd"}};
	char *text = repo_file("configs/support_wrap_ops.yaml");
	struct lines l;
	struct wraplist *w = list(text, &l);

	(void)state;
	assert_lines(&l, 0);
	for (size_t i = 0; i < sizeof(mpi) / sizeof(mpi[0]); i++)
		if (!wraplist_match(w, "mpi", mpi[i]))
			fail_msg("%s is missing", mpi[i]);
	wraplist_emit_unknown(w, "mpi", collect, &l);
	assert_lines(&l, 0); /* and no other name */
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(wraplist_match(w, others[i][0], others[i][1]));
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		assert_false(wraplist_match(w, off[i][0], off[i][1]));
	wraplist_free(w);

	/* Each section and name that is commented out can be switched on by removing "# ", and each line off. */
	for (char *p = text; (p = strstr(p, "\n# ")); p++)
		if (strncmp(p + 3, "  - ", 4) == 0 ||
			(strcspn(p + 3, ":") < strcspn(p + 3, " \n") &&
				p[3 + strcspn(p + 3, ":") + 1] == '\n'))
			memmove(p + 1, p + 3, strlen(p + 3) + 1);
	w = list(text, &l);
	assert_lines(&l, 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(wraplist_match(w, off[i][0], off[i][1]));
	wraplist_free(w);
	*strstr(text, "- MPI_Allreduce\n") = '#';
	w = list(text, &l);
	assert_lines(&l, 0);
	assert_false(wraplist_match(w, "mpi", "MPI_Allreduce"));
	assert_true(wraplist_match(w, "mpi", "MPI_Allgatherv"));
	wraplist_free(w);
	free(text);
}

/* msprobe's own list: names of Python functions select collectives of every library, and for operators. */
static void list_of_msprobe(void **state)
{
	static const char text[] =
		"functional:\n  - linear\n  - cross_entropy\ntensor:\n  - __add__\n  - add_\n"
		"torch:\n  - linalg.norm\n  - matmul\naten:\n  - __doc__\n"
		"distributed:\n  - all_reduce\n  - _all_gather_base\n  - batch_isend_irecv\n  - "
		"reduce\n";
	static const struct {
		const char *section, *name;
		bool listed;
	} want[] = {
		{"aten", "aten::linear", true},
		{"aten", "aten::linear.out", true},
		{"aten", "aten::cross_entropy_loss", true},
		{"aten", "aten::add.Tensor", true},
		{"aten", "aten::add_.Tensor", true},
		{"aten", "aten::linalg_norm", true},
		{"aten", "aten::sub.Tensor", false},
		{"aten", "aten::mm", false},
		{"c10d", "c10d::ProcessGroupGloo::allreduce", true},
		{"c10d", "c10d::ProcessGroup::allgather_into_tensor_coalesced", true},
		{"c10d", "c10d::ProcessGroup::broadcast", false},
		{"c10d", "c10d::ProcessGroup::barrier", false},
		{"nccl", "ncclAllReduce", true},
		{"nccl", "ncclReduce", true},
		{"nccl", "ncclReduceScatter", false},
		{"nccl", "ncclSend", true},
		{"hccl", "HcclBatchSendRecv", true},
		{"mpi", "MPI_Gather", false},
		{"mpi", "MPI_Sendrecv", true},
	};
	struct lines l = {0};
	struct wraplist *w = wraplist_load_text("l.yaml", text, strlen(text), collect, &l);

	(void)state;
	assert_non_null(w);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		if (wraplist_match(w, want[i].section, want[i].name) != want[i].listed)
			fail_msg("%s is%s listed", want[i].name, want[i].listed ? " not" : "");
	wraplist_emit_unknown(w, "aten", collect, &l);
	assert_lines(&l, 0);
	wraplist_free(w);
}

/* One name of a direction is no reason to record the other; a name of both, or both names, are. */
static void messages_of_msprobe(void **state)
{
	static const struct {
		const char *text;
		bool send, recv, batch, both;
	} lists[] = {
		{"distributed: [isend]\ntorch: [mm]\n", true, false, false, true},
		{"distributed: [irecv]\ntorch: [mm]\n", false, true, false, true},
		{"distributed: [isend, recv]\ntorch: [mm]\n", true, true, true, true},
		{"distributed: [batch_isend_irecv]\ntorch: [mm]\n", true, true, true, true},
		{"distributed: [all_reduce]\ntorch: [mm]\n", false, false, false, false},
	};
	struct lines l = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct wraplist *w = list(lists[i].text, &l);

		assert_int_equal(wraplist_match(w, "c10d", "isend"), lists[i].send);
		assert_int_equal(wraplist_match(w, "c10d", "recv"), lists[i].recv);
		assert_int_equal(wraplist_match(w, "c10d", "batch_isend_irecv"), lists[i].batch);
		assert_int_equal(wraplist_match(w, "mpi", "MPI_Sendrecv"), lists[i].both);
		assert_lines(&l, 0);
		wraplist_free(w);
	}
}

/* Ascend's sections, each as the whole list. */
static void ascend_of_msprobe(void **state)
{
	struct lines l = {0};
	struct wraplist *w;

	(void)state;
	w = list("torch_npu:\n  - npu_rotary_mul\n", &l);
	assert_true(wraplist_match(w, "aten", "aten::npu_rotary_mul"));
	assert_false(wraplist_match(w, "aten", "aten::npu_fusion_attention"));
	assert_false(wraplist_match(w, "mpi", "MPI_Allreduce"));
	wraplist_free(w);
	w = list("mindspeed:\n  - npu_fusion_attention\n", &l);
	assert_true(wraplist_match(w, "aten", "aten::npu_fusion_attention"));
	assert_false(wraplist_match(w, "hccl", "HcclAllReduce"));
	wraplist_free(w);
	w = list("npu_distributed:\n  - all_reduce\n", &l);
	assert_true(wraplist_match(w, "hccl", "HcclAllReduce"));
	assert_false(wraplist_match(w, "hccl", "HcclBroadcast"));
	wraplist_free(w);
	assert_lines(&l, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
		cmocka_unit_test(unknown),
		cmocka_unit_test(wrong_shapes),
		cmocka_unit_test(twice),
		cmocka_unit_test(unusable),
		cmocka_unit_test(files),
		cmocka_unit_test(glob_against_fnmatch),
		cmocka_unit_test(large),
		cmocka_unit_test(list_of_msprobe),
		cmocka_unit_test(messages_of_msprobe),
		cmocka_unit_test(ascend_of_msprobe),
		cmocka_unit_test(shipped_list),
	};

	return cmocka_run_group_tests_name("wraplist", tests, NULL, NULL);
}
