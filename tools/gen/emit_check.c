/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates a program that does not compile if a row's prototype differs from the library's header, and that compares the tables of
 * constants with the header when it runs.
 */
#include "gen.h"

#include <string.h>

#include "terms/dtype.h"

static void write_headers(struct out *o, const struct library *lib)
{
	write_file_header(o, lib->spec->base, "Compares that file with an installed header.");
	for (unsigned i = 0; i < lib->check.headers->n; i++) {
		const char *name = node_text(&gen, lib->check.headers->item[i], "");

		if (i) /* only the first header must exist */
			write_format(
				o, "#if __has_include(<%s>)\n#include <%s>\n#endif\n", name, name);
		else
			write_format(o, "#include <%s>\n", name);
	}
	write_format(o, "#include <dlfcn.h>\n#include <stddef.h>\n");
	write_format(o, "#include <stdint.h>\n#include <stdio.h>\n\n");
}

/*
 * text: the header. If this version of the header lacks a type, it has no functions with that type
 * either.
 */
static void write_types(struct out *o, const struct library *lib, const char *text)
{
	for (unsigned i = 0; i < lib->spec->types.n; i++) {
		const struct type_name *t = &lib->spec->types.item[i];
		const char *n = t->name;

		if (!has_word(text, n))
			continue;
		if (t->handle)
			write_format(o,
				"_Static_assert(sizeof(%s) == 4 || sizeof(%s) == 8, \"%s\");\n", n,
				n, n);
		else if (t->ctype == CT_I64)
			write_format(o, "_Static_assert(sizeof(%s) == 8 && (%s)-1 < 0, \"%s\");\n",
				n, n, n);
		else if (t->ctype == CT_I32)
			write_format(o, "_Static_assert(sizeof(%s) == 4, \"%s\");\n", n, n);
		else if (t->ctype == CT_P)
			write_format(o, "_Static_assert(sizeof(%s) == 8, \"%s\");\n", n, n);
		else if (t->ctype == CT_STRUCT)
			write_format(o, "_Static_assert(sizeof(%s) == %u, \"%s\");\n", n,
				t->words * 8u, n);
	}
}

static void write_prototype(struct out *o, const struct func *f)
{
	write_format(o, "_Static_assert(__builtin_types_compatible_p(__typeof__(%s), %s(",
		f->symbol, f->ret.spelling);
	if (!f->args.n)
		write_format(o, "void");
	for (unsigned i = 0; i < f->args.n; i++)
		write_format(o, "%s%s", i ? ", " : "", f->args.item[i].type.spelling);
	write_format(o, ")),\n\t\"%s:%u:%u: the header declares another prototype of %s\");\n",
		f->spec->base, f->at.line, f->at.col, f->symbol);
}

/* form: 0: the implementation has no such constant; 1: value; 2: address of a symbol. */
static const char helpers[] =
	"\n"
	"static unsigned bad, absent, same, sizes;\n"
	"\n"
	"static void wrong(const char *name, const char *what)\n"
	"{\n"
	"\tprintf(\"%s: %s: %s\\n\", SPEC, name, what);\n"
	"\tbad++;\n"
	"}\n"
	"\n"
	"static void constant(const char *name, int64_t have, size_t width, int form,\n"
	"\t\tint64_t want, const char *symbol)\n"
	"{\n"
	"\tif (form == 2)\n"
	"\t\twant = (int64_t)(uintptr_t)dlsym(RTLD_DEFAULT, symbol);\n"
	"\tif (form == 0)\n"
	"\t\twrong(name, \"it is in the header but not in the table\");\n"
	"\telse if (form == 2 && !want)\n"
	"\t\twrong(name, \"the library has no such symbol\");\n"
	"\telse if (width == 4 ? (uint32_t)have != (uint32_t)want : have != want)\n"
	"\t\twrong(name, \"the header has another value\");\n"
	"\telse\n"
	"\t\tsame++;\n"
	"}\n";

static void write_helpers(struct out *o, const struct library *lib)
{
	write_format(o, "\n#define SPEC \"%s\"\n%s", lib->spec->base, helpers);
	if (!lib->check.dtype_size)
		return;
	write_format(o, "\n#define SIZE(h, bytes) \\\n\tdo { \\\n\t\tint size = -1; \\\n\t\t");
	for (const char *c = lib->check.dtype_size; *c; c++) {
		if (c[0] == '{' && c[1] == '}') {
			write_format(o, "h");
			c++;
		} else {
			write_format(o, "%c", *c);
		}
	}
	write_format(o, "; \\\n\t\tif (size == (bytes)) \\\n\t\t\tsizes++; \\\n\t\telse \\\n");
	write_format(o, "\t\t\twrong(#h, \"an element has another size\"); \\\n\t} while (0)\n");
}

