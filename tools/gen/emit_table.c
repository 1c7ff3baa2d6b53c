/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_table.c: the data of every wrapper, sorted by symbol; its row is in the table of its library, wrap_<library>.c. Every
 * process of a job maps it and most never use it, so no table per wrapper contains a pointer: the loader would have to write
 * it, and the kernel to copy its page. api_fill() sets the pointers in the process that needs them.
 */
#include "gen.h"

#include <ctype.h>
#include <string.h>

#include "terms/dtype.h"

static const char *const ctype_name[] = {"CT_VOID", "CT_I8", "CT_U8", "CT_I16", "CT_U16", "CT_I32",
	"CT_U32", "CT_I64", "CT_U64", "CT_F32", "CT_F64", "CT_P", "CT_STRUCT"};

static const char *const task_c[] = {
	[TASK_DATA] = "TASK_DATA",
	[TASK_WAIT] = "TASK_WAIT",
	[TASK_TEST] = "TASK_TEST",
	[TASK_START] = "TASK_START",
	[TASK_REQUEST] = "TASK_REQUEST",
	[TASK_COMM_NEW] = "TASK_COMM_NEW",
	[TASK_COMM_END] = "TASK_COMM_END",
	[TASK_COMM_NAME] = "TASK_COMM_NAME",
	[TASK_WIN_NEW] = "TASK_WIN_NEW",
	[TASK_WIN_END] = "TASK_WIN_END",
	[TASK_PROBE] = "TASK_PROBE",
	[TASK_MATCH] = "TASK_MATCH",
	[TASK_INIT] = "TASK_INIT",
	[TASK_FINALIZE] = "TASK_FINALIZE",
	[TASK_ABORT] = "TASK_ABORT",
	[TASK_GROUP_START] = "TASK_GROUP_START",
	[TASK_GROUP_END] = "TASK_GROUP_END",
};

static const char *const sub_c[] = {
	[SUB_NONE] = "SUB_NONE",
	[SUB_ONE] = "SUB_ONE",
	[SUB_ALL] = "SUB_ALL",
	[SUB_ANY] = "SUB_ANY",
	[SUB_SOME] = "SUB_SOME",
	[SUB_FREE] = "SUB_FREE",
	[SUB_CANCEL] = "SUB_CANCEL",
	[SUB_LOOK] = "SUB_LOOK",
	[SUB_LOOK_ALL] = "SUB_LOOK_ALL",
	[SUB_LOOK_ANY] = "SUB_LOOK_ANY",
	[SUB_LOOK_SOME] = "SUB_LOOK_SOME",
	[SUB_END] = "SUB_END",
};

static const char *const form_c[] = {
	[EXT_NONE] = "EXT_NONE",
	[EXT_PRODUCT] = "EXT_PRODUCT",
	[EXT_SUM] = "EXT_SUM",
	[EXT_AT_RANK] = "EXT_AT_RANK",
	[EXT_SEGMENTS] = "EXT_SEGMENTS",
	[EXT_SEGMENT_AT_RANK] = "EXT_SEGMENT_AT_RANK",
	[EXT_TYPED_SEGMENTS] = "EXT_TYPED_SEGMENTS",
	[EXT_MATRIX] = "EXT_MATRIX",
	[EXT_VECTOR] = "EXT_VECTOR",
};

static const char *const where_c[] = {
	[ON_ALL] = "ON_ALL",
	[ON_ROOT] = "ON_ROOT",
	[ON_LEAF] = "ON_LEAF",
	[ON_NOT_FIRST] = "ON_NOT_FIRST",
	[ON_SENDER] = "ON_SENDER",
	[ON_ALPHA] = "ON_ALPHA",
	[ON_BETA] = "ON_BETA",
};

