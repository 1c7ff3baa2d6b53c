/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the double and its program use of UCC's interface, laid out as the header of UCC 1.0 to 1.5 has it. Tests only.
 */
#ifndef TESTS_DOUBLES_UCC_H
#define TESTS_DOUBLES_UCC_H

#include <stddef.h>
#include <stdint.h>

typedef int ucc_status_t;
enum { UCC_OK = 0, UCC_INPROGRESS = 1, UCC_ERR_INVALID_PARAM = -3 };

typedef struct ucc_coll_req {
	ucc_status_t status;
} * ucc_coll_req_h;
typedef struct ucc_team *ucc_team_h;
typedef struct ucc_context *ucc_context_h;

struct ucc_info {
	void *buffer;
	uint64_t count, datatype;
	int mem_type;
};
struct ucc_info_v {
	void *buffer;
	void *counts, *displacements;
	uint64_t datatype;
	int mem_type;
};
union ucc_side {
	struct ucc_info info;
	struct ucc_info_v info_v;
};
typedef struct {
	uint64_t mask;
	uint32_t coll_type;
	union ucc_side src, dst;
	int op;
	uint64_t flags, root;
	uint64_t rest[10];
} ucc_coll_args_t;
_Static_assert(sizeof(ucc_coll_args_t) == 200, "");

enum {
	UCC_COLL_ALLGATHER = 1,
	UCC_COLL_ALLGATHERV = 2,
	UCC_COLL_ALLREDUCE = 4,
	UCC_COLL_ALLTOALL = 8,
	UCC_COLL_ALLTOALLV = 16,
	UCC_COLL_BARRIER = 32,
	UCC_COLL_BCAST = 64,
	UCC_COLL_GATHER = 512,
	UCC_COLL_GATHERV = 1024,
	UCC_COLL_REDUCE = 2048,
	UCC_COLL_REDUCE_SCATTER = 4096,
	UCC_COLL_SCATTER = 16384,
	UCC_COLL_SCATTERV = 32768
};
enum { HAS_FLAGS = 1, IN_PLACE = 1, COUNT_64BIT = 4, DISPLACEMENTS_64BIT = 8 };
enum {
	UCC_INT32 = 16,
	UCC_FLOAT32 = 88,
	UCC_FLOAT64 = 96,
	UCC_SUM = 0,
	UCC_PROD = 1,
	UCC_MAX = 2,
	UCC_MIN = 3
};

struct ucc_oob {
	ucc_status_t (*allgather)(void *src, void *recv, size_t size, void *info, void **request);
	ucc_status_t (*req_test)(void *request);
	ucc_status_t (*req_free)(void *request);
	void *coll_info;
	uint32_t n_oob_eps, oob_ep;
};
typedef struct {
	uint64_t mask, skip[7];
	struct ucc_oob oob;
	uint64_t rest[16];
} ucc_team_params_t;
_Static_assert(offsetof(ucc_team_params_t, oob) == 64, "");
typedef struct {
	uint64_t mask, skip[2], ep, skip2[3];
	uint32_t size;
	uint64_t eps;
} ucc_team_attr_t;
_Static_assert(offsetof(ucc_team_attr_t, size) == 56, "");

ucc_status_t ucc_context_create(
	void *lib, const void *params, const void *config, ucc_context_h *out);
ucc_status_t ucc_context_progress(ucc_context_h c);
ucc_status_t ucc_team_create_post(
	ucc_context_h *c, uint32_t n, const ucc_team_params_t *p, ucc_team_h *out);
ucc_status_t ucc_team_create_test(ucc_team_h t);
ucc_status_t ucc_team_get_attr(ucc_team_h t, ucc_team_attr_t *a);
ucc_status_t ucc_team_destroy(ucc_team_h t);
ucc_status_t ucc_collective_init(ucc_coll_args_t *a, ucc_coll_req_h *r, ucc_team_h t);
ucc_status_t ucc_collective_init_and_post(ucc_coll_args_t *a, ucc_coll_req_h *r, ucc_team_h t);
ucc_status_t ucc_collective_post(ucc_coll_req_h r);
ucc_status_t ucc_collective_triggered_post(void *ee, void *event);
ucc_status_t ucc_collective_finalize(ucc_coll_req_h r);

#endif
