/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs on real folders that are damaged: a fork server. Each variant is a recorded folder (record_folders.sh) of which one
 * to four files are changed; a forked child makes ROW variants of one seed, one after the other, and runs a verb on each in its own
 * process. The seed's folder is written once a row; after a variant only what was changed is written again. With AddressSanitizer and UBSan:
 *
 *	damaged_folders SEEDS WORK COUNT [SEED [FROM]]
 *
 * SEEDS has one folder a seed; WORK is made, on a tmpfs for speed. A child that ends with another status than 0, 1 or 2, by a
 * signal, or after more than 20 s of processor time for a variant is tried again with that variant alone. It leaves the
 * folder as WORK/found/<n>, with the verb, and what it said, in <n>.txt. Prints the sums; exit status 1 if anything was found. The same SEED makes the same variants, of the same seeds: variant V
 * alone again with COUNT V + 1 and FROM V.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/lib/tool.h"

#define PATH_BYTES 1024
#define FILES_MAX 256
#define SEEDS_MAX 64
#define FOUND_MAX 200
#define CPU_LIMIT_S 20
#define CHANGES_MAX 4
#define ROW 100

struct file {
	char *path; /* below the seed's folder */
	unsigned char *data;
	size_t bytes;
};

static struct seed {
	char *name;
	struct file file[FILES_MAX];
	unsigned n;
} seeds[SEEDS_MAX];
static unsigned nseeds;
static char work[PATH_BYTES / 4], dir[PATH_BYTES / 2], pristine[PATH_BYTES / 2],
	results[PATH_BYTES / 2];
static struct seed *reading;
static size_t reading_root;

/* SplitMix64. */
static uint64_t random_state;

