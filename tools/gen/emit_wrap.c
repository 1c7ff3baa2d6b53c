/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_<library>.c: the wrappers of one library, and their rows; the shape of a wrapper is explained in preload/call/wrapper.h. Nothing
 * here depends on another library: a new library compiles no wrapper of the others.
 */
#include "gen.h"

#include <string.h>

/* Returns the C type in which a value is passed, for the ABI. */
static const char *get_c_type(const struct type *t)
{
	static const char *const name[] = {
		[CT_VOID] = "void",
		[CT_I8] = "int8_t",
		[CT_U8] = "uint8_t",
		[CT_I16] = "int16_t",
		[CT_U16] = "uint16_t",
		[CT_I32] = "int",
		[CT_U32] = "unsigned",
		[CT_I64] = "int64_t",
		[CT_U64] = "uint64_t",
		[CT_F32] = "float",
		[CT_F64] = "double",
		[CT_P] = "void *",
	};

	if (t->ctype == CT_STRUCT)
		return mem_print("struct words%u", t->words);
	if (t->ctype == CT_P && t->points_const)
		return "const void *";
	return t->handle ? "handle" : name[t->ctype];
}

/*
 * An argument shorter than 8 bytes occupies a whole register or stack slot (System V and AAPCS64). Rows with `wide` pass all of
 * it on, because another function of that name may have a longer argument there.
 */
static bool is_widened(const struct func *f, const struct type *t)
{
	return f->wide && t->ctype >= CT_I8 && t->ctype <= CT_U32 && !t->handle;
}

static const char *get_param_type(const struct func *f, const struct type *t)
{
	return is_widened(f, t) ? "uint64_t" : get_c_type(t);
}

/* Returns the member of union arg. */
static const char *get_union_member(const struct func *f, const struct type *t)
{
	if (is_widened(f, t))
		return "u";
	switch (t->ctype) {
	case CT_I8:
	case CT_I16:
	case CT_I32:
	case CT_I64:
		return "i";
	case CT_F32:
	case CT_F64:
		return "d";
	case CT_P:
		return t->points_const ? "cp" : "p";
	case CT_STRUCT:
		return "p";
	default:
		return "u";
	}
}

/* "const void *a0, int a1", without names, or "void". */
static void write_params(struct out *o, const struct func *f, bool names)
{
	if (!f->args.n)
		write_format(o, "void");
	for (unsigned i = 0; i < f->args.n; i++) {
		const char *type = get_param_type(f, &f->args.item[i].type);

		write_format(o, "%s%s", i ? ", " : "", type);
		if (names)
			write_format(o, "%sa%u", type[strlen(type) - 1] == '*' ? "" : " ", i);
	}
}

void emit_prototype(struct out *o, const struct func *f, bool names)
{
	const char *ret = get_c_type(&f->ret);

	write_format(o, "%s%s%s(", ret, ret[strlen(ret) - 1] == '*' ? "" : " ", f->symbol);
	write_params(o, f, names);
	write_format(o, ")");
}

static void write_packed_args(struct out *o, const struct func *f)
{
	write_format(o, "\tunion arg v[] = {");
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct type *t = &f->args.item[i].type;

		write_format(o, "%s{.%s = %sa%u}", i ? ", " : "", get_union_member(f, t),
			t->ctype == CT_STRUCT ? "&" : "", i);
	}
	write_format(o, "%s};\n", f->args.n ? "" : "{.u = 0}");
}

/* The call with the arguments in v[]. */
static void write_real_call(struct out *o, const struct func *f)
{
	write_format(o, "real(");
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct type *t = &f->args.item[i].type;

		write_format(o, "%s", i ? ", " : "");
		if (t->ctype == CT_STRUCT)
			write_format(o, "*(%s *)v[%u].p", get_c_type(t), i);
		else if (t->ctype == CT_P || t->ctype == CT_I64 || t->ctype == CT_U64 ||
			 t->ctype == CT_F64 || is_widened(f, t))
			write_format(o, "v[%u].%s", i, get_union_member(f, t));
		else
			write_format(o, "(%s)v[%u].%s", get_c_type(t), i, get_union_member(f, t));
	}
	write_format(o, ")");
}

