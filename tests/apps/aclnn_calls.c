/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls Ascend's operators as PyTorch's plugin does: the library is opened by its name, functions are looked up by its handle and
 * kept, tensors are destroyed as soon as the second phase has returned. Prints what came out; into the file TRUTH goes one line for
 * each tensor of each operator that was called (tests/e2e/aclnn_truth.py):
 *
 *	NAME accepted|refused IO INDEX DTYPE SHAPE COUNT BYTES COMM STATISTICS
 *
 *	aclnn_calls LIBRARY TRUTH CALLS THREADS [STREAM]
 *
 * STREAM none: work is done when the second phase returns; else each thread has a stream. APP_HCCL: HCCL's library, of which the
 * operators that communicate are given a communicator's name. APP_QUEUE: second phases are made by another thread.
 * Compiled with LINKED it is a program that is linked with the library: nothing is looked up.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aclnn.h"
#include "matrix_sums.h"

static struct {
#define POINTER(ret, name, params) name##_fn *name;
	ACL_FUNCTIONS(POINTER)
#undef POINTER
#define POINTER(name, params)                        \
	name##GetWorkspaceSize_fn *name##_workspace; \
	second_phase *name;
	ACL_OPERATORS(POINTER)
#undef POINTER
	int64_t (*aclnnAnswer)(
		int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g);
} acl;

static FILE *truth;
static bool has_streams = true, queued;
static char group[128] = "hccl_world_group";
static bool has_comm;

#ifdef LINKED
#define DECLARED(ret, name, params) extern name##_fn name;
ACL_FUNCTIONS(DECLARED)
#undef DECLARED
#define DECLARED(name, params)                                   \
	extern name##GetWorkspaceSize_fn name##GetWorkspaceSize; \
	extern second_phase name;
ACL_OPERATORS(DECLARED)
#undef DECLARED
extern int64_t aclnnAnswer(
	int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g);

static void load_acl(const char *library)
{
	(void)library;
#define TAKE(ret, name, params) acl.name = name;
	ACL_FUNCTIONS(TAKE)
#undef TAKE
#define TAKE(name, params)                             \
	acl.name##_workspace = name##GetWorkspaceSize; \
	acl.name = name;
	ACL_OPERATORS(TAKE)
#undef TAKE
	acl.aclnnAnswer = aclnnAnswer;
}
#else
static void *function_of(void *handle, const char *name)
{
	void *f = dlsym(handle, name);

	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return f;
}

