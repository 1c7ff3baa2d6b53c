/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libopapi.so, with what it needs of libascendcl.so, that computes on the processor: a stream is a thread that works off what
 * it is given, so an operator is done some time after its second phase has returned. For tests only.
 *
 * ON_DEVICE: on the streams, and in the memory, of the stand-in for libascendcl.so (tests/doubles/ascend).
 */
#include "aclnn.h"
#ifdef ON_DEVICE
#include "../cuda/cuda_double.h"
#endif

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN __attribute__((visibility("default")))
#define DIMS_MAX 8
#define PARAM_INVALID 161002

#ifdef ON_DEVICE
#define HERE(p) double_device_alias(p)
#else
#define HERE(p) (p)

/* ---- streams ---- */

struct work {
	void (*run)(aclOpExecutor *x);
	aclOpExecutor *x;
	struct work *next;
};

static void run_executor(aclOpExecutor *x);

struct stream {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct work *first, **last;
	bool busy, end;
};

static void *stream_main(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct work *w;

		while (!s->first && !s->end)
			pthread_cond_wait(&s->changed, &s->lock);
		w = s->first;
		if (!w)
			break;
		s->first = w->next;
		if (!s->first)
			s->last = &s->first;
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		usleep(50);
		run_executor(w->x);
		free(w);
		pthread_mutex_lock(&s->lock);
		s->busy = false;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

OWN int32_t aclrtCreateStream(aclrtStream *stream)
{
	struct stream *s = calloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->last = &s->first;
	*stream = s;
	return pthread_create(&s->thread, NULL, stream_main, s);
}

OWN int32_t aclrtSynchronizeStream(aclrtStream stream)
{
	struct stream *s = stream;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	while (s->first || s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

OWN int32_t aclrtStreamQuery(aclrtStream stream, int32_t *status)
{
	struct stream *s = stream;

	*status = 0;
	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	*status = s->first || s->busy; /* 1: ACL_STREAM_STATUS_NOT_READY */
	pthread_mutex_unlock(&s->lock);
	return 0;
}

OWN int32_t aclrtDestroyStream(aclrtStream stream)
{
	struct stream *s = stream;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	s->end = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	free(s);
	return 0;
}
#endif

/* ---- tensors ---- */

struct aclTensor {
	int64_t dim[DIMS_MAX], stride[DIMS_MAX], offset, count;
	uint64_t n;
	aclDataType type;
	void *data;
};

struct aclTensorList {
	uint64_t n;
	const aclTensor *item[];
};

struct aclScalar {
	float value;
};

OWN aclnnStatus aclnnInit(const char *config)
{
	return config && *config ? PARAM_INVALID : 0;
}

OWN aclTensor *aclCreateTensor(const int64_t *dims, uint64_t n, aclDataType type,
	const int64_t *strides, int64_t offset, aclFormat format, const int64_t *storage,
	uint64_t nstorage, void *data)
{
	aclTensor *t = calloc(1, sizeof(*t));

	(void)format, (void)storage, (void)nstorage;
	t->n = n;
	t->type = type;
	t->offset = offset;
	t->data = data;
	t->count = 1;
	for (uint64_t i = n; i-- > 0;) {
		t->dim[i] = dims[i];
		t->stride[i] = strides ? strides[i] : t->count;
		t->count *= dims[i];
	}
	return t;
}

OWN aclnnStatus aclDestroyTensor(const aclTensor *t)
{
	free((void *)t);
	return 0;
}

OWN aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size)
{
	aclTensorList *l = malloc(sizeof(*l) + size * sizeof(*value));

	l->n = size;
	memcpy(l->item, value, size * sizeof(*value));
	return l;
}

OWN aclnnStatus aclDestroyTensorList(const aclTensorList *l)
{
	for (uint64_t i = 0; i < l->n; i++)
		free((void *)l->item[i]);
	free((void *)l);
	return 0;
}

OWN aclScalar *aclCreateScalar(void *value, aclDataType type)
{
	aclScalar *s = malloc(sizeof(*s));

	s->value = type == ACL_INT32 ? (float)*(int32_t *)value : *(float *)value;
	return s;
}

OWN aclnnStatus aclDestroyScalar(const aclScalar *s)
{
	free((void *)s);
	return 0;
}

/* ---- executors ---- */

#define TENSORS_MAX 16

/* By value: tensors may be destroyed as soon as the second phase has returned. */
struct aclOpExecutor {
	aclTensor t[TENSORS_MAX];
	unsigned n; /* the last is the output */
	double factor[2];
	bool repeatable;
	void (*run)(aclOpExecutor *x);
};

static void run_executor(aclOpExecutor *x)
{
	x->run(x);
	if (!x->repeatable)
		free(x);
}

OWN aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *x)
{
	x->repeatable = true;
	return 0;
}

OWN aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *x)
{
	free(x);
	return 0;
}

