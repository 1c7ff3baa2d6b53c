/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls Ascend's operators as PyTorch's plugin does: the library is opened by its name, functions are looked up by its handle and
 * kept, tensors are destroyed as soon as the second phase has returned. Prints what came out; into the file TRUTH goes one line for
 * each operator that was called: its name, its workspace's bytes, whether it was accepted.
 *
 *	aclnn_calls LIBRARY TRUTH CALLS THREADS
 *
 * Compiled with LINKED it is a program that is linked with the library: nothing is looked up.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aclnn.h"

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

struct at_work {
	float a[SIDE * SIDE], b[SIDE * SIDE], out[SIDE * SIDE];
	char workspace[1024];
	aclrtStream stream;
	uint64_t bytes;
	aclOpExecutor *executor;
};

static aclTensor *tensor_over(float *data, bool turned)
{
	static const int64_t dims[] = {SIDE, SIDE}, strides[2][2] = {{SIDE, 1}, {1, SIDE}},
			     all = SIDE * SIDE;

	return acl.aclCreateTensor(
		dims, 2, ACL_FLOAT, strides[turned], 0, ACL_FORMAT_ND, &all, 1, data);
}

static void start_operator(struct at_work *w, const char *name, second_phase *f)
{
	uint64_t bytes = w->bytes;
	aclnnStatus ret = f(w->workspace, bytes, w->executor, w->stream);

	fprintf(truth, "%s %s\n", name, ret ? "refused" : "accepted");
}

#define CALL(w, name, ...)                                                            \
	do {                                                                          \
		if (acl.name##_workspace(__VA_ARGS__, &(w)->bytes, &(w)->executor)) { \
			fprintf(stderr, "%s: first phase\n", #name);                  \
			exit(1);                                                      \
		}                                                                     \
		start_operator(w, #name, acl.name);                                   \
	} while (0)

static void call_one(struct at_work *w, unsigned which)
{
	char group[] = "hccl_world_group", op[] = "sum";
	float two = 2;
	aclScalar *alpha = acl.aclCreateScalar(&two, ACL_FLOAT);
	aclTensor *a = tensor_over(w->a, which & 8), *b = tensor_over(w->b, false),
		  *out = tensor_over(w->out, false);
	const aclTensor *items[2] = {tensor_over(w->b, true), tensor_over(w->a, false)};
	aclTensorList *list = acl.aclCreateTensorList(items, 2);

	switch (which % 8) {
	case 0:
		CALL(w, aclnnAdd, a, b, alpha, out);
		break;
	case 1:
		CALL(w, aclnnMatmul, a, b, out, 1);
		break;
	case 2:
		CALL(w, aclnnInplaceAdd, out, b, alpha);
		break;
	case 3:
		CALL(w, aclnnScale, a, 0.25, 1.5f, true, out);
		break;
	case 4:
		CALL(w, aclnnWideSum, list, 1, 2, 3, 4, 5, 6, 0.5, 0.25f, -7, true, a, out);
		break;
	case 5:
		CALL(w, aclnnMatmulAllReduce, a, b, NULL, group, op, 0, 1, out);
		break;
	case 6: /* refused, and the executor is not used up */
		acl.aclnnAdd_workspace(a, b, alpha, out, &w->bytes, &w->executor);
		w->bytes++;
		start_operator(w, "aclnnAdd", acl.aclnnAdd);
		w->bytes--;
		start_operator(w, "aclnnAdd", acl.aclnnAdd);
		break;
	default:
		fprintf(truth, "none %lld\n",
			(long long)acl.aclnnAnswer(1, 2, 3, 4, 5, 6, 1ll << 40));
		acl.aclnnInit("");
	}
	acl.aclDestroyTensor(a);
	acl.aclDestroyTensor(b);
	acl.aclDestroyTensor(out);
	acl.aclDestroyTensorList(list);
	acl.aclDestroyScalar(alpha);
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
	acl.aclrtCreateStream(&w.stream);
	for (unsigned i = 0; i < t->calls; i++) {
		for (unsigned k = 0; k < SIDE * SIDE; k++) {
			w.a[k] = (float)((i * 7 + k + t->number) % 11) - 5;
			w.b[k] = (float)((i * 3 + k * k) % 13) / 4;
		}
		call_one(&w, i);
		acl.aclrtSynchronizeStream(w.stream);
		for (unsigned k = 0; k < SIDE * SIDE; k++)
			t->sum = t->sum * 0.75f + w.out[k];
	}
	acl.aclrtDestroyStream(w.stream);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned calls = argc == 5 ? (unsigned)atoi(argv[3]) : 0;
	unsigned n = argc == 5 ? (unsigned)atoi(argv[4]) : 0;
	struct thread_of t[16];
	pthread_t thread[16];

	if (!n || n > 16 || !(truth = fopen(argv[2], "w"))) {
		fprintf(stderr, "usage: aclnn_calls LIBRARY TRUTH CALLS THREADS\n");
		return 2;
	}
	load_acl(argv[1]);
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
