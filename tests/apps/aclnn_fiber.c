/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operator from the outermost frames of a fiber, whose stack ends where memory that cannot be read begins: how many arguments a
 * first phase has is not known, so what lies after them must not be touched.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "aclnn.h"

#define DECLARED(ret, name, params) extern name##_fn name;
ACL_FUNCTIONS(DECLARED)
#undef DECLARED
extern aclnnScaleGetWorkspaceSize_fn aclnnScaleGetWorkspaceSize;
extern second_phase aclnnScale;

#define STACK 65536
#define PAGE 4096

static ucontext_t back, fiber;
static float in[4] = {1, 2, 3, 4}, out[4];
static aclTensor *from, *to;
static char workspace[1024];

__attribute__((noinline)) static void scale(void)
{
	aclOpExecutor *x;
	uint64_t bytes;
	int ret = aclnnScaleGetWorkspaceSize(from, 2.0, 1.0f, false, to, &bytes, &x);

	ret += aclnnScale(workspace, bytes, x, NULL);
	printf("%d %g %g\n", ret, (double)out[0], (double)out[3]);
}

static void outermost(void)
{
	scale();
	swapcontext(&fiber, &back);
}

int main(void)
{
	const int64_t dims[] = {4};
	char *stack = mmap(
		NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack + STACK, PAGE, PROT_NONE))
		return 2;
	from = aclCreateTensor(dims, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 1, in);
	to = aclCreateTensor(dims, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 1, out);
	for (int i = 0; i < 2; i++) {
		getcontext(&fiber);
		fiber.uc_stack.ss_sp = stack;
		fiber.uc_stack.ss_size = STACK;
		makecontext(&fiber, outermost, 0);
		swapcontext(&back, &fiber);
	}
	return 0;
}
