/* SPDX-License-Identifier: Apache-2.0 */
/* <library>_gen.h with its tables, probe.map, builtin.c, name_texts.c. */
#include "gen.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"

static const char *copy_upper_case(const char *s)
{
	char *t = mem_text(s, strlen(s));

	for (char *c = t; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return t;
}

/* Large values are handles, which people read in hexadecimal. */
static const char *format_int_constant(int64_t v)
{
	if (v == INT64_MIN)
		return "INT64_MIN"; /* C has no literal for it: the digits exceed INT64_MAX */
	return mem_print(v > 255 ? "0x%llx" : "%lld", (long long)v);
}

static const char *format_dtype_constant(uint8_t dt)
{
	return copy_upper_case(mem_print("dt_%s", get_dtype_info(dt)->name));
}

static const char *format_redop_constant(uint8_t op)
{
	return op == REDOP_NONE ? "REDOP_NONE"
				: copy_upper_case(mem_print("redop_%s", redop_name[op]));
}

static void write_abi_header(struct out *o, const struct library *lib)
{
	const struct spec *s = lib->spec;
	const struct abi *a = &lib->abi;

	write_format(o, "\n/* Implementations whose constants differ: the index of abi_const.at[]. "
			"*/\nenum {\n");
	for (unsigned i = 0; i < a->nflavour; i++)
		write_format(o, "\tABI_%s_%s,\n", copy_upper_case(s->library),
			copy_upper_case(a->flavour[i]));
	write_format(o, "\tABI_%s_COUNT,\n};\n\n", copy_upper_case(s->library));
	if (a->dtype.n)
		write_format(o, "extern const struct abi_const %s_abi_dtypes[%u];\n", s->library,
			a->dtype.n);
	if (a->redop.n)
		write_format(o, "extern const struct abi_const %s_abi_redops[%u];\n", s->library,
			a->redop.n);
	if (!a->constant.n)
		return;
	write_format(o, "\n/* Index of %s_abi_consts[]. */\nenum {\n", s->library);
	for (unsigned i = 0; i < a->constant.n; i++)
		write_format(o, "\tCONST_%s,\n", a->constant.row[i].c.name);
	write_format(o, "};\n\nextern const struct abi_const %s_abi_consts[%u];\n", s->library,
		a->constant.n);
}

void emit_tables(const struct library *lib)
{
	const struct spec *s = lib->spec;
	struct out *o = add_output(mem_print("%s_gen.h", s->library));

	write_file_header(o, s->base, "For the adapter.");
	write_format(o, "#ifndef PROBE_GEN_%s_H\n#define PROBE_GEN_%s_H\n\n",
		copy_upper_case(s->library), copy_upper_case(s->library));
	write_format(o,
		"#include \"terms/dtype.h\"\n#include \"api/api.h\"\n%s#include "
		"\"wrappers/tables.h\"\n\n",
		s->id_bytes ? "#include \"wrappers/ccl/ccl.h\"\n" : "");
	write_format(o,
		"extern const struct adapter adapter_%s;\nextern const char *const "
		"%s_sonames[];\n\n",
		s->library, s->library);
	write_format(o,
		"/* Used by api_table.c: the rows of the wrappers, sorted by symbol, and a "
		"wrapper's address. */\nextern struct api %s_rows[] "
		"__attribute__((visibility(\"hidden\")));\nvoid *%s_wrapper(unsigned row);\n\n",
		s->library, s->library);
	write_format(o,
		"/* The fields of struct adapter that come from the spec. */\n#define LIB_%s_SPEC "
		"\\\n",
		copy_upper_case(s->library));
	write_format(
		o, "\t.name = \"%s\", .sonames = %s_sonames, .success = {", s->section, s->library);
	for (unsigned i = 0; i < s->nsuccess; i++)
		write_format(o, "%s%s", i ? ", " : "", format_int_constant(s->success[i]));
	write_format(o, "}, .nsuccess = %u, .missing = %s", s->nsuccess,
		format_int_constant(s->missing));
	if (s->in_progress)
		write_format(o, ", .in_progress = %s", format_int_constant(s->in_progress));
	if (s->has_matrix)
		write_format(o, ", .matrix = &%s_matrix", s->library);
	if (s->dtype.n)
		write_format(o, ", .dtypes = &%s_dtypes", s->library);
	if (s->redop.n)
		write_format(o, ", .redops = &%s_redops", s->library);
	write_format(o, *s->alias ? ", .alias_prefix = \"%s\"\n" : "\n", s->alias);
	if (s->dtype.n || s->redop.n)
		write_format(o, "\n");
	if (s->dtype.n)
		write_format(o, "extern const struct spec_values %s_dtypes;\n", s->library);
	if (s->redop.n)
		write_format(o, "extern const struct spec_values %s_redops;\n", s->library);
	if (lib->abi.nflavour)
		write_abi_header(o, lib);
	if (s->has_matrix)
		write_format(o, "\nextern const struct matrix_codes %s_matrix;\n", s->library);
	if (s->id_bytes)
		write_format(o, "\nextern const struct ccl_library ccl_%s;\n", s->library);
	write_format(o, "\n#endif\n");
}

static void write_query(struct out *o, const char *name, const struct query *q)
{
	write_format(o, "\t.%s = {\"%s\", %s, %s, %u},\n", name, q->function,
		q->comm ? "true" : "false", q->out ? "true" : "false", q->bytes);
}

/* Writes the library's struct for wrappers/ccl, if its communicators start from an id of bytes. */
static void write_ccl(struct out *o, const struct spec *s)
{
	if (!s->id_bytes)
		return;
	write_format(o,
		"\nconst struct ccl_library ccl_%s = {\n\t.lib = &adapter_%s,\n\t.id_bytes = "
		"%lld,\n",
		s->library, s->library, (long long)s->id_bytes);
	write_query(o, "rank", &s->rank);
	write_query(o, "size", &s->size);
	write_format(o, "\t.parent = {");
	for (unsigned i = 0; s->parent && i < s->parent->n; i++)
		write_format(o, "\"%s\", ", node_text(&gen, s->parent->item[i], ""));
	write_format(o, "NULL},\n");
	write_format(o, "};\n");
}

static void write_values(struct out *o, const char *library, const char *kind,
	const char *(*format_meaning)(uint8_t), const struct value_map *m)
{
	if (!m->n)
		return;
	write_format(o, "\nconst struct spec_values %s_%ss = {%u, {\n", library, kind, m->n);
	for (unsigned i = 0; i < m->n; i++)
		write_format(o, "\t{%s, %s},\n", format_int_constant(m->row[i].value),
			format_meaning(m->row[i].to));
	write_format(o, "}};\n");
}

static const char *format_no_meaning(uint8_t to)
{
	(void)to;
	return "0";
}

static void write_abi(struct out *o, const struct library *lib, const char *kind,
	const char *(*format_meaning)(uint8_t), const struct abi_table *t)
{
	if (!t->n)
		return;
	write_format(
		o, "\nconst struct abi_const %s_abi_%ss[%u] = {\n", lib->spec->library, kind, t->n);
	for (unsigned i = 0; i < t->n; i++) {
		const struct abi_const *c = &t->row[i].c;

		write_format(o, "\t{\"%s\", %s, %s, {", c->name, format_meaning(c->to),
			c->derived ? "true" : "false");
		for (unsigned j = 0; j < lib->abi.nflavour; j++) {
			const struct abi_cell *x = &c->at[j];

			write_format(o, "%s", j ? ", " : "");
			if (x->form == ABI_NONE)
				write_format(o, "{ABI_NONE, 0, \"\"}");
			else if (x->form == ABI_VALUE)
				write_format(
					o, "{ABI_VALUE, %s, \"\"}", format_int_constant(x->value));
			else
				write_format(o, "{ABI_ADDRESS, 0, \"%s\"}", x->symbol);
		}
		write_format(o, "}},\n");
	}
	write_format(o, "};\n");
}

static void write_codes(struct out *o, const char *field, const int16_t *list, unsigned n)
{
	write_format(o, ", .%s = {", field);
	for (unsigned i = 0; i < n && list[i]; i++)
		write_format(o, "%s%d", i ? ", " : "", list[i]);
	write_format(o, "}");
}

static void write_matrix_codes(struct out *o, const struct spec *s)
{
	const struct matrix_codes *m = &s->matrix;

	if (!s->has_matrix)
		return;
	write_format(o, "\nconst struct matrix_codes %s_matrix = {.row_major = %d", s->library,
		m->row_major);
	write_codes(o, "transposed", m->transposed, sizeof(m->transposed) / sizeof(int16_t));
	write_codes(o, "left", m->left, sizeof(m->left) / sizeof(int16_t));
	if (m->right)
		write_format(o, ", .right = %d", m->right);
	write_format(o, "};\n");
}

void emit_table_rows(struct out *o, const struct library *lib)
{
	const struct spec *s = lib->spec;

	write_format(o, "\nconst char *const %s_sonames[] = {", s->library);
	for (unsigned i = 0; i < s->sonames->n; i++)
		write_format(o, "\"%s\", ", node_text(&gen, s->sonames->item[i], ""));
	write_format(o, "NULL};\n");
	write_values(o, s->library, "dtype", format_dtype_constant, &s->dtype);
	write_values(o, s->library, "redop", format_redop_constant, &s->redop);
	write_abi(o, lib, "dtype", format_dtype_constant, &lib->abi.dtype);
	write_abi(o, lib, "redop", format_redop_constant, &lib->abi.redop);
	write_abi(o, lib, "const", format_no_meaning, &lib->abi.constant);
	write_ccl(o, s);
	write_matrix_codes(o, s);
}

void emit_version_script(const struct funcs *f, const char *const *hooks, unsigned nhook)
{
	struct out *o = add_output("probe.map");

	write_file_header(o, "configs/apis", "The symbols that libprobe.so exports.");
	write_format(o, "{\nglobal:\n\tprobe_*;\n");
	for (unsigned i = 0; i < nhook; i++)
		write_format(o, "\t%s;\n", hooks[i]);
	for (unsigned i = 0; i < f->n; i++)
		write_format(o, "\t%s;\n", f->item[i]->symbol);
	write_format(o, "local:\n\t*;\n};\n");
}

void emit_builtin(const char *const *texts, unsigned ntext)
{
	struct out *o = add_output("builtin.c");

	write_file_header(o, "configs", "Files that are used if none is found.");
	write_format(o,
		"#include \"config/builtin.h\"\n\n#include <stddef.h>\n\nconst struct builtin_text "
		"builtin_texts[] = {\n");
	for (unsigned i = 0; i < ntext; i++) {
		size_t len, line = 0;
		char *text = gen_read_file(texts[i], &len);

		write_format(o, "\t{\"%s\",", gen_get_base_name(texts[i]));
		for (size_t at = 0; at < len; at = line) {
			const char *end = memchr(text + at, '\n', len - at);

			line = end ? (size_t)(end - text) + 1 : len;
			write_format(o, "\n\t\t\"");
			write_c_text(o, text + at, line - at);
			write_format(o, "\"");
		}
		write_format(o, "%s},\n", len ? "" : "\n\t\t\"\"");
	}
	write_format(o, "\t{NULL, NULL},\n};\n");
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Writes the distinct texts of a list as one text, each followed by a NUL; an empty one ends it. */
static void write_name_texts(struct out *o, const char *name, const char **list, unsigned n)
{
	qsort(list, n, sizeof(*list), compare_texts);
	write_format(o, "\nconst char %s[] =", name);
	for (unsigned i = 0; i < n; i++)
		if (!i || strcmp(list[i], list[i - 1]))
			write_format(o, "\n\t\"%s\\0\"", list[i]);
	write_format(o, "\n\t\"\";\n");
}

void emit_name_texts(const struct kinds *k, const struct funcs *f)
{
	struct out *o = add_output("name_texts.c");
	const char **list = mem_new((2 * (size_t)f->n + k->n + 1) * sizeof(*list));
	unsigned n = 0;

	write_file_header(o, "configs/apis",
		"The names that a word of the keys `only` and `skip` can select.");
	write_format(o, "#include \"config/list/chosen_words.h\"\n");
	for (unsigned i = 0; i < f->n; i++) {
		if (f->item[i]->task != TASK_DATA)
			continue;
		list[n++] = f->item[i]->symbol;
		list[n++] = f->item[i]->list;
	}
	write_name_texts(o, "function_name_texts", list, n);
	n = 0;
	for (unsigned i = 0; i < k->n; i++)
		list[n++] = k->item[i].op;
	write_name_texts(o, "operation_name_texts", list, n);
}
