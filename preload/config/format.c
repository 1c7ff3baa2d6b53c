/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values as text that is valid YAML 1.1, YAML 1.2 and JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/text.h"
#include "config/config_value.h"

/*
 * Text whose length is counted even after the buffer is full, so that it can be returned as by
 * snprintf().
 */
struct out {
	char *buf;
	size_t cap, len;
};

static void format_char(struct out *o, char c)
{
	if (o->len + 1 < o->cap)
		o->buf[o->len] = c;
	o->len++;
}

static void format_text(struct out *o, const char *s)
{
	while (*s)
		format_char(o, *s++);
}

static void write_int(struct out *o, int64_t v)
{
	char tmp[24];

	snprintf(tmp, sizeof(tmp), "%" PRId64, v);
	format_text(o, tmp);
}

/*
 * Writes the fewest digits that restore the number. YAML 1.1 reads 1e-8 as a text; a fraction and
 * a signed exponent make every reader recognise a number.
 */
static void write_shortest_double(struct out *o, double v)
{
	char tmp[40];
	double back;

	for (int digits = 1; digits <= 17; digits++) {
		struct text t = text_init(tmp, sizeof(tmp));

		text_add_double(&t, v, digits);
		if (number_parse(tmp, t.len, &back) && back == v)
			break;
	}

	char *e = strchr(tmp, 'e');

	if (e)
		*e++ = 0;
	format_text(o, tmp);
	if (!strchr(tmp, '.'))
		format_text(o, ".0");
	if (e) {
		format_char(o, 'e');
		format_char(o, *e++);
		while (e[0] == '0' && e[1])
			e++;
		format_text(o, e);
	}
}

/*
 * Decodes the character at s: returns its length in bytes, and its code in *c. Each invalid byte
 * becomes U+FFFD.
 */
static unsigned read_utf8(const unsigned char *s, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	*c = n < 2 ? s[0] : s[0] & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			n = 0;
			break;
		}
		*c = *c << 6 | (s[i] & 0x3f);
	}
	if (n == 0 || s[0] > 0xf4 || *c < least[n] || *c > 0x10ffff || (*c & ~0x7ffu) == 0xd800) {
		*c = 0xfffd;
		return 1;
	}
	return n;
}

/* Writes text inside double quotes. Characters that YAML counts as printable are not escaped. */
static void put_quoted_part(struct out *o, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;
	char esc[8];

	format_char(o, '"');
	while (s < end) {
		uint32_t c;
		unsigned n = read_utf8(s, &c);

		if (c == '"' || c == '\\') {
			format_char(o, '\\');
			format_char(o, (char)c);
		} else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c & ~1u) == 0x2028 ||
			   c == 0xfeff || (c >= 0xfffd && c <= 0xffff)) {
			snprintf(esc, sizeof(esc), "\\u%04x", (unsigned)c);
			format_text(o, esc);
		} else {
			for (unsigned i = 0; i < n; i++)
				format_char(o, (char)s[i]);
		}
		s += n;
	}
	format_char(o, '"');
}

static void put_quoted(struct out *o, const char *text)
{
	put_quoted_part(o, text, strlen(text));
}

static void write_word_list(struct out *o, const char *words)
{
	format_char(o, '[');
	for (size_t n; *words; words += n) {
		n = strcspn(words, "\n");
		put_quoted_part(o, words, n);
		if (!words[n])
			break;
		format_text(o, ", ");
		n++;
	}
	format_char(o, ']');
}

/* Writes rules, which are stored as lines of JSON. */
static void write_rule_list(struct out *o, const char *lines)
{
	format_char(o, '[');
	for (; *lines; lines++)
		if (*lines == '\n')
			format_text(o, ", ");
		else
			format_char(o, *lines);
	format_char(o, ']');
}

static void write_ranges(struct out *o, const struct ranges *r)
{
	format_char(o, '[');
	for (uint32_t i = 0; i < r->n; i++) {
		const struct range *x = &r->item[i];

		if (i)
			format_text(o, ", ");
		if (x->lo == x->hi) {
			write_int(o, (int64_t)x->lo);
			continue;
		}
		format_char(o, '"');
		write_int(o, (int64_t)x->lo);
		format_char(o, '-');
		write_int(o, (int64_t)x->hi);
		format_char(o, '"');
	}
	format_char(o, ']');
}

/* Writes words in the notation that parse_choice() reads. */
static void write_choice(struct out *o, const struct config_key *k, uint64_t words)
{
	const char *const *names = config_get_key_words(k);
	uint64_t all = 0;
	bool first = true;

	for (int i = 0; names[i]; i++)
		all |= UINT64_C(1) << i;
	if (!words || words == all) {
		format_text(o, words ? "true" : "false");
		return;
	}
	format_char(o, '[');
	for (int i = 0; names[i]; i++) {
		if (!(words >> i & 1))
			continue;
		format_text(o, first ? "" : ", ");
		put_quoted(o, names[i]);
		first = false;
	}
	format_char(o, ']');
}

/* Writes percent without a trailing ".0": "1%", "0.5%", "off". */
static void format_share(struct out *o, double percent)
{
	char tmp[48];
	struct out number = {tmp, sizeof(tmp), 0};

	if (percent == 0) {
		format_text(o, "\"off\"");
		return;
	}
	write_shortest_double(&number, percent);
	if (number.len > 2 && memcmp(tmp + number.len - 2, ".0", 2) == 0)
		number.len -= 2;
	tmp[number.len] = 0;
	format_char(o, '"');
	format_text(o, tmp);
	format_text(o, "%\"");
}

/* Writes numbers as the user wrote them. */
static void write_number_list(struct out *o, const char *lines)
{
	format_char(o, '[');
	for (const char *s = lines; *s; s++) {
		format_char(o, *s == '\n' ? ',' : *s);
		if (*s == '\n')
			format_char(o, ' ');
	}
	format_char(o, ']');
}

int config_format(const struct config *cfg, const struct config_key *k, char *buf, size_t cap)
{
	int saved = errno;
	const void *at = config_get_member(cfg, k);
	struct out o = {buf, cap, 0};
	struct fpenv env;

	switch (k->type) {
	case KEY_BOOL:
		format_text(&o, *(const bool *)at ? "true" : "false");
		break;
	case KEY_INT:
		write_int(&o, *(const int64_t *)at);
		break;
	case KEY_FLOAT:
		fpenv_enter(&env);
		write_shortest_double(&o, *(const double *)at);
		fpenv_leave(&env);
		break;
	case KEY_SHARE:
		fpenv_enter(&env);
		format_share(&o, *(const double *)at);
		fpenv_leave(&env);
		break;
	case KEY_STRING:
	case KEY_PATTERN:
	case KEY_MARKER:
	case KEY_PATH:
		put_quoted(&o, *(char *const *)at);
		break;
	case KEY_ENUM: /* quoted, because YAML 1.1 reads off as a boolean */
		put_quoted(&o, config_get_key_words(k)[*(const unsigned *)at]);
		break;
	case KEY_WORDS:
		(config_has_numbers(k) ? write_number_list : write_word_list)(
			&o, *(char *const *)at);
		break;
	case KEY_ALERTS:
		write_rule_list(&o, *(char *const *)at);
		break;
	case KEY_CHOICE:
		write_choice(&o, k, *(const uint64_t *)at);
		break;
	case KEY_RANGES:
		write_ranges(&o, at);
		break;
	}
	if (cap)
		buf[o.len < cap ? o.len : cap - 1] = 0;
	errno = saved;
	return (int)o.len;
}
