/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A damaged journal: patches to a real one, or any bytes as the whole file. Looking at it and recovering it must neither
 * crash nor hang, and what comes out is CSV with whole rows and a meta.json that is JSON.
 *
 *	clang -std=gnu11 -D_GNU_SOURCE -DPROBE_VERSION='"0"' -g -O1 -fsanitize=fuzzer,address,undefined -Ipreload \
 *		-Itests/unit tests/fuzz/fuzz_journal.c preload/{base,journal,sink}/[a-z]*.c preload/journal/step_name.c \
 *		preload/stats/fenv.c preload/stack/{symbols,elf_symbols,modules,objects}.c ... -lyaml -o fuzz_journal
 *	./fuzz_journal -max_len=400 -timeout=20
 *
 * Input: 0, then patches of 5 bytes and more each: region, three bytes of offset, length, bytes. Or not 0, then the file.
 */
#include <yaml.h>

#include "core_helper.h"

#include "journal/columns.h"
#include "journal/inspect.h"
#include "folder/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static struct rank base;
static unsigned char *image; /* of the journal */
static char *calls_text;
static size_t image_bytes, calls_bytes;

static void stack_entry(struct chain *c, uint32_t id)
{
	uint32_t bytes = (uint32_t)sizeof(struct journal_stack) + 16 + 8;
	struct journal_stack *e = chain_reserve(c, bytes, NO_WAKE);

	memset(e, 0, bytes);
	*e = (struct journal_stack){.e = {.bytes = bytes, .type = JE_STACK, .n = 2},
		.id = id,
		.api = 1,
		.text_bytes = 4};
	((uint64_t *)(e + 1))[0] = 0x1010;
	memcpy((char *)(e + 1) + 16, "a.py", 4);
	chain_publish(c, bytes);
}

static void comm_entry(struct chain *c)
{
	static const char text[] = "mpi\0dup\0name, \"x\"\0"
				   "0-3";
	uint32_t bytes = (uint32_t)(sizeof(struct journal_comm) + sizeof(text) + 7) & ~7u;
	struct journal_comm *e = chain_reserve(c, bytes, NO_WAKE);

	memset(e, 0, bytes);
	*e = (struct journal_comm){.e = {.bytes = bytes, .type = JE_COMM}, .id = 7, .size = 4};
	memcpy(e + 1, text, sizeof(text));
	chain_publish(c, bytes);
}

static void scalar_entry(struct chain *c, uint32_t step)
{
	struct journal_scalar *e = chain_reserve(c, sizeof(*e), NO_WAKE);

	*e = (struct journal_scalar){.e = {.bytes = sizeof(*e), .type = JE_SCALAR},
		.step = step,
		.which = 1,
		.value = 0.1};
	chain_publish(c, sizeof(*e));
}

/* Some of everything, half of it committed, and the process then gone. */
static void make_base(void)
{
	struct chain c[3];
	uint64_t seq = 1;
	char path[128];

	rank_make(&base, 4 << 20);
	/* Pieces of all parts, in another order than in memory. */
	CHECK(journal_grow(&base.j, JP_DICT) == 0 && journal_grow(&base.j, JP_CHUNKS) == 0);
	CHECK(journal_grow(&base.j, JP_PENDING) == 0 && journal_grow(&base.j, JP_CHUNKS) == 0);
	strcpy(base.j.head->journal_path, "/nowhere/journal.bin");
	dict_api(&base.j, 1, "MPI_X");
	journal_dict_add(&base.j, DICT_META, 900, "layer\0\"0\"", 10);
	journal_dict_add(&base.j, DICT_META, META_CONFIG, "config\0{\"a\": [1, \"b\"]}", 23);
	journal_dict_add(&base.j, DICT_MODULE, 0, "1000 2000 0 -\0/nonexistent", 27);
	rank_sink(&base);
	for (int i = 0; i < 3; i++)
		chain_open(&c[i], &base.j, i);
	for (int half = 0; half < 2; half++) {
		for (int i = 0; i < 3; i++) {
			comm_entry(&c[i]);
			stack_entry(&c[i], (uint32_t)seq);
			scalar_entry(&c[i], (uint32_t)half * 150);
			leave_call(enter_call(&c[i], seq, (uint32_t)half * 150, 1, 1), 1);
			enter_call(&c[i], seq + 1, 0, 0, 0);
			leave_call((struct journal_call *)(c[i].chunk->data + c[i].used -
							   sizeof(struct journal_call)),
				0);
			leave_async(enter_call(&c[i], seq + 2, 1, 2, 0));
			leave_async(enter_call(&c[i], seq + 3, 1, 2, 0));
			if (half)
				enter_call(&c[i], seq + 4, 2, 1, 1);
			end_test_call(&c[(i + 1) % 3], seq + 2, 2);
			seq += 5;
		}
		if (!half)
			CHECK(drain_all(&base.drain, false) == 0);
	}
	chain_close(&c[2]);
	rank_unsink(&base);
	snprintf(path, sizeof(path), "%s/journal.bin", base.dir);
	image = (unsigned char *)read_test_file(path, &image_bytes);
	CHECK(image_bytes == journal_get_size(&base.j));
	snprintf(path, sizeof(path), "%s/calls_0-99.csv", base.dir);
	calls_text = read_test_file(path, &calls_bytes);
	CHECK(calls_bytes > 100);
}

/* Returns where a byte of the memory lies in the file. */
static uint64_t file_offset(const struct journal_head *h, uint64_t memory)
{
	uint64_t from = 0;

	for (uint32_t i = 0; i < h->npiece; i++) {
		const struct journal_piece *p = &h->piece[i];

		if (memory >= p->offset && memory - p->offset < p->bytes)
			return from + memory - p->offset;
		from += p->bytes;
	}
	CHECK(false);
	return 0;
}

