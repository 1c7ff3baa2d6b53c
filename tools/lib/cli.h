/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses command lines: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, before and after operands;
 * "--" ends the options.
 */
#ifndef PROBE_TOOLS_LIB_CLI_H
#define PROBE_TOOLS_LIB_CLI_H

#include <stdbool.h>

struct cli_option {
	const char *name; /* long name without the dashes */
	char letter; /* 0: the option has no short form */
	bool value; /* the option takes a value */
};

enum { CLI_END = -1, CLI_OPERAND = -2, CLI_WRONG = -3 /* reported */, CLI_HELP = -4 };

struct cli {
	int argc;
	char **argv; /* argv[0]: the verb, used in messages */
	const struct cli_option *options;
	unsigned noptions;
	/* If set, the first operand ends the options: it starts another program's command line. */
	bool command;
	int at; /* index of the next argument; the operand that was returned last is argv[at - 1] */
	bool ended; /* "--" was read */
	const char *value; /* value of the option, or the operand */
};

/*
 * Returns the index of the next option in `options`, or one of the numbers above. --help and -h are
 * always accepted.
 */
int cli_read_argument(struct cli *c);

/*
 * Stores the operand in *folder, the only folder that the verb takes. *folder must be NULL before
 * the first operand. Returns false (reported) if it is set already.
 */
bool cli_set_folder(const char *verb, const char **folder, const char *operand);

/* Returns the word of the list that is most similar, or NULL if none is similar. */
const char *cli_find_nearest(const char *word, const char *const *words, unsigned n);

#endif
