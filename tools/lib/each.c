/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/each.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tools/lib/tool.h"

struct each {
	void (*fn)(void *arg, unsigned i);
	void *arg;
	unsigned n;
	_Atomic unsigned next;
};

static void *handle_next_items(void *arg)
{
	struct each *e = arg;

	for (unsigned i; (i = atomic_fetch_add(&e->next, 1)) < e->n;)
		e->fn(e->arg, i);
	return NULL;
}

void handle_each_in_threads(
	unsigned n, unsigned threads, void (*fn)(void *arg, unsigned i), void *arg)
{
	struct each e = {.fn = fn, .arg = arg, .n = n};
	pthread_t *thread = tool_alloc((threads + 1) * sizeof(*thread));
	unsigned begun = 0;

	while (begun + 1 < threads && begun + 1 < n &&
		pthread_create(&thread[begun], NULL, handle_next_items, &e) == 0)
		begun++;
	handle_next_items(&e);
	for (unsigned i = 0; i < begun; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}
