/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
	"usage: genwrap -o DIR -k kinds.yaml [-t FILE]... [-x SYMBOL]... SPEC.yaml...\n"
	"       genwrap --check -e HEADER.i -o FILE.c -k kinds.yaml SPEC.yaml\n"
	"  -o  where the generated files go       -t  text file that is compiled in\n"
	"  -k  the table of kinds                 -x  a further symbol that libprobe.so exports\n"
	"  --check  writes a program that compares the spec with a library's header;\n"
	"           -e names the preprocessed header (output of cc -E)\n";

struct options {
	int argc;
	char **argv;
	const char *out, *kinds, *header;
	bool check;
	const char **text, **hook;
	unsigned ntext, nhook;
};

static void options_read(struct options *o)
{
	static const struct option longs[] = {{"check", no_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(o->argc, o->argv, "o:k:t:x:e:h", longs, NULL)) != -1) {
		switch (c) {
		case 'o':
			o->out = optarg;
			break;
		case 'k':
			o->kinds = optarg;
			break;
		case 'e':
			o->header = optarg;
			break;
		case 'c':
			o->check = true;
			break;
		case 't':
			o->text = mem_grow(o->text, o->ntext, sizeof(*o->text));
			o->text[o->ntext++] = optarg;
			break;
		case 'x':
			o->hook = mem_grow(o->hook, o->nhook, sizeof(*o->hook));
			o->hook[o->nhook++] = optarg;
			break;
		default:
			gen_die("%s", usage);
		}
	}
	if (!o->out || !o->kinds || (o->check && (!o->header || o->argc - optind != 1)))
		gen_die("%s", usage);
}

/* Reports libraries with the same name, because they would write the same files. */
static void libraries_check(const struct library *lib, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < i; j++)
			if (strcmp(lib[i].spec->library, lib[j].spec->library) == 0)
				fail((struct pos){lib[i].spec->path, 1, 1},
					"library '%s' is defined in %s already",
					lib[i].spec->library, lib[j].spec->path);
}

static void emit_output(const struct options *o, const struct library *lib, unsigned n,
	const struct kinds *kinds, const struct funcs *funcs)
{
	if (o->check) {
		emit_check(&lib[0], funcs, o->header, o->out);
		if (!gen.failures)
			out_write(NULL);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		emit_wrappers(&lib[i], funcs);
		emit_tables(&lib[i]);
	}
	emit_api_table(lib, n, kinds, funcs);
	emit_version_script(funcs, o->hook, o->nhook);
	emit_builtin(o->text, o->ntext);
	emit_name_texts(kinds, funcs);
	out_write(o->out);
}

static void run_generator(struct spec_load *l, void *arg)
{
	struct options *o = arg;
	struct kinds kinds = {.n = 0};
	struct funcs funcs = {.n = 0};
	struct library *lib;
	unsigned n = 0;

	options_read(o);
	lib = mem_new((size_t)o->argc * sizeof(*lib));
	kinds_read(&kinds, o->kinds);
	if (l->failures)
		return; /* a kind that was not read would cause an error in every row that uses it */
	for (int i = optind; i < o->argc; i++) {
		const struct node *top = yaml_read(o->argv[i]);

		if (top)
			library_read(&lib[n++], spec_read(l, o->argv[i], top, &kinds, &funcs));
	}
	libraries_check(lib, n);
	funcs_sort(l, &funcs);
	if (!l->failures)
		emit_output(o, lib, n, &kinds, &funcs);
}

int main(int argc, char **argv)
{
	struct options o = {.argc = argc, .argv = argv};

	if (load_try(&gen, run_generator, &o) != 0)
		gen_die("out of memory");
	return gen_get_exit_status();
}
