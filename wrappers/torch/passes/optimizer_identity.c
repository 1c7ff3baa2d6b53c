/* SPDX-License-Identifier: Apache-2.0 */
/* All static data here is protected by the GIL. */
#include "wrappers/torch/passes/optimizer_identity.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/names.h"

#define KNOWN_MAX OPTIMIZERS_MAX

static struct known_optimizer {
	uint64_t place, identity;
	const void *self; /* compared, never read */
	bool lives; /* found alive by the last search */
} known[KNOWN_MAX];
static unsigned nknown;

struct search {
	const void *type; /* torch.optim.Optimizer */
	uint64_t place;
};

static bool record_living(void *arg, void *o)
{
	const struct search *s = arg;

	for (unsigned i = 0; i < nknown; i++)
		if (known[i].self == o && known[i].place == s->place)
			known[i].lives = py_is_instance(o, s->type);
	return true;
}

/*
 * An optimizer of code place `place` whose object was freed; NULL if there is none, or if that is
 * not known.
 */
static struct known_optimizer *find_dead(uint64_t place)
{
	struct search s = {py_find_global("torch.optim.optimizer", "Optimizer"), place};

	for (unsigned i = 0; i < nknown; i++)
		known[i].lives = false;
	if (!s.type || !py_is_type(s.type) || !py_handle_collected(record_living, &s))
		return NULL;
	for (unsigned i = 0; i < nknown; i++)
		if (known[i].place == place && !known[i].lives)
			return &known[i];
	return NULL;
}

static uint64_t get_identity(uint64_t place, const void *self)
{
	struct known_optimizer *dead;
	unsigned same = 0;

	for (unsigned i = 0; i < nknown; i++) {
		if (known[i].place != place)
			continue;
		if (known[i].self == self)
			return known[i].identity;
		same++;
	}
	dead = same ? find_dead(place) : NULL;
	if (dead) {
		dead->self = self;
		return dead->identity;
	}
	if (nknown == KNOWN_MAX)
		return place;
	known[nknown] = (struct known_optimizer){
		place, same ? hash_u64(place, same) | 1 : place, self, true};
	return known[nknown++].identity;
}

uint64_t find_optimizer_identity(uint64_t place)
{
	uint64_t identity = place;
	struct py_object_lock hold;
	const void *self;
	const char *why;

	if (!py_lock_objects(&hold, &why))
		return place;
	self = optimizer_self_find();
	if (self)
		identity = get_identity(place, self);
	py_unlock_objects(&hold);
	return identity;
}
