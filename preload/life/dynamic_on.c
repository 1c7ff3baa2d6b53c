/* SPDX-License-Identifier: Apache-2.0 */
#include "life/dynamic_on.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "config/reader.h"

#define KEY "dynamic_on"

struct scan {
	const char *text;
	size_t len, at;
};

static char get_char(const struct scan *s, size_t at)
{
	return at < s->len ? s->text[at] : 0;
}

static void read_past_line(struct scan *s)
{
	while (s->at < s->len && s->text[s->at] != '\n')
		s->at++;
}

/* Skips blanks and comments. */
static void read_past_noise(struct scan *s)
{
	while (s->at < s->len) {
		char c = s->text[s->at], next = get_char(s, s->at + 1);

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			s->at++;
		} else if (c == '#' || (c == '/' && next == '/')) {
			read_past_line(s);
		} else if (c == '/' && next == '*') {
			s->at += 2;
			while (s->at < s->len &&
				!(s->text[s->at] == '*' && get_char(s, s->at + 1) == '/'))
				s->at++;
			s->at += s->at < s->len ? 2 : 0;
		} else {
			return;
		}
	}
}

/* Skips a quoted text; the scan moves from the opening quote to after the closing one. */
static void read_past_quoted(struct scan *s)
{
	char quote = s->text[s->at++];

	while (s->at < s->len && s->text[s->at] != quote)
		s->at += s->text[s->at] == '\\' ? 2 : 1;
	s->at++;
}

static bool is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static void read_past_word(struct scan *s)
{
	while (s->at < s->len && is_key_char(s->text[s->at]))
		s->at++;
}

/* Reads `: value` after the key. */
static bool find_value_after_key(struct scan *s, size_t *begin, size_t *end)
{
	while (get_char(s, s->at) == ' ' || get_char(s, s->at) == '\t')
		s->at++;
	if (get_char(s, s->at) != ':')
		return false;
	s->at++;
	read_past_noise(s);
	*begin = s->at;
	read_past_word(s);
	*end = s->at;
	return *end > *begin;
}

static bool is_key_text(const struct scan *s, size_t from, size_t to)
{
	return to - from == strlen(KEY) && memcmp(s->text + from, KEY, to - from) == 0;
}

static bool find_in_braces(struct scan *s, size_t *begin, size_t *end)
{
	int depth = 0;

	while (read_past_noise(s), s->at < s->len) {
		size_t from = s->at;
		char c = s->text[from];

		if (c == '"' || c == '\'') {
			read_past_quoted(s);
			if (depth == 1 && s->at <= s->len && is_key_text(s, from + 1, s->at - 1) &&
				find_value_after_key(s, begin, end))
				return true;
		} else if (is_key_char(c)) {
			read_past_word(s);
			if (depth == 1 && is_key_text(s, from, s->at) &&
				find_value_after_key(s, begin, end))
				return true;
		} else {
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
			s->at++;
		}
	}
	return false;
}

static bool find_in_lines(struct scan *s, size_t *begin, size_t *end)
{
	for (; s->at < s->len; read_past_line(s), s->at++) {
		size_t from = s->at;
		char c = s->text[from];

		if (c == '"' || c == '\'') {
			read_past_quoted(s);
			if (s->at <= s->len && is_key_text(s, from + 1, s->at - 1) &&
				find_value_after_key(s, begin, end))
				return true;
		} else {
			read_past_word(s);
			if (is_key_text(s, from, s->at) && find_value_after_key(s, begin, end))
				return true;
		}
	}
	return false;
}

bool dynamic_on_find(const char *text, size_t len, size_t *begin, size_t *end)
{
	struct scan s = {text, len, 0};

	read_past_noise(&s);
	if (get_char(&s, s.at) == '{')
		return find_in_braces(&s, begin, end);
	s.at = 0;
	return find_in_lines(&s, begin, end);
}

static int write_replacement_file(
	const char *path, mode_t mode, const char *text, size_t len, size_t begin, size_t end)
{
	char part[PATH_MAX];
	int n = snprintf(part, sizeof(part), "%s.%d.tmp", path, (int)getpid()), fd, err;

	if (n < 0 || (size_t)n >= sizeof(part))
		return -ENAMETOOLONG;
	fd = io_create_file(AT_FDCWD, part);
	if (fd < 0)
		return fd;
	err = fchmod(fd, mode & 07777) ? -errno : 0;
	if (!err)
		err = io_write_all(fd, text, begin);
	if (!err)
		err = io_write_all(fd, "false", 5);
	if (!err)
		err = io_write_all(fd, text + end, len - end);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(part, path))
		err = -errno;
	if (err)
		unlink(part);
	return err;
}

int dynamic_on_write_false(const char *path)
{
	char *real = realpath(path, NULL), *text = NULL;
	size_t len, begin, end;
	struct stat st;
	int err = real ? reader_read_file(real, &text, &len) : -errno;

	if (!err && stat(real, &st))
		err = -errno;
	if (!err && dynamic_on_find(text, len, &begin, &end) &&
		!(end - begin == 5 && memcmp(text + begin, "false", 5) == 0))
		err = write_replacement_file(real, st.st_mode, text, len, begin, end);
	if (err)
		log_loss(LOSS_CONFIG,
			"%s: dynamic_on: false could not be written: %s; the recording ended; "
			"it starts again when the file is changed to true",
			path, io_error_text(err));
	free(text);
	free(real);
	return err;
}
