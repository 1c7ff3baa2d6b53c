/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `top`: shows the state of a job in the terminal, and updates it until the job ends. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/live/live_verdict.h"
#include "tools/probe/top/frame.h"

static const char help[] =
	"usage: probe top [options] [DIR]\n"
	"\n"
	"Shows the state of a job, refreshed until none of its ranks runs: the verdict of "
	"`probe report`, step, loss, norms, time of a step, exposed\n"
	"communication, how late each rank enters collectives, calls that block ranks, alerts. "
	"It reads only the job's files:\n"
	"it works over ssh, and needs no rights on the job. DIR is an output folder "
	"(default: $PROBE_OUTPUT_DIR, else\n"
	"./probe_output). Numbers of the training need key `scalars`.\n"
	"\n"
	"      --once         prints the state once; no terminal is needed\n"
	"      --json         prints the state once, as JSON\n"
	"      --interval S   seconds between two updates (2)\n"
	"      --color WHEN   auto (default), always, never\n"
	"\n"
	"Keys: s: order (trouble, rank, step, time, late, NaN); j, k, arrows or a number: "
	"selects a rank; t: its stack; q or\n"
	"Ctrl-C: end. Bars: times of the latest steps. Columns: exposed: share of the time "
	"in which the training's\n"
	"thread was blocked in communication; late: mean delay after the first rank at the "
	"start of collectives (without\n"
	"correction of the nodes' clocks).\n"
	"\n"
	"Exit status: 0 done; 2 usage, or input that cannot be read.\n"
	"\n"
	"examples:\n"
	"  probe top /scratch/run7\n"
	"  ssh login1 probe top --once /scratch/run7\n"
	"  probe top --json /scratch/run7 | jq '.ranks[] | select(.straggler)'\n";

enum { OPT_ONCE, OPT_JSON, OPT_INTERVAL, OPT_COLOR };

static const struct cli_option options[] = {
	[OPT_ONCE] = {"once", 0, false},
	[OPT_JSON] = {"json", 0, false},
	[OPT_INTERVAL] = {"interval", 0, true},
	[OPT_COLOR] = {"color", 0, true},
};

static volatile sig_atomic_t ended;

static void record_end_signal(int sig)
{
	(void)sig;
	ended = 1;
}

/* ---- the terminal ---- */

static struct termios terminal_was;
static bool terminal_changed;

/*
 * Reads keys without a newline and without an echo. Uses a separate screen whose lines are not
 * wrapped.
 */
static void open_page(void)
{
	struct sigaction end = {.sa_handler = record_end_signal};
	struct termios t;

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	if (tcgetattr(0, &terminal_was) == 0) {
		t = terminal_was;
		t.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
		terminal_changed = tcsetattr(0, TCSANOW, &t) == 0;
	}
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
}

static void close_page(void)
{
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (terminal_changed)
		tcsetattr(0, TCSANOW, &terminal_was);
}

static unsigned get_terminal_lines(void)
{
	struct winsize w;

	return ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_row ? w.ws_row : 24;
}

enum { KEY_NONE = 0, KEY_UP = 'k', KEY_DOWN = 'j' };

/* An arrow key sends three bytes, which arrive together. */
static int read_key(void)
{
	char bytes[8];
	ssize_t n = read(0, bytes, sizeof(bytes));

	if (n >= 3 && bytes[0] == '\033' && bytes[1] == '[')
		return bytes[2] == 'A' ? KEY_UP : bytes[2] == 'B' ? KEY_DOWN : KEY_NONE;
	return n > 0 ? (unsigned char)bytes[0] : KEY_NONE;
}

/* Waits until the time is over or a key is pressed. Returns the key. */
static int wait_for_key(double seconds)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	int ready = poll(&p, terminal_changed, (int)(seconds * 1000)), key = KEY_NONE;

	if (ready > 0 && p.revents & POLLIN)
		key = read_key();
	else if (p.revents & (POLLHUP | POLLERR))
		ended = 1;
	ended |= key == 'q' || key == 'Q' || key == 3;
	return key;
}

