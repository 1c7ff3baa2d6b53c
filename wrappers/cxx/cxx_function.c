/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/cxx/cxx_function.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define ROWS_MAX 8192

static _Atomic unsigned rows_made;

void *cxx_function_open_row(size_t bytes, const char *mangled, const char *framework)
{
	struct cxx_function *f;
	char *link_name;

	if (atomic_load(&rows_made) >= ROWS_MAX || !(f = calloc(1, bytes + strlen(mangled) + 1))) {
		log_loss(LOSS_ENTRY, "%s: no room for a row: %s is not recorded", framework,
			mangled);
		return NULL;
	}
	link_name = (char *)f + bytes;
	strcpy(link_name, mangled);
	f->spec.symbol = f->symbol;
	f->spec.link_name = link_name;
	f->spec.ffi = &f->ffi;
	f->api.spec = &f->spec;
	return f;
}

void cxx_function_register(void)
{
	atomic_fetch_add(&rows_made, 1);
}

bool cxx_params_match(const char *args, const struct cxx_params *p, bool method)
{
	int n = (int)strlen(args) - method;

	if (p->n != n)
		return false;
	for (int i = 0; i < n; i++) {
		uint8_t t = p->type[i];

		switch (args[i + method]) {
		case 'p': /* an object passed by value is passed as a pointer, too */
			if (t != CT_P && t != CXX_CLASS)
				return false;
			break;
		case 'l': /* a long, or a class around one */
			if (t != CT_I64 && t != CXX_CLASS)
				return false;
			break;
		case 'L': /* an unsigned long */
			if (t != CT_U64)
				return false;
			break;
		case 'd':
			if (t != CT_F64)
				return false;
			break;
		case 'b':
			if (t != CT_U8 && t != CT_I8 && t != CXX_CLASS)
				return false;
			break;
		}
	}
	return true;
}

static uint8_t get_ctype_of_letter(char c)
{
	return c == 'b' ? CT_U8 : c == 'l' || c == 'L' ? CT_I64 : c == 'd' ? CT_F64 : CT_P;
}

void cxx_function_set_observed(
	struct cxx_function *f, const struct adapter *lib, const char *args, uint8_t ret)
{
	struct api_spec *s = &f->spec;

	f->ffi.hidden = ret == CT_STRUCT;
	f->ffi.ret = f->ffi.hidden ? CT_VOID : ret;
	s->lib = lib;
	s->list_name = f->symbol;
	s->task = TASK_SCOPE;
	s->nargs = (uint8_t)strlen(args);
	for (unsigned i = 0; i < s->nargs; i++)
		s->args[i].ctype = get_ctype_of_letter(args[i]);
}