static float *element_at(const aclTensor *t, int64_t i)
{
	int64_t at = t->offset;

	for (uint64_t k = t->n; k-- > 0; i /= t->dim[k])
		at += i % t->dim[k] * t->stride[k];
	return (float *)HERE(t->data) + at;
}

static void take_tensor(aclOpExecutor *x, const aclTensor *t)
{
	if (t && x->n < TENSORS_MAX)
		x->t[x->n++] = *t;
}

static aclnnStatus give_executor(aclOpExecutor *made, uint64_t *workspace, aclOpExecutor **executor)
{
	*executor = malloc(sizeof(*made));
	**executor = *made;
	*workspace = 64 * made->n;
	return 0;
}

#ifdef ON_DEVICE
static void run_on_stream(void *x)
{
	run_executor(x);
}

static int give_to_stream(void *stream, aclOpExecutor *x)
{
	return cuLaunchHostFunc(stream, run_on_stream, x);
}
#else
static int give_to_stream(struct stream *s, aclOpExecutor *x)
{
	struct work *w;

	if (!s) {
		run_executor(x);
		return 0;
	}
	w = calloc(1, sizeof(*w));
	*w = (struct work){run_executor, x, NULL};
	pthread_mutex_lock(&s->lock);
	*s->last = w;
	s->last = &w->next;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return 0;
}
#endif

static aclnnStatus enqueue(void *workspace, uint64_t bytes, aclOpExecutor *x, void *stream,
	void (*run)(aclOpExecutor *))
{
	/* The workspace is as large as was said, and there. */
	if (!x || x->run != run || bytes != 64 * x->n || !workspace)
		return PARAM_INVALID;
	return give_to_stream(stream, x);
}

#define SECOND_PHASE(name, run)                                                        \
	OWN aclnnStatus name(                                                          \
		void *workspace, uint64_t bytes, aclOpExecutor *x, aclrtStream stream) \
	{                                                                              \
		return enqueue(workspace, bytes, x, stream, run);                      \
	}

/* ---- operators ---- */

static void run_add(aclOpExecutor *x)
{
	aclTensor *out = &x->t[x->n - 1];

	for (int64_t i = 0; i < out->count; i++)
		*element_at(out, i) =
			*element_at(&x->t[0], i) + (float)x->factor[0] * *element_at(&x->t[1], i);
}

OWN aclnnStatus aclnnAddGetWorkspaceSize(
	const aclTensor *self, const aclTensor *other, const aclScalar *alpha, aclTensor *out, TAIL)
{
	aclOpExecutor x = {.factor = {alpha->value}, .run = run_add};

	take_tensor(&x, self);
	take_tensor(&x, other);
	take_tensor(&x, out);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnAdd, run_add)

static void run_inplace_add(aclOpExecutor *x)
{
	for (int64_t i = 0; i < x->t[0].count; i++)
		*element_at(&x->t[0], i) += (float)x->factor[0] * *element_at(&x->t[1], i);
}

OWN aclnnStatus aclnnInplaceAddGetWorkspaceSize(
	aclTensor *self, const aclTensor *other, const aclScalar *alpha, TAIL)
{
	aclOpExecutor x = {.factor = {alpha->value}, .run = run_inplace_add};

	take_tensor(&x, self);
	take_tensor(&x, other);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnInplaceAdd, run_inplace_add)

static void run_matmul(aclOpExecutor *x)
{
	aclTensor *a = &x->t[0], *b = &x->t[1], *out = &x->t[x->n - 1];
	int64_t m = out->dim[0], n = out->dim[1], k = a->dim[1];

	for (int64_t i = 0; i < m * n; i++) {
		float sum = 0;

		for (int64_t j = 0; j < k; j++)
			sum += *element_at(a, i / n * k + j) * *element_at(b, j * n + i % n);
		*element_at(out, i) = sum;
	}
}

OWN aclnnStatus aclnnMatmulGetWorkspaceSize(
	const aclTensor *self, const aclTensor *mat2, aclTensor *out, int8_t cube, TAIL)
{
	aclOpExecutor x = {.run = run_matmul};

	if (cube != 1)
		return PARAM_INVALID;
	take_tensor(&x, self);
	take_tensor(&x, mat2);
	take_tensor(&x, out);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnMatmul, run_matmul)

/* The group has one rank, so that the all-reduce changes nothing. */
static void run_matmul_all_reduce(aclOpExecutor *x)
{
	run_matmul(x);
}

