/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.yaml: the operations and their buffers. */
#include "gen.h"

#include <string.h>

static const char *const file_keys[] = {"notation", "kinds", NULL};
static const char *const kind_keys[] = {
	"op", "in", "out", "alt", "rooted", "collective", "local", "same", NULL};
static const char *const alt_keys[] = {"buf", "in", "out", NULL};
static const char *const where_name[] = {
	[ON_ALL] = "",
	[ON_ROOT] = "root",
	[ON_LEAF] = "leaf",
	[ON_NOT_FIRST] = "!first",
	[ON_SENDER] = "sender",
	[ON_ALPHA] = "alpha",
	[ON_BETA] = "beta",
};

/* The `op` column. */
static const char *const op_names[] = {"all_reduce", "reduce", "broadcast", "all_gather",
	"all_gather_v", "gather", "gather_v", "scatter", "scatter_v", "reduce_scatter",
	"reduce_scatter_v", "all_to_all", "all_to_all_v", "scan", "exscan", "barrier", "send",
	"recv", "send_recv", "neighbor_all_gather", "neighbor_all_gather_v", "neighbor_all_to_all",
	"neighbor_all_to_all_v", "put", "get", "accumulate", "get_accumulate", "fetch_and_op",
	"compare_and_swap", "win_fence", "win_lock", "win_unlock", "win_flush", "win_post",
	"win_start", "win_complete", "win_wait", "signal", "wait_signal", "file_read", "file_write",
	"file_sync", "file_set", "gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm",
	"trsm", "gemv", "ger", "dot", "axpy", "nrm2", "asum", "scal", "copy", "swap", "transform",
	"syrkx", "herkx", "geam", "dgmm", "getrf", "getri", "matinv", "getrs", "geqrf", "gels",
	"tpttr", "trttp", "symv", "hemv", "gbmv", "sbmv", "hbmv", "spmv", "hpmv", "syr", "her",
	"syr2", "her2", "spr", "hpr", "spr2", "hpr2", "trmv", "trsv", "tbmv", "tbsv", "tpmv",
	"tpsv", "iamax", "iamin", "rot", "rotm", "rotg", "rotmg", "agree", "revoke", NULL};

/* An extent being read; p is the next character of node->text. */
struct cursor {
	const struct node *node;
	const char *p;
	bool bad;
};

static void report_expected(struct cursor *c, const char *expected)
{
	if (!c->bad)
		fail(node_column(c->node, (size_t)(c->p - c->node->text)), "'%s': expected %s",
			c->node->text, expected);
	c->bad = true;
}

static bool read_symbol(struct cursor *c, const char *s)
{
	size_t n = strlen(s);

	while (*c->p == ' ')
		c->p++;
	if (c->bad || strncmp(c->p, s, n) != 0)
		return false;
	c->p += n;
	return true;
}

static void read_expected_symbol(struct cursor *c, const char *s)
{
	if (!read_symbol(c, s))
		report_expected(c, s);
}

static size_t measure_letters(struct cursor *c)
{
	while (*c->p == ' ')
		c->p++;
	return strspn(c->p, "abcdefghijklmnopqrstuvwxyz");
}

static uint8_t read_role(struct cursor *c, uint8_t first, uint8_t last, const char *expected)
{
	size_t n = measure_letters(c);
	int r = name_find(role_name, ROLE_NROLES, c->p, n);

	if (r < first || r > last) {
		report_expected(c, expected);
		return ROLE_NONE;
	}
	c->p += n;
	return (uint8_t)r;
}

static uint8_t read_counts_role(struct cursor *c)
{
	size_t n = measure_letters(c);
	int r = name_find(role_name, ROLE_NROLES, c->p, n);

	if (r != ROLE_SCOUNTS && r != ROLE_RCOUNTS) {
		report_expected(c, "scounts or rcounts");
		return ROLE_NONE;
	}
	c->p += n;
	return (uint8_t)r;
}

/* Reads one factor: a count role or a term. */
static uint8_t read_factor(struct cursor *c)
{
	size_t n = measure_letters(c);
	int r = name_find(role_name, ROLE_NROLES, c->p, n);
	int t = name_find(term_name, TERM_NTERMS, c->p, n);

	if (t < 0 && r != ROLE_COUNT && r != ROLE_SCOUNT && r != ROLE_RCOUNT && r != ROLE_NITEMS) {
		report_expected(c,
			"count, scount, rcount, nitems, size, lsize, rank, indegree or outdegree");
		return ROLE_NONE;
	}
	c->p += n;
	return (uint8_t)(t >= 0 ? t : r);
}

static uint8_t read_product(struct cursor *c, uint8_t *terms, unsigned max)
{
	uint8_t n = 0;

	do {
		if (n == max) {
			report_expected(c, max == 2 ? "at most 2 factors" : "at most 3 factors");
			return n;
		}
		terms[n++] = read_factor(c);
	} while (read_symbol(c, "*"));
	return n;
}

