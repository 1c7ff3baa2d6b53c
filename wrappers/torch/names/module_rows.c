/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/names/module_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/named_row.h"
#include "training/params/param.h"
#include "wrappers/torch/names/module_names.h"

#define HEADS 4096u
#define ROWS_MAX 60000u /* of the 65535 numbers that the journal has for functions */
#define OWN_ROWS (MODULE_GRADIENT + 1)
#define OP_MAX (TRAIN_NAME_MAX + 200)

static const struct adapter adapter_module = {.name = MODULE_LIBRARY};

struct keyed_row {
	struct keyed_row *next;
	struct api *row;
	uint8_t part;
	char name[];
};

struct module_rows {
	struct module_rows *next;
	struct api *row[OWN_ROWS];
	struct keyed_row *keyed;
};

static struct module_rows *heads[HEADS];
static uint32_t nrows;

static struct api *add_module_row(enum module_part part, const char *op)
{
	struct api *row = nrows < ROWS_MAX
				  ? named_row_new(&adapter_module, module_part_words[part], op)
				  : NULL;

	nrows += row != NULL;
	if (!row)
		log_loss(LOSS_DUMP,
			"dump: more than %u modules and parameters, or no memory: further ones "
			"have no entries; level L1 needs none",
			ROWS_MAX);
	return row;
}

static struct module_rows *add_module_rows(const char *op)
{
	struct module_rows *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	for (unsigned i = 0; i < OWN_ROWS; i++) {
		r->row[i] = add_module_row(i, op);
		/* The rows made so far are not freed. */
		if (!r->row[i]) {
			free(r);
			return NULL;
		}
	}
	return r;
}

struct module_rows *find_or_add_module_rows(struct named_module *m, const char *class_name)
{
	char op[OP_MAX];
	struct module_rows **head, *r;

	if (m->rows)
		return m->rows;
	snprintf(op, sizeof(op), "%s.%s", m->full, class_name);
	head = &heads[hash_str(0, op) & (HEADS - 1)];
	for (r = *head; r && strcmp(named_row_op(r->row[0]), op) != 0;)
		r = r->next;
	if (!r && (r = add_module_rows(op))) {
		r->next = *head;
		*head = r;
	}
	m->rows = r;
	return r;
}

struct api *get_module_row(const struct module_rows *r, enum module_part part)
{
	return r->row[part];
}

struct api *find_or_add_keyed_row(struct module_rows *r, enum module_part part, const char *name)
{
	size_t n = strlen(name) + 1;
	char op[OP_MAX];
	struct keyed_row *k = r->keyed;

	for (; k; k = k->next)
		if (k->part == part && strcmp(k->name, name) == 0)
			return k->row;
	snprintf(op, sizeof(op), "%s.%s", named_row_op(r->row[0]), name);
	k = calloc(1, sizeof(*k) + n);
	if (!k)
		return NULL;
	k->row = add_module_row(part, op);
	if (!k->row) {
		free(k);
		return NULL;
	}
	memcpy(k->name, name, n);
	k->part = (uint8_t)part;
	k->next = r->keyed;
	r->keyed = k;
	return k->row;
}
