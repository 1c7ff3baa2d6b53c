/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/aclnn/operator.h"

#include <stdlib.h>
#include <string.h>

static struct aclnn_operator *operators;

#define NAME_BYTES 48 /* no pointer, which the loader of each process would have to relocate */

static const struct {
	char name[NAME_BYTES];
	uint64_t writes, both;
} written[] = {
#define ACLNN_WRITES(name, writes, both) {#name, writes, both},
#include "wrappers/aclnn/writes.def"
};

/* Operators that communicate inside their kernel have the operation in their names. */
static const char *const fragments[] = {
	"AllReduce", "AllGather", "ReduceScatter", "lltoAll", "AllToAll", "Distribute"};

static void set_operator(struct aclnn_operator *o)
{
	o->in_place = strstr(o->name, "Inplace") != NULL;
	for (unsigned i = 0; i < sizeof(fragments) / sizeof(*fragments); i++)
		o->communicates |= strstr(o->name, fragments[i]) != NULL;
	for (unsigned i = 0; i < sizeof(written) / sizeof(*written); i++)
		if (strcmp(written[i].name, o->name) == 0) {
			o->writes = written[i].writes;
			o->both = written[i].both;
		}
}

struct aclnn_operator *aclnn_operator_find_or_add(const char *name)
{
	struct aclnn_operator *o;

	for (o = operators; o; o = o->next)
		if (strcmp(o->name, name) == 0)
			return o;
	o = calloc(1, sizeof(*o) + strlen(name) + 1);
	if (!o)
		return NULL;
	strcpy(o->name, name);
	set_operator(o);
	o->next = operators;
	operators = o;
	return o;
}
