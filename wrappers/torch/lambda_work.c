/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works of a class that has no symbols: what Gloo's reduce_scatter gives back is an object of a class that is local to
 * one file of libtorch (LambdaWork), whose wait() copies this rank's part to the outputs. It can be reached through the
 * object only, so the object, before any other thread has seen it, is given another table of virtual functions: a copy of
 * its own one, with our entry in place of wait(). Nothing of libtorch is written to. Type information is copied as well,
 * for Python's bindings ask for it.
 *
 * The place of wait() in the table is where that of the base class, c10d::Work, has the address of c10d::Work::wait.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "entry/bound_stub.h"
#include "elf/elfsym.h"
#include "elf/memory.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/torch.h"

#define WAIT "4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"
#define CLASS "N4c10d12_GLOBAL__N_110LambdaWorkE"
#define HEAD 2 /* words in front of the functions: offset to the top, type information */
#define SLOTS 64 /* copied; there are some 20, and what lies behind them does no harm */
#define BASE_SLOTS 24

struct table {
	void *original; /* where objects point to, as the words below */
	void *word[HEAD + SLOTS];
};

static _Atomic(struct table *) known; /* there is but one such class */
static atomic_bool refused;

/* std::type_info: its own virtual functions, then the name; a * in front says that it is of one file. */
static bool is_lambda_work(void *const *functions)
{
	void *const *info = functions[-1];
	const char *name;

	if (!info || !memory_readable((uintptr_t)&info[1]))
		return false;
	name = info[1];
	if (!name || !memory_readable((uintptr_t)name) ||
		!memory_readable((uintptr_t)name + sizeof(CLASS)))
		return false;
	return strcmp(name + (*name == '*'), CLASS) == 0;
}

/* The place of wait() in the table, or -1. */
static int place_of_wait(void)
{
	void *const *base = elfsym_data("_ZTVN4c10d4WorkE");
	struct provider p;
	int found = -1;

	if (!base || elfsym_all("_ZN4c10d4Work" WAIT, &p, 1) <= 0 || p.ifunc)
		return -1;
	for (int i = 0; i < BASE_SLOTS; i++)
		if (base[HEAD + i] == p.addr) {
			if (found >= 0)
				return -1;
			found = i;
		}
	return found;
}

static struct table *make_lambda_table(void *const *functions)
{
	struct elf_place at;
	struct table *t;
	int wait;
	void *ours;

	if (!memory_readable((uintptr_t)&functions[SLOTS - 1]))
		return NULL;
	wait = place_of_wait();
	if (wait < 0 || !elfsym_place((uintptr_t)functions[wait], &at) || !at.code)
		return NULL;
	ours = bind_wrapper("_ZN4c10d12_GLOBAL__N_110LambdaWork" WAIT, functions[wait], at.path,
		(uintptr_t)functions[wait]);
	if (ours == functions[wait])
		return NULL;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	t->original = (void *)functions;
	memcpy(t->word, functions - HEAD, sizeof(t->word));
	t->word[HEAD + wait] = ours;
	mprotect(t, sizeof(*t), PROT_READ);
	return t;
}

bool torch_watch_wait(void *work)
{
	void **vptr = work;
	struct table *t = atomic_load_explicit(&known, memory_order_acquire), *none = NULL;

	/* One of another class says nothing of this one. */
	if (!t && !atomic_load_explicit(&refused, memory_order_relaxed) && is_lambda_work(*vptr)) {
		t = make_lambda_table(*vptr);
		session_layout_fact(LAYOUT_TORCH_WORK, t != NULL);
		if (!t)
			atomic_store(&refused, true);
		/* Two threads at once: either table serves. */
		else if (!atomic_compare_exchange_strong(&known, &none, t))
			t = none;
	}
	if (!t || *vptr != t->original)
		return false;
	*vptr = &t->word[HEAD];
	return true;
}
