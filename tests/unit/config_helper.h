/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the configuration share: collecting findings, short builtin texts, one-line loads. */
#ifndef TESTS_UNIT_CONFIG_HELPER_H
#define TESTS_UNIT_CONFIG_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/builtin.h"
#include "config/config.h"

#define CWD "/job/dir"

/* An environment of literals. */
#define ENV(...) ((char *const *)(const char *const[]){__VA_ARGS__, NULL})

struct lines {
	unsigned n;
	char text[40][512];
};

static inline void collect(void *arg, const char *line)
{
	struct lines *l = arg;

	assert_true(l->n < 40); /* one file may never say more */
	assert_true(strlen(line) < sizeof(l->text[0]));
	for (const char *p = line; *p; p++)
		assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
	strcpy(l->text[l->n++], line);
}

static inline bool said(const struct lines *l, const char *part)
{
	for (unsigned i = 0; i < l->n; i++)
		if (strstr(l->text[i], part))
			return true;
	return false;
}

/* Fails with all messages, not only with "false". */
#define assert_said(l, part)                                              \
	do {                                                              \
		if (!said(l, part)) {                                     \
			for (unsigned i_ = 0; i_ < (l)->n; i_++)          \
				print_error("said: %s\n", (l)->text[i_]); \
			fail_msg("not said: %s", part);                   \
		}                                                         \
	} while (0)

#define assert_lines(l, count)                                            \
	do {                                                              \
		if ((l)->n != (count)) {                                  \
			for (unsigned i_ = 0; i_ < (l)->n; i_++)          \
				print_error("said: %s\n", (l)->text[i_]); \
			assert_int_equal((l)->n, (count));                \
		}                                                         \
	} while (0)

static inline const struct config_key *key(const char *name)
{
	for (size_t i = 0; i < config_nkeys; i++)
		if (strcmp(config_keys[i].name, name) == 0)
			return &config_keys[i];
	fail_msg("no key %s", name);
	return NULL;
}

/* The value of a key as text, in one of a few static buffers. */
static inline const char *shown(const struct config *cfg, const char *name)
{
	static char buf[4][8192];
	static unsigned turn;
	char *b = buf[turn++ % 4];

	assert_true(config_format(cfg, key(name), b, sizeof(buf[0])) < (int)sizeof(buf[0]));
	return b;
}

static inline int load(struct config *cfg, const char *yaml, char *const env[], struct lines *said)
{
	said->n = 0;
	return config_load_text(cfg, "f.yaml", yaml, strlen(yaml), env, CWD, collect, said);
}

/* One key in the environment only. */
static inline void load_env(struct config *cfg, const char *entry, struct lines *said)
{
	said->n = 0;
	assert_int_equal(config_load(cfg, NULL, ENV(entry), CWD, collect, said), 0);
}

static inline void assert_same_config(const struct config *a, const struct config *b)
{
	for (size_t i = 0; i < config_nkeys; i++)
		assert_string_equal(shown(a, config_keys[i].name), shown(b, config_keys[i].name));
}

static char temp_dir[64];

static inline void temp_remove(void)
{
	char cmd[80];

	snprintf(cmd, sizeof(cmd), "rm -r %s", temp_dir);
	if (system(cmd) != 0)
		fprintf(stderr, "%s is left over\n", temp_dir);
}

/* A file in a folder of this test's own; returns its path (static). */
static inline const char *temp_file(const char *name, const void *bytes, size_t n)
{
	static char path[256];

	if (!temp_dir[0]) {
		strcpy(temp_dir, "/tmp/probe-config-XXXXXX");
		assert_non_null(mkdtemp(temp_dir));
		atexit(temp_remove);
	}
	snprintf(path, sizeof(path), "%s/%s", temp_dir, name);

	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	return path;
}

/* The whole of a file below the repository's root, in which tests run; malloc'd. */
static inline char *repo_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	if (!f)
		fail_msg("%s: run the tests from the root of the repository", path);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

#endif
