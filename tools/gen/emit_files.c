/* SPDX-License-Identifier: Apache-2.0 */
/* <library>_gen.h with its tables, probe.map, builtin.c. */
#include "gen.h"

#include <ctype.h>
#include <string.h>

#include "base/dtype.h"

static const char *upper(const char *s)
{
	char *t = mem_text(s, strlen(s));

	for (char *c = t; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return t;
}

/* Large values are handles, which people know in hexadecimal. */
static const char *c_int(int64_t v)
{
	if (v == INT64_MIN)
		return "INT64_MIN"; /* its digits are too large for a positive constant */
	return mem_print(v > 255 ? "0x%llx" : "%lld", (long long)v);
}

static const char *c_dtype(uint8_t dt)
{
	return upper(mem_print("dt_%s", dtype_info(dt)->name));
}

static const char *c_redop(uint8_t op)
{
	return op == REDOP_NONE ? "REDOP_NONE" : upper(mem_print("redop_%s", redop_name[op]));
}

static void put_abi_header(struct out *o, const struct library *lib)
{
	const struct spec *s = lib->spec;
	const struct abi *a = &lib->abi;

	put(o, "\n/* Implementations whose constants differ: the index of abi_const.at[]. */\nenum "
	       "{\n");
	for (unsigned i = 0; i < a->nflavour; i++)
		put(o, "\tABI_%s_%s,\n", upper(s->library), upper(a->flavour[i]));
	put(o, "\tABI_%s_COUNT,\n};\n\n", upper(s->library));
	if (a->dtype.n)
		put(o, "extern const struct abi_const %s_abi_dtypes[%u];\n", s->library,
			a->dtype.n);
	if (a->redop.n)
		put(o, "extern const struct abi_const %s_abi_redops[%u];\n", s->library,
			a->redop.n);
	if (!a->constant.n)
		return;
	put(o, "\n/* Index of %s_abi_consts[]. */\nenum {\n", s->library);
	for (unsigned i = 0; i < a->constant.n; i++)
		put(o, "\tCONST_%s,\n", a->constant.row[i].c.name);
	put(o, "};\n\nextern const struct abi_const %s_abi_consts[%u];\n", s->library,
		a->constant.n);
}

void emit_tables(const struct library *lib)
{
	const struct spec *s = lib->spec;
	struct out *o = out_new(mem_print("%s_gen.h", s->library));

	put_head(o, s->base, "For the adapter.");
	put(o, "#ifndef PROBE_GEN_%s_H\n#define PROBE_GEN_%s_H\n\n", upper(s->library),
		upper(s->library));
	put(o, "#include \"base/dtype.h\"\n#include \"call/api.h\"\n#include "
	       "\"wrappers/tables.h\"\n\n");
	put(o, "extern const struct lib lib_%s;\nextern const char *const %s_sonames[];\n\n",
		s->library, s->library);
	put(o, "/* The fields of struct lib that the spec knows. */\n#define LIB_%s_SPEC \\\n",
		upper(s->library));
	put(o, "\t.name = \"%s\", .sonames = %s_sonames, .success = {", s->library, s->library);
	for (unsigned i = 0; i < s->nsuccess; i++)
		put(o, "%s%s", i ? ", " : "", c_int(s->success[i]));
	put(o, "}, .nsuccess = %u, .missing = %s", s->nsuccess, c_int(s->missing));
	if (s->in_progress)
		put(o, ", .in_progress = %s", c_int(s->in_progress));
	put(o, *s->alias ? ", .alias_prefix = \"%s\"\n" : "\n", s->alias);
	if (s->dtype.n || s->redop.n)
		put(o, "\n");
	if (s->dtype.n)
		put(o, "extern const struct spec_value %s_dtypes[%u];\n", s->library, s->dtype.n);
	if (s->redop.n)
		put(o, "extern const struct spec_value %s_redops[%u];\n", s->library, s->redop.n);
	if (lib->abi.nflavour)
		put_abi_header(o, lib);
	put(o, "\n#endif\n");
}

static void put_values(struct out *o, const char *library, const char *what,
	const char *(*c_to)(uint8_t), const struct value_map *m)
{
	if (!m->n)
		return;
	put(o, "\nconst struct spec_value %s_%ss[%u] = {\n", library, what, m->n);
	for (unsigned i = 0; i < m->n; i++)
		put(o, "\t{%s, %s},\n", c_int(m->row[i].value), c_to(m->row[i].to));
	put(o, "};\n");
}

static const char *c_none(uint8_t to)
{
	(void)to;
	return "0";
}

static void put_abi(struct out *o, const struct library *lib, const char *what,
	const char *(*c_to)(uint8_t), const struct abi_table *t)
{
	if (!t->n)
		return;
	put(o, "\nconst struct abi_const %s_abi_%ss[%u] = {\n", lib->spec->library, what, t->n);
	for (unsigned i = 0; i < t->n; i++) {
		const struct abi_const *c = &t->row[i].c;

		put(o, "\t{\"%s\", %s, %s, {", c->name, c_to(c->to), c->derived ? "true" : "false");
		for (unsigned j = 0; j < lib->abi.nflavour; j++) {
			const struct abi_cell *x = &c->at[j];

			put(o, "%s", j ? ", " : "");
			if (x->form == ABI_NONE)
				put(o, "{ABI_NONE, 0, NULL}");
			else if (x->form == ABI_VALUE)
				put(o, "{ABI_VALUE, %s, NULL}", c_int(x->value));
			else
				put(o, "{ABI_ADDRESS, 0, \"%s\"}", x->symbol);
		}
		put(o, "}},\n");
	}
	put(o, "};\n");
}

void emit_table_rows(struct out *o, const struct library *lib)
{
	const struct spec *s = lib->spec;

	put(o, "\nconst char *const %s_sonames[] = {", s->library);
	for (unsigned i = 0; i < s->sonames->n; i++)
		put(o, "\"%s\", ", node_text(&gen, s->sonames->item[i], ""));
	put(o, "NULL};\n");
	put_values(o, s->library, "dtype", c_dtype, &s->dtype);
	put_values(o, s->library, "redop", c_redop, &s->redop);
	put_abi(o, lib, "dtype", c_dtype, &lib->abi.dtype);
	put_abi(o, lib, "redop", c_redop, &lib->abi.redop);
	put_abi(o, lib, "const", c_none, &lib->abi.constant);
}

void emit_map(const struct funcs *f, const char *const *hooks, unsigned nhook)
{
	struct out *o = out_new("probe.map");

	put_head(o, "configs/apis", "What libprobe.so exports.");
	put(o, "{\nglobal:\n\tprobe_*;\n");
	for (unsigned i = 0; i < nhook; i++)
		put(o, "\t%s;\n", hooks[i]);
	for (unsigned i = 0; i < f->n; i++)
		put(o, "\t%s;\n", f->item[i]->symbol);
	put(o, "local:\n\t*;\n};\n");
}

void emit_builtin(const char *const *texts, unsigned ntext)
{
	struct out *o = out_new("builtin.c");

	put_head(o, "configs", "Files that hold where none is found.");
	put(o, "#include \"config/builtin.h\"\n\n#include <stddef.h>\n\nconst struct builtin_text "
	       "builtin_texts[] = {\n");
	for (unsigned i = 0; i < ntext; i++) {
		size_t len, line = 0;
		char *text = read_file(texts[i], &len);

		put(o, "\t{\"%s\",", base_name(texts[i]));
		for (size_t at = 0; at < len; at = line) {
			const char *end = memchr(text + at, '\n', len - at);

			line = end ? (size_t)(end - text) + 1 : len;
			put(o, "\n\t\t\"");
			put_c_text(o, text + at, line - at);
			put(o, "\"");
		}
		put(o, "%s},\n", len ? "" : "\n\t\t\"\"");
	}
	put(o, "\t{NULL, NULL},\n};\n");
}
