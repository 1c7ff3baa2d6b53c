/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles Works of a class without symbols: Gloo's reduce_scatter returns an object of a class
 * that is local to one file of libtorch (LambdaWork), whose wait() copies this rank's part to the
 * outputs. Its functions can only be reached through the object. So the object gets another table
 * of virtual functions before any other thread has seen it.
 */
#include <stdatomic.h>
#include <string.h>

#include "elf/loaded/elfsym.h"
#include "entry/stubs/bound_stub.h"
#include "life/life.h"
#include "wrappers/cxx/cxx_shadow.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensors/torch.h"

#define WAIT "4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"
#define CLASS "N4c10d12_GLOBAL__N_110LambdaWorkE"

/* The library's table of virtual functions for LambdaWork, and its replacement. */
static _Atomic(void *) lambda_table, lambda_shadow;
static _Atomic(void *) other_table; /* table of the last object seen of another class */
static atomic_bool refused;

static void *get_wait_replacement(unsigned i, void *function, const char *class, void *arg)
{
	struct elf_place at;

	(void)i;
	(void)class;
	(void)arg;
	if (!elfsym_find_place((uintptr_t)function, &at))
		return function;
	return bind_wrapper(
		"_ZN4c10d12_GLOBAL__N_110LambdaWork" WAIT, function, at.path, (uintptr_t)function);
}

static bool set_wait_hook(void *work)
{
	static _Atomic int wait_place = -1;
	int place = atomic_load_explicit(&wait_place, memory_order_relaxed);
	struct cxx_shadow s = {
		.class = "N4c10d4WorkE", .n = 1, .place = &place, .entry = get_wait_replacement};

	if (place < 0) {
		place = cxx_find_virtual_place("N4c10d4WorkE", "_ZN4c10d4Work" WAIT);
		atomic_store(&wait_place, place);
	}
	return place >= 0 && cxx_set_shadow(work, &s) == 0;
}

bool torch_watch_wait(void *work)
{
	void *table = *(void **)work,
	     *known = atomic_load_explicit(&lambda_table, memory_order_acquire);
	const char *class;
	bool ok;

	if (known) {
		if (table == known)
			__atomic_store_n((void **)work,
				atomic_load_explicit(&lambda_shadow, memory_order_relaxed),
				__ATOMIC_RELEASE);
		return table == known;
	}
	if (table == atomic_load_explicit(&other_table, memory_order_relaxed))
		return false;
	if (atomic_load_explicit(&refused, memory_order_relaxed))
		return false;
	class = cxx_read_object_class(work);
	/* An object of another class proves nothing about this class. */
	if (!class || strcmp(class, CLASS) != 0) {
		atomic_store_explicit(&other_table, table, memory_order_relaxed);
		return false;
	}
	ok = set_wait_hook(work);
	session_record_layout_fact(LAYOUT_TORCH_WORK, ok);
	if (ok) {
		atomic_store(&lambda_shadow, *(void **)work);
		atomic_store(&lambda_table, table);
	} else
		atomic_store(&refused, true);
	return ok;
}
