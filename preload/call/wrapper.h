/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a generated wrapper. A wrapper has no logic: it packs its arguments, gets the real function from
 * call_enter(), calls it with the arguments in v[] (which an adapter may have changed, to pass its own status), and
 * passes the result to call_leave(). If a function, or all recording, is switched off, this costs two loads and one
 * compare.
 *
 *	int MPI_Allreduce(const void *a0, void *a1, int a2, handle a3, handle a4, handle a5)
 *	{
 *		typedef int fn(const void *, void *, int, handle, handle, handle);
 *		struct api *const f = &mpi_rows[17];
 *
 *		if (WRAPPER_OFF(f))
 *			return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5);
 *		union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.u = a3}, {.u = a4}, {.u = a5}};
 *		WRAPPER_ENTER(f, v, int);
 *		return (int)call_leave(&c, real(v[0].cp, v[1].p, (int)v[2].i, v[3].u, v[4].u, v[5].u));
 *	}
 */
#ifndef PROBE_CALL_WRAPPER_H
#define PROBE_CALL_WRAPPER_H

#include "api/api.h"
#include "api/enabled.h"
#include "call/call.h"

/*
 * A handle is a pointer in one implementation of a library and a 32-bit integer in another. Both fill one integer
 * register or one 8-byte stack slot on x86-64 and aarch64, so one wrapper serves both. Code that reads a handle masks
 * the bits that its implementation leaves undefined.
 */
typedef uintptr_t handle;

#define WRAPPER_EXPORT __attribute__((visibility("default")))

#define WRAPPER_OFF(f) __builtin_expect(is_passed_through(f), 1)
#define WRAPPER_REAL(f) atomic_load_explicit(&(f)->real, memory_order_relaxed)

/* ret: the return type of the wrapper. */
#define WRAPPER_ENTER(f, v, ret)                                                      \
	struct call c __attribute__((cleanup(call_cleanup)));                         \
	fn *real = (fn *)call_enter(&c, f, v, (uintptr_t)__builtin_return_address(0), \
		(uintptr_t)__builtin_frame_address(0));                               \
	if (__builtin_expect(!real, 0))                                               \
	return (ret)(f)->spec->lib->missing

#endif