/* The user types the number of a rank digit by digit. Any other key ends the number. */
static void handle_key(struct frame_view *v, const struct live *l, int key)
{
	static int typed;

	if (key >= '0' && key <= '9') {
		typed = typed < 100000000 ? typed * 10 + key - '0' : 0;
		v->selects = true;
		v->rank = typed;
		return;
	}
	typed = 0;
	switch (key) {
	case 's':
		v->order = (v->order + 1) % FRAME_ORDERS;
		break;
	case KEY_UP:
	case KEY_DOWN:
		v->rank = find_frame_neighbour(l, v, key == KEY_UP ? -1 : 1);
		v->selects = true;
		break;
	case 't':
	case '\n':
	case '\r':
		if (!v->selects)
			v->rank = find_frame_neighbour(l, v, 0);
		v->selects = true;
		v->stack = !v->stack;
		break;
	}
}

/* ---- frames ---- */

struct top {
	const char *path;
	bool once, json;
	double interval;
};

static int print_single_frame(const struct top *t)
{
	struct live_verdict verdict = {0};
	struct frame_view view = {0};
	struct live l;
	int status = live_read(&l, t->path);

	if (!status)
		update_live_verdict(&verdict, t->path);
	l.verdict = &verdict;
	if (!status && t->json)
		live_print_json(&l, stdout);
	else if (!status)
		frame_print(&l, 0, &view);
	free_live_verdict(&verdict);
	live_free(&l);
	return status;
}

/* Draws the screen again after each key, until the next reading is due. */
static void wait_for_next_reading(
	const struct top *t, const struct live *l, struct frame_view *view)
{
	double until = read_monotonic_s() + t->interval, left;

	fflush(stdout);
	while (!ended && (left = until - read_monotonic_s()) > 0) {
		int key = wait_for_key(left);

		if (key == KEY_NONE || !l)
			continue;
		handle_key(view, l, key);
		fputs("\033[H\033[2J", stdout);
		frame_print(l, get_terminal_lines(), view);
		fflush(stdout);
	}
}

static int print_frame_repeatedly(const struct top *t)
{
	static char page[1 << 16];
	struct live_verdict verdict = {0};
	struct frame_view view = {.keys = true};
	bool runs = true;
	int status = STATUS_DONE;

	/* Writes a whole screen at once, to avoid flicker. */
	setvbuf(stdout, page, _IOFBF, sizeof(page));
	open_page();
	while (!ended && runs && !status) {
		struct live l = {0};

		fputs("\033[H\033[2J", stdout);
		if (!folders_has_rank(t->path)) {
			printf("waiting for %s\n", t->path);
			wait_for_next_reading(t, NULL, &view);
			continue;
		}
		status = live_read(&l, t->path);
		if (!status) {
			update_live_verdict(&verdict, t->path);
			l.verdict = &verdict;
			frame_print(&l, get_terminal_lines(), &view);
			runs = l.runs;
		}
		if (runs && !status)
			wait_for_next_reading(t, &l, &view);
		live_free(&l);
	}
	close_page();
	free_live_verdict(&verdict);
	/* Prints the last state again on the normal screen, where it stays. */
	return ended ? status : print_single_frame(t);
}

static bool set_top_interval(struct top *t, const char *text)
{
	char *end;

	t->interval = strtod(text, &end);
	if (end > text && !*end && t->interval >= 0.1 && t->interval <= 86400)
		return true;
	tool_error("top: --interval %s: accepted: a number of seconds from 0.1 to 86400", text);
	return false;
}

static bool set_top_option(struct top *t, int o, const char *value)
{
	switch (o) {
	case OPT_ONCE:
		return t->once = true;
	case OPT_JSON:
		return t->json = true;
	case OPT_INTERVAL:
		return set_top_interval(t, value);
	case OPT_COLOR:
		if (out_set_color(value))
			return true;
		tool_error("top: --color %s: accepted: auto, always, never", value);
		return false;
	case CLI_OPERAND:
		return cli_set_folder("top", &t->path, value);
	}
	return false;
}

int verb_top(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct top t = {.interval = 2};
	int o;

	out_set_color("auto");
	while ((o = cli_read_argument(&c)) != CLI_END) {
		if (o == CLI_HELP) {
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		}
		if (!set_top_option(&t, o, c.value))
			return STATUS_USAGE;
	}
	if (!t.path)
		t.path = folders_get_default();
	if (t.once || t.json || !isatty(1))
		return tool_close_output(print_single_frame(&t));
	return tool_close_output(print_frame_repeatedly(&t));
}
