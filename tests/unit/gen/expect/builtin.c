/* Made by genwrap from configs; change that file instead. Files that are used if none is found. */
#include "config/builtin.h"

#include <stddef.h>

const struct builtin_text builtin_texts[] = {
	{"text.yaml",
		"key: \"a\\b\"\t# \077\077= \303\251\n"
		"last line"},
	{NULL, NULL},
};