static const char *format_constant(const char *prefix, const char *name)
{
	char *s = mem_print("%s%s", prefix, name);

	for (char *c = s; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return s;
}

/* Returns the enumerator of a role or another term in api.h: ROLE_COUNT, TERM_SIZE. */
static const char *format_term_constant(unsigned w)
{
	if (w == ROLE_NONE)
		return "ROLE_NONE";
	return w < ROLE_NROLES ? format_constant("ROLE_", role_name[w])
			       : format_constant("TERM_", term_name[w]);
}

/* Maximum size of a kind's name, with its NUL. */
#define NAME_BYTES 48u

static const char *check_name_length(const char *name)
{
	if (strlen(name) >= NAME_BYTES)
		gen_die("%s: a name of %zu bytes; at most %u fit", name, strlen(name),
			NAME_BYTES - 1);
	return name;
}

static void write_terms(struct out *o, const char *field, const uint8_t *w, unsigned n)
{
	if (!n)
		return;
	write_format(o, ", .%s = {", field);
	for (unsigned i = 0; i < n; i++)
		write_format(o, "%s%s", i ? ", " : "", format_term_constant(w[i]));
	write_format(o, "}, .n%s = %u", field, n);
}

static void write_extents(
	struct out *o, const char *count, const char *field, const struct extent *list, unsigned n)
{
	if (!n)
		return;
	write_format(o, "\t\t.%s = %u, .%s = {\n", count, n, field);
	for (unsigned i = 0; i < n; i++) {
		const struct extent *e = &list[i];

		write_format(o, "\t\t\t{.form = %s, .where = %s, .buf = %s, .dtype = %s",
			form_c[e->form], where_c[e->where], format_term_constant(e->buf),
			format_term_constant(e->dtype));
		write_terms(o, "term", e->term, e->nterm);
		write_terms(o, "offset", e->offset, e->noffset);
		if (e->counts)
			write_format(o, ", .counts = %s", format_term_constant(e->counts));
		if (e->displs)
			write_format(o, ", .displs = %s", format_term_constant(e->displs));
		if (e->length)
			write_format(o, ", .length = %s", format_term_constant(e->length));
		if (e->step)
			write_format(o, ", .step = %s", format_term_constant(e->step));
		if (e->trans)
			write_format(o, ", .trans = %s", format_term_constant(e->trans));
		if (e->triangle)
			write_format(o, ", .triangle = true");
		write_format(o, "},\n");
	}
	write_format(o, "\t\t},\n");
}

static void write_kinds(struct out *o, const struct kinds *k)
{
	write_format(o, "static struct kind kinds[] = {\n");
	for (unsigned i = 0; i < k->n; i++) {
		const struct kind *x = &k->item[i];

		write_format(o, "\t{ /* %u, %s */\n\t\t.collective = %s, .rooted = %s,\n", i,
			x->name, x->collective ? "true" : "false", x->rooted ? "true" : "false");
		if (x->same)
			write_format(o, "\t\t.same = true,\n");
		if (x->local)
			write_format(o, "\t\t.local = true,\n");
		write_extents(o, "nin", "in", x->in, x->nin);
		write_extents(o, "nout", "out", x->out, x->nout);
		if (x->alt_buf) {
			write_format(o, "\t\t.alt_buf = %s, .alt_no_out = %s,\n",
				format_term_constant(x->alt_buf), x->alt_no_out ? "true" : "false");
			write_extents(o, "alt_nin", "alt_in", x->alt_in, x->alt_nin);
		}
		write_format(o, "\t},\n");
	}
	write_format(o,
		"};\n\nstatic const struct {\n\tchar name[%u], op[%u];\n} kind_names[] = {\n",
		NAME_BYTES, NAME_BYTES);
	for (unsigned i = 0; i < k->n; i++)
		write_format(o, "\t{\"%s\", \"%s\"},\n", check_name_length(k->item[i].name),
			check_name_length(k->item[i].op));
	write_format(o,
		"};\n\nconst struct kind *const kind_table = kinds;\nconst unsigned kind_count = "
		"%u;\n",
		k->n);
}

static const char *format_dtype_name(uint8_t dt)
{
	return format_constant("DT_", get_dtype_info(dt)->name);
}

static void write_buf_dtypes(struct out *o, const struct func *f)
{
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct param *p = &f->args.item[i];

		if (p->role >= ROLE_SEND && p->role <= ROLE_BUF && p->type.dtype)
			write_format(o, "\t\t.buf_dtype[%s] = %s,\n", format_term_constant(p->role),
				format_dtype_name(p->type.dtype));
	}
}

