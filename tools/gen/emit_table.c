/* SPDX-License-Identifier: Apache-2.0 */
/* api_table.c: what libprobe knows of every wrapper, sorted by symbol. */
#include "gen.h"

#include <ctype.h>

#include "base/dtype.h"

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
};

static const char *const form_c[] = {
	[EXT_NONE] = "EXT_NONE",
	[EXT_PRODUCT] = "EXT_PRODUCT",
	[EXT_SUM] = "EXT_SUM",
	[EXT_AT_RANK] = "EXT_AT_RANK",
	[EXT_SEGMENTS] = "EXT_SEGMENTS",
	[EXT_SEGMENT_AT_RANK] = "EXT_SEGMENT_AT_RANK",
	[EXT_TYPED_SEGMENTS] = "EXT_TYPED_SEGMENTS",
};

static const char *const where_c[] = {
	[ON_ALL] = "ON_ALL",
	[ON_ROOT] = "ON_ROOT",
	[ON_LEAF] = "ON_LEAF",
	[ON_NOT_FIRST] = "ON_NOT_FIRST",
	[ON_SENDER] = "ON_SENDER",
};

static const char *upper(const char *prefix, const char *name)
{
	char *s = mem_print("%s%s", prefix, name);

	for (char *c = s; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return s;
}

/* A role or a term as api.h writes it. */
static const char *word_c(unsigned w)
{
	if (w == ROLE_NONE)
		return "ROLE_NONE";
	return w < ROLE_NROLES ? upper("ROLE_", role_name[w]) : upper("TERM_", term_name[w]);
}

static void put_words(struct out *o, const char *field, const uint8_t *w, unsigned n)
{
	if (!n)
		return;
	put(o, ", .%s = {", field);
	for (unsigned i = 0; i < n; i++)
		put(o, "%s%s", i ? ", " : "", word_c(w[i]));
	put(o, "}, .n%s = %u", field, n);
}

static void put_extents(
	struct out *o, const char *count, const char *field, const struct extent *list, unsigned n)
{
	if (!n)
		return;
	put(o, "\t\t.%s = %u, .%s = {\n", count, n, field);
	for (unsigned i = 0; i < n; i++) {
		const struct extent *e = &list[i];

		put(o, "\t\t\t{.form = %s, .where = %s, .buf = %s, .dtype = %s", form_c[e->form],
			where_c[e->where], word_c(e->buf), word_c(e->dtype));
		put_words(o, "term", e->term, e->nterm);
		put_words(o, "offset", e->offset, e->noffset);
		if (e->counts)
			put(o, ", .counts = %s", word_c(e->counts));
		if (e->displs)
			put(o, ", .displs = %s", word_c(e->displs));
		if (e->length)
			put(o, ", .length = %s", word_c(e->length));
		put(o, "},\n");
	}
	put(o, "\t\t},\n");
}

static void put_kinds(struct out *o, const struct kinds *k)
{
	put(o, "static const struct kind kinds[] = {\n");
	for (unsigned i = 0; i < k->n; i++) {
		const struct kind *x = &k->item[i];

		put(o,
			"\t{ /* %u */\n\t\t.name = \"%s\", .op = \"%s\", .collective = %s, .rooted "
			"= %s,\n",
			i, x->name, x->op, x->collective ? "true" : "false",
			x->rooted ? "true" : "false");
		put_extents(o, "nin", "in", x->in, x->nin);
		put_extents(o, "nout", "out", x->out, x->nout);
		if (x->alt_buf) {
			put(o, "\t\t.alt_buf = %s, .alt_no_out = %s,\n", word_c(x->alt_buf),
				x->alt_no_out ? "true" : "false");
			put_extents(o, "alt_nin", "alt_in", x->alt_in, x->alt_nin);
		}
		put(o, "\t},\n");
	}
	put(o,
		"};\n\nconst struct kind *const kind_table = kinds;\nconst unsigned kind_count = "
		"%u;\n",
		k->n);
}

static void put_buf_dtypes(struct out *o, const struct func *f)
{
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct param *p = &f->args.item[i];

		if (p->role >= ROLE_SEND && p->role <= ROLE_BUF && p->type.dtype)
			put(o, "\t\t.buf_dtype[%s] = %s,\n", word_c(p->role),
				upper("DT_", dtype_info(p->type.dtype)->name));
	}
}

static void put_spec(struct out *o, const struct func *f)
{
	put(o, "\t{\n\t\t.symbol = \"%s\", .list_name = \"%s\", .lib = &lib_%s,\n\t\t", f->symbol,
		f->list, f->spec->library);
	if (f->kind)
		put(o, ".kind = &kinds[%u], ", f->kind_id);
	put(o, ".task = %s, .sub = %s, .completion = %s, .nargs = %u,\n", task_c[f->task],
		sub_c[f->sub], upper("DONE_", completion_name[f->completion]), f->args.n);
	if (f->how)
		put(o, "\t\t.how = \"%s\",\n", f->how);
	put_buf_dtypes(o, f);
	if (f->args.n) {
		put(o, "\t\t.args = {\n");
		for (unsigned i = 0; i < f->args.n; i++) {
			const struct param *p = &f->args.item[i];
			bool array = p->role >= ROLE_SCOUNTS && p->role <= ROLE_RDISPLS;

			put(o, "\t\t\t{%s, %s, %u, %u},\n", word_c(p->role),
				ctype_name[p->type.ctype],
				array && p->type.points_void ? f->spec->counts : p->type.elem,
				p->type.words);
		}
		put(o, "\t\t},\n\t\t.at = {");
		for (unsigned i = 0; i < f->args.n; i++)
			if (f->args.item[i].role)
				put(o, "[%s] = %u, ", word_c(f->args.item[i].role), i + 1);
		put(o, "},\n");
	}
	put(o, "\t},\n");
}

static const char functions[] = "struct api *api_find(const char *symbol)\n"
				"{\n"
				"\tunsigned lo = 0, hi = api_count;\n"
				"\n"
				"\twhile (lo < hi) {\n"
				"\t\tunsigned mid = lo + (hi - lo) / 2;\n"
				"\t\tint c = strcmp(symbol, specs[mid].symbol);\n"
				"\n"
				"\t\tif (c == 0)\n"
				"\t\t\treturn &api_table[mid];\n"
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
				"\tif (a < api_table || a >= api_table + api_count)\n"
				"\t\treturn NULL;\n"
				"\treturn wrappers[a - api_table];\n"
				"}\n";

void emit_api_table(
	const struct library *libs, unsigned nlib, const struct kinds *k, const struct funcs *f)
{
	struct out *o = out_new("api_table.c");

	put_head(o, "configs/apis", "Sorted by symbol.");
	put(o, "#include <string.h>\n\n#include \"wrappers.h\"\n\n");
	for (unsigned i = 0; i < nlib; i++)
		put(o, "extern const struct lib lib_%s;\n", libs[i].spec->library);
	put(o, "\n");
	put_kinds(o, k);
	put(o, "\nstatic const struct api_spec specs[] = {\n");
	for (unsigned i = 0; i < f->n; i++)
		put_spec(o, f->item[i]);
	put(o, "};\n\nstruct api api_table[] = {\n");
	for (unsigned i = 0; i < f->n; i++)
		put(o, "\t{.spec = &specs[%u]},\n", i);
	put(o, "};\n\nstatic void *const wrappers[] = {\n");
	for (unsigned i = 0; i < f->n; i++)
		put(o, "\t(void *)%s,\n", f->item[i]->symbol);
	put(o, "};\n\nconst unsigned api_count = %u;\n\n%s", f->n, functions);
}