/* guard: the row's name is a macro that this version of the header may lack. */
static void write_abi_table(struct out *o, const struct library *lib, const struct abi_table *t,
	unsigned flavour, bool guard)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct abi_row *r = &t->row[i];
		const struct abi_cell *x = &r->c.at[flavour];

		if (guard) {
			write_format(o, "#ifdef %s\n", r->expr);
			if (t == &lib->abi.dtype && lib->check.dtype_null)
				write_format(o, "\tif (%s == %s)\n\t\tabsent++;\n\telse\n", r->expr,
					lib->check.dtype_null);
		}
		write_format(o, "\tconstant(\"%s\", (int64_t)(intptr_t)(%s), sizeof(%s), ",
			r->c.name, r->expr, r->expr);
		write_format(o, "%u, %lld, \"%s\");\n", x->form, (long long)x->value, x->symbol);
		if (guard)
			write_format(o, "#else\n\tabsent++;\n#endif\n");
	}
}

/*
 * Compares the header's enumerators and their meanings with the file's tables of values. An
 * enumerator that an older header lacks counts as absent.
 */
static void write_enum(struct out *o, const char *text, const struct node *map,
	const struct value_map *values, bool redop)
{
	for (unsigned i = 0; map && i < map->n; i++) {
		const char *name = map->key[i]->text;
		uint8_t to = redop ? value_redop(&gen, map->item[i])
				   : value_dtype(&gen, map->item[i], &(bool){false});
		const struct spec_value *v = values->row, *end = v + values->n;

		while (v < end && v->to != to)
			v++;
		if (v == end)
			fail(map->item[i]->at, "%s: the file maps no value to '%s'", name,
				node_text(&gen, map->item[i], ""));
		else if (!has_word(text, name))
			write_format(o, "\tabsent++; /* %s */\n", name);
		else
			write_format(o, "\tconstant(\"%s\", %s, 4, 1, %lld, \"\");\n", name, name,
				(long long)v->value);
	}
}

static void write_sizes(struct out *o, const struct library *lib)
{
	write_format(o, "\t%s;\n", lib->check.start ? lib->check.start : "");
	for (unsigned i = 0; i < lib->abi.dtype.n; i++) {
		const struct abi_row *r = &lib->abi.dtype.row[i];

		if (r->c.to == DT_OTHER)
			continue;
		write_format(o, "#ifdef %s\n", r->expr);
		if (lib->check.dtype_null)
			write_format(o, "\tif (%s != %s)\n", r->expr, lib->check.dtype_null);
		write_format(
			o, "\t\tSIZE(%s, %u);\n#endif\n", r->expr, get_dtype_info(r->c.to)->size);
	}
	write_format(o, "\t%s;\n", lib->check.stop ? lib->check.stop : "");
}

void emit_check(const struct library *lib, const struct funcs *f, const char *preprocessed,
	const char *path)
{
	struct out *o = add_output(path);
	unsigned declared = 0, names = 0;
	size_t len;
	char *text = gen_read_file(preprocessed, &len);

	if (!lib->check.headers) {
		fail((struct pos){lib->spec->path, 1, 1},
			"the key 'check' is missing, so there is no header to compare with");
		return;
	}
	write_headers(o, lib);
	write_types(o, lib, text);
	for (unsigned i = 0; i < f->n; i++) {
		int agree = check_param_names(lib, f->item[i], text);

		if (agree < 0)
			continue;
		declared++;
		names += (unsigned)agree;
		write_prototype(o, f->item[i]);
	}
	write_helpers(o, lib);
	write_format(o, "\nint main(void)\n{\n");
	for (unsigned i = 0; i < lib->abi.nflavour; i++) {
		write_format(o, "#%s %s\n", i ? "elif" : "if", lib->abi.when[i]);
		write_abi_table(o, lib, &lib->abi.dtype, i, true);
		write_abi_table(o, lib, &lib->abi.redop, i, true);
		write_abi_table(o, lib, &lib->abi.constant, i, false);
	}
	if (lib->abi.nflavour)
		write_format(o,
			"#else\n#error \"%s: no flavour of 'abi' fits this header\"\n#endif\n",
			lib->spec->base);
	write_enum(o, text, lib->check.dtypes, &lib->spec->dtype, false);
	write_enum(o, text, lib->check.redops, &lib->spec->redop, true);
	if (lib->check.dtype_size)
		write_sizes(o, lib);
	write_format(o, "\tprintf(\"%s: %u of %u prototypes declared and equal, \"\n",
		lib->spec->library, declared, f->n);
	write_format(
		o, "\t\t\"%u parameter names, %%u constants (%%u not in the header), \"\n", names);
	write_format(o, "\t\t\"%%u element sizes, %%u wrong\\n\", same, absent, sizes, bad);\n");
	write_format(o, "\treturn bad%s;\n}\n",
		lib->abi.nflavour || lib->check.dtypes || lib->check.redops ? " || !same" : "");
	/* If nothing was compared, the result must not look like success. */
	if (!declared)
		fail((struct pos){lib->spec->path, 1, 1}, "%s declares none of the functions",
			preprocessed);
}
