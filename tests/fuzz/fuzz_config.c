/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as probe.yaml, and after two NUL bytes any values for PROBE_<KEY>, one per key, NUL between them.
 *
 *	clang -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Ipreload tests/fuzz/fuzz_config.c \
 *		preload/config/{,import/,list/,load/}[a-z]*.c preload/terms/[a-z]*.c preload/stats/fenv.c preload/text/text.c -lyaml -o fuzz_config
 *	./fuzz_config -max_len=4096 corpus/ configs/
 *
 * Beside crashes it looks for: values out of their ranges, more than one line per finding, and configurations that
 * config_print_yaml does not write so that they come back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/scalar.h"
#include "config/builtin.h"
#include "config/config.h"
#include "config/config_value.h"

const struct builtin_text builtin_texts[] = {{NULL, NULL}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static void count(void *arg, const char *line)
{
	CHECK(*line && strlen(line) < 512);
	for (; *line; line++)
		CHECK((unsigned char)*line >= 0x20 && *line != 0x7f);
	++*(unsigned *)arg;
}

static unsigned count_key_words(const struct config_key *k)
{
	const char *const *w = config_get_key_words(k);
	unsigned n = 0;

	while (w && w[n])
		n++;
	return n;
}

static void check_values(const struct config *c)
{
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *k = &config_keys[i];
		const void *at = (const char *)c + k->offset;
		const struct ranges *r = at;

		switch (k->type) {
		case KEY_INT:
			CHECK(*(const int64_t *)at >= (int64_t)k->min);
			CHECK(*(const int64_t *)at <= (int64_t)k->max);
			break;
		case KEY_FLOAT:
		case KEY_SHARE:
			CHECK(*(const double *)at >= k->min && *(const double *)at <= k->max);
			break;
		case KEY_STRING:
		case KEY_PATTERN:
		case KEY_MARKER:
		case KEY_WORDS:
		case KEY_ALERTS:
			CHECK(*(char *const *)at);
			break;
		case KEY_PATH:
			CHECK(**(char *const *)at == '/' || (!**(char *const *)at && !*k->dflt));
			break;
		case KEY_RANGES:
			CHECK(!r->n == !r->item);
			for (uint32_t j = 0; j < r->n; j++) {
				CHECK(r->item[j].lo <= r->item[j].hi);
				CHECK(j == 0 || r->item[j].lo > r->item[j - 1].hi + 1);
				CHECK(ranges_has(r, r->item[j].lo));
				CHECK(ranges_has(r, r->item[j].hi));
				CHECK(!ranges_has(r, r->item[j].hi + 1));
			}
			break;
		case KEY_ENUM:
			CHECK(*(const uint32_t *)at < count_key_words(k));
			break;
		case KEY_CHOICE:
			CHECK(*(const uint64_t *)at >> SCALARS == 0);
			break;
		case KEY_BOOL:
			CHECK(*(const unsigned char *)at <= 1);
			break;
		}
	}
}

struct dumped {
	char *text;
	size_t len;
};

static void sink(void *arg, const char *line)
{
	struct dumped *d = arg;
	size_t n = strlen(line);

	d->text = realloc(d->text, d->len + n + 2);
	CHECK(d->text);
	memcpy(d->text + d->len, line, n);
	strcpy(d->text + d->len + n, "\n");
	d->len += n + 1;
}

static bool is_utf8(const char *s)
{
	char buf[1 << 17];
	struct config c = {.step_marker = (char *)s};
	const struct config_key *k = config_keys;

	while (strcmp(k->name, "step_marker") != 0)
		k++;
	/* What is no text cannot come back: config_format writes \ufffd for it. */
	return config_format(&c, k, buf, sizeof(buf)) < (int)sizeof(buf) && !strstr(buf, "\\ufffd");
}

static void check_dump(const struct config *c)
{
	static char a[1 << 17], b[1 << 17];
	struct dumped d = {NULL, 0};
	struct config back;
	unsigned lines = 0;

	if (!is_utf8(c->output_dir) || !is_utf8(c->journal_dir) || !is_utf8(c->wrap_ops) ||
		!is_utf8(c->step_marker))
		return;
	config_print_yaml(c, false, sink, &d);
	CHECK(config_load_text(&back, "dump", d.text, d.len, NULL, "/cwd", count, &lines) == 0);
	CHECK(lines == 0);
	for (size_t i = 0; i < config_nkeys; i++) {
		int n = config_format(c, &config_keys[i], a, sizeof(a));

		CHECK(n == config_format(&back, &config_keys[i], b, sizeof(b)));
		CHECK(strcmp(a, b) == 0);
		CHECK(n >= (int)sizeof(a) || n == (int)strlen(a));
	}
	config_free(&back);
	free(d.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *two = size ? memmem(data, size, "\0\0", 2) : NULL;
	size_t len = two ? (size_t)(two - data) : size;
	char *env[CONFIG_KEYS_MAX + 1] = {NULL};
	unsigned lines = 0, n = 0;
	struct config c;

	for (const uint8_t *p = two ? two + 2 : data + size; p < data + size && n < config_nkeys;
		n++) {
		size_t vlen = strnlen((const char *)p, (size_t)(data + size - p));

		CHECK(asprintf(&env[n], "PROBE_%s=%.*s", config_keys[n].name, (int)vlen, p) > 0);
		for (char *q = env[n] + 6; *q != '='; q++)
			if (*q >= 'a')
				*q = (char)(*q - 32);
		p += vlen + 1;
	}
	CHECK(config_load_text(
		      &c, "fuzz.yaml", (const char *)data, len, env, "/cwd", count, &lines) == 0);
	CHECK(lines <= 2 * 33);
	check_values(&c);
	check_dump(&c);
	config_free(&c);
	while (n)
		free(env[--n]);
	return 0;
}
