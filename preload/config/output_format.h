/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of the output: words of key `format`. */
#ifndef PROBE_CONFIG_OUTPUT_FORMAT_H
#define PROBE_CONFIG_OUTPUT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

enum output_format {
	FORMAT_CSV, /* the files of docs/reference/output-format.md in the rank's folder */
	FORMAT_DUMP, /* msprobe's dump */
	FORMAT_MONITOR, /* msprobe's training monitor */
	FORMAT_TENSORBOARD,
	FORMAT_COMPACT, /* calls in binary files instead of CSV; everything else as with csv */
	FORMAT_API, /* no files; read by probe_stats_get() */
	OUTPUT_FORMATS
};
#define FORMAT_BIT(id) (UINT32_C(1) << FORMAT_##id)

/* Formats that write the tables of a rank's folder: stack_info.csv, comms.csv ... */
#define FORMAT_TABLES (FORMAT_BIT(CSV) | FORMAT_BIT(COMPACT))

/* All formats that write files. */
#define FORMAT_FILES \
	(FORMAT_TABLES | FORMAT_BIT(DUMP) | FORMAT_BIT(MONITOR) | FORMAT_BIT(TENSORBOARD))

/* NULL-terminated; index: enum output_format. */
extern const char *const output_format_names[];

/* Returns a mask of FORMAT_BIT() for words separated by newlines, as in struct config. */
uint32_t parse_output_formats(const char *words);

/* True if format f is among the words. words NULL: no words. */
bool output_has_format(const char *words, enum output_format f);

#endif
