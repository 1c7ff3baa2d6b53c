/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `bundle`: packs the evidence of a run into one archive. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/bundle/bundle_files.h"
#include "tools/probe/rules/report.h"

extern char **environ;

#define LIMIT_MIB 50
#define LAST_ROWS 1000u

static const char help[] =
	"usage: probe bundle [options] [DIR]\n"
	"\n"
	"Packs the evidence of a run into one archive, for a colleague or an issue: the "
	"output of `probe report` as text\n"
	"and as JSON, and for each rank meta.json, communicators, stacks, names, logs, "
	"open calls, the last rows of its calls,\n"
	"its journal and scalars. contents.txt lists ranks and hosts, and what did not "
	"fit.\n"
	"\n"
	"  -o, --output FILE    (probe_bundle.tar.gz); -: stdout\n"
	"      --limit SIZE     maximum size of all files before compression: 500K, 50M "
	"(the default), 2G. Files with most\n"
	"                       information for their size are added first\n"
	"      --calls N        keeps the last N rows of each rank's calls (1000); 0: all\n"
	"      --stream         writes the folders of this node's ranks to stdout as a tar "
	"archive, without a report.\n"
	"                       Defaults: --calls 0 --limit 2G. Concatenated archives of "
	"several nodes are unpacked\n"
	"                       by tar -ixf -\n"
	"      --print-command  prints the srun, ssh and kubectl commands that collect "
	"folders from the nodes\n"
	"\n"
	"The archive contains stacks, host names, program names and the configuration: "
	"check it before you publish it.\n"
	"The system's tar writes it. Exit status: 0 done; 2 usage, or input or output that "
	"failed.\n"
	"\n"
	"examples:\n"
	"  probe bundle -o run7.tar.gz run7\n"
	"  probe bundle --limit 5M --calls 200 run7\n"
	"  probe bundle --print-command /local/run7\n"
	"  ssh node17 probe bundle --stream /local/run7 | tar -ixf - -C run7\n";

enum { OPT_OUTPUT, OPT_LIMIT, OPT_CALLS, OPT_STREAM, OPT_PRINT };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', true},
	[OPT_LIMIT] = {"limit", 0, true},
	[OPT_CALLS] = {"calls", 0, true},
	[OPT_STREAM] = {"stream", 0, false},
	[OPT_PRINT] = {"print-command", 0, false},
};

struct asked {
	const char *dir, *output;
	const char *limit_text; /* as the user wrote it; NULL: the default */
	uint64_t limit;
	unsigned calls; /* number of last rows of each rank; 0: all */
	bool calls_named, stream, print;
};

/* ---- the folder that tar packs ---- */

static char *add_stage_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = tool_format("%s/probe-bundle.XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (mkdtemp(path))
		return path;
	tool_error("bundle: %s: %s", path, strerror(errno));
	free(path);
	return NULL;
}