static void load_acl(const char *library)
{
	void *h = dlopen(library, RTLD_LAZY);

	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
#define LOOK_UP(ret, name, params) acl.name = (name##_fn *)function_of(h, #name);
	ACL_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(name, params)                                                          \
	acl.name##_workspace =                                                         \
		(name##GetWorkspaceSize_fn *)function_of(h, #name "GetWorkspaceSize"); \
	acl.name = (second_phase *)function_of(h, #name);
	ACL_OPERATORS(LOOK_UP)
#undef LOOK_UP
	*(void **)&acl.aclnnAnswer = function_of(h, "aclnnAnswer");
}
#endif

/* What a thread has at work. */
#define SIDE 6
#define TENSORS_MAX 32

/* A tensor as the program made it. */
struct own_tensor {
	aclTensor *t;
	const float *data;
	int64_t dim[2], stride[2], offset;
	unsigned ndim;
};

struct at_work {
	float a[SIDE * SIDE], b[SIDE * SIDE], out[SIDE * SIDE];
	char workspace[4096];
	aclrtStream stream;
	uint64_t bytes;
	aclOpExecutor *executor;
	/* Of the call that is being made: its tensors, and which are read and written. */
	struct own_tensor in[TENSORS_MAX], written[TENSORS_MAX];
	unsigned nin, nwritten;
	bool unread; /* libprobe is not to look at them */
	char *lines;
	size_t length;
};

static struct own_tensor tensor_of(
	float *data, unsigned ndim, int64_t rows, int64_t columns, bool turned, int64_t offset)
{
	struct own_tensor o = {.data = data, .ndim = ndim, .offset = offset};
	int64_t all = SIDE * SIDE;

	o.dim[0] = rows;
	o.dim[1] = columns;
	o.stride[0] = ndim < 2 ? 1 : turned ? 1 : SIDE;
	o.stride[1] = turned ? SIDE : 1;
	o.t = acl.aclCreateTensor(
		o.dim, ndim, ACL_FLOAT, o.stride, offset, ACL_FORMAT_ND, &all, 1, data);
	return o;
}

static void print_tensor(FILE *f, const char *name, const char *said, const char *io,
	unsigned index, const struct own_tensor *o, const char *comm, bool read)
{
	struct matrix_sums s = MATRIX_SUMS_NONE;
	int64_t rows = o->ndim ? o->dim[0] : 1, columns = o->ndim > 1 ? o->dim[1] : 1;

	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; k < columns; k++)
			add_matrix_value(&s,
				(long double)
					o->data[o->offset + i * o->stride[0] + k * o->stride[1]]);
	fprintf(f, "%s %s %s %u float32 ", name, said, io, index);
	if (!o->ndim)
		fprintf(f, "-");
	else if (o->ndim == 1)
		fprintf(f, "%lld", (long long)rows);
	else
		fprintf(f, "%lldx%lld", (long long)rows, (long long)columns);
	fprintf(f, " %lld %lld %s", (long long)(rows * columns), (long long)(rows * columns * 4),
		comm);
	print_matrix_sums(f, &s, read);
}

/* The second phase as another thread makes it, the first one's having ended. */
struct second {
	struct at_work *w;
	second_phase *f;
	aclnnStatus ret;
};

static void *second_main(void *arg)
{
	struct second *s = arg;

	s->ret = s->f(s->w->workspace, s->w->bytes, s->w->executor, s->w->stream);
	return NULL;
}

static void start_operator(struct at_work *w, const char *name, second_phase *f)
{
	const char *comm = has_comm && strstr(name, "AllReduce") ? "comm" : "none";
	struct second s = {w, f, 0};
	char *before = NULL, *rest;
	size_t length;
	FILE *m = open_memstream(&before, &length);
	pthread_t thread;

	for (unsigned i = 0; i < w->nin; i++)
		print_tensor(m, name, "SAID", "in", i, &w->in[i], comm, !w->unread);
	fclose(m);
	if (queued) {
		pthread_create(&thread, NULL, second_main, &s);
		pthread_join(thread, NULL);
	} else {
		second_main(&s);
	}
	acl.aclrtSynchronizeStream(w->stream);
	m = open_memstream(&w->lines, &w->length);
	for (char *line = strtok_r(before, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *said = strstr(line, "SAID");

		fprintf(m, "%.*s%s%s\n", (int)(said - line), line, s.ret ? "refused" : "accepted",
			said + 4);
	}
	for (unsigned i = 0; i < w->nwritten && !s.ret; i++)
		print_tensor(m, name, "accepted", "out", i, &w->written[i], comm, !w->unread);
	fclose(m);
	flockfile(truth);
	fputs(w->lines, truth);
	fprintf(truth, "%s %s\n", name, s.ret ? "refused" : "accepted");
	funlockfile(truth);
	free(w->lines);
	free(before);
}

static void put_in(struct at_work *w, struct own_tensor o)
{
	w->in[w->nin++] = o;
}

static void put_written(struct at_work *w, struct own_tensor o)
{
	w->written[w->nwritten++] = o;
}

#define FIRST(w, name, ...)                                                           \
	do {                                                                          \
		if (acl.name##_workspace(__VA_ARGS__, &(w)->bytes, &(w)->executor)) { \
			fprintf(stderr, "%s: first phase\n", #name);                  \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

#define CALL(w, name, ...)                          \
	do {                                        \
		FIRST(w, name, __VA_ARGS__);        \
		start_operator(w, #name, acl.name); \
	} while (0)

/* Lists of n tensors, each a row of a, of b, of out. */
static void call_list(struct at_work *w, unsigned n)
{
	const aclTensor *items[3][SIDE];
	aclTensorList *list[3];

	for (unsigned i = 0; i < 3; i++) {
		float *data = i == 0 ? w->a : i == 1 ? w->b : w->out;

		for (unsigned k = 0; k < n; k++) {
			struct own_tensor o = tensor_of(data, 1, SIDE, 1, false, SIDE * k);

			items[i][k] = o.t;
			if (i < 2)
				put_in(w, o);
			else
				put_written(w, o);
		}
		list[i] = acl.aclCreateTensorList(items[i], n);
	}
	CALL(w, aclnnForeachMulList, list[0], list[1], list[2]);
	for (unsigned i = 0; i < 3; i++)
		acl.aclDestroyTensorList(list[i]);
}

static void call_wide(struct at_work *w, struct own_tensor a, struct own_tensor out)
{
	struct own_tensor i0 = tensor_of(w->b, 2, SIDE, SIDE, true, 0),
			  i1 = tensor_of(w->a, 2, SIDE, SIDE, false, 0);
	const aclTensor *items[2] = {i0.t, i1.t};
	aclTensorList *list = acl.aclCreateTensorList(items, 2);

	put_in(w, i0);
	put_in(w, i1);
	put_in(w, a);
	put_written(w, out);
	CALL(w, aclnnWideSum, list, 1, 2, 3, 4, 5, 6, 0.5, 0.25f, -7, true, a.t, out.t);
	acl.aclDestroyTensorList(list);
}

static void call_repeated(struct at_work *w, struct own_tensor a, struct own_tensor out)
{
	put_in(w, a);
	put_written(w, out);
	FIRST(w, aclnnScale, a.t, 0.5, 0.25f, false, out.t);
	acl.aclSetAclOpExecutorRepeatable(w->executor);
	w->unread = true;
	start_operator(w, "aclnnScale", acl.aclnnScale);
	start_operator(w, "aclnnScale", acl.aclnnScale);
	acl.aclDestroyAclOpExecutor(w->executor);
}

static void call_minmax(struct at_work *w, struct own_tensor a)
{
	struct own_tensor lo = tensor_of(w->out, 1, SIDE, 1, false, 0),
			  hi = tensor_of(w->out, 1, SIDE, 1, false, SIDE);

	put_in(w, a);
	put_written(w, lo);
	put_written(w, hi);
	CALL(w, aclnnAminmaxDim, a.t, 1, false, lo.t, hi.t);
	acl.aclDestroyTensor(lo.t);
	acl.aclDestroyTensor(hi.t);
}

static void call_one(struct at_work *w, unsigned which)
{
	char op[] = "sum";
	float two = 2;
	aclScalar *alpha = acl.aclCreateScalar(&two, ACL_FLOAT);
	struct own_tensor a = tensor_of(w->a, 2, SIDE, SIDE, which & 16, 0),
			  b = tensor_of(w->b, 2, SIDE, SIDE, false, 0),
			  out = tensor_of(w->out, 2, SIDE, SIDE, false, 0);

	w->nin = w->nwritten = 0;
	w->unread = false;
	switch (which % 11) {
	case 0:
		put_in(w, a), put_in(w, b), put_written(w, out);
		CALL(w, aclnnAdd, a.t, b.t, alpha, out.t);
		break;
	case 1:
		put_in(w, a), put_in(w, b), put_written(w, out);
		CALL(w, aclnnMatmul, a.t, b.t, out.t, 1);
		break;
	case 2:
		put_in(w, out), put_in(w, b), put_written(w, out);
		CALL(w, aclnnInplaceAdd, out.t, b.t, alpha);
		break;
	case 3:
		put_in(w, a), put_written(w, out);
		CALL(w, aclnnScale, a.t, 0.25, 1.5f, true, out.t);
		break;
	case 4:
		call_wide(w, a, out);
		break;
	case 5:
		put_in(w, a), put_in(w, b), put_written(w, out);
		CALL(w, aclnnMatmulAllReduce, a.t, b.t, NULL, group, op, 0, 1, out.t);
		break;
	case 6: /* refused, and the executor is not used up */
		put_in(w, a), put_in(w, b), put_written(w, out);
		FIRST(w, aclnnAdd, a.t, b.t, alpha, out.t);
		w->bytes++;
		start_operator(w, "aclnnAdd", acl.aclnnAdd);
		w->bytes--;
		start_operator(w, "aclnnAdd", acl.aclnnAdd);
		break;
	case 7:
		call_minmax(w, a);
		break;
	case 8:
		call_list(w, 1 + which % SIDE);
		break;
	case 9:
		call_repeated(w, a, out);
		break;
	default:
		fprintf(truth, "none %lld\n",
			(long long)acl.aclnnAnswer(1, 2, 3, 4, 5, 6, 1ll << 40));
		acl.aclnnInit("");
	}
	acl.aclDestroyTensor(a.t);
	acl.aclDestroyTensor(b.t);
	acl.aclDestroyTensor(out.t);
	acl.aclDestroyScalar(alpha);
}

/* A communicator of this process alone. */
static void name_comm(const char *library)
{
	void *h = library ? dlopen(library, RTLD_NOW) : NULL;
	int (*root)(void *id), (*init)(uint32_t n, const void *id, uint32_t rank, void **comm),
		(*named)(void *comm, char *name);
	static char id[4108];
	void *comm;

	if (!h)
		return;
	*(void **)&root = dlsym(h, "HcclGetRootInfo");
	*(void **)&init = dlsym(h, "HcclCommInitRootInfo");
	*(void **)&named = dlsym(h, "HcclGetCommName");
	if (root(id) || init(1, id, 0, &comm) || named(comm, group))
		exit(2);
	has_comm = true;
}

struct thread_of {
	unsigned number, calls;
	float sum;
};

static void *call_many(void *arg)
{
	struct thread_of *t = arg;
	struct at_work w;

	memset(&w, 0, sizeof(w));
	if (has_streams)
		acl.aclrtCreateStream(&w.stream);
	for (unsigned i = 0; i < t->calls; i++) {
		for (unsigned k = 0; k < SIDE * SIDE; k++) {
			w.a[k] = (float)((i * 7 + k + t->number) % 11) - 5;
			w.b[k] = (float)((i * 3 + k * k) % 13) / 4;
		}
		call_one(&w, i);
		for (unsigned k = 0; k < SIDE * SIDE; k++)
			t->sum = t->sum * 0.75f + w.out[k];
	}
	acl.aclrtDestroyStream(w.stream);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned calls = argc >= 5 ? (unsigned)atoi(argv[3]) : 0;
	unsigned n = argc >= 5 ? (unsigned)atoi(argv[4]) : 0;
	struct thread_of t[16];
	pthread_t thread[16];

	if (!n || n > 16 || !(truth = fopen(argv[2], "w"))) {
		fprintf(stderr, "usage: aclnn_calls LIBRARY TRUTH CALLS THREADS [none]\n");
		return 2;
	}
	has_streams = argc < 6;
	queued = getenv("APP_QUEUE");
	load_acl(argv[1]);
	name_comm(getenv("APP_HCCL"));
	for (unsigned i = 0; i < n; i++) {
		t[i] = (struct thread_of){i, calls, 0};
		if (pthread_create(&thread[i], NULL, call_many, &t[i]))
			return 2;
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		printf("%u: %a\n", i, (double)t[i].sum);
	}
	return fclose(truth) != 0;
}
