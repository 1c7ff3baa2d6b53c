/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the instances of the communication library. They are members of the single object of
 * mindspore::distributed::collective::CollectiveManager, whose layout differs between versions. So its first words are
 * searched for objects whose type information derives from the abstract class.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "elf/demangle/demangle.h"
#include "elf/loaded/elfsym.h"
#include "elf/memory.h"
#include "entry/stubs/bound_stub.h"
#include "life/life.h"
#include "wrappers/cxx/cxx_shadow.h"
#include "wrappers/layout_facts.h"
#include "wrappers/mindspore/layout/ms.h"

#define MANAGER_WORDS 16 /* words that are searched; the members are the 4th to the 6th in 2.10 */
#define NAME_BYTES 256

/* CollectiveCommunicationLib::global_rank_id() const, which reads a member. */
#define GLOBAL_RANK "_ZNK9mindspore6device26CollectiveCommunicationLib14global_rank_idEv"

/* The compiled entry that replaces method i of `class`. */
static void *get_method_entry(unsigned i, void *function, const char *class, void *arg)
{
	char mangled[NAME_BYTES], name[NAME_BYTES], asked[NAME_BYTES + sizeof(MS_METHOD_NAME)];
	size_t len = strlen(class);
	struct elf_place at;

	(void)arg;
	/*
	 * A mangled class name is N...E or a single component. Its method's name is in the same
	 * scopes.
	 */
	if (class[0] == 'N' && len > 2)
		snprintf(mangled, sizeof(mangled), "_Z%.*s%zu%sEv", (int)len - 1, class,
			strlen(ms_get_method_name(i)), ms_get_method_name(i));
	else
		snprintf(mangled, sizeof(mangled), "_ZN%s%zu%sEv", class,
			strlen(ms_get_method_name(i)), ms_get_method_name(i));
	if (format_cxx_symbol(mangled, name, sizeof(name), NULL) < 0 ||
		!elfsym_find_place((uintptr_t)function, &at))
		return function;
	snprintf(asked, sizeof(asked), MS_METHOD_NAME "%s", name);
	return bind_wrapper(asked, function, at.path, (uintptr_t)function);
}

/*
 * Looks up the vtable slot of each method of the abstract class; place[i] is negative if method i
 * was not found. Returns false if none was found.
 */
static bool find_method_slots(int *place)
{
	bool any = false;

	for (unsigned i = 0; i < ms_get_method_count(); i++) {
		place[i] = cxx_find_virtual_place(MS_COLLECTIVES, ms_get_method_symbol(i));
		any |= place[i] >= 0;
	}
	return any;
}

/* Any instance: all belong to the same process. */
static _Atomic(const void *) any_instance;

int ms_find_instance_rank(void)
{
	const void *instance = atomic_load_explicit(&any_instance, memory_order_acquire);
	struct provider p;
	uint32_t rank;

	if (!instance || elfsym_find_all(GLOBAL_RANK, &p, 1) <= 0 || p.ifunc)
		return -1;
	rank = ((uint32_t(*)(const void *))p.addr)(instance);
	return rank <= INT32_MAX ? (int)rank : -1;
}

void ms_set_instance_hooks(const void *manager)
{
	void *const *word = manager;
	int place[MS_METHODS_MAX];
	bool known = false;

	if (get_layout_state(LAYOUT_MS_COLLECTIVES) == LAYOUT_FAILED)
		return;
	for (unsigned i = 0; i < MANAGER_WORDS && is_memory_readable((uintptr_t)&word[i]); i++) {
		struct cxx_shadow s = {
			.class = MS_COLLECTIVES, .place = place, .entry = get_method_entry};
		int err;

		if (!cxx_object_is(word[i], MS_COLLECTIVES))
			continue;
		if (!known && !find_method_slots(place)) {
			session_record_layout_fact(LAYOUT_MS_COLLECTIVES, false);
			return;
		}
		known = true;
		s.n = ms_get_method_count();
		err = cxx_set_shadow(word[i], &s);
		atomic_store_explicit(&any_instance, word[i], memory_order_release);
		if (err != -ENOENT)
			session_record_layout_fact(LAYOUT_MS_COLLECTIVES, err == 0);
	}
}