static int remove_stage_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_stage(const char *stage)
{
	nftw(stage, remove_stage_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static FILE *open_in_stage(const char *root, const char *name)
{
	char *path = tool_format("%s/%s", root, name);
	FILE *f = fopen(path, "we");

	if (!f)
		tool_error("bundle: %s: %s", path, strerror(errno));
	free(path);
	return f;
}

/*
 * Adds files that are packed whole, as links: tar reads their targets. Returns 0 or STATUS_USAGE
 * (reported).
 */
static int add_stage_file(const char *root, const struct bundle_file *k)
{
	char *path = tool_format("%s/%s", root, k->name), *slash = strrchr(path, '/'), *target;
	int err = 0;

	*slash = '\0';
	if (mkdir(path, 0755) && errno != EEXIST)
		err = errno;
	*slash = '/';
	if (!err && k->text) {
		FILE *f = open_in_stage(root, k->name);
		bool written = f && fwrite(k->text, 1, k->bytes, f) == k->bytes;

		if (!f || fclose(f) || !written)
			err = EIO;
	} else if (!err) {
		target = tool_get_absolute_path(k->path);
		err = symlink(target, path) ? errno : 0;
		free(target);
	}
	if (err)
		tool_error("bundle: %s: %s", path, strerror(err));
	free(path);
	return err ? STATUS_USAGE : 0;
}

/* Writes the output of `print` to stdout into a file. */
static int write_stage_report(
	const char *root, const char *name, struct report *r, void (*print)(struct report *r))
{
	FILE *f = open_in_stage(root, name);
	int own;

	if (!f)
		return STATUS_USAGE;
	fflush(stdout);
	own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(fileno(f), STDOUT_FILENO);
	print(r);
	fflush(stdout);
	if (own >= 0) {
		dup2(own, STDOUT_FILENO);
		close(own);
	}
	fclose(f);
	return 0;
}

static void print_bundle_sums(FILE *f, const char *title, const struct bundle_sum sum[])
{
	fprintf(f, "%s\n", title);
	for (int c = 0; c < BUNDLE_CLASSES; c++)
		if (sum[c].files)
			fprintf(f, "  %-30s %5llu files, %s\n",
				get_bundle_class_name((enum bundle_class)c),
				(unsigned long long)sum[c].files,
				out_format_bytes((double)sum[c].bytes));
}

static struct bundle_sum add_sums(const struct bundle_sum sum[])
{
	struct bundle_sum all = {0};

	for (int c = 0; c < BUNDLE_CLASSES; c++) {
		all.files += sum[c].files;
		all.bytes += sum[c].bytes;
	}
	return all;
}

static int write_stage_contents(const char *root, const char *name, const struct asked *a,
	const struct bundle *b, const struct folders *folders)
{
	FILE *f = open_in_stage(root, name);

	if (!f)
		return STATUS_USAGE;
	fprintf(f, "libprobe %s, from %s\n\n", PROBE_VERSION, folders->path);
	print_bundle_sums(f, "in this archive:", b->taken);
	if (add_sums(b->skipped).files)
		print_bundle_sums(f, "skipped because of the limit:", b->skipped);
	if (b->cut)
		fprintf(f,
			"calls: the last %u rows of each rank; %llu files have more rows, or only "
			"older ones\n",
			a->calls, (unsigned long long)b->cut);
	fputs("\nrank  state       host  pid  folder\n", f);
	for (unsigned i = 0; i < folders->n; i++) {
		const struct rank_dir *d = &folders->dir[i];

		fprintf(f, "%-5d %-11s %s  %lld  %s\n", d->rank, rank_state_get_key(d->state),
			d->meta.has_owner ? d->meta.owner.host : "?",
			d->meta.has_owner ? (long long)d->meta.owner.pid : -1, d->name);
	}
	for (unsigned i = 0; i < folders->nout; i++)
		fprintf(f, "not of this run: %s: %s\n", folders->out[i].name, folders->out[i].why);
	fclose(f);
	return 0;
}

/* ---- tar ---- */

/*
 * Packs the contents of the folder `stage`. to: a file; "-": stdout. Returns 0 or STATUS_USAGE
 * (reported).
 */
static int start_tar(const char *stage, const char *output, bool compress)
{
	/*
	 * The shell lists the names, because an entry for the folder itself would change the mode
	 * of the folder into which it is unpacked.
	 */
	char *argv[] = {(char *)"/bin/sh", (char *)"-c",
		(char *)"cd \"$1\" && exec tar -h $2 -f - -- *", (char *)"sh", (char *)stage,
		(char *)(compress ? "-cz" : "-c"), NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = 0, err;

	posix_spawn_file_actions_init(&actions);
	if (strcmp(output, "-"))
		posix_spawn_file_actions_addopen(
			&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	err = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err) {
		tool_error("bundle: %s: %s", strcmp(output, "-") ? output : "tar", strerror(err));
		return STATUS_USAGE;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* GNU tar ends with 1 if a file grew while it was read, as in a running job. */
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return 0;
	tool_error("bundle: tar failed (%s %d); is it installed?",
		WIFEXITED(status) ? "status" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return STATUS_USAGE;
}

/* ---- the verb ---- */

static char *format_contents_name(const struct asked *a)
{
	char host[72] = "node";

	if (!a->stream)
		return tool_strdup("contents.txt");
	gethostname(host, sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	return tool_format("contents-%s.txt", host);
}

static void print_skipped_warning(const struct asked *a, const struct bundle *b)
{
	struct bundle_sum all = add_sums(b->skipped);

	if (all.files)
		tool_warn("bundle: --limit %s: %s, %s, skipped (contents%s.txt lists them)",
			a->limit_text, out_format_plural(all.files, "file", "files"),
			out_format_bytes((double)all.bytes), a->stream ? "-*" : "");
}

static int load_stage(const char *stage, const struct asked *a, const struct folders *f)
{
	struct bundle b = {.limit = a->limit};
	char *root = tool_format("%s%s", stage, a->stream ? "" : "/probe_bundle");
	char *contents = format_contents_name(a);
	struct report *r = NULL;
	int status = 0;

	if (!a->stream) {
		mkdir(root, 0755);
		r = tool_alloc(sizeof(*r));
		status = report_gather(r, &(struct gather_options){.path = a->dir,
						  .top = 10,
						  .step_hi = UINT64_MAX,
						  .progress = true});
	}
	if (!status && r) {
		out_set_color("never");
		status = write_stage_report(root, "report.txt", r, print_report_text);
		if (!status)
			status = write_stage_report(root, "report.json", r, print_report_json);
		report_free(r);
	}
	free(r);
	find_bundle_files(&b, f, a->calls);
	for (unsigned i = 0; i < b.n && !status; i++)
		if (b.file[i].taken)
			status = add_stage_file(root, &b.file[i]);
	if (!status)
		status = write_stage_contents(root, contents, a, &b, f);
	if (!status)
		print_skipped_warning(a, &b);
	free_bundle(&b);
	free(contents);
	free(root);
	return status;
}

static int write_bundle(const struct asked *a)
{
	struct folders f;
	char *stage;
	int status = folders_open(&f, a->dir);

	if (status)
		return status;
	if (a->stream && isatty(STDOUT_FILENO)) {
		tool_error("bundle: --stream writes an archive to stdout, which is a terminal; "
			   "append | tar "
			   "-ixf - -C FOLDER or > FILE");
		status = STATUS_USAGE;
	}
	stage = status ? NULL : add_stage_folder();
	if (!stage) {
		folders_close(&f);
		return STATUS_USAGE;
	}
	status = load_stage(stage, a, &f);
	if (!status)
		status = start_tar(stage, a->output, !a->stream);
	remove_stage(stage);
	free(stage);
	folders_close(&f);
	if (!status && strcmp(a->output, "-")) {
		struct stat st;

		printf("%s: %s\n", a->output,
			stat(a->output, &st) ? "written" : out_format_bytes((double)st.st_size));
	}
	return status;
}

/*
 * Prints the commands that collect a folder that each node has locally. The target folder gets the
 * last part of its path as its name.
 */
static void print_commands(const char *dir)
{
	const char *job = getenv("SLURM_JOB_ID");
	char *path = tool_get_absolute_path(dir), *name = strrchr(path, '/');

	name = name && name[1] ? name + 1 : (char *)"run";
	printf("mkdir -p %s\n", name);
	printf("# Slurm, also while the job runs or hangs; a file for each node\n"
	       "srun --jobid=%s --overlap --ntasks-per-node=1 --output=%s.%%N.tar probe bundle "
	       "--stream %s && cat %s.*.tar | tar -ixf - -C %s\n",
		job && *job ? job : "JOB", name, path, name, name);
	printf("# ssh\n"
	       "for host in NODES; do ssh \"$host\" probe bundle --stream %s; done | tar -ixf - -C "
	       "%s\n",
		path, name);
	printf("# Kubernetes\n"
	       "for pod in PODS; do kubectl exec \"$pod\" -- probe bundle --stream %s; done | tar "
	       "-ixf - -C %s\n",
		path, name);
	printf("# on a node without probe: tar -cf - -C %s . in place of probe bundle --stream "
	       "%s\n"
	       "probe bundle -o %s.tar.gz %s\n",
		path, path, name, name);
	free(path);
}

static bool set_limit(struct asked *a, const char *text)
{
	static const char units[] = "KMG";
	char *end;
	double v = strtod(text, &end);
	const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;

	if (end == text || !(v > 0) || v > 1e15 || (*end && (!unit || end[1]))) {
		tool_error("bundle: --limit %s: accepted: a number of bytes, also with K, M or G: "
			   "500K, 50M",
			text);
		return false;
	}
	for (const char *u = units; unit && u <= unit; u++)
		v *= 1024;
	a->limit = (uint64_t)v;
	a->limit_text = text;
	return true;
}

static bool set_calls(struct asked *a, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > 1000000) {
		tool_error("bundle: --calls %s: accepted: a number from 0 to 1000000", text);
		return false;
	}
	a->calls = (unsigned)n;
	a->calls_named = true;
	return true;
}

static void set_bundle_defaults(struct asked *a)
{
	if (!a->dir)
		a->dir = folders_get_default();
	if (!a->output)
		a->output = a->stream ? "-" : "probe_bundle.tar.gz";
	if (!a->calls_named)
		a->calls = a->stream ? 0 : LAST_ROWS;
	if (a->limit_text)
		return;
	a->limit_text = a->stream ? "2G" : "50M";
	a->limit = a->stream ? UINT64_C(2) << 30 : (uint64_t)LIMIT_MIB << 20;
}

int verb_bundle(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct asked a = {0};
	int o;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		bool ok = true;

		switch (o) {
		case OPT_OUTPUT:
			a.output = c.value;
			break;
		case OPT_LIMIT:
			ok = set_limit(&a, c.value);
			break;
		case OPT_CALLS:
			ok = set_calls(&a, c.value);
			break;
		case OPT_STREAM:
			a.stream = true;
			break;
		case OPT_PRINT:
			a.print = true;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		case CLI_OPERAND:
			ok = cli_set_folder("bundle", &a.dir, c.value);
			break;
		default:
			ok = false;
		}
		if (!ok)
			return STATUS_USAGE;
	}
	set_bundle_defaults(&a);
	if (a.print) {
		print_commands(a.dir);
		return tool_close_output(STATUS_DONE);
	}
	return tool_close_output(write_bundle(&a));
}
