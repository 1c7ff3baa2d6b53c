/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, before and after operands; "--" ends the options. */
#ifndef PROBE_TOOLS_LIB_CLI_H
#define PROBE_TOOLS_LIB_CLI_H

#include <stdbool.h>

struct cli_option {
	const char *name; /* long name without dashes */
	char letter; /* 0: none */
	bool value; /* takes one */
};

enum { CLI_END = -1, CLI_OPERAND = -2, CLI_WRONG = -3 /* reported */, CLI_HELP = -4 };

struct cli {
	int argc;
	char **argv; /* argv[0]: the verb, for messages */
	const struct cli_option *options;
	unsigned noptions;
	bool command; /* the first operand ends the options: the rest is another program's command line */
	int at; /* index of the next word; an operand that was returned is argv[at - 1] */
	bool ended; /* "--" was seen */
	const char *value; /* value of the option, or the operand */
};

/* Returns the next option as an index into `options`, or one of the numbers above. --help and -h are always known. */
int cli_next(struct cli *c);

/* Keeps an operand as the only folder that the verb takes. False (reported): *folder is set already; NULL: not yet. */
bool cli_take_folder(const char *verb, const char **folder, const char *operand);

/* The most similar word of the list, or NULL if none is similar. */
const char *cli_nearest(const char *word, const char *const *words, unsigned n);

#endif
