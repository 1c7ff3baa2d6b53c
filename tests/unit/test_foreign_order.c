/* SPDX-License-Identifier: Apache-2.0 */
/* Did a program reach a place from another one in straight-line code? Frames are written innermost first, as function:place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "stack/foreign.h"

/* "net:3 one:7 main:20": function names of one letter suffice; a second call of a function at another address: n'. */
static void make_stack(struct foreign_stack *s, const char *text)
{
	memset(s, 0, sizeof(*s));
	while (*text) {
		struct foreign_frame *f = &s->frame[s->n++];

		f->code = (uintptr_t)*text++ << 8;
		f->frame = 1000;
		if (*text == '\'') {
			f->frame++;
			text++;
		}
		f->at = strtoul(text + 1, (char **)&text, 10);
		text += *text == ' ';
	}
}

static void places(void **state)
{
	static const struct {
		const char *mark, *forward;
		bool on;
	} table[] = {
		{"s:5 m:20", "f:1 m:24", true}, /* the other half of a GAN's pair */
		{"s:5 m:20", "f:1 m:8", false}, /* the loop has gone round */
		{"s:5 o:9 m:20", "f:1 o:4 m:20", false}, /* a function for each iteration */
		{"s:5 d:9 m:20", "f:1 g:4 m:26", true}, /* one for each half */
		{"s:5 d:9 m:26", "f:1 g:4 m:20", false},
		{"s:5 o:9 m:20", "f:1 o':12 m:20", false}, /* called again */
		{"s:5 d:9 m:20", "f:1 g:4 m:20",
			false}, /* by one line: which comes first is not known */
		{"s:5 m:20", "m:20", false}, {"", "f:1 m:24", false}, /* no Python */
		{"w:8 m:20", "f:1 c:2 w:6 m:20", false}, /* a closure of the next step */
	};
	static struct foreign_stack was, now;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		make_stack(&was, table[i].mark);
		make_stack(&now, table[i].forward);
		if (is_foreign_continued(&was, &now) != table[i].on)
			fail_msg("from %s to %s", table[i].mark, table[i].forward);
	}
}

/* A deep stack lacks its outermost frames, and the others are shifted. */
static void deep(void **state)
{
	static struct foreign_stack was, now;

	(void)state;
	make_stack(&was, "s:5 m:20");
	make_stack(&now, "f:1 m:24");
	now.n = FOREIGN_FRAMES_MAX;
	for (int i = 0; i < now.n; i++)
		now.frame[i] = now.frame[i & 1];
	assert_false(is_foreign_continued(&was, &now));
	assert_false(is_foreign_continued(&now, &was));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