/* Writes a string of the array texts[]. *end: length of the array so far. Returns the offset. */
static size_t add_name_text(struct out *o, size_t *end, const char *text)
{
	size_t at = *end;

	write_format(o, "\n\t\"%s\\0\"", text);
	*end += strlen(text) + 1;
	return at;
}

/* Returns the number of the row of f->item[i] in the table of its library. */
static unsigned get_row_number(const struct funcs *f, unsigned i)
{
	unsigned row = 0;

	for (unsigned j = 0; j < i; j++)
		row += f->item[j]->spec == f->item[i]->spec;
	return row;
}

/* Writes the names of all functions as one array, and a table of their offsets in it. */
static void write_names(struct out *o, const struct funcs *f)
{
	size_t end = 1, *at = mem_new(3 * f->n * sizeof(*at));

	write_format(o, "\nstatic const char texts[] = \"\\0\"");
	for (unsigned i = 0; i < f->n; i++) {
		const struct func *x = f->item[i];

		at[3 * i] = add_name_text(o, &end, x->symbol);
		at[3 * i + 1] = strcmp(x->list, x->symbol) == 0 ? at[3 * i]
								: add_name_text(o, &end, x->list);
		at[3 * i + 2] = x->how ? add_name_text(o, &end, x->how) : 0;
	}
	write_format(o,
		";\n\n/* The pointers of a row of specs[]. symbol, list_name, how: offsets in "
		"texts[]. lib: index of libs[]. kind: index of kinds[] plus 1. row: "
		"index of libs[lib].rows. */\nstatic const struct {\n\tuint32_t symbol, list_name, "
		"how;\n"
		"\tuint16_t row;\n\tuint8_t lib, kind;\n} names[] = {\n");
	for (unsigned i = 0; i < f->n; i++)
		write_format(o, "\t{%zu, %zu, %zu, %u, LIB_%s, %u},\n", at[3 * i], at[3 * i + 1],
			at[3 * i + 2], get_row_number(f, i),
			format_constant("", f->item[i]->spec->library),
			f->item[i]->kind ? f->item[i]->kind_id + 1 : 0);
	write_format(o, "};\n");
}

static void write_spec(struct out *o, const struct func *f)
{
	write_format(o, "\t{ /* %s */\n\t\t", f->symbol);
	write_format(o, ".task = %s, .sub = %s, .completion = %s, .nargs = %u,\n", task_c[f->task],
		sub_c[f->sub], format_constant("DONE_", completion_name[f->completion]), f->args.n);
	write_buf_dtypes(o, f);
	if (f->args.n) {
		write_format(o, "\t\t.args = {\n");
		for (unsigned i = 0; i < f->args.n; i++) {
			const struct param *p = &f->args.item[i];
			bool array = p->role >= ROLE_SCOUNTS && p->role <= ROLE_RDISPLS;

			write_format(o, "\t\t\t{%s, %s, %u, %s, %u, %s},\n",
				format_term_constant(p->role), ctype_name[p->type.ctype],
				array && p->type.points_void ? f->spec->counts : p->type.elem_bytes,
				p->type.dtype ? format_dtype_name(p->type.dtype) : "0",
				p->type.words, p->type.points_pointer ? "true" : "false");
		}
		write_format(o, "\t\t},\n\t\t.at = {");
		for (unsigned i = 0; i < f->args.n; i++)
			if (f->args.item[i].role)
				write_format(o, "[%s] = %u, ",
					format_term_constant(f->args.item[i].role), i + 1);
		write_format(o, "},\n");
	}
	write_format(o, "\t},\n");
}

