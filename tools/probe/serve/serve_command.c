/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `serve`: an HTTP server with the state of a job, for Prometheus and as JSON. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/lib/cli.h"
#include "tools/lib/tool.h"
#include "tools/probe/live/live.h"
#include "tools/probe/live/live_verdict.h"
#include "tools/probe/serve/http.h"
#include "tools/probe/serve/prometheus.h"

static const char help[] =
	"usage: probe serve [options] [DIR]\n"
	"\n"
	"Answers HTTP requests with the state of a job, from its files alone: it needs "
	"read access to them and no rights on the job.\n"
	"DIR is an output folder (default: $PROBE_OUTPUT_DIR, else ./probe_output); it may "
	"be created later.\n"
	"\n"
	"  /metrics   Prometheus' text format. Collectives and messages have the names and "
	"labels of NCCL's Inspector\n"
	"             (nccl_bus_bandwidth_gbs, nccl_collective_exec_time_microseconds "
	"...), whatever library made them;\n"
	"             all else begins with probe_: step, loss, norms, times, exposed "
	"communication, stragglers, alerts;\n"
	"             probe_finding{kind,rank} and probe_nonfinite_tensors_total for rules "
	"of alerts\n"
	"  /          a page for a browser, which shows all this and is kept up to date\n"
	"  /verdict   the first line of `probe report`, and what was checked\n"
	"  /json      the same and more as JSON, as `probe top --json` prints it\n"
	"\n"
	"      --port N       (9464); 0: a free one, which the first line names\n"
	"      --bind ADDR    an address of this machine (127.0.0.1). There is no "
	"encryption and no password: with any other\n"
	"                     address, everyone who can reach it can read losses, host "
	"names and names of parameters\n"
	"      --once         prints the content of /metrics, and ends\n"
	"\n"
	"It ends by a signal (Ctrl-C). Exit status: 0 done; 2 usage, or input that cannot "
	"be read.\n"
	"\n"
	"examples:\n"
	"  probe serve /scratch/run7 &  curl -s localhost:9464/metrics | grep probe_loss\n"
	"  probe serve --once /scratch/run7 > /var/lib/node_exporter/textfile/run7.prom\n"
	"  ssh -L 9464:localhost:9464 node17 probe serve /scratch/run7\n";

enum { OPT_PORT, OPT_BIND, OPT_ONCE };

static const struct cli_option options[] = {
	[OPT_PORT] = {"port", 'p', true},
	[OPT_BIND] = {"bind", 0, true},
	[OPT_ONCE] = {"once", 0, false},
};

/* The contents of live.html. serve.mk makes this file depend on it. */
__asm__(".section .rodata\n"
	".globl live_page\n"
	".globl live_page_end\n"
	"live_page:\n"
	".incbin \"tools/probe/serve/live.html\"\n"
	"live_page_end:\n"
	".byte 0\n"
	".previous\n");
extern const char live_page[], live_page_end[];

static const struct {
	const char *path, *type;
} answers[] = {
	{"/", "text/html; charset=utf-8"},
	{"/metrics", "text/plain; version=0.0.4; charset=utf-8"},
	{"/json", "application/json"},
	{"/verdict", "text/plain; charset=utf-8"},
};
enum { ANSWER_PAGE, ANSWER_METRICS, ANSWER_JSON, ANSWER_VERDICT, ANSWERS };

static const char missing_text[] =
	"/         page for a browser\n/metrics  Prometheus\n"
	"/json     JSON\n/verdict  first line of the report, and what was checked\n";

static volatile sig_atomic_t stop;

static void ask_to_stop(int sig)
{
	(void)sig;
	stop = 1;
}

/* The data for answers. It is read at most once a second. */
struct serving {
	const char *path;
	struct live live;
	struct live_verdict verdict;
	bool have;
	double read_at; /* s, monotonic */
};