/* Parses the part between [ and ]. */
static void read_contiguous(struct cursor *c, struct extent *e)
{
	size_t n;

	if (read_symbol(c, "sum(")) {
		e->form = EXT_SUM;
		e->counts = read_counts_role(c);
		e->length = TERM_LSIZE;
		read_expected_symbol(c, ")");
	} else if ((n = measure_letters(c)) > 0 && c->p[n] == '[') {
		e->form = EXT_AT_RANK;
		e->counts = read_counts_role(c);
		read_expected_symbol(c, "[rank]");
	} else {
		e->form = EXT_PRODUCT;
		if (!read_symbol(c, "1"))
			e->nterm = read_product(c, e->term, 3);
	}
	read_expected_symbol(c, "]");
	if (e->form == EXT_PRODUCT && read_symbol(c, "+"))
		e->noffset = read_product(c, e->offset, 2);
}

/* Parses the part after {. */
static void read_segments(struct cursor *c, struct extent *e)
{
	e->form = EXT_SEGMENTS;
	e->length = TERM_SIZE;
	e->counts = read_counts_role(c);
	read_expected_symbol(c, ",");
	e->displs = read_role(c, ROLE_SDISPLS, ROLE_RDISPLS, "sdispls or rdispls");
	if (e->displs == ROLE_RCOUNTS)
		report_expected(c, "sdispls or rdispls");
	if (read_symbol(c, ":bytes")) {
		e->form = EXT_TYPED_SEGMENTS;
		read_expected_symbol(c, ",");
		e->dtype = read_role(c, ROLE_SDTYPES, ROLE_RDTYPES, "sdtypes or rdtypes");
	}
	read_expected_symbol(c, "}");
	if (e->form == EXT_SEGMENTS && read_symbol(c, "[rank]"))
		e->form = EXT_SEGMENT_AT_RANK;
}

/* Reads a dimension: m, n, k or side. */
static uint8_t read_dimension(struct cursor *c)
{
	size_t n = measure_letters(c);

	if (n == 4 && memcmp(c->p, "side", 4) == 0) {
		c->p += n;
		return TERM_SIDE;
	}
	return read_role(c, ROLE_M, ROLE_K, "m, n, k or side");
}

/* Parses the part after (: rows*columns:ld, or elements:inc, or elements|elements:inc if it depends on the transposition. */
static void read_matrix(struct cursor *c, struct extent *e)
{
	e->form = EXT_VECTOR;
	e->term[e->nterm++] = read_dimension(c);
	if (read_symbol(c, "*"))
		e->form = EXT_MATRIX;
	if (e->form == EXT_MATRIX || read_symbol(c, "|"))
		e->term[e->nterm++] = read_dimension(c);
	read_expected_symbol(c, ":");
	e->step = e->form == EXT_MATRIX ? read_role(c, ROLE_LDA, ROLE_LDC, "lda, ldb or ldc")
					: read_role(c, ROLE_INCX, ROLE_INCY, "incx or incy");
	read_expected_symbol(c, ")");
	if (read_symbol(c, "^"))
		e->trans = read_role(c, ROLE_TRANSA, ROLE_TRANSB, "transa or transb");
	else if (e->form == EXT_VECTOR && e->nterm > 1)
		report_expected(c, "^transa or ^transb, on which its length depends");
	if (read_symbol(c, "triangle"))
		e->triangle = true;
}

static uint8_t read_where(struct cursor *c)
{
	size_t n;
	int w;

	while (*c->p == ' ')
		c->p++;
	n = strspn(c->p, "!abcdefghijklmnopqrstuvwxyz");
	w = name_find(where_name, sizeof(where_name) / sizeof(where_name[0]), c->p, n);
	if (w < 0) {
		report_expected(c, "root, leaf, !first, sender, alpha or beta");
		return ON_ALL;
	}
	c->p += n;
	return (uint8_t)w;
}

static void extent_read(const struct node *n, struct extent *e)
{
	struct cursor c = {n, node_text(&gen, n, ""), false};

	e->buf = read_role(&c, ROLE_SEND, ROLE_BUF, "send, recv or buf");
	e->dtype = e->buf == ROLE_SEND	 ? ROLE_SDTYPE
		   : e->buf == ROLE_RECV ? ROLE_RDTYPE
					 : ROLE_DTYPE;
	if (read_symbol(&c, "["))
		read_contiguous(&c, e);
	else if (read_symbol(&c, "{"))
		read_segments(&c, e);
	else if (read_symbol(&c, "("))
		read_matrix(&c, e);
	else
		report_expected(&c, "[, { or (");
	if (read_symbol(&c, "#")) {
		size_t len = measure_letters(&c);
		int t = name_find(term_name, TERM_NTERMS, c.p, len);

		if (t < 0 || t == TERM_RANK || !e->length)
			report_expected(
				&c, "an array of size, lsize, indegree or outdegree elements");
		else
			e->length = (uint8_t)t;
		c.p += len;
	}
	if (read_symbol(&c, "@"))
		e->where = read_where(&c);
	if (!c.bad && *c.p)
		report_expected(&c, "the end");
}