/* Several threads may fill in a row at once, because they write the same values. */
static const char functions[] = "struct api *api_get(unsigned i)\n"
				"{\n"
				"\treturn &libs[names[i].lib].rows[names[i].row];\n"
				"}\n"
				"\n"
				"void api_fill(void)\n"
				"{\n"
				"\tstatic _Atomic bool filled;\n"
				"\n"
				"\tif (atomic_load_explicit(&filled, memory_order_acquire))\n"
				"\t\treturn;\n"
				"\tfor (unsigned i = 0; i < kind_count; i++) {\n"
				"\t\tkinds[i].name = kind_names[i].name;\n"
				"\t\tkinds[i].op = kind_names[i].op;\n"
				"\t}\n"
				"\tfor (unsigned i = 0; i < api_count; i++) {\n"
				"\t\tstruct api_spec *s = &specs[i];\n"
				"\t\tstruct api *a = api_get(i);\n"
				"\n"
				"\t\tif (__atomic_load_n(&a->spec, __ATOMIC_ACQUIRE))\n"
				"\t\t\tcontinue;\n"
				"\t\ts->symbol = texts + names[i].symbol;\n"
				"\t\ts->list_name = texts + names[i].list_name;\n"
				"\t\ts->how = names[i].how ? texts + names[i].how : NULL;\n"
				"\t\ts->lib = libs[names[i].lib].adapter;\n"
				"\t\ts->kind = names[i].kind ? &kinds[names[i].kind - 1] : NULL;\n"
				"\t\t__atomic_store_n(&a->spec, s, __ATOMIC_RELEASE);\n"
				"\t}\n"
				"\tatomic_store_explicit(&filled, true, memory_order_release);\n"
				"}\n"
				"\n"
				"struct api *api_find(const char *symbol)\n"
				"{\n"
				"\tunsigned lo = 0, hi = api_count;\n"
				"\n"
				"\twhile (lo < hi) {\n"
				"\t\tunsigned mid = lo + (hi - lo) / 2;\n"
				"\t\tint c = strcmp(symbol, texts + names[mid].symbol);\n"
				"\n"
				"\t\tif (c == 0) {\n"
				"\t\t\tapi_fill();\n"
				"\t\t\treturn api_get(mid);\n"
				"\t\t}\n"
				"\t\tif (c < 0)\n"
				"\t\t\thi = mid;\n"
				"\t\telse\n"
				"\t\t\tlo = mid + 1;\n"
				"\t}\n"
				"\treturn NULL;\n"
				"}\n"
				"\n"
				"void *api_wrapper(const struct api *a)\n"
				"{\n"
				"\tfor (unsigned i = 0; i < sizeof(libs) / sizeof(libs[0]); i++)\n"
				"\t\tif (a >= libs[i].rows && a < libs[i].rows + libs[i].count)\n"
				"\t\t\treturn libs[i].wrapper((unsigned)(a - libs[i].rows));\n"
				"\treturn NULL;\n"
				"}\n";

/* The libraries, with the number of rows of each. */
static void write_libraries(
	struct out *o, const struct library *libs, unsigned nlib, const struct funcs *f)
{
	write_format(o, "\nenum {");
	for (unsigned i = 0; i < nlib; i++)
		write_format(o, " %s,", format_constant("LIB_", libs[i].spec->library));
	write_format(o, " };\n\nstatic const struct {\n\tconst struct adapter *adapter;\n"
			"\tstruct api *rows;\n\tunsigned count;\n"
			"\tvoid *(*wrapper)(unsigned row);\n} libs[] = {\n");
	for (unsigned i = 0; i < nlib; i++) {
		const char *name = libs[i].spec->library;

		write_format(o, "\t{&adapter_%s, %s_rows, %u, %s_wrapper},\n", name, name,
			get_row_count(libs[i].spec, f), name);
	}
	write_format(o, "};\n");
}

void emit_api_table(
	const struct library *libs, unsigned nlib, const struct kinds *k, const struct funcs *f)
{
	struct out *o = add_output("api_table.c");

	write_file_header(o, "configs/apis", "Sorted by symbol.");
	write_format(o, "#include <string.h>\n\n");
	for (unsigned i = 0; i < nlib; i++)
		write_format(o, "#include \"%s_gen.h\"\n", libs[i].spec->library);
	write_format(o, "\n");
	write_kinds(o, k);
	write_libraries(o, libs, nlib, f);
	write_names(o, f);
	write_format(o, "\nstatic struct api_spec specs[] = {\n");
	for (unsigned i = 0; i < f->n; i++)
		write_spec(o, f->item[i]);
	write_format(o, "};\n\nconst unsigned api_count = %u;\n\n%s", f->n, functions);
}