static void write_return(struct out *o, const struct func *f)
{
	switch (f->ret.ctype) {
	case CT_VOID:
		write_format(o, "\t");
		write_real_call(o, f);
		write_format(o, ";\n\tcall_leave(&c, 0);\n");
		break;
	case CT_P:
		write_format(o, "\treturn (%s)call_leave(&c, (int64_t)", get_c_type(&f->ret));
		write_real_call(o, f);
		write_format(o, ");\n");
		break;
	case CT_F32:
	case CT_F64: /* a computed value, not an error code */
		write_format(o, "\n\t%s r = ", get_c_type(&f->ret));
		write_real_call(o, f);
		write_format(o, ";\n\n\tcall_leave(&c, %lld);\n\treturn r;\n",
			(long long)f->spec->success[0]);
		break;
	default:
		write_format(o, "\treturn (%s)call_leave(&c, %s", get_c_type(&f->ret),
			f->ret.ctype == CT_U64 ? "(int64_t)" : "");
		write_real_call(o, f);
		write_format(o, ");\n");
		break;
	}
}

static void emit_wrapper(struct out *o, const struct func *f, unsigned row)
{
	write_format(o, "\n");
	emit_prototype(o, f, true);
	write_format(o, "\n{\n\ttypedef %s fn(", get_c_type(&f->ret));
	write_params(o, f, false);
	write_format(o, ");\n\tstruct api *const f = &%s_rows[%u];\n\n\tif (WRAPPER_OFF(f))%s\n",
		f->spec->library, row, f->ret.ctype == CT_VOID ? " {" : "");
	write_format(o, "\t\t%s((fn *)WRAPPER_REAL(f))(", f->ret.ctype == CT_VOID ? "" : "return ");
	for (unsigned i = 0; i < f->args.n; i++)
		write_format(o, "%sa%u", i ? ", " : "", i);
	write_format(o, ");\n%s", f->ret.ctype == CT_VOID ? "\t\treturn;\n\t}\n" : "");
	write_packed_args(o, f);
	write_format(o, "\tWRAPPER_ENTER(f, v, %s);\n", get_c_type(&f->ret));
	write_return(o, f);
	write_format(o, "}\n");
}

/* The structures that the library's functions take by value, and prototypes of its wrappers. */
static void write_declarations(struct out *o, const struct spec *s, const struct funcs *f)
{
	bool seen[UINT16_MAX + 1] = {false};

	write_format(o, "\n");
	for (unsigned i = 0; i < f->n; i++) {
		const struct func *x = f->item[i];

		for (unsigned j = 0; x->spec == s && j < x->args.n; j++) {
			unsigned words = x->args.item[j].type.words;

			if (words && !seen[words])
				write_format(o, "struct words%u {\n\tuint64_t w[%u];\n};\n", words,
					words);
			seen[words] = true;
		}
	}
	for (unsigned i = 0; i < f->n; i++) {
		if (f->item[i]->spec != s)
			continue;
		write_format(o, "WRAPPER_EXPORT ");
		emit_prototype(o, f->item[i], false);
		write_format(o, ";\n");
	}
}

/* A switch, which compilers turn into code: a table of addresses would be relocated at every start. */
static void write_addresses(struct out *o, const struct spec *s, const struct funcs *f)
{
	unsigned row = 0;

	write_format(o, "\nvoid *%s_wrapper(unsigned row)\n{\n\tswitch (row) {\n", s->library);
	for (unsigned i = 0; i < f->n; i++)
		if (f->item[i]->spec == s)
			write_format(o, "\tcase %u:\n\t\treturn (void *)%s;\n", row++,
				f->item[i]->symbol);
	write_format(o, "\t}\n\treturn NULL;\n}\n");
}

unsigned get_row_count(const struct spec *s, const struct funcs *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += f->item[i]->spec == s;
	return n;
}

void emit_wrappers(const struct library *lib, const struct funcs *f)
{
	const struct spec *s = lib->spec;
	struct out *o = add_output(mem_print("wrap_%s.c", s->library));
	unsigned row = 0;

	write_file_header(o, s->base, "Shape: preload/call/wrapper.h.");
	write_format(o, "#include \"call/wrapper.h\"\n#include \"%s_gen.h\"\n", s->library);
	write_declarations(o, s, f);
	write_format(o, "\nstruct api %s_rows[%u];\n", s->library, get_row_count(s, f));
	emit_table_rows(o, lib);
	for (unsigned i = 0; i < f->n; i++)
		if (f->item[i]->spec == s)
			emit_wrapper(o, f->item[i], row++);
	write_addresses(o, s, f);
}
