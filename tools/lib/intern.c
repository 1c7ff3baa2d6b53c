/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/intern.h"

#include <pthread.h>
#include <string.h>

#include "tools/lib/tool.h"

#define PLACES (2 * INTERN_MAX)

static struct name {
	const char *text;
	size_t n;
} name[INTERN_MAX] = {{"", 0}, {"(more names)", 12}};
static _Atomic uint32_t count = 2;
static _Atomic uint16_t place[PLACES]; /* the number is stored here when its name is complete */

/* Lock: for new names only, a leaf. Looking up a known name takes no lock. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

/* *p: its slot, or the free slot for it. */
static bool find_name_slot(uint64_t h, const char *s, size_t n, uint32_t *slot, uint32_t *id)
{
	for (*slot = (uint32_t)(h ^ h >> 32) % PLACES;; *slot = (*slot + 1) % PLACES) {
		*id = atomic_load_explicit(&place[*slot], memory_order_acquire);
		if (!*id)
			return false;
		if (name[*id].n == n && memcmp(name[*id].text, s, n) == 0)
			return true;
	}
}

static uint32_t add_name(uint64_t h, const char *s, size_t n)
{
	uint32_t p, id;

	pthread_mutex_lock(&adding);
	if (!find_name_slot(h, s, n, &p, &id)) {
		id = 1;
		if (count < INTERN_MAX) {
			/* A name from a damaged file may contain a NUL. */
			char *text = tool_alloc(n + 1);

			memcpy(text, s, n);
			id = count;
			name[id] = (struct name){text, n};
			count = id + 1;
			atomic_store_explicit(&place[p], (uint16_t)id, memory_order_release);
		}
	}
	pthread_mutex_unlock(&adding);
	return id;
}

uint32_t intern_add_text(const char *s, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	uint32_t p, id;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
	return find_name_slot(h, s, n, &p, &id) ? id : add_name(h, s, n);
}

const char *intern_get_name(uint32_t id)
{
	return name[id < count ? id : 0].text;
}
