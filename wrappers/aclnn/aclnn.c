/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ascend's operators, by rule and not by a list of them (CANN has 771 in 8.1). Each is two functions: aclnnXGetWorkspaceSize,
 * which takes the operator's own arguments, and aclnnX, which puts it on a stream and is always of one form:
 *
 *	aclnnStatus aclnnX(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
 *
 * The second is what is recorded: any function of such a name that is listed, of whichever library, and that has the
 * first beside it. Which tensors the executor stands for only the first is told, and that is not watched.
 */
#include <stdio.h>
#include <string.h>

#include "call/call.h"
#include "elf/elfsym.h"
#include "entry/provider.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_function.h"

#define SECTION "acl"
#define PREFIX "aclnn"
#define FIRST_PHASE "GetWorkspaceSize"

/* Asked of every function that any library exports. */
static bool is_acl_name(const char *s)
{
	return s[0] == PREFIX[0] && strncmp(s, PREFIX, sizeof(PREFIX) - 1) == 0;
}

static bool is_first_phase(const char *symbol)
{
	size_t n = strlen(symbol), tail = sizeof(FIRST_PHASE) - 1;

	return n >= tail && strcmp(symbol + n - tail, FIRST_PHASE) == 0;
}

static bool is_acl_listed(struct wraplist *w, const char *symbol)
{
	return w && wraplist_match(w, SECTION, symbol);
}

/* Listed, or may be switched on later. */
static bool aclnn_wants(const char *symbol, const char *object)
{
	(void)object;
	if (!is_acl_name(symbol) || is_first_phase(symbol) || !session_configure())
		return false;
	return is_acl_listed(list_now(), symbol) || is_acl_listed(generation_armable, symbol);
}

static bool has_acl_section(const struct wraplist *w)
{
	return w && wraplist_section(w, SECTION) != WRAPLIST_NONE;
}

static bool aclnn_any(void)
{
	return session_configure() &&
	       (has_acl_section(list_now()) || has_acl_section(generation_armable));
}

/* ---- calls ---- */

static bool describe_aclnn(struct call *c)
{
	(void)c;
	return true;
}

static const struct adapter adapter_aclnn = {
	.name = SECTION,
	.success = {0},
	.nsuccess = 1,
	.missing = 361001, /* ACLNN_ERR_RUNTIME_ERROR */
	.unknown_streams = true,
	.describe = describe_aclnn,
};

/* aclnnInit, for one, is no operator, though its name says so: it may have any arguments. */
static bool is_two_phase(const char *symbol)
{
	char first[sizeof(((struct cxx_function *)0)->symbol) + sizeof(FIRST_PHASE)];
	struct provider p;

	snprintf(first, sizeof(first), "%s" FIRST_PHASE, symbol);
	return elfsym_all(first, &p, 1) != 0;
}

static struct api *make_aclnn(const char *symbol, const char *object)
{
	static const uint8_t args[] = {CT_P, CT_U64, CT_P, CT_P};
	struct cxx_function *f;
	struct api_spec *s;

	(void)object;
	if (strlen(symbol) >= sizeof(f->symbol) || !is_two_phase(symbol))
		return NULL;
	f = cxx_function_new(sizeof(*f), symbol, "aclnn");
	if (!f)
		return NULL;
	strcpy(f->symbol, symbol);
	f->kind = (struct kind){.name = f->symbol, .op = f->symbol + strlen(PREFIX)};
	f->ffi.ret = CT_I32;
	f->ffi.code = true;
	s = &f->spec;
	s->lib = &adapter_aclnn;
	s->list_name = f->symbol;
	s->kind = &f->kind;
	s->task = TASK_DATA;
	s->completion = DONE_STREAM;
	s->nargs = sizeof(args);
	for (unsigned i = 0; i < sizeof(args); i++)
		s->args[i].ctype = args[i];
	s->args[sizeof(args) - 1].role = ROLE_STREAM;
	s->at[ROLE_STREAM] = sizeof(args);
	cxx_function_keep();
	return &f->api;
}

const struct runtime_provider aclnn_provider = {
	.wants = aclnn_wants, .make = make_aclnn, .any = aclnn_any};