static uint64_t draw(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static size_t draw_below(size_t n)
{
	return n ? (size_t)(draw() % n) : 0;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* ---- files ---- */

static int read_seed_file(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	struct file *f = &reading->file[reading->n];
	FILE *in;

	(void)at;
	if (flag != FTW_F || !S_ISREG(st->st_mode) || reading->n == FILES_MAX)
		return 0;
	in = fopen(path, "rb");
	f->bytes = (size_t)st->st_size;
	f->data = malloc(f->bytes + 1);
	f->path = strdup(path + reading_root);
	if (!in || !f->data || fread(f->data, 1, f->bytes, in) != f->bytes)
		die(path);
	fclose(in);
	reading->n++;
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void make_parent_folders(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0755);
	}
}

static void write_seed_file(const char *root, const char *name, const void *data, size_t n)
{
	char path[PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 && errno == ENOENT) {
		make_parent_folders(path);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	}
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		die(path);
	close(fd);
}

/* Makes a file of the folder, which holds `was`, hold `data`: only the blocks that differ are written. */
static void write_difference(const char *name, const unsigned char *was, size_t nwas,
	const unsigned char *data, size_t n)
{
	enum { BLOCK = 4096 };
	char path[PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		die(path);
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t k = n - at < BLOCK ? n - at : BLOCK;

		if ((at + k > nwas || memcmp(data + at, was + at, k) != 0) &&
			pwrite(fd, data + at, k, (off_t)at) != (ssize_t)k)
			die(path);
	}
	if (n < nwas && ftruncate(fd, (off_t)n))
		die(path);
	close(fd);
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

static void remove_whole_folder(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- changes ---- */

struct bytes {
	unsigned char *data;
	size_t n, cap;
};

static void replace_bytes(struct bytes *b, size_t at, size_t old, const void *with, size_t n)
{
	if (b->n - old + n > b->cap) {
		b->cap = 2 * (b->n + n) + 64;
		b->data = realloc(b->data, b->cap);
		if (!b->data)
			die("realloc");
	}
	memmove(b->data + at + n, b->data + at + old, b->n - at - old);
	memcpy(b->data + at, with, n);
	b->n += n - old;
}

static bool ends_token(unsigned char c)
{
	return strchr(",\n:\"[]{} ;\t()", c) != NULL;
}

/* The number or word around a place. */
static void find_word_around(const struct bytes *b, size_t *from, size_t *to)
{
	while (*from > 0 && !ends_token(b->data[*from - 1]))
		--*from;
	while (*to < b->n && !ends_token(b->data[*to]))
		++*to;
}

static void change_text(struct bytes *b)
{
	static const char *const words[] = {"", "0", "-1", "1", "18446744073709551615",
		"9223372036854775807", "-9223372036854775808", "4294967296", "2147483647",
		"-2147483648", "1e308", "-1e309", "nan", "inf", "-inf", "1e-320",
		"99999999999999999999999", "0x7f", "00", "\"", "\"\"", ",", ",,,,", "\n", "\r\n",
		"{", "}", "[", "]", "[[[[[[[[", "null", "true", "\\u0000", "\\ud800", "\xff\xfe",
		"%s%n", "../../x", "/", "async;open", "in", "out", "all_reduce", "barrier",
		"MPI_COMM_WORLD", "float32", "other", "0-4294967295", "3-1", "0-3;8", "-", "8x512",
		"0x0x0", "4294967295x4294967295x16"};
	size_t from = draw_below(b->n + 1), to = from;

	switch (draw() % 4) {
	case 0: { /* a line of the file again, somewhere else */
		const unsigned char *end;

		while (from > 0 && b->data[from - 1] != '\n')
			from--;
		end = memchr(b->data + from, '\n', b->n - from);
		to = end ? (size_t)(end - b->data) + 1 : b->n;

		struct bytes line = {malloc(to - from + 1), to - from, 0};

		memcpy(line.data, b->data + from, line.n);
		replace_bytes(b, draw() % 2 ? to : draw_below(b->n + 1), 0, line.data, line.n);
		free(line.data);
		break;
	}
	default: { /* another word */
		const char *word = words[draw_below(sizeof(words) / sizeof(*words))];

		find_word_around(b, &from, &to);
		replace_bytes(b, from, to - from, word, strlen(word));
	}
	}
}

static void change_bytes(struct bytes *b, const struct seed *s)
{
	static const unsigned char special[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, '\n', ',', '"'};
	size_t at = draw_below(b->n), n;
	uint64_t word;

	switch (draw() % 8) {
	case 0: /* cut */
		b->n = at;
		break;
	case 1: /* bits */
		for (unsigned k = 1 + (unsigned)draw_below(8); k && b->n; k--)
			b->data[draw_below(b->n)] ^= (unsigned char)(1u << draw_below(8));
		break;
	case 2: /* bytes */
		for (unsigned k = 1 + (unsigned)draw_below(4); k && b->n; k--)
			b->data[draw_below(b->n)] = special[draw_below(sizeof(special))];
		break;
	case 3: /* a hole */
		n = draw_below(b->n - at + 1);
		n = n > 4096 ? 4096 : n;
		memset(b->data + at, 0, n);
		break;
	case 4: /* skipped */
		n = 1 + draw_below(64);
		replace_bytes(b, at, n < b->n - at ? n : b->n - at, "", 0);
		break;
	case 5: { /* a piece of another file */
		const struct file *other = &s->file[draw_below(s->n)];
		size_t from = draw_below(other->bytes);

		n = draw_below(other->bytes - from < 4096 ? other->bytes - from : 4096);
		replace_bytes(b, at, 0, other->data + from, n);
		break;
	}
	case 6: /* a length, an offset */
		word = draw() % 2 ? draw()
				  : (uint64_t[]){0, 1, UINT32_MAX, UINT64_MAX, INT64_MAX, 1 << 20,
					    (uint64_t)1 << 40}[draw_below(7)];
		at &= ~(size_t)3;
		n = draw() % 2 ? 8 : 4;
		if (at + n <= b->n)
			memcpy(b->data + at, &word, n);
		break;
	default: /* appended */
		word = draw();
		replace_bytes(b, b->n, 0, &word, 8);
	}
}

static bool is_text_file(const char *path)
{
	static const char *const ends[] = {".csv", ".json", ".jsonl", ".yaml", ".log", ".txt"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (strlen(path) > strlen(ends[i]) &&
			strcmp(path + strlen(path) - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

static void change(struct bytes *b, const struct seed *s, bool text)
{
	/* The first page of a journal has what all else depends on. */
	if (!text && b->n > 100000 && draw() % 2) {
		size_t at = draw_below(8192) & ~(size_t)3;
		uint64_t word = draw() % 2 ? draw() >> draw_below(64) : (uint64_t)-1;

		memcpy(b->data + at, &word, draw() % 2 ? 8 : 4);
		return;
	}
	if (text && draw() % 3)
		change_text(b);
	else
		change_bytes(b, s);
}

/* Changes the content of a compressed file and compresses it again. */
static bool change_inside_gzip(struct bytes *b, const struct seed *s)
{
	struct bytes plain = {NULL, 0, 1 << 20};
	z_stream z = {.next_in = b->data, .avail_in = (unsigned)b->n};
	bool good;

	plain.data = malloc(plain.cap);
	if (!plain.data || inflateInit2(&z, 31) != Z_OK)
		die("zlib");
	z.next_out = plain.data;
	z.avail_out = (unsigned)plain.cap;
	good = inflate(&z, Z_FINISH) == Z_STREAM_END;
	plain.n = z.total_out;
	inflateEnd(&z);
	if (good) {
		unsigned char packed[1 << 16];

		change(&plain, s, true);
		z = (z_stream){.next_in = plain.data,
			.avail_in = (unsigned)plain.n,
			.next_out = packed,
			.avail_out = sizeof(packed)};
		if (deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
			die("zlib");
		good = deflate(&z, Z_FINISH) == Z_STREAM_END;
		if (good)
			replace_bytes(b, 0, b->n, packed, z.total_out);
		deflateEnd(&z);
	}
	free(plain.data);
	return good;
}

/* The file's changed contents, which are in the folder. */
static struct bytes write_changed(const struct seed *s, const struct file *f)
{
	struct bytes b = {malloc(f->bytes + 1), f->bytes, f->bytes + 1};
	size_t length = strlen(f->path);

	if (!b.data)
		die("malloc");
	memcpy(b.data, f->data, f->bytes);
	for (unsigned k = 1 + (unsigned)draw_below(3); k; k--)
		if (length < 3 || strcmp(f->path + length - 3, ".gz") != 0 || draw() % 2 ||
			!change_inside_gzip(&b, s))
			change(&b, s, is_text_file(f->path));
	write_difference(f->path, f->data, f->bytes, b.data, b.n);
	return b;
}

static void write_seed(const struct seed *s)
{
	for (unsigned i = 0; i < s->n; i++)
		write_seed_file(dir, s->file[i].path, s->file[i].data, s->file[i].bytes);
}

/* The seed's files that the variant has changed, and what they hold; no data: the file is gone. */
static bool changed[FILES_MAX];
static struct bytes contents[FILES_MAX];

/* Changes some files of the seed's folder, which is there. */
static void write_variant(const struct seed *s)
{
	for (unsigned k = 1 + (unsigned)draw_below(CHANGES_MAX); k; k--) {
		unsigned i = (unsigned)draw_below(s->n);
		char path[PATH_BYTES];

		if (changed[i])
			continue;
		changed[i] = true;
		if (draw() % 50 == 0) { /* gone */
			snprintf(path, sizeof(path), "%s/%s", dir, s->file[i].path);
			unlink(path);
			contents[i] = (struct bytes){NULL, 0, 0};
		} else {
			contents[i] = write_changed(s, &s->file[i]);
		}
	}
}

/* ---- verbs ---- */

/* $D: the damaged folder; $P: the same undamaged; $R: a folder for results. */
static const struct verb {
	int (*run)(int argc, char **argv);
	const char *words;
} verbs[] = {
	{verb_report, "report $D"},
	{verb_report, "report --json $D"},
	{verb_report, "report --check --stacks $D/rank0"},
	{verb_report, "report --html $R/page.html $D"},
	{verb_report, "report -j 2 --step 0-1 --rank 0 $D"},
	{verb_recover, "recover --force $D"},
	{verb_recover, "recover --force --steps --json $D"},
	{verb_export, "export --format trace --level 2 -a -o $R/trace.json.gz $D"},
	{verb_export, "export --format trace --per-rank -o $R/trace $D"},
	{verb_export, "export --format flight-recorder -o $R/flight $D"},
	{verb_export, "export --format insight -o $R/insight $D"},
	{verb_export, "export --format dot -o $R/x.dot $D"},
	{verb_export, "export --format dump -o $R/dump $D"},
	{verb_export, "export --format monitor -o $R/monitor $D"},
	{verb_export, "export --format tensorboard -o $R/tensorboard $D"},
	{verb_compare, "compare $D $P"},
	{verb_compare, "compare --json --of calls $P $D"},
	{verb_compare, "compare --exact --merge -o $R/diff $D $P"},
	{verb_compare, "compare --by-name --of dump -o $R/diff $D $P"},
	{verb_compare, "compare --layer-mapping auto -o $R/diff $D $P"},
	{verb_compare, "compare --config-check $D $P"},
	{verb_compare, "compare --html $R/curves.html $D $P"},
	{verb_compare, "compare --ckpt $D $P"},
	{verb_compare, "compare --ckpt $D/saved $P/saved"},
	{verb_compare, "compare --grad $D $P"},
	{verb_csv, "csv -o $R/csv $D"},
	{verb_ckpt, "ckpt --json $D $D/saved"},
	{verb_ckpt, "ckpt --latest-healthy $D"},
	{verb_names, "names $D"},
	{verb_names, "names --messages --json $D"},
	{verb_analyze, "analyze --anomalies --json $D"},
	{verb_top, "top --once $D"},
	{verb_top, "top --json $D"},
	{verb_serve, "serve --once $D"},
	{verb_ctl, "ctl $D status --json"},
};
#define VERBS (sizeof(verbs) / sizeof(*verbs))

static bool writes_into_folder(const struct verb *v)
{
	return v->run == verb_recover || v->run == verb_ctl;
}

static int run_verb(const struct verb *v)
{
	char *argv[16], text[16][PATH_BYTES], words[256];
	int argc = 0;

	snprintf(words, sizeof(words), "%s", v->words);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
		bool folder = word[0] == '$';

		snprintf(text[argc], PATH_BYTES, "%s%s",
			!folder		 ? ""
			: word[1] == 'D' ? dir
			: word[1] == 'P' ? pristine
					 : results,
			folder ? word + 2 : word);
		argv[argc] = text[argc];
		argc++;
	}
	argv[argc] = NULL;
	return v->run(argc, argv);
}

static bool is_good(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) <= 2;
}

/* ---- all together ---- */

/* A sanitizer's finding ends the child by a signal: the usual status 1 is also that of a verb that found a difference. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
	/* No stacks of allocations, which cost as much as the allocations: `probe` built with SAN=address,undefined shows them for
	 * a folder that was found. The quarantine holds what one verb frees of small folders. */
	return "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:malloc_context_size=0:"
	       "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:max_malloc_fill_size=0:"
	       "allocator_release_to_os_interval_ms=-1";
}

const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1:abort_on_error=1";
}

static void keep_found(
	unsigned n, const struct seed *s, const struct verb *v, int status, uint64_t variant)
{
	char from[PATH_BYTES], to[PATH_BYTES], line[4096] = "";
	FILE *in, *out;

	snprintf(to, sizeof(to), "%s/found/%u", work, n);
	if (rename(dir, to))
		perror(to);
	snprintf(from, sizeof(from), "%s/stderr", work);
	snprintf(to, sizeof(to), "%s/found/%u.txt", work, n);
	in = fopen(from, "r");
	out = fopen(to, "w");
	if (!in || !out)
		die(to);
	fprintf(out, "variant %llu of %s: %s; %s %d\n", (unsigned long long)variant, s->name,
		v->words, WIFEXITED(status) ? "exit status" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	while (fgets(line, sizeof(line), in))
		fputs(line, out);
	fclose(in);
	fclose(out);
	printf("found %u: %s, %s\n", n, s->name, v->words);
	fflush(stdout);
}

static void read_seeds(const char *folder)
{
	char path[PATH_BYTES];
	FILE *list;

	snprintf(path, sizeof(path), "cd '%s' && ls", folder);
	list = popen(path, "r");
	while (list && nseeds < SEEDS_MAX && fgets(path, sizeof(path) / 2, list)) {
		char whole[2 * PATH_BYTES];

		path[strcspn(path, "\n")] = 0;
		reading = &seeds[nseeds];
		reading->name = strdup(path);
		snprintf(whole, sizeof(whole), "%s/%s", folder, path);
		reading_root = strlen(whole) + 1;
		nftw(whole, read_seed_file, 16, FTW_PHYS);
		qsort(reading->file, reading->n, sizeof(*reading->file), compare_files);
		nseeds += reading->n > 0;
	}
	if (!list || pclose(list) || !nseeds) {
		fprintf(stderr, "%s: no folders there\n", folder);
		exit(2);
	}
}

static struct variant {
	const struct seed *s;
	const struct verb *v;
} now;
static const struct seed
	*there; /* whose folder is in `dir`; NULL: none's, or not as it was recorded */

static bool is_undamaged(uint64_t number)
{
	return number < VERBS * nseeds;
}

/* Draws the variant of that number: which verb, of which seed. */
static void draw_variant(uint64_t seed, uint64_t number)
{
	random_state = seed * UINT64_C(1000000007) + number / ROW * ROW;
	now.s = &seeds[draw_below(nseeds)];
	random_state = seed * UINT64_C(1000000007) + number;
	now.v = &verbs[draw_below(VERBS)];
	/* The first of all: undamaged ones must do. */
	if (is_undamaged(number)) {
		now.s = &seeds[number / VERBS];
		now.v = &verbs[number % VERBS];
	}
	snprintf(pristine, sizeof(pristine), "%s/pristine/%s", work, now.s->name);
}

/* Makes the drawn variant of the seed's folder, which is written if it is not the one that is there. */
static void prepare_variant(uint64_t number)
{
	if (there != now.s) {
		remove_whole_folder(dir);
		mkdir(dir, 0755);
		write_seed(now.s);
		there = now.s;
	}
	mkdir(results, 0755);
	memset(changed, 0, sizeof(changed));
	if (!is_undamaged(number))
		write_variant(now.s);
}

/* The seed's folder again. */
static void restore_seed(void)
{
	if (writes_into_folder(now.v))
		there = NULL;
	for (unsigned i = 0; i < now.s->n; i++) {
		const struct file *f = &now.s->file[i];

		if (!changed[i])
			continue;
		if (there && contents[i].data)
			write_difference(
				f->path, contents[i].data, contents[i].n, f->data, f->bytes);
		else if (there)
			write_seed_file(dir, f->path, f->data, f->bytes);
		free(contents[i].data);
	}
	remove_whole_folder(results);
}

/* Memory shared by parent and child. */
static struct shared {
	uint64_t next; /* variant that is being run, or comes next */
	uint64_t done[3]; /* variants by exit status */
	double verb_s[VERBS], seed_s[SEEDS_MAX]; /* that they took */
	uint64_t verb_n[VERBS], seed_n[SEEDS_MAX];
} * shared;

/* Processor time of this process: what a variant costs, whatever else the machine does. */
static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double before_s; /* at the end of the variant before */

static void record_cost(ptrdiff_t verb, ptrdiff_t seed)
{
	double took = cpu_s() - before_s;

	before_s += took;
	shared->verb_s[verb] += took;
	shared->verb_n[verb]++;
	shared->seed_s[seed] += took;
	shared->seed_n[seed]++;
}

/* Where the time goes: milliseconds a variant, by verb and by seed. */
static void print_times(void)
{
	double all_s = 0;
	uint64_t n = 0;

	for (unsigned i = 0; i < VERBS; i++) {
		all_s += shared->verb_s[i];
		n += shared->verb_n[i];
	}
	fprintf(stderr, "%.1f variants in a second of processor time\n", (double)n / (all_s + !n));
	for (unsigned i = 0; i < VERBS; i++)
		fprintf(stderr, "%8.2f ms %8llu  %s\n",
			shared->verb_s[i] * 1e3 / (double)(shared->verb_n[i] + !shared->verb_n[i]),
			(unsigned long long)shared->verb_n[i], verbs[i].words);
	for (unsigned i = 0; i < nseeds; i++)
		fprintf(stderr, "%8.2f ms %8llu  seed %s\n",
			shared->seed_s[i] * 1e3 / (double)(shared->seed_n[i] + !shared->seed_n[i]),
			(unsigned long long)shared->seed_n[i], seeds[i].name);
}

static void run_row(uint64_t seed, uint64_t end)
{
	struct itimerval limit = {.it_value.tv_sec = CPU_LIMIT_S};
	char path[PATH_BYTES];
	int fd, null = open("/dev/null", O_RDWR);

	snprintf(path, sizeof(path), "%s/stderr", work);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	if (fd < 0 || null < 0)
		_exit(120);
	dup2(null, 0);
	dup2(null, 1);
	dup2(fd, 2);
	signal(SIGPIPE, SIG_IGN);
	there = NULL;
	before_s = cpu_s();
	while (shared->next < end) {
		int status;

		draw_variant(seed, shared->next);
		prepare_variant(shared->next);
		if (ftruncate(fd, 0))
			_exit(121);
		setitimer(ITIMER_PROF, &limit, NULL);
		alarm(600); /* waiting for what never comes is wrong, too */
		status = run_verb(now.v);
		fflush(NULL);
		if (status < 0 || status > 2)
			_exit(122);
		shared->done[status]++;
		record_cost(now.v - verbs, now.s - seeds);
		shared->next++;
		restore_seed();
	}
	_exit(0);
}

static int run_and_wait(uint64_t seed, uint64_t end)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (!pid)
		run_row(seed, end);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return status;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 0, told = 0;
	uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	unsigned found = 0, in_a_row = 0;
	time_t from = time(NULL);

	if (!count) {
		fprintf(stderr, "usage: damaged_folders SEEDS WORK COUNT [SEED [FROM]]\n");
		return 2;
	}
	read_seeds(argv[1]);
	snprintf(work, sizeof(work), "%s", argv[2]);
	snprintf(dir, sizeof(dir), "%s/damaged", work);
	snprintf(results, sizeof(results), "%s/results", work);
	snprintf(pristine, sizeof(pristine), "%s/found", work);
	mkdir(work, 0755);
	mkdir(pristine, 0755);
	for (unsigned i = 0; i < nseeds; i++)
		for (unsigned k = 0; k < seeds[i].n; k++) {
			snprintf(pristine, sizeof(pristine), "%s/pristine/%s", work, seeds[i].name);
			write_seed_file(pristine, seeds[i].file[k].path, seeds[i].file[k].data,
				seeds[i].file[k].bytes);
		}
	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	shared->next = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
	while (shared->next < count && found < FOUND_MAX) {
		uint64_t end = (shared->next / ROW + 1) * ROW, bad;
		int status;

		end = end < count ? end : count;
		status = run_and_wait(seed, end);

		bad = shared->next;
		if (bad < end && !is_good(status)) {
			/* Alone: what an earlier verb left in this process is no defect of a command. */
			remove_whole_folder(dir);
			remove_whole_folder(results);
			status = run_and_wait(seed, bad + 1);
			if (!is_good(status)) {
				draw_variant(seed, bad);
				there = NULL;
				prepare_variant(bad);
				keep_found(found++, now.s, now.v, status, bad);
			} else {
				in_a_row++;
			}
		} else if (bad < end) {
			shared->done[WEXITSTATUS(status)]++; /* by exit() */
		}
		if (bad < end) {
			shared->next = bad + 1;
			remove_whole_folder(dir);
			remove_whole_folder(results);
		}
		if (shared->next / 10000 > told) {
			told = shared->next / 10000;
			printf("%llu variants, %u found, %u only in a row, %lld s\n",
				(unsigned long long)shared->next, found, in_a_row,
				(long long)(time(NULL) - from));
			fflush(stdout);
		}
	}
	printf("%llu + %llu + %llu ended with 0, 1, 2; %u otherwise, %u so only in a row; %lld s\n",
		(unsigned long long)shared->done[0], (unsigned long long)shared->done[1],
		(unsigned long long)shared->done[2], found, in_a_row,
		(long long)(time(NULL) - from));
	print_times();
	return found ? 1 : 0;
}
