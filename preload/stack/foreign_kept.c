/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that outlive their frames. Each distinct one is kept once, and described as text while
 * its thread is still in it: the objects to which frames refer may be freed later. No lock: lists
 * that only grow.
 */
#include "base/thread.h"
#include "stack/foreign.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "text/text.h"

#define KEPT_MAX 4096 /* maximum number of distinct stacks */
#define BUCKETS 512u

struct foreign_kept {
	struct foreign_kept *next;
	struct stack_language language; /* name of the language that owned the frames */
	uint64_t hash;
	int n;
	struct foreign_frame frame[]; /* code: the file, followed by the function; at: the line */
};

static _Atomic(struct foreign_kept *) buckets[BUCKETS];
static _Atomic unsigned stacks_kept;

static THREAD_OWN const struct foreign_kept *given;

static bool read_kept_frame_name(const struct foreign_frame *f, struct foreign_name *n)
{
	const char *file = (const char *)f->code;
	struct text t = text_init(n->file, sizeof(n->file));
	struct text u = text_init(n->function, sizeof(n->function));

	text_add_string(&t, file);
	text_add_string(&u, file + strlen(file) + 1);
	n->line = (int)f->at;
	return true;
}

static struct foreign_kept *find_kept_stack(struct foreign_kept *k, uint64_t hash)
{
	while (k && k->hash != hash)
		k = k->next;
	return k;
}

struct keeping {
	struct foreign_stack own;
	uint32_t at[FOREIGN_FRAMES_MAX];
	int line[FOREIGN_FRAMES_MAX], n;
	char texts[FOREIGN_TEXT_MAX]; /* file and function of each frame, each NUL-terminated */
	size_t len;
};

static void read_own_stack(struct keeping *k)
{
	struct text t = text_init(k->texts, sizeof(k->texts));
	struct foreign_name name;

	k->n = 0;
	for (int i = 0; i < k->own.n && !t.cut; i++) {
		size_t before = t.len;

		if (!k->own.language->describe(&k->own.frame[i], &name))
			continue;
		text_add_bytes(&t, name.file, strlen(name.file) + 1);
		text_add_bytes(&t, name.function, strlen(name.function) + 1);
		if (t.cut) {
			t.len = before;
			continue;
		}
		k->at[k->n] = (uint32_t)before;
		k->line[k->n++] = name.line;
	}
	k->len = t.len;
}

static struct foreign_kept *add_kept_stack(const struct keeping *k)
{
	size_t n = (size_t)k->n;
	struct foreign_kept *made = malloc(sizeof(*made) + n * sizeof(made->frame[0]) + k->len);
	char *texts;

	if (!made)
		return NULL;
	texts = (char *)made + sizeof(*made) + n * sizeof(made->frame[0]);
	memcpy(texts, k->texts, k->len);
	made->language = (struct stack_language){
		.name = k->own.language->name, .describe = read_kept_frame_name};
	made->hash = k->own.hash;
	made->n = k->n;
	for (size_t i = 0; i < n; i++)
		made->frame[i] = (struct foreign_frame){
			.code = (uintptr_t)(texts + k->at[i]), .at = (uintptr_t)k->line[i]};
	return made;
}

static struct foreign_kept *register_new_stack(struct keeping *k)
{
	_Atomic(struct foreign_kept *) *bucket = &buckets[k->own.hash % BUCKETS];
	struct foreign_kept *made;

	if (atomic_load(&stacks_kept) >= KEPT_MAX) {
		log_loss(LOSS_STACKS,
			"more than %d different stacks from which work is queued: what comes from "
			"further ones has no stack of its language",
			KEPT_MAX);
		return NULL;
	}
	read_own_stack(k);
	made = add_kept_stack(k);
	if (!made)
		return NULL;
	atomic_fetch_add(&stacks_kept, 1);
	made->next = atomic_load(bucket);
	/* Two threads may add the same stack twice; that does no harm. */
	while (!atomic_compare_exchange_weak(bucket, &made->next, made))
		;
	return made;
}

/* Needs 20 KiB of stack. */
static void copy_own_stack(void *arg)
{
	const struct foreign_kept **out = arg;
	struct keeping k;

	if (!foreign_read_own_stack(&k.own))
		return;
	*out = find_kept_stack(
		atomic_load_explicit(&buckets[k.own.hash % BUCKETS], memory_order_acquire),
		k.own.hash);
	if (!*out)
		*out = register_new_stack(&k);
}

const struct foreign_kept *foreign_copy_stack(void)
{
	const struct foreign_kept *k = NULL;

	private_stack_call(copy_own_stack, &k);
	return k ? k : own(given);
}

const struct foreign_kept *foreign_set_stack(const struct foreign_kept *k)
{
	const struct foreign_kept *before = own(given);

	own(given) = k;
	return before;
}

bool foreign_read_given_stack(struct foreign_stack *s)
{
	const struct foreign_kept *k = own(given);

	if (!k)
		return false;
	s->language = &k->language;
	s->hash = k->hash;
	/* 0, because the thread has moved on: these frames do not show what runs now */
	s->owner = 0;
	s->n = k->n;
	memcpy(s->frame, k->frame, (size_t)k->n * sizeof(k->frame[0]));
	return true;
}