/* Damages the beginnings of the parts: only there can damage matter. */
static void patch(unsigned char *j, const uint8_t **data, const uint8_t *end)
{
	const struct journal_head *h = base.j.head;
	const uint64_t region[][2] = {
		{0, sizeof(*h)},
		{offsetof(struct journal_head, npiece), 8 + 10 * sizeof(struct journal_piece)},
		{offsetof(struct journal_head, space), sizeof(h->space)},
		{h->thread_off, 4 * sizeof(struct journal_thread)},
		{h->commit_off,
			offsetof(struct journal_commit, pos) + 4 * sizeof(struct journal_pos)},
		{h->commit_off + journal_get_commit_bytes(h->nslot),
			offsetof(struct journal_commit, pos) + 4 * sizeof(struct journal_pos)},
		{h->dict_off, 512},
		{h->pending_off, 4096},
		{h->chunk_off, 4096},
		{h->chunk_off + h->chunk_bytes, 4096},
		{h->chunk_off + 2 * h->chunk_bytes, 4096},
	};
	const uint8_t *d = *data;
	const uint64_t *r = region[d[0] % (sizeof(region) / sizeof(*region))];
	uint64_t at = r[0] + (d[1] | d[2] << 8 | d[3] << 16) % r[1];
	size_t n = d[4] % 17;

	d += 5;
	if (n > (size_t)(end - d))
		n = (size_t)(end - d);
	memcpy(j + file_offset(h, at), d, n);
	*data = d + n;
}

/* RFC 4180: every record has that many fields, and the last one is whole. */
static void check_csv(const char *dir, const char *name, unsigned columns)
{
	char path[512];
	size_t n;
	unsigned fields = 1;
	bool quoted = false;

	snprintf(path, sizeof(path), "%s/%s", dir, name);

	char *text = read_test_file(path, &n);

	CHECK(n && text[n - 1] == '\n');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			quoted = !quoted;
		fields += !quoted && text[i] == ',';
		if (!quoted && text[i] == '\n') {
			CHECK(fields == columns);
			fields = 1;
		}
	}
	CHECK(!quoted);
	free(text);
}

/* YAML's parser reads JSON; it is not ours. */
static void check_json(const char *dir)
{
	char path[512];
	size_t n;
	yaml_parser_t p;
	yaml_document_t d;

	snprintf(path, sizeof(path), "%s/meta.json", dir);

	char *text = read_test_file(path, &n);

	CHECK(n && text[0] == '{');
	yaml_parser_initialize(&p);
	yaml_parser_set_input_string(&p, (unsigned char *)text, n);
	CHECK(yaml_parser_load(&p, &d));
	CHECK(yaml_document_get_root_node(&d)->type == YAML_MAPPING_NODE);
	yaml_document_delete(&d);
	yaml_parser_delete(&p);
	free(text);
}

static void check_fuzzed_folder(const char *dir)
{
	DIR *d = opendir(dir);

	CHECK(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (strncmp(e->d_name, "calls_", 6) == 0)
			check_csv(dir, e->d_name, COLUMNS);
		else if (strcmp(e->d_name, "comms.csv") == 0)
			check_csv(dir, e->d_name, 8);
		else if (strncmp(e->d_name, "scalars_", 8) == 0)
			check_csv(dir, e->d_name, 4);
		else if (strcmp(e->d_name, "stack_info.csv") == 0)
			check_csv(dir, e->d_name, 5);
	}
	closedir(d);
	check_json(dir);
}

static void see(void *arg, const struct inspect_call *c)
{
	*(size_t *)arg += strlen(c->lib) + strlen(c->api) + strlen(c->op) + (size_t)c->seq;
}

static void put_file(int dirfd, const char *name, const void *bytes, size_t n)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}

static void look_and_recover(struct rank *r)
{
	size_t sum = 0;

	if (journal_open(&r->j, r->dirfd, "journal.bin", true) == 0) {
		inspect_open(&r->j, see, &sum);
		journal_close(&r->j);
	}
	if (journal_open(&r->j, r->dirfd, "journal.bin", false))
		return;
	CHECK(sink_open(&r->sink, &r->j, r->dirfd, NULL, FORMAT_BIT(CSV)) == 0);
	CHECK(files_reset_to_commit(&r->sink.files) == 0);
	CHECK(drain_open(&r->drain, &r->j, &r->sink) == 0);
	CHECK(drain_all(&r->drain, false) == 0);
	CHECK(drain_all(&r->drain, true) == 0);
	CHECK(sink_write_meta(&r->sink) == 0);
	rank_unsink(r);
	journal_close(&r->j);
	check_fuzzed_folder(r->dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	struct rank r = {.dirfd = -1};

	if (!image)
		make_base();
	if (!size)
		return 0;
	make_tmp(r.dir, sizeof(r.dir));
	r.dirfd = open(r.dir, O_RDONLY | O_DIRECTORY);
	put_file(r.dirfd, "calls_0-99.csv", calls_text, calls_bytes);
	if (*data++) {
		put_file(r.dirfd, "journal.bin", data, (size_t)(end - data));
	} else {
		unsigned char *j = malloc(image_bytes);

		memcpy(j, image, image_bytes);
		while (end - data >= 6)
			patch(j, &data, end);
		put_file(r.dirfd, "journal.bin", j, image_bytes);
		free(j);
	}
	look_and_recover(&r);
	close(r.dirfd);
	remove_tree(r.dir);
	return 0;
}
