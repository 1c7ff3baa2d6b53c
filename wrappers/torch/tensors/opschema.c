/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators' schemas. Every libtorch contains them as texts, "add.Tensor(Tensor self, ...) ->
 * Tensor", with which it registers its operators at start. libprobe searches them once, in the
 * constant data of the loaded libtorch_cpu. A linker may have merged a text into the tail of a
 * longer one (sin in asin, Debian's 1.13). Such a text is found by the operator's name, if all
 * longer texts that match agree in the relevant parts.
 */
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "wrappers/torch/tensors/optype.h"

#define SLOTS 32768u /* a power of two; there are some 3000 operators */
#define SCHEMA_MAX 4000

static const char *slot[SLOTS];
static unsigned used;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.';
}

/*
 * Writes the C++ name of a schema's operator, in which a dot becomes an underscore. Returns its
 * length, or 0 if the text is not a name.
 */
static size_t format_cxx_name(const char *schema, char *out, size_t cap)
{
	size_t n = 0;

	for (; is_name(schema[n]); n++) {
		if (n + 1 >= cap)
			return 0;
		out[n] = schema[n] == '.' ? '_' : schema[n];
	}
	out[n] = 0;
	return schema[n] == '(' ? n : 0;
}

static const char **find_schema_place(const char *name)
{
	uint32_t i = (uint32_t)hash_str(7, name) % SLOTS;
	char other[128];

	while (slot[i] && format_cxx_name(slot[i], other, sizeof(other)) &&
		strcmp(other, name) != 0)
		i = (i + 1) % SLOTS;
	return &slot[i];
}

static void add_schema(const char *s)
{
	char name[128];
	const char **at;

	if (used >= SLOTS / 2 || !format_cxx_name(s, name, sizeof(name)))
		return;
	at = find_schema_place(name);
	if (!*at) {
		*at = s;
		used++;
	}
}

/* Handles every text in [at, end) that contains ") -> ". */
static void add_schemas_in_range(const char *at, const char *end)
{
	const char *begin = at;

	while (at < end) {
		const char *arrow = memmem(at, (size_t)(end - at), ") -> ", 5), *s = arrow;

		if (!arrow)
			return;
		while (s > begin && s[-1] && arrow - s < SCHEMA_MAX)
			s--;
		if (memchr(arrow, 0, (size_t)(end - arrow)) && s > begin && !s[-1])
			add_schema(s);
		at = arrow + 5;
	}
}

static int add_schemas_of_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	(void)arg;
	if (!name || strncmp(name, "/libtorch_cpu", 13) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)(uintptr_t)(info->dlpi_addr + ph->p_vaddr);

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_R && !(ph->p_flags & PF_W))
			add_schemas_in_range(at, at + ph->p_memsz);
	}
	return 1;
}

static void read_all_schemas(void)
{
	dl_iterate_phdr(add_schemas_of_object, NULL);
}

/*
 * True if a parameter of this schema type, such as "Tensor(a!)" or "int[2]?", can be the one in
 * the mangled name.
 */
static bool is_schema_param_valid(const char *type, size_t n, uint8_t ctype, uint8_t arg)
{
	char last = type[n - 1];

	if (strncmp(type, "Tensor", 6) != 0) {
		uint8_t as_is = n == 4 && memcmp(type, "bool", n) == 0	  ? CT_U8
				: n == 3 && memcmp(type, "int", n) == 0	  ? CT_I64
				: n == 5 && memcmp(type, "float", n) == 0 ? CT_F64
									  : CT_VOID;

		if (arg != OP_PLAIN)
			return false;
		return as_is ? ctype == as_is
			     : ctype != CT_U8 && ctype != CT_I64 && ctype != CT_F64;
	}
	if (memchr(type, '?', n))
		return last == ']' ? arg == OP_OPTIONAL_LIST
				   : arg == OP_OPTIONAL || arg == OP_OPTIONAL_1_13;
	if (last == ']')
		return arg == OP_LIST || arg == OP_ILIST;
	return arg == OP_TENSOR || arg == OP_TENSOR_OUT;
}

/*
 * Compares the parameters of a schema such as "f(Tensor a, *, int[2] b=[0, 1], str c="x") ->
 * Tensor".
 */
static bool has_valid_schema_params(const char *schema, const struct op_type *t, unsigned i)
{
	const char *p = strchr(schema, '(') + 1, *end = strstr(schema, ") -> ");

	while (p < end) {
		const char *begin = p, *blank = NULL;

		for (int depth = 0; p < end && (depth || *p != ','); p++) {
			depth += *p == '(' || *p == '[' ? 1 : *p == ')' || *p == ']' ? -1 : 0;
			if (!depth && *p == ' ' && !blank)
				blank = p;
		}
		if (*begin != '*') {
			if (i == t->nargs || !blank ||
				!is_schema_param_valid(
					begin, (size_t)(blank - begin), t->ctype[i], t->arg[i]))
				return false;
			i++;
		}
		for (p += p < end; p < end && *p == ' '; p++)
			;
	}
	return i == t->nargs;
}

static bool is_same_schema_result(const char *a, const char *b)
{
	struct op_type x, y;

	return parse_op_result(a, &x) && parse_op_result(b, &y) && x.ret == y.ret &&
	       x.hidden == y.hidden && x.result == y.result && x.nresult == y.nresult &&
	       !strstr(a, "(a!)[]") == !strstr(b, "(a!)[]");
}

/* Searches the tails of longer schemas for one of operator `name`. */
static const char *find_tail(const char *name, const struct op_type *t, unsigned first)
{
	const char *found = NULL;
	char longer[128];
	size_t len = strlen(name);

	for (unsigned i = 0; i < SLOTS; i++) {
		size_t n = slot[i] ? format_cxx_name(slot[i], longer, sizeof(longer)) : 0;
		const char *tail;

		if (n <= len || strcmp(longer + n - len, name) != 0)
			continue;
		tail = slot[i] + (n - len);
		if (!has_valid_schema_params(tail, t, first))
			continue;
		if (found && !is_same_schema_result(found, tail))
			return NULL;
		found = tail;
	}
	return found;
}

const char *find_op_schema(const char *name, const struct op_type *t, unsigned first)
{
	const char *s;

	pthread_once(&once, read_all_schemas);
	s = *find_schema_place(name);
	return s ? s : find_tail(name, t, first);
}

bool has_op_schema(bool (*ask)(const char *schema, void *arg), void *arg)
{
	pthread_once(&once, read_all_schemas);
	for (unsigned i = 0; i < SLOTS; i++)
		if (slot[i] && ask(slot[i], arg))
			return true;
	return false;
}
