/* SPDX-License-Identifier: Apache-2.0 */
#include "config/import/python_text.h"

#include <stdlib.h>
#include <string.h>

#include "config/config_value.h"

#define DIGITS_MAX 17

/* Writes the digits of v without trailing zeros. Returns the power of ten of the first digit. */
static int format_float_digits(double v, char digits[DIGITS_MAX + 1], bool *negative)
{
	char buf[40];
	struct text t;
	double back;
	int n = 0, first = 0, power = 0;
	bool point = false, begun = false;

	for (int d = 1; d <= DIGITS_MAX; d++) {
		t = text_init(buf, sizeof(buf));
		text_add_double(&t, v, d);
		if (number_parse(buf, t.len, &back) && back == v)
			break;
	}
	*negative = buf[0] == '-';
	for (const char *s = buf + *negative; *s; s++) {
		if (*s == 'e') {
			power += atoi(s + 1);
			break;
		}
		if (*s == '.') {
			point = true;
			continue;
		}
		begun |= *s != '0';
		if (begun && n < DIGITS_MAX)
			digits[n++] = *s;
		first += !point && begun;
		first -= point && !begun;
	}
	while (n && digits[n - 1] == '0')
		n--;
	digits[n] = 0;
	return power + first - 1;
}

void python_write_float(struct text *out, double v)
{
	char digits[DIGITS_MAX + 1];
	bool negative;
	int power, n;

	if (v != v || v - v != 0) {
		text_add_string(out, v != v ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	power = format_float_digits(v, digits, &negative);
	n = (int)strlen(digits);
	if (negative)
		text_add_char(out, '-');
	if (!n) {
		text_add_string(out, "0.0");
	} else if (power < -4 || power >= 16) {
		text_add_char(out, digits[0]);
		if (n > 1)
			text_add_format(out, ".%s", digits + 1);
		text_add_format(out, "e%c%02d", power < 0 ? '-' : '+', abs(power));
	} else {
		if (power < 0)
			text_add_string(out, "0.");
		for (int i = power; i < -1; i++)
			text_add_char(out, '0');
		for (int i = 0; i < n || i <= power; i++) {
			if (i && i == power + 1)
				text_add_char(out, '.');
			text_add_char(out, i < n ? digits[i] : '0');
		}
		if (power >= 0 && n <= power + 1)
			text_add_string(out, ".0");
	}
}

/* Writes repr() of a str. */
static void put_python_quoted(struct text *out, const char *s)
{
	char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';

	text_add_char(out, quote);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == (unsigned char)quote || c == '\\')
			text_add_format(out, "\\%c", c);
		else if (c == '\n' || c == '\t' || c == '\r')
			text_add_string(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
		else if (c < 32 || c == 127)
			text_add_format(out, "\\x%02x", c);
		else
			text_add_char(out, (char)c);
	}
	text_add_char(out, quote);
}

/*
 * True for a float in YAML 1.1, which has a point, and a sign in its exponent: Python reads other
 * ones as texts.
 */
static bool is_python_float(const struct tree_node *n, double *v)
{
	const char *e = strpbrk(n->text, "eE");

	return tree_read_number(n, v) && strchr(n->text, '.') && (!e || e[1] == '-' || e[1] == '+');
}

static void write_python_scalar(struct text *out, const struct tree_node *n, bool nested)
{
	double v;
	bool b;

	if (tree_is_null(n))
		text_add_string(out, "None");
	else if (!n->quoted && tree_read_bool(n, &b))
		text_add_string(out, b ? "True" : "False");
	else if (tree_is_integer(n))
		text_add_string(out, n->text + (n->text[0] == '+'));
	else if (is_python_float(n, &v))
		python_write_float(out, v);
	else if (nested)
		put_python_quoted(out, n->text);
	else
		text_add_string(out, n->text);
}

static void write_python_value(struct text *out, const struct tree_node *n, bool nested)
{
	if (!n || n->kind == TREE_SCALAR) {
		write_python_scalar(out, n, nested);
		return;
	}
	text_add_char(out, n->kind == TREE_MAP ? '{' : '[');
	for (const struct tree_node *c = n->child; c; c = c->next) {
		if (n->kind == TREE_MAP) {
			put_python_quoted(out, c->key);
			text_add_string(out, ": ");
		}
		write_python_value(out, c, true);
		if (c->next)
			text_add_string(out, ", ");
	}
	text_add_char(out, n->kind == TREE_MAP ? '}' : ']');
}

void python_write_text(struct text *out, const struct tree_node *n)
{
	write_python_value(out, n, false);
}