static uint8_t extents_read(
	const struct node *list, struct extent *e, unsigned max, const char *key)
{
	if (!list || !node_is(&gen, list, NODE_LIST, key))
		return 0;
	if (list->n > max) {
		fail(list->at, "%s has %u buffers; at most %u", key, list->n, max);
		return 0;
	}
	for (unsigned i = 0; i < list->n; i++)
		extent_read(list->item[i], &e[i]);
	return (uint8_t)list->n;
}

static void alt_read(const struct node *alt, struct kind *k)
{
	const struct node *buf = node_get(alt, "buf"), *none = node_get(alt, "out");
	int r;

	if (!node_is(&gen, alt, NODE_MAP, "alt"))
		return;
	node_known(&gen, alt, alt_keys, "alt");
	r = buf ? name_find(role_name, ROLE_NROLES, node_text(&gen, buf, ""),
			  strlen(node_text(&gen, buf, "")))
		: -1;
	if (r < ROLE_SEND || r > ROLE_BUF)
		fail(buf ? buf->at : alt->at, "alt needs buf: send, recv or buf");
	else
		k->alt_buf = (uint8_t)r;
	if (none && strcmp(node_text(&gen, none, ""), "none") != 0)
		fail(none->at, "out of alt can only be 'none'");
	k->alt_no_out = none != NULL;
	if (node_get(alt, "in")) {
		k->alt_nin = extents_read(node_get(alt, "in"), k->alt_in, 1, "in");
	} else if (k->alt_no_out) {
		/* The sentinel replaces the output: the input is as usual. */
		k->alt_nin = k->nin;
		memcpy(k->alt_in, k->in, sizeof(k->alt_in));
		if (k->nin > 1)
			fail(alt->at, "alt needs 'in' where the kind has more than one input");
	}
}

static void rooted_check(const struct kind *k, struct pos place)
{
	const struct extent *all[] = {&k->in[0], &k->in[1], &k->out[0], &k->out[1], &k->alt_in[0]};
	bool marked = false;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		marked |= all[i]->where == ON_ROOT || all[i]->where == ON_LEAF;
	if (marked != k->rooted)
		fail(place, "kind '%s' %s", k->name,
			marked ? "has buffers @root or @leaf and so needs rooted: true"
			       : "is rooted and has no buffer @root or @leaf");
}

void kinds_read(struct kinds *k, const char *path)
{
	const struct node *top = yaml_read(path), *map = node_get(top, "kinds");
	struct kind *item = NULL;

	if (!top)
		return;
	node_known(&gen, top, file_keys, "kinds.yaml");
	if (!map || !node_is(&gen, map, NODE_MAP, "kinds")) {
		fail(map ? map->at : top->at, "the file needs a map 'kinds'");
		return;
	}
	for (unsigned i = 0; i < map->n; i++) {
		const struct node *n = map->item[i], *op = node_get(n, "op");
		struct kind *to;

		if (!node_is(&gen, n, NODE_MAP, "a kind"))
			continue;
		node_known(&gen, n, kind_keys, mem_print("kind '%s'", map->key[i]->text));
		item = mem_grow(item, k->n, sizeof(*item));
		k->item = item;
		to = &item[k->n++];
		to->name = map->key[i]->text;
		to->op = op ? node_text(&gen, op, "") : "";
		if (name_find(op_names, 0, to->op, strlen(to->op)) < 0)
			fail(op ? op->at : n->at, "kind '%s' needs an op, one of %s", to->name,
				name_list(&gen, op_names, 0));
		to->collective = node_bool(&gen, node_get(n, "collective"), !node_get(n, "local"));
		to->local = node_bool(&gen, node_get(n, "local"), false);
		to->rooted = node_bool(&gen, node_get(n, "rooted"), false);
		to->same = node_bool(&gen, node_get(n, "same"), false);
		to->nin = extents_read(
			node_get(n, "in"), to->in, to->local ? KIND_INPUTS : KIND_VIEWS, "in");
		to->nout = extents_read(node_get(n, "out"), to->out, KIND_VIEWS, "out");
		if (node_get(n, "alt"))
			alt_read(node_get(n, "alt"), to);
		if (to->nin + to->nout > 2 * KIND_VIEWS)
			fail(n->at, "kind '%s' has more than %d buffers", to->name, 2 * KIND_VIEWS);
		rooted_check(to, map->key[i]->at);
	}
}
