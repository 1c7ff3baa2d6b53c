/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests use of Ascend's operators, written from their documentation. Tensors are contiguous or
 * have strides, of float or int32. aclnnWideSum and aclnnScale are not of the real library: one with more arguments than go in
 * registers, one with real numbers among them. Without a stream an operator is done when its second phase returns.
 */
#ifndef TESTS_DOUBLES_ACLNN_H
#define TESTS_DOUBLES_ACLNN_H

#include <stdbool.h>
#include <stdint.h>

typedef int32_t aclnnStatus, aclDataType, aclFormat;
typedef struct aclTensor aclTensor;
typedef struct aclTensorList aclTensorList;
typedef struct aclScalar aclScalar;
typedef struct aclOpExecutor aclOpExecutor;
typedef void *aclrtStream;

enum { ACL_FLOAT = 0, ACL_INT32 = 3, ACL_FORMAT_ND = 2 };

/* The functions beside the operators: X(result, name, parameters). */
#define ACL_FUNCTIONS(X)                                                                        \
	X(aclnnStatus, aclnnInit, (const char *config))                                         \
	X(aclTensor *, aclCreateTensor,                                                         \
		(const int64_t *dims, uint64_t n, aclDataType type, const int64_t *strides,     \
			int64_t offset, aclFormat format, const int64_t *storage,               \
			uint64_t nstorage, void *data))                                         \
	X(aclnnStatus, aclDestroyTensor, (const aclTensor *t))                                  \
	X(aclTensorList *, aclCreateTensorList, (const aclTensor *const *value, uint64_t size)) \
	X(aclnnStatus, aclDestroyTensorList, (const aclTensorList *l))                          \
	X(aclScalar *, aclCreateScalar, (void *value, aclDataType type))                        \
	X(aclnnStatus, aclDestroyScalar, (const aclScalar *s))                                  \
	X(aclnnStatus, aclSetAclOpExecutorRepeatable, (aclOpExecutor * x))                      \
	X(aclnnStatus, aclDestroyAclOpExecutor, (aclOpExecutor * x))                            \
	X(int32_t, aclrtStreamQuery, (aclrtStream stream, int32_t * status))                    \
	X(int32_t, aclrtCreateStream, (aclrtStream * stream))                                   \
	X(int32_t, aclrtSynchronizeStream, (aclrtStream stream))                                \
	X(int32_t, aclrtDestroyStream, (aclrtStream stream))

/* First phases: X(operator, parameters but for the last two). */
#define TAIL uint64_t *workspace, aclOpExecutor **executor
#define ACL_OPERATORS(X)                                                                           \
	X(aclnnAdd, (const aclTensor *self, const aclTensor *other, const aclScalar *alpha,        \
			    aclTensor *out, TAIL))                                                 \
	X(aclnnMatmul,                                                                             \
		(const aclTensor *self, const aclTensor *mat2, aclTensor *out, int8_t cube, TAIL)) \
	X(aclnnInplaceAdd,                                                                         \
		(aclTensor * self, const aclTensor *other, const aclScalar *alpha, TAIL))          \
	X(aclnnScale,                                                                              \
		(const aclTensor *self, double by, float plus, bool twice, aclTensor *out, TAIL))  \
	X(aclnnWideSum, (const aclTensorList *list, int64_t a, int64_t b, int64_t c, int64_t d,    \
				int64_t e, int64_t f, double g, float h, int32_t i, bool j,        \
				const aclTensor *more, aclTensor *out, TAIL))                      \
	X(aclnnAminmaxDim, (const aclTensor *self, int64_t dim, bool keep, aclTensor *lo,          \
				   aclTensor *hi, TAIL))                                           \
	X(aclnnForeachMulList,                                                                     \
		(const aclTensorList *a, const aclTensorList *b, const aclTensorList *out, TAIL))  \
	X(aclnnMatmulAllReduce, (const aclTensor *x1, const aclTensor *x2, const aclTensor *bias,  \
					const char *group, const char *op, int64_t turn,           \
					int64_t mode, const aclTensor *output, TAIL))

typedef aclnnStatus second_phase(
	void *workspace, uint64_t bytes, aclOpExecutor *executor, aclrtStream stream);

#define DECLARE(ret, name, params) typedef ret name##_fn params;
ACL_FUNCTIONS(DECLARE)
#undef DECLARE
#define DECLARE(name, params) typedef aclnnStatus name##GetWorkspaceSize_fn params;
ACL_OPERATORS(DECLARE)
#undef DECLARE

#endif