/* Reads the state again, at most once a second. Without rank folders, it contains no ranks. */
static void update_serving(struct serving *s)
{
	if (s->have && read_monotonic_s() < s->read_at + 1)
		return;
	live_free(&s->live);
	s->have = true;
	if (folders_has_rank(s->path) && live_read(&s->live, s->path))
		live_free(&s->live);
	if (s->live.folders.n)
		update_live_verdict(&s->verdict, s->path);
	s->live.verdict = &s->verdict;
	if (!s->live.folders.path)
		s->live.folders.path = tool_strdup(s->path);
	s->read_at = read_monotonic_s();
}

static void handle_path(void *arg, const char *path, struct http_answer *a)
{
	struct serving *s = arg;
	unsigned which = 0;
	FILE *f;

	while (which < ANSWERS && strcmp(path, answers[which].path) != 0)
		which++;
	*a = (struct http_answer){.status = which < ANSWERS ? 200 : 404,
		.type = which < ANSWERS ? answers[which].type : "text/plain; charset=utf-8"};
	f = open_memstream(&a->body, &a->n);
	if (!f)
		return;
	if (which != ANSWER_PAGE && which < ANSWERS)
		update_serving(s);
	if (which == ANSWER_PAGE)
		fwrite(live_page, 1, (size_t)(live_page_end - live_page), f);
	else if (which == ANSWER_METRICS)
		prometheus_print(&s->live, f);
	else if (which == ANSWER_JSON)
		live_print_json(&s->live, f);
	else if (which == ANSWER_VERDICT)
		fprintf(f, "%s\n%s", s->verdict.known ? s->verdict.text : "nothing is known yet",
			s->verdict.known ? s->verdict.detail : "");
	else
		fputs(missing_text, f);
	if (fclose(f)) {
		free(a->body);
		a->body = NULL;
	}
}

static int handle_until_signal(struct serving *s, const char *address, int port)
{
	struct sigaction end = {.sa_handler = ask_to_stop};
	struct http_server server;
	int err = http_open(&server, address, port);

	if (err == -EINVAL)
		tool_error("serve: --bind %s: accepted: a numeric address, such as 0.0.0.0 or ::1",
			address);
	else if (err)
		tool_error("serve: %s port %d: %s; choose another by --port", address, port,
			strerror(-err));
	if (err)
		return STATUS_USAGE;
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	printf(strchr(address, ':') ? "http://[%s]:%d/metrics\n" : "http://%s:%d/metrics\n",
		address, server.port);
	fflush(stdout);
	if (!server.local)
		tool_warn(
			"serve: any user who can reach %s port %d can read the state of this job; "
			"--bind 127.0.0.1 admits this host only",
			address, server.port);
	err = http_handle_requests(&server, &stop, handle_path, s);
	http_close(&server);
	if (err) {
		tool_error("serve: %s port %d: %s: no requests are answered any more", address,
			server.port, strerror(-err));
		return STATUS_USAGE;
	}
	return STATUS_DONE;
}

static int print_metrics_once(struct serving *s)
{
	int status = live_read(&s->live, s->path);

	if (!status)
		update_live_verdict(&s->verdict, s->path);
	s->live.verdict = &s->verdict;
	if (!status)
		prometheus_print(&s->live, stdout);
	return status;
}

static bool set_serve_port(int *port, const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	*port = (int)v;
	if (end > text && !*end && v >= 0 && v <= 65535)
		return true;
	tool_error("serve: --port %s: accepted: an integer from 0 to 65535", text);
	return false;
}

int verb_serve(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct serving s = {0};
	const char *address = "127.0.0.1";
	int o, port = 9464, status;
	bool once = false, ok = true;

	while (ok && (o = cli_read_argument(&c)) != CLI_END) {
		switch (o) {
		case OPT_PORT:
			ok = set_serve_port(&port, c.value);
			break;
		case OPT_BIND:
			address = c.value;
			break;
		case OPT_ONCE:
			once = true;
			break;
		case CLI_OPERAND:
			ok = cli_set_folder("serve", &s.path, c.value);
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		default:
			ok = false;
		}
	}
	if (!ok)
		return STATUS_USAGE;
	if (!s.path)
		s.path = folders_get_default();
	status = once ? print_metrics_once(&s) : handle_until_signal(&s, address, port);
	live_free(&s.live);
	free_live_verdict(&s.verdict);
	return tool_close_output(status);
}
