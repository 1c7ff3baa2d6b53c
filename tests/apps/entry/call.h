/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function under four disguises, for tests/e2e/test_matrix.sh: -DLIB_MPI, -DLIB_NCCL (names that libprobe.so has
 * compiled wrappers for), -DLIB_C, -DLIB_CXX (a user's own, known only at run time). All read n floats and write them
 * multiplied by a factor that tells one copy of the library from another.
 */
#ifndef TESTS_APPS_ENTRY_CALL_H
#define TESTS_APPS_ENTRY_CALL_H

#ifdef __cplusplus
#define PLAIN extern "C"
#else
#define PLAIN
#endif

#if defined(LIB_MPI)
#define SYMBOL "MPI_Allreduce"
#define PARAMS const void *send, void *recv, int n, void *dtype, void *op, void *comm
#define ARGS(s, r, n) s, r, n, NULL, NULL, NULL
PLAIN int MPI_Allreduce(PARAMS);
#define DIRECT MPI_Allreduce
#define UNUSED (void)dtype, (void)op, (void)comm
#elif defined(LIB_NCCL)
#define SYMBOL "ncclAllReduce"
#define PARAMS const void *send, void *recv, size_t n, int dtype, int op, void *comm, void *stream
#define ARGS(s, r, n) s, r, n, 7, 0, NULL, NULL
PLAIN int ncclAllReduce(PARAMS);
#define DIRECT ncclAllReduce
#define UNUSED (void)dtype, (void)op, (void)comm, (void)stream
#elif defined(LIB_C)
#define SYMBOL "acme_allreduce"
#define PARAMS const float *send, float *recv, int n, int op
#define ARGS(s, r, n) s, r, n, 0
PLAIN int acme_allreduce(PARAMS);
#define DIRECT acme_allreduce
#define UNUSED (void)op
#elif defined(LIB_CXX)
#define SYMBOL "_ZN4acme5Group6reduceEPKfPfi"
#define PARAMS void *self, const float *send, float *recv, int n
#define ARGS(s, r, n) acme_group(), s, r, n
namespace acme
{
struct Group {
	virtual int reduce(const float *send, float *recv, int n);
	virtual ~Group();
};
} // namespace acme
PLAIN acme::Group *acme_group(void);
/* Through its vtable. */
static inline int acme_reduce(acme::Group *self, const float *send, float *recv, int n)
{
	return self->reduce(send, recv, n);
}
#define DIRECT acme_reduce
#define UNUSED (void)self
#endif

typedef int call_fn(PARAMS);

#endif