OWN aclnnStatus aclnnMatmulAllReduceGetWorkspaceSize(const aclTensor *x1, const aclTensor *x2,
	const aclTensor *bias, const char *group, const char *op, int64_t turn, int64_t mode,
	const aclTensor *output, TAIL)
{
	aclOpExecutor x = {.run = run_matmul_all_reduce};

	if (bias || strlen(group) < 8 || strcmp(op, "sum") != 0 || turn || mode != 1)
		return PARAM_INVALID;
	take_tensor(&x, x1);
	take_tensor(&x, x2);
	take_tensor(&x, output);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnMatmulAllReduce, run_matmul_all_reduce)

static void run_scale(aclOpExecutor *x)
{
	for (int64_t i = 0; i < x->t[1].count; i++)
		*element_at(&x->t[1], i) =
			(float)(*element_at(&x->t[0], i) * x->factor[0] + x->factor[1]);
}

OWN aclnnStatus aclnnScaleGetWorkspaceSize(
	const aclTensor *self, double by, float plus, bool twice, aclTensor *out, TAIL)
{
	aclOpExecutor x = {.factor = {twice ? 2 * by : by, (double)plus}, .run = run_scale};

	take_tensor(&x, self);
	take_tensor(&x, out);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnScale, run_scale)

static void run_wide_sum(aclOpExecutor *x)
{
	aclTensor *out = &x->t[x->n - 1];

	for (int64_t i = 0; i < out->count; i++) {
		float sum = (float)x->factor[0];

		for (unsigned k = 0; k < x->n - 1; k++)
			sum += *element_at(&x->t[k], i);
		*element_at(out, i) = sum;
	}
}

OWN aclnnStatus aclnnWideSumGetWorkspaceSize(const aclTensorList *list, int64_t a, int64_t b,
	int64_t c, int64_t d, int64_t e, int64_t f, double g, float h, int32_t i, bool j,
	const aclTensor *more, aclTensor *out, TAIL)
{
	aclOpExecutor x = {.run = run_wide_sum};

	/* Each argument has its own weight: one that came wrongly shows. */
	x.factor[0] = (double)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f) + 7 * g + 8 * (double)h +
		      9 * i + (j ? 10 : 0);
	for (uint64_t k = 0; k < list->n; k++)
		take_tensor(&x, list->item[k]);
	take_tensor(&x, more);
	take_tensor(&x, out);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnWideSum, run_wide_sum)

/* The least and the largest along dimension 1. */
static void run_aminmax(aclOpExecutor *x)
{
	aclTensor *in = &x->t[0], *lo = &x->t[1], *hi = &x->t[2];

	for (int64_t i = 0; i < in->dim[0]; i++) {
		float least = *element_at(in, i * in->dim[1]), most = least;

		for (int64_t k = 1; k < in->dim[1]; k++) {
			float v = *element_at(in, i * in->dim[1] + k);

			least = v < least ? v : least;
			most = v > most ? v : most;
		}
		*element_at(lo, i) = least;
		*element_at(hi, i) = most;
	}
}

OWN aclnnStatus aclnnAminmaxDimGetWorkspaceSize(
	const aclTensor *self, int64_t dim, bool keep, aclTensor *lo, aclTensor *hi, TAIL)
{
	aclOpExecutor x = {.run = run_aminmax};

	if (dim != 1 || keep)
		return PARAM_INVALID;
	take_tensor(&x, self);
	take_tensor(&x, lo);
	take_tensor(&x, hi);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnAminmaxDim, run_aminmax)

static void run_foreach_mul(aclOpExecutor *x)
{
	unsigned n = x->n / 3;

	for (unsigned k = 0; k < n; k++)
		for (int64_t i = 0; i < x->t[k].count; i++)
			*element_at(&x->t[2 * n + k], i) =
				*element_at(&x->t[k], i) * *element_at(&x->t[n + k], i);
}

OWN aclnnStatus aclnnForeachMulListGetWorkspaceSize(
	const aclTensorList *a, const aclTensorList *b, const aclTensorList *out, TAIL)
{
	const aclTensorList *all[] = {a, b, out};
	aclOpExecutor x = {.run = run_foreach_mul};

	for (unsigned i = 0; i < 3; i++)
		for (uint64_t k = 0; k < all[i]->n; k++)
			take_tensor(&x, all[i]->item[k]);
	return give_executor(&x, workspace, executor);
}

SECOND_PHASE(aclnnForeachMulList, run_foreach_mul)

/* Begins as an operator's name does, and is none. */
OWN int64_t aclnnAnswer(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g;
}
